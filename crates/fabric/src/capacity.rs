// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many processes a job has room for: those that it starts with, and a reserve for those that are added while it runs.
//!
//! The creator of the node segment declares the capacity. Boards, locations and the numbers of links ([`peers`](crate::peers)) are laid
//! out for it, so that a process that is added ([`added`](crate::added)) moves nothing. What the reserve lays out is address space: pages
//! exist when a process uses them.

use crate::board::{PAGE_BYTES, RankLocation, locations_of};
use crate::identity::MOST_VCIS;

/// Processes that can be added to a running job, where nothing else is set.
pub const DEFAULT_RESERVE: u32 = 64;
/// Largest such number.
pub const MOST_RESERVE: u32 = 1 << 16;
/// Largest capacity: each VCI numbers the links to all VCIs of all processes with 32 bits, of which two numbers have other meanings.
pub(crate) const MOST_PROCESSES: u32 = (u32::MAX - 2) / MOST_VCIS as u32;

/// The creator's description of a job.
#[derive(Clone, Copy, Debug)]
pub struct SegmentPlan {
    /// Ranks on this node, at least 1.
    pub local_ranks: u32,
    /// Ranks in the whole job.
    pub job_ranks: u32,
    /// Processes that can be added while the job runs, the same on all nodes.
    pub reserve: u32,
    /// Cores that the ranks may use on this node.
    pub cores: u32,
    /// Process id of the launcher; 0 for a singleton.
    pub launcher_pid: u32,
}

impl SegmentPlan {
    /// Processes that the job has room for.
    pub(crate) const fn capacity(&self) -> u32 {
        self.job_ranks.saturating_add(self.reserve)
    }

    /// Where the heap of the segment begins: behind the boards, and the locations of a job of several nodes.
    pub(crate) fn heap_offset(&self) -> u64 {
        let locations = match self.job_ranks > self.local_ranks {
            true => u64::from(self.capacity()) * size_of::<RankLocation>() as u64,
            false => 0,
        };
        (locations_of(self.capacity()) + locations).next_multiple_of(PAGE_BYTES as u64)
    }
}
