// SPDX-License-Identifier: MIT OR Apache-2.0
//! One claim word.

use sys::sync::{AtomicU64, Ordering};

/// The states of a word, in its low bits. Zeros are a word that was never offered.
mod state {
    pub(super) const GONE: u64 = 0;
    pub(super) const OFFERED: u64 = 1;
    pub(super) const CLAIMED: u64 = 2;
    pub(super) const BITS: u32 = 2;
}

/// The number of an offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfferNumber(pub u16);

impl OfferNumber {
    const fn with(self, state: u64) -> u64 {
        (self.0 as u64) << state::BITS | state
    }
}

/// One claim word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct ClaimWord(AtomicU64);

impl ClaimWord {
    /// Offers the memory behind the word, for the receiver; the last offer is gone.
    pub fn offer(&self) -> OfferNumber {
        // Relaxed: a word that is gone changes by its receiver only.
        let word = self.0.load(Ordering::Relaxed);
        let number = OfferNumber(((word >> state::BITS) as u16).wrapping_add(1));
        // PAIRS: claim.offered. What the receiver did with the memory is over before a sender writes it.
        self.0.store(number.with(state::OFFERED), Ordering::Release);
        number
    }

    /// Claims an offer, for the sender; false when it is gone.
    #[must_use]
    pub fn claim(&self, number: OfferNumber) -> bool {
        let (offered, claimed) = (number.with(state::OFFERED), number.with(state::CLAIMED));
        // PAIRS: claim.offered
        self.0
            .compare_exchange(offered, claimed, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes an offer back, for the receiver; false when the sender has claimed it.
    #[must_use]
    pub fn withdraw(&self, number: OfferNumber) -> bool {
        let (offered, gone) = (number.with(state::OFFERED), number.with(state::GONE));
        // Relaxed: a sender that fails to claim reads and writes nothing.
        self.0
            .compare_exchange(offered, gone, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends a claimed offer, for the receiver, when the sender has said that the data have landed; false when it was not claimed.
    #[must_use]
    pub fn end(&self, number: OfferNumber) -> bool {
        if self.0.load(Ordering::Relaxed) != number.with(state::CLAIMED) {
            return false;
        }
        // Relaxed: the message that says so came through a ring.
        self.0.store(number.with(state::GONE), Ordering::Relaxed);
        true
    }

    /// Whether an offer can still be claimed, for all that is known.
    pub fn is_offered(&self, number: OfferNumber) -> bool {
        self.0.load(Ordering::Relaxed) == number.with(state::OFFERED)
    }

    /// Whether the sender has claimed an offer.
    pub fn is_claimed(&self, number: OfferNumber) -> bool {
        self.0.load(Ordering::Relaxed) == number.with(state::CLAIMED)
    }
}
