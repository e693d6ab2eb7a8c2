// SPDX-License-Identifier: MIT OR Apache-2.0
//! Particles that patches hand to their 26 neighbours. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::particles::main()
}
