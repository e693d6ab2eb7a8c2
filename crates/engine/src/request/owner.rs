// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of a communicator that its requests need: the map between ranks and processes, and the number of pending requests.
#![expect(unsafe_code, reason = "the count is guarded by the VCI's lock")]

// account: request

use std::cell::UnsafeCell;
use std::sync::{Arc, OnceLock};

use sys::sync::{AtomicU32, Ordering};

use crate::identity::{LinkIndex, Rank};
use crate::settings::Rendezvous;

/// From rank to link. Linear maps, which MPI_COMM_WORLD and most of its children have, need no memory per rank.
#[derive(Debug)]
pub(crate) enum RankMap {
    Linear {
        offset: u32,
        stride: u32,
    },
    Table {
        /// Shared, for the fast paths keep a pointer to it.
        peers: Arc<[LinkIndex]>,
        /// Peers and their ranks, in the order of the peers.
        ranks: OnceLock<Box<[(LinkIndex, Rank)]>>,
    },
    /// Of a communicator that receives from all VCIs of its peers: the map of their links to the same VCI.
    AnyVci {
        map: Box<RankMap>,
        capacity: u32,
    },
}

impl RankMap {
    /// The map to the links of the ranks.
    pub(crate) fn new(links: &[LinkIndex]) -> Self {
        let offset = links.first().map_or(0, |first| first.get());
        let stride = links
            .get(1)
            .map_or(1, |second| second.get().wrapping_sub(offset));
        let linear = links
            .iter()
            .zip(0u32..)
            .all(|(link, rank)| link.get() == offset.wrapping_add(stride.wrapping_mul(rank)));
        if linear {
            Self::Linear { offset, stride }
        } else {
            Self::Table {
                peers: links.into(),
                ranks: OnceLock::new(),
            }
        }
    }
}

impl RankMap {
    /// The same for peers that are VCIs of processes, in a job with room for so many.
    pub(crate) fn of_any_vci(self, capacity: u32) -> Self {
        let map = Box::new(self);
        Self::AnyVci { map, capacity }
    }

    /// Offset and stride of a linear map, or the peers by rank.
    pub(crate) fn peers(&self) -> Result<(u32, u32), &[LinkIndex]> {
        match self {
            Self::Linear { offset, stride } => Ok((*offset, *stride)),
            Self::Table { peers, .. } => Err(peers),
            Self::AnyVci { map, .. } => map.peers(),
        }
    }

    /// The peer with a rank, which is in range.
    fn peer(&self, rank: Rank) -> LinkIndex {
        match self {
            Self::Linear { offset, stride } => {
                LinkIndex::new(offset.wrapping_add(stride.wrapping_mul(rank.get())))
            }
            Self::Table { peers, .. } => peers[rank.get() as usize],
            Self::AnyVci { map, .. } => map.peer(rank),
        }
    }

    /// The rank of a peer, among `size` ranks.
    fn rank_of(&self, peer: LinkIndex, size: u32) -> Option<Rank> {
        match self {
            Self::Linear { offset, stride } => {
                let (distance, stride) = (
                    i64::from(peer.get()) - i64::from(*offset),
                    i64::from(*stride as i32),
                );
                let rank = distance.checked_div(stride)?;
                let here = rank * stride == distance && (0..i64::from(size)).contains(&rank);
                here.then_some(Rank::new(rank as u32))
            }
            Self::AnyVci { map, capacity } => {
                let link = LinkIndex::new(peer.process(*capacity).get());
                map.rank_of(link, size)
            }
            Self::Table { peers, ranks } => {
                let ranks = ranks.get_or_init(|| {
                    let mut pairs: Vec<_> =
                        peers.iter().copied().zip((0..).map(Rank::new)).collect();
                    pairs.sort_unstable();
                    pairs.into()
                });
                let found = ranks.binary_search_by_key(&peer, |pair| pair.0).ok()?;
                Some(ranks[found].1)
            }
        }
    }
}

/// The part of a communicator that its operations name.
pub(crate) struct Owner {
    /// Operations that name this communicator; touched under the guard of its VCI only.
    pending: UnsafeCell<u32>,
    /// The same of operations that complete in bulk, without a request.
    bulk: UnsafeCell<u32>,
    /// Ranks that can be addressed: of the group, or of the remote group of an intercommunicator.
    pub(crate) peers: u32,
    map: RankMap,
    /// How operations failed that completed in bulk, since the last call that waited for them.
    failures: UnsafeCell<Option<Box<Failures>>>,
    /// 1 + the number of the protocol of its long messages, or 0 for that of the process.
    rendezvous: AtomicU32,
}

/// Failed operations that completed in bulk.
pub(crate) struct Failures {
    /// How many.
    pub(crate) count: u32,
    /// Error class and text of the first one.
    pub(crate) first: (i32, String),
}

// SAFETY: `pending`, `bulk` and `failures` are touched only under the guard of the communicator's VCI (the unsafe functions); the rest is
// Sync.
unsafe impl Sync for Owner {}

impl Owner {
    /// No operation yet.
    pub(crate) const fn new(map: RankMap, peers: u32) -> Self {
        Self {
            pending: UnsafeCell::new(0),
            bulk: UnsafeCell::new(0),
            failures: UnsafeCell::new(None),
            peers,
            map,
            rendezvous: AtomicU32::new(0),
        }
    }

    /// The protocol of its long messages; `None` for that of the process.
    pub(crate) fn rendezvous(&self) -> Option<Rendezvous> {
        let number = self.rendezvous.load(Ordering::Relaxed).checked_sub(1)?;
        Rendezvous::from_number(number)
    }

    /// Sets [`Self::rendezvous`].
    pub(crate) fn set_rendezvous(&self, rendezvous: Option<Rendezvous>) {
        let number = rendezvous.map_or(0, |rendezvous| 1 + rendezvous as u32);
        self.rendezvous.store(number, Ordering::Relaxed);
    }

    /// The map between ranks and processes.
    pub(crate) const fn map(&self) -> &RankMap {
        &self.map
    }

    /// The peer with a rank, which is below the number of peers.
    // TIER: short
    #[inline(always)]
    pub(crate) fn peer(&self, rank: Rank) -> LinkIndex {
        match &self.map {
            RankMap::Linear { offset, stride } => {
                LinkIndex::new(offset.wrapping_add(stride.wrapping_mul(rank.get())))
            }
            RankMap::Table { peers, .. } => peers[rank.get() as usize],
            RankMap::AnyVci { map, .. } => map.peer(rank),
        }
    }

    /// The rank of a peer as programs see it; -1 if it is none that can be addressed.
    #[inline]
    pub(crate) fn rank_of_peer(&self, peer: LinkIndex) -> i32 {
        match &self.map {
            RankMap::Linear { offset, stride: 1 } => peer.get().wrapping_sub(*offset) as i32,
            map => map.rank_of(peer, self.peers).map_or(-1, Rank::to_mpi),
        }
    }

    /// Counts one more operation that names this communicator.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    #[inline(always)]
    pub(crate) unsafe fn hold(&self) {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.pending.get() += 1 };
    }

    /// Undoes [`Self::hold`].
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    #[inline(always)]
    pub(crate) unsafe fn release(&self) {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.pending.get() -= 1 };
    }

    /// Counts one more operation that completes in bulk.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    #[inline(always)]
    pub(crate) unsafe fn hold_in_bulk(&self) {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.bulk.get() += 1 };
    }

    /// Undoes [`Self::hold_in_bulk`] for an operation that ended with an error class, 0 for none.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    pub(crate) unsafe fn release_in_bulk(&self, class: i32, text: String) {
        // SAFETY: the guard makes the accesses exclusive.
        unsafe {
            *self.bulk.get() -= 1;
            self.note_failure(class, text);
        }
    }

    /// Keeps how an operation failed that completes in bulk, for the call that waits for them.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    pub(crate) unsafe fn note_failure(&self, class: i32, text: String) {
        if class == 0 {
            return;
        }
        // SAFETY: the guard makes the access exclusive.
        match unsafe { &mut *self.failures.get() } {
            Some(failures) => failures.count += 1,
            none => {
                let first = (class, text);
                *none = Some(Box::new(Failures { count: 1, first }));
            }
        }
    }

    /// Operations that complete in bulk and have not.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    pub(crate) unsafe fn pending_in_bulk(&self) -> u32 {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.bulk.get() }
    }

    /// Takes out how operations failed that completed in bulk.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    pub(crate) unsafe fn take_failures(&self) -> Option<Box<Failures>> {
        // SAFETY: the guard makes the access exclusive.
        unsafe { (*self.failures.get()).take() }
    }

    /// Whether no operation names this communicator.
    ///
    /// # Safety
    /// The caller holds the guard of this communicator's VCI.
    pub(crate) unsafe fn is_idle(&self) -> bool {
        // SAFETY: the guard makes the access exclusive.
        unsafe { *self.pending.get() == 0 }
    }
}
