// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predefined communicators (Raffenetti et al., "Why Is MPI So Slow?", SC'17, section 3.3): places of a static table that a program fills
//! by duplicating a communicator. A call that names the place by a constant finds all that a message needs at a constant address.
#![expect(unsafe_code, reason = "the table leads to communicators")]

// account: communicator

use std::ptr::NonNull;

use sys::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::Comm;
use crate::vci::cell;
use crate::vci::link::Link;
use crate::vci::matching::in_order_key;

/// Number of predefined communicators.
pub const MOST_PREDEFINED: usize = 16;

/// The places.
static TABLE: [Predefined; MOST_PREDEFINED] = [const { Predefined::empty() }; MOST_PREDEFINED];

/// A place of the table: what a message without a tag to a process of MPI_COMM_WORLD needs. It changes only in the calls that duplicate a
/// communicator into it and that free it, which the program orders against all others that use it.
#[repr(C, align(64))]
pub struct Predefined {
    /// The links to all processes, in the order of their world ranks.
    links: AtomicPtr<Link>,
    /// The match word of messages without a tag.
    word: AtomicU64,
    /// World ranks that are reached without a lock; 0 of an empty place.
    ranks: AtomicU32,
    /// Those that programs reach by stages that are compiled into them ([`Self::open`]).
    open_ranks: AtomicU32,
    /// The communicator; null of an empty place.
    comm: AtomicPtr<Comm>,
}

// As mpi_rankpoint_inline.h has it; another layout needs another version there.
const _: () = {
    assert!(size_of::<Predefined>() == 64);
    assert!(std::mem::offset_of!(Predefined, links) == 0);
    assert!(std::mem::offset_of!(Predefined, word) == 8);
    assert!(std::mem::offset_of!(Predefined, open_ranks) == 20);
    assert!(cell::INJECT_IN_ORDER == 15);
};

impl Predefined {
    const fn empty() -> Self {
        Self {
            links: AtomicPtr::new(std::ptr::null_mut()),
            word: AtomicU64::new(0),
            ranks: AtomicU32::new(0),
            open_ranks: AtomicU32::new(0),
            comm: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The place with a number below [`MOST_PREDEFINED`]; of a larger one the remainder counts.
    // TIER: short
    #[inline(always)]
    pub fn at(number: usize) -> &'static Self {
        &TABLE[number % MOST_PREDEFINED]
    }

    /// All places, for programs that send by stages compiled into them (`mpi_rankpoint_inline.h`).
    pub fn all() -> &'static [Self] {
        &TABLE
    }

    /// Lets programs that have stages of sends compiled into them use the place: no send needs to be looked at more closely.
    pub fn open(&self) {
        self.open_ranks.store(self.ranks(), Ordering::Relaxed);
    }

    /// The communicator, if the place is filled.
    // TIER: short
    #[inline(always)]
    pub fn comm(&self) -> Option<&'static Comm> {
        // SAFETY: the place is emptied before its communicator is freed ([`Self::clear`]), which the program orders against its calls.
        unsafe { self.comm.load(Ordering::Relaxed).as_ref() }
    }

    /// World ranks that are reached without a lock.
    // account: proc-null
    // TIER: short
    #[inline(always)]
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks.load(Ordering::Relaxed)
    }

    /// The match word of messages without a tag.
    // account: match-bits
    // TIER: short
    #[inline(always)]
    pub(crate) fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// The link to a process.
    ///
    /// # Safety
    /// `world_rank` is below [`Self::ranks`].
    // account: rank-translation
    // TIER: short
    #[inline(always)]
    pub(crate) unsafe fn link(&self, world_rank: u32) -> NonNull<Link> {
        let first = self.links.load(Ordering::Relaxed);
        // SAFETY: there is a link for each process (caller, `fill`).
        unsafe { NonNull::new_unchecked(first.add(world_rank as usize)) }
    }

    /// Whether the place is filled.
    pub(crate) fn is_filled(&self) -> bool {
        self.comm().is_some()
    }

    /// Fills the place. The communicator stays alive until [`Self::clear`].
    pub(crate) fn fill(&self, comm: &Comm) {
        let links = comm.vci().first_link().as_ptr();
        self.links.store(links, Ordering::Relaxed);
        let word = in_order_key(comm.match_base()).word;
        self.word.store(word, Ordering::Relaxed);
        self.ranks
            .store(comm.route().unlocked_world, Ordering::Relaxed);
        let comm = std::ptr::from_ref(comm).cast_mut();
        self.comm.store(comm, Ordering::Relaxed);
    }

    /// Empties all places: their communicators may not be used any more.
    pub fn clear_all() {
        for predefined in &TABLE {
            predefined.empty_out();
        }
    }

    /// Empties the place, if this communicator fills it.
    pub fn clear(&self, comm: &Comm) {
        if self.comm().is_some_and(|own| std::ptr::eq(own, comm)) {
            self.empty_out();
        }
    }

    fn empty_out(&self) {
        self.ranks.store(0, Ordering::Relaxed);
        self.open_ranks.store(0, Ordering::Relaxed);
        self.comm.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}
