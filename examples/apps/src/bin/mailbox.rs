// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halo exchange by mailboxes: put a flag, get the border, put a flag. See docs/mini-apps.md.

use std::process::ExitCode;

fn main() -> ExitCode {
    apps::halo::main(apps::halo::App::Mailbox)
}
