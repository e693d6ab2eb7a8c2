// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables about a job: what its ranks do and wait for ([`state`], with the conclusions of [`waits`] and
//! with what [`accesses`] finds of files), and their counters
//! ([`stats`]). All of it is read from the node segment and from `/proc`, so it costs the ranks nothing and works when they
//! hang.

mod accesses;
mod depends;
mod state;
mod stats;
mod waits;

pub(crate) use state::{RankState, of_node as states_of, table as state_table};
pub(crate) use stats::table as counter_table;
