// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs in a test: several engines over one node segment, over a simulated network if `RANKPOINT_TEST_SIM` is set, or on several nodes
//! that libfabric connects on the loopback interface if `RANKPOINT_TEST_NODES` is. With `RANKPOINT_TEST_ENDPOINTS=k` the ranks of
//! [`on_members`] are endpoints, `k` of each process.

mod job;
mod members;
mod run;

pub(crate) use job::{on_ranks, on_ranks_and_added, on_ranks_at_level, on_ranks_with};
pub(crate) use members::{Member, on_members, on_members_at_level, on_members_with};
pub(crate) use run::{endpoints_of_a_process, shares_memory};
