// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `mpiexec` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    launch::run_command_line(std::env::args_os().skip(1))
}
