// SPDX-License-Identifier: MIT OR Apache-2.0
//! Product of block-sparse matrices by one-sided operations of threads. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::bspmm::main()
}
