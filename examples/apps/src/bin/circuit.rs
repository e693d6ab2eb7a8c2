// SPDX-License-Identifier: MIT OR Apache-2.0
//! An electric circuit by active messages and a polling thread. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::circuit::main()
}
