// SPDX-License-Identifier: MIT OR Apache-2.0
//! A solver with a 27-point stencil: halo exchange and a sum over all cells in each step. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::halo::main(apps::halo::App::Uintah)
}
