// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the fast paths reach a peer.

// account: rank-translation

use std::ptr::NonNull;

use super::lane_table::LaneTable;
use crate::identity::{LinkIndex, Rank};
use crate::progress::Vci;
use crate::request::RankMap;
use crate::vci::link::Link;

/// How the fast paths reach the peer with a rank: of a linear rank map one multiplication leads to its link, other maps are
/// tables.
pub(crate) struct Route {
    /// The link to rank 0.
    origin: *mut Link,
    /// Distance between the links of neighbouring ranks, in bytes.
    stride_bytes: i64,
    /// The peer with rank 0, and distance between the peers of neighbouring ranks.
    offset: u32,
    stride: u32,
    /// Ranks of a linear map that are reached without a lock: none where several threads may be inside MPI.
    pub(crate) unlocked_ranks: u32,
    /// Ranks of a linear map that are reached with the lock.
    pub(crate) locked_ranks: u32,
    /// Ranks that the fast paths of every thread level reach: all, or none where messages are checked or spread, or requests have a lock.
    pub(crate) fast_ranks: u32,
    /// Ranks of MPI_COMM_WORLD that are reached without a lock and without the map, for calls that name them: none in a communicator that
    /// lacks one of them, unless arguments are trusted.
    pub(crate) unlocked_world: u32,
    /// The same that are reached with the lock.
    pub(crate) locked_world: u32,
    /// As `fast_ranks`, without a lock.
    pub(crate) unlocked_members: u32,
    /// The peers by rank, of a map that is not linear; else null. The communicator's map owns them.
    table: *const LinkIndex,
    /// The lanes, where tags name them.
    pub(super) lanes: LaneTable,
}

impl Route {
    /// The route by the map of a communicator, which keeps the map as long as the route. `world` is the number of processes that calls may
    /// name by their ranks in MPI_COMM_WORLD without further checks.
    pub(super) fn new(vci: &Vci, map: &RankMap, ranks: u32, world: u32) -> Self {
        let (offset, stride, table) = match map.peers() {
            Ok((offset, stride)) => (offset, stride, std::ptr::null()),
            Err(table) => {
                debug_assert!(table.len() >= ranks as usize);
                (0, 0, table.as_ptr())
            }
        };
        let fast_ranks = if vci.needs_slow_stages() { 0 } else { ranks };
        let linear_ranks = if table.is_null() { fast_ranks } else { 0 };
        let (unlocked_ranks, locked_ranks) = match vci.is_unlocked() {
            true => (linear_ranks, 0),
            false => (0, linear_ranks),
        };
        let is_free = vci.is_unlocked() && fast_ranks != 0;
        let (unlocked_world, locked_world) = match fast_ranks {
            0 => (0, 0),
            _ if is_free => (world, 0),
            _ => (0, world),
        };
        Self {
            unlocked_world,
            locked_world,
            unlocked_members: if is_free { fast_ranks } else { 0 },
            origin: vci.first_link().as_ptr().wrapping_add(offset as usize),
            stride_bytes: i64::from(stride.cast_signed()) * size_of::<Link>() as i64,
            offset,
            stride,
            unlocked_ranks,
            locked_ranks,
            fast_ranks,
            table,
            lanes: LaneTable::NONE,
        }
    }

    /// Lets the fast paths reach no rank but on lanes.
    pub(super) fn lead_to(&mut self, lanes: LaneTable) {
        self.lanes = lanes;
        (self.unlocked_ranks, self.locked_ranks, self.fast_ranks) = (0, 0, 0);
        (
            self.unlocked_world,
            self.locked_world,
            self.unlocked_members,
        ) = (0, 0, 0);
    }

    /// The link to a rank.
    ///
    /// # Safety
    /// `rank` is below `unlocked_ranks` or `locked_ranks`. The result may be used while no other reference to the VCI's state is.
    // TIER: short
    #[inline(always)]
    pub(crate) unsafe fn link(&self, rank: Rank) -> NonNull<Link> {
        let distance = i64::from(rank.get()).wrapping_mul(self.stride_bytes);
        // SAFETY: ranks of a communicator are ranks of the job, and there is a link for each.
        unsafe { NonNull::new_unchecked(self.origin.wrapping_byte_offset(distance as isize)) }
    }

    /// The peer with a rank below `unlocked_ranks` or `locked_ranks`.
    #[inline(always)]
    pub(crate) const fn linear_peer(&self, rank: Rank) -> LinkIndex {
        LinkIndex::new(
            self.offset
                .wrapping_add(self.stride.wrapping_mul(rank.get())),
        )
    }

    /// The peer with a rank below `fast_ranks`.
    ///
    /// # Safety
    /// The rank is.
    #[inline(always)]
    pub(crate) unsafe fn peer(&self, rank: Rank) -> LinkIndex {
        if self.table.is_null() {
            return self.linear_peer(rank);
        }
        // SAFETY: the table has an entry for each rank (caller, `new`).
        unsafe { *self.table.add(rank.get() as usize) }
    }
}
