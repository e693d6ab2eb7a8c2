// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain`: what the library makes of what a program asks for.
//!
//! * [`coll`]: `rankpoint explain coll`, which algorithm a collective uses, by which rule, and what it costs;
//! * [`datatype`]: `rankpoint explain type`, the canonical form of a datatype, how it came about, and how it is packed;
//! * [`message`]: `rankpoint explain message`, how a message travels, by which rule, and what the other variants would do;
//! * [`vci`]: `rankpoint explain vci`, which communicators of a program shared a VCI, and what that cost.

mod coll;
mod datatype;
mod message;
mod vci;

use clap::Subcommand;

/// The subject of the explanation.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// A datatype: its canonical form, the kernel that packs it, and how fast that is
    Type(datatype::TypeOptions),
    /// A collective: its algorithm, the rule that chose it, what it costs, and the others
    Coll(coll::CollOptions),
    /// A message: its path, the rule that chose it, its cells on a time line, and the other variants
    Message(message::MessageOptions),
    /// A program, which is run: which communicators shared a VCI, and what their locks cost
    Vci(vci::VciOptions),
}

/// Runs `rankpoint explain`.
pub(crate) fn run(subject: &Subject) -> Result<(), String> {
    match subject {
        Subject::Type(options) => datatype::run(options),
        Subject::Coll(options) => coll::run(options),
        Subject::Message(options) => message::run(options),
        Subject::Vci(options) => vci::run(options),
    }
}
