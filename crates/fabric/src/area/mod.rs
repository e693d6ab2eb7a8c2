// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared collective area of a group of ranks: memory of the node in which its members publish data to each other without
//! messages.
//!
//! Work goes in *rounds*, numbered from 1; all members take the same rounds. In round `t` every member has a *line* (a stamp and
//! a few bytes) and a *buffer* for more bytes. A further line and buffer, the common ones, hold what one member computes
//! for all. Rounds share [`lines`] lines and [`BUFFERS`] buffers of each member: round `t` has line `t % lines` and buffer
//! `t % BUFFERS`. Rounds with little data use a part of their buffer each, so that [`PART_ROUNDS`] of them can be in progress.
//! A member *publishes* in a round: it writes its data and then the stamp with the number of the round. It *leaves* a round
//! when it needs no data of the round any more.
//!
//! Writers: member `m` alone writes the lines and buffers of `m`. The member that was counted in last writes the common ones.
//!
//! Invariant: a member writes data of round `t` only when every member has left
//!
//! * round `t - BUFFERS`, if the data need a whole buffer;
//! * round `t - lines`, if they need a line;
//! * round `t - PART_ROUNDS` and the last round before `t` that used whole buffers, if they need a part of a buffer
//!   ([`Tracker::may_enter`]).
//!
//! So a member that has not left a round finds the data of all members that have published in it, unchanged. If the same single
//! member reads the data of both the old and the new round, only that reader must have left the old one
//! ([`Tracker::may_pass`], [`Tracker::may_pass_line`]).
//!
//! Each member stores the rounds that it has left in a word of its own, and also in each stamp: a member that waits for all
//! stamps of a round learns from them which rounds are left.
//!
//! Each line has [`WIDE_BYTES`] further bytes for data that do not fit into it.
//!
//! A member that dies never publishes or never leaves: the others wait, and the launcher ends the job. Stamps are compared and
//! never used as addresses.

mod memory;
#[cfg(all(test, loom))]
mod models;
mod row;
#[cfg(all(test, not(loom)))]
mod tests;
mod tracker;

pub use memory::{
    BUFFERS, LINE_BYTES, PART_ROUNDS, PARTS, Published, SharedArea, Slot, WIDE_BYTES, lines,
};
pub use row::Row;
pub use tracker::Tracker;
