// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halo exchange of a stencil with two axes: 5 or 9 points. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::halo::main(apps::halo::App::Halo2d)
}
