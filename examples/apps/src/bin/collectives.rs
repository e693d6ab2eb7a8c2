// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums or lists of vectors that all threads of all processes have. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::collectives::main()
}
