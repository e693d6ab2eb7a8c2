// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model of the doorbell with fencing senders. The other kind, in which the sleeper makes all threads pass a barrier, rests on
//! what the kernel promises of membarrier: that barrier stands for the sender's fence, at whatever place it is needed.
//!
//! Mutations that it catches: no fence in `ring` or `any_asleep`, no fence in `announce`, a sender that does not ring the doorbell of the
//! thread that covers a VCI (all lose a wake-up, which is a deadlock here).

use std::sync::Arc;
use std::time::Duration;

use loom::thread;

use super::{Sleeper, any_asleep, covering, ring};
use sys::sync::{AtomicU32, Ordering};

/// A rank that sleeps, and what it waits for.
struct Rank {
    asleep: AtomicU32,
    sender_fences: AtomicU32,
    sleepers: AtomicU32,
    messages: AtomicU32,
}

impl Rank {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            asleep: AtomicU32::new(0),
            sender_fences: AtomicU32::new(1),
            sleepers: AtomicU32::new(0),
            messages: AtomicU32::new(0),
        })
    }

    fn send(&self) {
        // PAIRS: model.messages
        self.messages.fetch_add(1, Ordering::Release);
        ring(&self.asleep, true);
    }

    /// As one that has many to wake.
    fn send_to_all(&self) {
        // PAIRS: model.messages
        self.messages.fetch_add(1, Ordering::Release);
        if any_asleep(&self.sleepers, true) {
            ring(&self.asleep, true);
        }
    }

    /// As one that sends to a VCI whose doorbell is `other`.
    fn send_to(&self, other: &AtomicU32) {
        // PAIRS: model.messages
        self.messages.fetch_add(1, Ordering::Release);
        if covering(ring(other, true)).is_some() {
            ring(&self.asleep, false);
        }
    }

    fn wait_for(&self, messages: u32) {
        let sleeper = Sleeper {
            asleep: &self.asleep,
            sender_fences: &self.sender_fences,
            sleepers: &self.sleepers,
        };
        // PAIRS: model.messages
        while self.messages.load(Ordering::Acquire) != messages {
            sleeper.announce();
            // PAIRS: model.messages
            if self.messages.load(Ordering::Acquire) == messages {
                sleeper.cancel();
                return;
            }
            sleeper.sleep(Duration::MAX);
        }
    }
}

#[test]
fn model_a_sleeper_is_woken_by_a_message() {
    loom::model(|| {
        let rank = Rank::new();
        let sender = {
            let rank = rank.clone();
            thread::spawn(move || rank.send())
        };
        rank.wait_for(1);
        sender.join().unwrap();
    });
}

#[test]
fn model_a_sleeper_is_woken_by_a_sender_that_checks_whether_any_rank_sleeps() {
    loom::model(|| {
        let rank = Rank::new();
        let sender = {
            let rank = rank.clone();
            thread::spawn(move || rank.send_to_all())
        };
        rank.wait_for(1);
        sender.join().unwrap();
    });
}

#[test]
fn model_a_sleeper_is_woken_by_a_message_for_a_vci_that_it_covers() {
    loom::model(|| {
        let (rank, other) = (Rank::new(), Arc::new(AtomicU32::new(0)));
        let sender = {
            let (rank, other) = (rank.clone(), other.clone());
            thread::spawn(move || rank.send_to(&other))
        };
        let is_covered = Sleeper::cover(&other, 0);
        rank.wait_for(1);
        if is_covered {
            Sleeper::uncover(&other, 0);
        }
        sender.join().unwrap();
        assert_eq!(other.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn model_two_senders_wake_one_sleeper() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let rank = Rank::new();
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let rank = rank.clone();
                thread::spawn(move || rank.send())
            })
            .collect();
        rank.wait_for(2);
        for sender in senders {
            sender.join().unwrap();
        }
    });
}
