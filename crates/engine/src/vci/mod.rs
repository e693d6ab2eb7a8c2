// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtual communication interface (VCI): one independent stream of communication.
//!
//! All state that a send or a receive touches belongs to one VCI: its queues ([`matching`]), its requests ([`crate::request`]), its
//! links ([`link`]). The VCI's lock protects [`VciState`]; [`crate::progress::Vci`] joins the state with the lock and the waiting
//! threads, and is the only access to it.

mod bulk;
pub(crate) mod cell;
mod chains;
pub(crate) mod copy_mode;
mod counts;
mod cut_off;
mod finish;
pub(crate) mod link;
pub(crate) mod matching;
#[cfg(test)]
mod matching_tests;
mod observe;
pub(crate) mod offers;
mod partitioned;
mod spare;
mod state;
pub(crate) mod task;
mod trace;
mod unexpected;
mod watch;
mod wild_lists;

pub(crate) use copy_mode::CopyModes;
pub(crate) use finish::{Standing, finish, finish_at, standing, status_of, take_received};
pub(crate) use observe::Met;
pub(crate) use state::{Awaited, CmaPolicy, VciState};
pub(crate) use trace::Departure;
pub(crate) use watch::Watch;
