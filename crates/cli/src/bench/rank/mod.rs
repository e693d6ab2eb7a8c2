// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured side: one process of a job that `rankpoint bench` has started.
//!
//! Rank 0 prints one JSON object a line for each point, `peer.c` beside this folder prints the same for libraries that lack
//! the standard ABI. [`start`] reads what is wanted, [`repeat`] decides how often something runs, [`mod@distance`] how far the cores are from
//! each other meanwhile; [`calls`], [`pair`], [`queue`], [`many`], [`collective`],
//! [`overlap`], [`pack`], [`memory`], [`parts`] with [`turns`] and [`answered`], [`mod@network`] with [`network_link`], [`rma`] and [`rendezvous`] are what runs; [`mod@threads`] stands by itself, with [`thread_puts`] and [`spin_barrier`], and so does [`global_array`].

mod answered;
mod calls;
mod collective;
mod distance;
mod global_array;
mod many;
mod memory;
mod network;
mod network_link;
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

pub(crate) use answered::{ANSWERED, HALVES, LINE, WINDOWS, WINDOWS_ANSWERED};
pub(crate) use calls::CALLS;
pub(crate) use global_array::{GETS, GLOBAL_ARRAY, PRODUCTS, PUTS, WRONG};
pub(crate) use network::{
    MPI_POLL, MPI_RECEIVE, MPI_SEND, NETWORK_PARTS, NETWORK_PARTS_AND_QUANTITIES, RAW_HALVES,
    RAW_POLL, RAW_POST, RAW_PROGRESS,
};
use options::RankOptions;
use output::{report, report_together};
pub(crate) use parts::{DISTANCE, PARTS, PARTS_AND_QUANTITIES};
use pattern::{check, fill, pattern};
pub(crate) use start::run_rank;
pub(super) use start::{EMPTY, MULTIPLE};
