// SPDX-License-Identifier: MIT OR Apache-2.0
//! A request that its target executes if it polls soon, and that its origin takes back and executes itself otherwise: exactly once.
//!
//! One word holds a number and a state. Origins take a *free* cell by compare-and-swap, fill it and *post* it. The target *claims* a
//! posted one, and the origin *takes it back*; both by compare-and-swap from the same value, so one of them succeeds. Who succeeds
//! executes. A target that has executed a put leaves the cell free with the next number, which tells its origin; after a get it is
//! *answered*, and its origin frees it when it has the data.
//!
//! Writers: the fields of the request and its data by the origin from *taken* to *posted* and from *answered* to *free*, by the target
//! while *claimed*. The number counts the times that the cell was taken, and does not repeat. A process that dies with a cell leaves it
//! to nobody: origins find it taken and do without, a posted one is taken back, and for a claimed one the origin waits until the job ends.

use sys::sync::{AtomicU64, Ordering};

/// A cell; zeros are a free one.
#[repr(C, align(64))]
#[derive(Default)]
pub struct RequestCell {
    word: AtomicU64,
    /// What is asked, as the users of the cell define it: [`RequestCell::fill`].
    asked: [AtomicU64; 2],
    _unused: u64,
    /// Short data.
    data: [AtomicU64; Self::INLINE_WORDS],
}

/// The states of a cell, in the low bits of its word.
mod state {
    pub(super) const FREE: u64 = 0;
    pub(super) const TAKEN: u64 = 1;
    pub(super) const POSTED: u64 = 2;
    pub(super) const CLAIMED: u64 = 3;
    pub(super) const ANSWERED: u64 = 4;
    pub(super) const BITS: u32 = 3;
    pub(super) const MASK: u64 = (1 << BITS) - 1;
}

/// The number of a cell that this origin has taken, or that this target has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Taken(u64);

impl Taken {
    const fn with(self, state: u64) -> u64 {
        self.0 << state::BITS | state
    }

    /// The value with which the next origin finds the cell.
    const fn freed(self) -> u64 {
        (self.0 + 1) << state::BITS | state::FREE
    }
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It waits, or the target executes it.
    Pending,
    /// The target executed it and keeps nothing.
    Done,
    /// The target executed it, and the answer is in the cell.
    Answered,
}

impl RequestCell {
    /// Words of data that lie beside the request.
    pub const INLINE_WORDS: usize = 4;
    /// The same in bytes.
    pub const INLINE_BYTES: usize = 8 * Self::INLINE_WORDS;

    /// Stores short data of so many bytes in a cell that the caller holds.
    #[inline(always)]
    pub fn store_data(&self, words: [u64; Self::INLINE_WORDS], bytes: usize) {
        for (slot, word) in self.data.iter().zip(words).take(bytes.div_ceil(8)) {
            slot.store(word, Ordering::Relaxed);
        }
    }

    /// Short data of so many bytes of a cell that the caller holds.
    #[inline(always)]
    pub fn load_data(&self, bytes: usize) -> [u64; Self::INLINE_WORDS] {
        let mut words = [0; Self::INLINE_WORDS];
        for (word, slot) in words.iter_mut().zip(&self.data).take(bytes.div_ceil(8)) {
            *word = slot.load(Ordering::Relaxed);
        }
        words
    }

    /// Takes the cell, if it is free.
    #[inline]
    pub fn take(&self) -> Option<Taken> {
        let word = self.word.load(Ordering::Relaxed);
        if word & state::MASK != state::FREE {
            return None;
        }
        let taken = Taken(word >> state::BITS);
        // PAIRS: request.freed. The last user has done with the data.
        self.word
            .compare_exchange(
                word,
                taken.with(state::TAKEN),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .is_ok()
            .then_some(taken)
    }

    /// Fills a taken cell.
    #[inline]
    pub fn fill(&self, asked: [u64; 2]) {
        for (word, value) in self.asked.iter().zip(asked) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// What the cell asks.
    #[inline]
    pub fn asked(&self) -> [u64; 2] {
        let [first, second] = &self.asked;
        [
            first.load(Ordering::Relaxed),
            second.load(Ordering::Relaxed),
        ]
    }

    /// Posts a filled cell.
    #[inline]
    pub fn post(&self, taken: Taken) {
        // PAIRS: request.posted. The target sees the request and its data.
        self.word
            .store(taken.with(state::POSTED), Ordering::Release);
    }

    /// What has become of a posted request.
    #[inline(always)]
    pub fn outcome(&self, taken: Taken) -> Outcome {
        // PAIRS: request.freed. What the target did is visible.
        let word = self.word.load(Ordering::Acquire);
        if word == taken.with(state::ANSWERED) {
            Outcome::Answered
        } else if word >> state::BITS != taken.0 {
            Outcome::Done
        } else {
            Outcome::Pending
        }
    }

    /// Takes a posted request back; false if the target has claimed it. Then the cell is taken, until it is freed.
    #[inline]
    pub fn take_back(&self, taken: Taken) -> bool {
        let (posted, own) = (taken.with(state::POSTED), taken.with(state::TAKEN));
        self.word
            .compare_exchange(posted, own, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Leaves a taken or answered cell to others.
    #[inline]
    pub fn free(&self, taken: Taken) {
        // PAIRS: request.freed
        self.word.store(taken.freed(), Ordering::Release);
    }

    /// Claims a posted request, for the target; it ends with [`Self::free`] or [`Self::answer`].
    #[inline(always)]
    pub fn claim(&self) -> Option<Taken> {
        let word = self.word.load(Ordering::Relaxed);
        if word & state::MASK != state::POSTED {
            return None;
        }
        let taken = Taken(word >> state::BITS);
        // PAIRS: request.posted
        self.word
            .compare_exchange(
                word,
                taken.with(state::CLAIMED),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .is_ok()
            .then_some(taken)
    }

    /// The answer to a claimed request is in the cell.
    #[inline]
    pub fn answer(&self, taken: Taken) {
        // PAIRS: request.freed
        self.word
            .store(taken.with(state::ANSWERED), Ordering::Release);
    }
}
