// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of a claim word: one side at most touches the memory of a receive, and what landed is whole.
//!
//! Mutations that they catch: a load and a store instead of the compare-and-swap in `claim` or in `withdraw` (two writers), `Relaxed` in
//! `offer` or in `claim` (a data race with what the receiver did before), a number that does not change (a sender claims the offer
//! of a later receive by what it knows of an earlier one).

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;
use sys::sync::{AtomicU32, Ordering};

use super::{ClaimWord, OfferNumber};

/// A claim word, the memory behind it, and the ring's cell that says LANDED.
#[derive(Default)]
struct Shared {
    word: ClaimWord,
    memory: UnsafeCell<[u64; 2]>,
    /// Landed messages, in order; the release store of a ring's cell.
    landed: AtomicU32,
    /// 1 + the number of the offer that the last OFFER cell tells of.
    told: AtomicU32,
}

// SAFETY: the memory is touched by the side that may, which is what the models check.
unsafe impl Sync for Shared {}
// SAFETY: numbers.
unsafe impl Send for Shared {}

impl Shared {
    fn write(&self, value: u64) {
        // SAFETY: the caller has claimed the word, or has it back.
        self.memory
            .with_mut(|memory| unsafe { *memory = [value; 2] });
    }

    fn read(&self) -> [u64; 2] {
        // SAFETY: as above.
        self.memory.with(|memory| unsafe { *memory })
    }

    fn tell(&self, number: OfferNumber) {
        // PAIRS: claim.model_told. An OFFER cell.
        self.told.store(1 + u32::from(number.0), Ordering::Release);
    }

    /// The sender: claims what the last OFFER cell tells of, and writes.
    fn send(&self, value: u64) -> bool {
        // PAIRS: claim.model_told
        let told = self.told.load(Ordering::Acquire);
        let Some(number) = told.checked_sub(1) else {
            return false;
        };
        let claimed = self.word.claim(OfferNumber(number as u16));
        if claimed {
            self.write(value);
            // PAIRS: claim.model_landed. A LANDED cell.
            self.landed.fetch_add(1, Ordering::Release);
        }
        claimed
    }

    fn await_landing(&self, number: OfferNumber, value: u64, count: u32) {
        // PAIRS: claim.model_landed
        while self.landed.load(Ordering::Acquire) != count {
            thread::yield_now();
        }
        assert_eq!(self.read(), [value; 2]);
        assert!(self.word.end(number));
    }
}

#[test]
fn model_cancel_against_claim() {
    loom::model(|| {
        let shared = Arc::new(Shared::default());
        shared.write(1);
        shared.tell(shared.word.offer());
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || shared.send(7))
        };
        let number = OfferNumber(1);
        let withdrawn = shared.word.withdraw(number);
        if withdrawn {
            // The program uses the buffer of the cancelled receive.
            shared.write(2);
            assert_eq!(shared.read(), [2; 2]);
        } else {
            shared.await_landing(number, 7, 1);
        }
        assert_eq!(sender.join().unwrap(), !withdrawn);
    });
}

#[test]
fn model_eager_match_against_claim_and_reuse() {
    loom::model(|| {
        let shared = Arc::new(Shared::default());
        shared.tell(shared.word.offer());
        let sender = {
            let shared = shared.clone();
            thread::spawn(move || u32::from(shared.send(7)) + u32::from(shared.send(8)))
        };
        // An eager message takes the first receive if it can; then the word serves another receive.
        let first = OfferNumber(1);
        let mut landed = 0;
        if shared.word.withdraw(first) {
            shared.write(3);
            assert_eq!(shared.read(), [3; 2]);
        } else {
            landed = 1;
            // PAIRS: claim.model_landed
            while shared.landed.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            assert!(shared.word.end(first));
        }
        let second = shared.word.offer();
        assert_ne!(first, second);
        shared.tell(second);
        let claimed = sender.join().unwrap();
        assert!(claimed == landed || claimed == landed + 1);
        assert_eq!(shared.word.is_claimed(second), claimed == landed + 1);
        assert_eq!(shared.word.withdraw(second), claimed == landed);
    });
}
