// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state that a communicator keeps for the shared collective area of its members. Collectives fill and use it (`coll::area`); here it
//! is data.

use std::sync::OnceLock;

use sys::sync::{AtomicPtr, AtomicU64, Ordering};

use super::{Comm, Process};

/// An area that is attached to a communicator.
pub(crate) trait AttachedArea: Send + Sync {
    /// This member will not use the area again.
    fn retire(&self, comm: &Comm);
}

/// The place of the area in its communicator, and the rounds that its operations have drawn.
#[derive(Default)]
pub(crate) struct AreaSlot {
    /// The area as the layer above knows it, where it may be used without the VCI's lock; else null.
    pub(crate) unlocked: AtomicPtr<()>,
    /// The same at every thread level.
    pub(crate) address: AtomicPtr<()>,
    /// Owner of what the addresses lead to. `None` inside: the members have no area and will have none.
    pub(crate) attached: OnceLock<Option<Box<dyn AttachedArea>>>,
    /// Whether there is one member.
    single: bool,
    /// The round that the next operation gets; the first is 1.
    next: AtomicU64,
    /// The last round so far that uses whole buffers.
    pub(crate) last_whole: AtomicU64,
    /// The last round so far in which each member publishes its data to the next higher one alone.
    last_passed: AtomicU64,
    /// The last round before `last_passed` that is of another kind.
    others_before: AtomicU64,
}

/// Rounds that were given to an operation.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    /// The first of them.
    pub(crate) first: u64,
    /// How many they are.
    pub(crate) count: usize,
    /// Whether they use whole buffers.
    pub(crate) whole: bool,
    /// The last round before them that uses whole buffers.
    pub(crate) whole_before: u64,
}

impl AreaSlot {
    /// Of a communicator with so many members, in one group or two.
    pub(super) fn new(process: &Process, members: u32, of_one_group: bool) -> Self {
        let is_watched = process.settings().watches_collectives();
        Self {
            // What is checked is checked on a single rank, too.
            single: members == 1 && of_one_group && !is_watched,
            next: AtomicU64::new(1),
            ..Self::default()
        }
    }

    /// Whether there is one member, for which collectives are copies.
    #[inline(always)]
    pub(crate) const fn is_single(&self) -> bool {
        self.single
    }

    /// The round that the next operation gets, if it takes one.
    #[inline(always)]
    pub(crate) fn next_round(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Gives it that round, which uses no whole buffers.
    #[inline(always)]
    pub(crate) fn set_drawn(&self, round: u64) {
        self.next.store(round + 1, Ordering::Relaxed);
    }

    /// Gives rounds to an operation. Collectives of a communicator are called one after the other.
    pub(crate) fn draw(&self, count: usize, whole: bool) -> Drawn {
        let first = self.next.load(Ordering::Relaxed);
        let last = first + count as u64 - 1;
        self.next.store(last + 1, Ordering::Relaxed);
        let whole_before = self.last_whole.load(Ordering::Relaxed);
        if whole {
            self.last_whole.store(last, Ordering::Relaxed);
        }
        Drawn {
            first,
            count,
            whole,
            whole_before,
        }
    }

    /// The last round before `round` in which others than the next higher member may read what a member publishes, if that is
    /// not so in `round`.
    pub(crate) fn others_before(&self, round: u64) -> u64 {
        if self.last_passed.load(Ordering::Relaxed) + 1 == round {
            self.others_before.load(Ordering::Relaxed)
        } else {
            round - 1
        }
    }

    /// Notes that in these rounds each member publishes its data to the next higher one alone.
    pub(crate) fn pass(&self, first: u64, last: u64) {
        let others_before = self.others_before(first);
        self.others_before.store(others_before, Ordering::Relaxed);
        self.last_passed.store(last, Ordering::Relaxed);
    }

    /// No operation finds the area any more: the parent of this process goes on using it.
    pub(super) fn cut_off(&self) {
        self.unlocked.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.address.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// This member will not use the area again.
    pub(super) fn retire(&self, comm: &Comm) {
        if let Some(Some(attached)) = self.attached.get() {
            attached.retire(comm);
        }
    }
}

/// Areas of communicators that are gone, at the ranks that made them: the number of members, and the offset in the node
/// segment.
pub(crate) type SpareAreas = sys::sync::Mutex<Vec<(u32, u64)>>;
