// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain`: what the library makes of what a program asks for.
//!
//! * [`datatype`]: `rankpoint explain type`, the canonical form of a datatype, how it came about, and how it is packed.

mod datatype;

use clap::Subcommand;

/// What is explained.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// A datatype: its canonical form, the kernel that packs it, and how fast that is
    Type(datatype::TypeOptions),
}

/// Runs `rankpoint explain`.
pub(crate) fn run(subject: &Subject) -> Result<(), String> {
    match subject {
        Subject::Type(options) => datatype::run(options),
    }
}
