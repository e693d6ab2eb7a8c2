// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint tune`: measures every algorithm of every collective on the machine at hand, and writes the rules that suit it,
//! for `RANKPOINT_COLL_TABLE`.
//!
//! Each algorithm is forced by a table of one rule, and the jobs are those of `rankpoint bench`. All algorithms of an
//! operation take turns, round by round, so that what changes on the machine meets all alike. [`fit`] makes rules of the times.

mod fit;
mod forced_rule;
mod options;
mod times;
mod write;

pub(crate) use options::TuneOptions;
pub(crate) use times::{LONG_BYTES, fastest_chunk};
pub(crate) use write::run;
