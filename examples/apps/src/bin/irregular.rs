// SPDX-License-Identifier: MIT OR Apache-2.0
//! Components of a graph by labels, with lists of receivers that change. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::irregular::main()
}
