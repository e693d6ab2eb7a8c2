// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators (MPI-5.0, chapter 7): who talks, and in which context.
//!
//! A communicator reaches everything a message needs by itself: its VCI, its match word, and the map from ranks to
//! processes. [`create`] makes new ones; context ids come in pairs, the even one for point-to-point, the odd one for
//! collectives, and are agreed by all members.

pub mod create;

use std::cell::UnsafeCell;
use std::sync::Arc;

use fabric::sync::{AtomicI32, AtomicU32, AtomicU64, Mutex, Ordering};

use crate::attr::Attributes;
use crate::errors::Error;
use crate::group::Group;
use crate::process::Process;
use crate::vci::Vci;

/// Distance between the match words of a communicator's point-to-point and collective contexts.
pub(crate) const COLLECTIVE: u64 = 1 << 32;

/// From rank to process. Linear maps, which MPI_COMM_WORLD and most of its children have, need no memory per rank.
#[derive(Debug)]
pub(crate) enum RankMap {
    Linear { offset: u32, stride: u32 },
    Table(Box<[u32]>),
}

impl RankMap {
    fn new(members: &[u32]) -> Self {
        let offset = members.first().copied().unwrap_or(0);
        let stride = members
            .get(1)
            .map_or(1, |&second| second.wrapping_sub(offset));
        let linear = members
            .iter()
            .zip(0u32..)
            .all(|(&m, rank)| m == offset.wrapping_add(stride.wrapping_mul(rank)));
        if linear {
            Self::Linear { offset, stride }
        } else {
            Self::Table(members.into())
        }
    }
}

/// A communicator. Shared by reference; freed through [`Comm::free`].
pub struct Comm {
    pub(crate) vci: &'static Vci,
    /// Context id in the high half.
    pub(crate) match_base: u64,
    /// Ranks that can be addressed: of the group, or of the remote group of an intercommunicator.
    pub(crate) peers: u32,
    rank: u32,
    map: RankMap,
    /// Operations that name this communicator; touched under the VCI's guard only.
    pending: UnsafeCell<u32>,
    pub(crate) process: &'static Process,
    group: Group,
    remote_group: Option<Group>,
    collectives: AtomicU32,
    name: Mutex<String>,
    /// The C face's handle of this communicator; 0 if it has none.
    pub handle: AtomicU64,
    /// The C face's error handler of this communicator.
    pub error_handler: AtomicU64,
    /// Cached attributes.
    pub attributes: Attributes,
    /// Buffer attached for buffered sends on this communicator.
    pub(crate) buffer: crate::p2p::buffered::AttachedBuffer,
    freed: AtomicI32,
}

// SAFETY: `pending` is touched only under the guard of the communicator's VCI; everything else is Sync by itself.
unsafe impl Sync for Comm {}
// SAFETY: as for Sync.
unsafe impl Send for Comm {}

impl Comm {
    pub(crate) fn new(
        process: &'static Process,
        context: u32,
        group: Group,
        remote_group: Option<Group>,
        name: &str,
    ) -> Arc<Self> {
        let addressed = remote_group.as_ref().unwrap_or(&group);
        let comm = Arc::new(Self {
            vci: process.vci(),
            match_base: u64::from(context) << 32,
            peers: addressed.size(),
            rank: group.rank_of(process.rank()).unwrap_or(0),
            map: RankMap::new(addressed.members()),
            pending: UnsafeCell::new(0),
            process,
            group,
            remote_group,
            collectives: AtomicU32::new(0),
            name: Mutex::new(name.to_owned()),
            handle: AtomicU64::new(0),
            error_handler: AtomicU64::new(0),
            attributes: Attributes::default(),
            buffer: crate::p2p::buffered::AttachedBuffer::default(),
            freed: AtomicI32::new(0),
        });
        process.register(&comm);
        comm
    }

    /// This process's rank.
    #[inline]
    pub const fn rank(&self) -> i32 {
        self.rank as i32
    }

    /// Number of processes of the (local) group.
    pub fn size(&self) -> i32 {
        self.group.size() as i32
    }

    /// Number of processes of the remote group; `None` for an intracommunicator.
    pub fn remote_size(&self) -> Option<i32> {
        self.remote_group.as_ref().map(|group| group.size() as i32)
    }

    /// The (local) group.
    pub const fn group(&self) -> &Group {
        &self.group
    }

    /// The remote group of an intercommunicator.
    pub const fn remote_group(&self) -> Option<&Group> {
        self.remote_group.as_ref()
    }

    /// The process this communicator belongs to.
    pub const fn process(&self) -> &'static Process {
        self.process
    }

    /// The buffer attached to this communicator for buffered sends.
    pub const fn send_buffer(&self) -> &crate::p2p::buffered::AttachedBuffer {
        &self.buffer
    }

    /// The context id of point-to-point messages.
    pub const fn context(&self) -> u32 {
        (self.match_base >> 32) as u32
    }

    /// The name given by MPI_Comm_set_name.
    pub fn name(&self) -> String {
        self.name.lock().map_or_else(
            |poisoned| poisoned.into_inner().clone(),
            |name| name.clone(),
        )
    }

    /// Renames the communicator.
    pub fn set_name(&self, name: &str) {
        match self.name.lock() {
            Ok(mut guard) => name.clone_into(&mut guard),
            Err(poisoned) => name.clone_into(&mut poisoned.into_inner()),
        }
    }

    /// The world rank of a peer. `rank` is below the number of peers.
    // TIER: short
    #[inline(always)]
    pub(crate) fn peer(&self, rank: u32) -> u32 {
        match &self.map {
            RankMap::Linear { offset, stride } => offset.wrapping_add(stride.wrapping_mul(rank)),
            RankMap::Table(table) => table[rank as usize],
        }
    }

    /// The rank here of a process by its world rank.
    #[inline]
    pub(crate) fn rank_of_peer(&self, peer: u32) -> i32 {
        match &self.map {
            RankMap::Linear { offset, stride: 1 } => peer.wrapping_sub(*offset) as i32,
            _ => {
                let group = self.remote_group.as_ref().unwrap_or(&self.group);
                group.rank_of(peer).map_or(-1, |rank| rank as i32)
            }
        }
    }

    /// A tag for the next collective operation; all members draw the same sequence.
    pub(crate) fn next_collective(&self) -> u32 {
        self.collectives.fetch_add(1, Ordering::Relaxed) & 0x7fff_ffff
    }

    /// Counts one more operation that names this communicator.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    #[inline(always)]
    pub(crate) unsafe fn hold_operation(&self) {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.pending.get() += 1 };
    }

    /// Undoes [`Self::hold_operation`].
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    #[inline(always)]
    pub(crate) unsafe fn release_operation(&self) {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.pending.get() -= 1 };
    }

    /// Whether no operation names this communicator.
    pub(crate) fn is_idle(&self) -> bool {
        let _guard = self.vci.enter();
        // SAFETY: under the guard.
        unsafe { *self.pending.get() == 0 }
    }

    /// Marks the communicator freed (MPI_Comm_free); it disappears when its pending operations are complete.
    pub fn free(&self) {
        self.freed.store(1, Ordering::Relaxed);
        self.process.purge();
    }

    /// Whether [`Self::free`] was called.
    pub fn is_freed(&self) -> bool {
        self.freed.load(Ordering::Relaxed) != 0
    }

    /// Name and rank, for error texts.
    #[cold]
    pub fn describe(&self) -> String {
        format!("communicator {}, rank {}", self.name(), self.rank)
    }

    /// Adds the communicator to an error's text.
    #[cold]
    pub fn annotate(&self, error: Error) -> Error {
        error.on(self.describe())
    }
}
