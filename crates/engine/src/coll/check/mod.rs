// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=collectives`: the members of a communicator tell each other what they are about to do, and where they
//! disagree all of them get an error that names the ranks and what each said, instead of a hang or wrong data.
//!
//! Every member states eight words, which all get by an allgather of its own that precedes the operation's messages under the
//! same tag. All compare the same words, so all come to the same end. Where only some know what to expect (the forms with
//! `v`), those who do compare, and a second allgather tells what they found. Of two groups each compares for itself, then
//! their first members do, and then pairs of ranks that exchange blocks.

mod compare;
mod groups;
mod statement;

pub(super) use compare::{allgather, alltoall, rooted, same, same_lists};
pub(crate) use compare::{creation, disagreement};
pub(super) use groups::{Content, Flow, between};
pub(super) use statement::{Call, DataSummary, Statement};
