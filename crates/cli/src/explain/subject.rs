// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rankpoint explain` explains.

use clap::Subcommand;

use super::{coll, datatype, file, message, placement, vci};

/// The subject of the explanation.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// A datatype: its canonical form, the kernel that packs it, and how fast that is
    Type(datatype::TypeOptions),
    /// A collective: its algorithm, the rule that chose it, what it costs, and the others
    Coll(coll::CollOptions),
    /// An access to a file, or a program, which is run: how files are accessed, the rule that chose it, and what it costs
    File(file::FileOptions),
    /// A message: its path, the rule that chose it, its cells on a time line, and the other variants
    Message(message::MessageOptions),
    /// The places of ranks on nodes: what crosses nodes in order, at random, and with `reorder`
    Placement(placement::PlacementOptions),
    /// A program, which is run: which communicators shared a VCI, and what their locks cost
    Vci(vci::VciOptions),
}

/// Runs `rankpoint explain`.
pub(crate) fn run(subject: &Subject) -> Result<(), String> {
    match subject {
        Subject::Type(options) => datatype::run(options),
        Subject::Coll(options) => coll::run(options),
        Subject::File(options) => file::run(options),
        Subject::Message(options) => message::run(options),
        Subject::Placement(options) => placement::run(options),
        Subject::Vci(options) => vci::run(options),
    }
}
