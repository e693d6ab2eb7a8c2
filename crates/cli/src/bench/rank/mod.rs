// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured side: one process of a job that `rankpoint bench` has started.
//!
//! Rank 0 prints one JSON object a line for each point, `peer.c` beside this folder prints the same for libraries that lack
//! the standard ABI. [`start`] reads what is wanted, [`repeat`] decides how often something runs, [`mod@distance`] how far the cores are from
//! each other meanwhile; [`calls`], [`pair`], [`queue`], [`many`], [`collective`],
//! [`overlap`], [`pack`], [`memory`], [`parts`] with [`turns`], [`rma`] and [`rendezvous`] are what runs; [`mod@threads`] stands by itself, with [`thread_puts`] and [`spin_barrier`].

mod calls;
mod collective;
mod distance;
mod many;
mod memory;
mod options;
mod output;
mod overlap;
mod pack;
mod pair;
mod parts;
mod pattern;
mod queue;
mod rendezvous;
mod repeat;
mod rma;
mod spin_barrier;
mod start;
mod thread_puts;
mod threads;
mod turns;

pub(crate) use calls::CALLS;
use options::RankOptions;
use output::{report, report_together};
pub(crate) use parts::{DISTANCE, PARTS, WINDOWS};
use pattern::{check, fill, pattern};
pub(crate) use start::run_rank;
pub(super) use start::{EMPTY, MULTIPLE};
