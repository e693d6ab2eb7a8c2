// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy bands that the workers of a node get from other nodes. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::ebms::main()
}
