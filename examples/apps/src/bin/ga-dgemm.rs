// SPDX-License-Identifier: MIT OR Apache-2.0
//! Product of matrices in global arrays that threads of clients read and write. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::dgemm::main()
}
