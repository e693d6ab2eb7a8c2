// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halo exchange of a stencil with three axes: 7 or 27 points. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::halo::main(apps::halo::App::Halo3d)
}
