// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of the gate of accumulates: no update is lost between threads that add by atomic instructions and one that leaves that stage.
//!
//! Mutations that they catch: no fence in `is_open` or in `leave_words`, and `KERNELS` whatever the announcements say (an update is
//! lost); `Relaxed` in `withdraw` or `is_quiet` (the plain addition reads an old value).

use std::sync::Arc;

use loom::thread;
use sys::sync::{AtomicU32, Ordering, fence};

use super::{AccumulateGate, Announcement, Manner};

struct Target {
    gate: AccumulateGate,
    announced: Vec<Announcement>,
    sum: AtomicU32,
}

impl Target {
    fn new(origins: usize) -> Self {
        Self {
            gate: AccumulateGate::default(),
            announced: (0..origins).map(|_| Announcement::default()).collect(),
            sum: AtomicU32::new(0),
        }
    }

    /// As the holder of the lock adds.
    fn add_in(&self, manner: Manner) {
        match manner {
            Manner::Words => drop(self.sum.fetch_add(1, Ordering::Relaxed)),
            Manner::Kernels => {
                let seen = self.sum.load(Ordering::Relaxed);
                self.sum.store(seen + 1, Ordering::Relaxed);
            }
        }
    }

    fn add_locked(&self) {
        let manner = self.gate.lock();
        self.add_in(manner);
        self.gate.unlock();
    }

    fn add(&self, origin: usize) {
        let own = &self.announced[origin];
        own.announce();
        if self.gate.is_open() {
            self.sum.fetch_add(1, Ordering::Relaxed);
            own.withdraw();
        } else {
            own.withdraw();
            self.add_locked();
        }
    }

    fn add_long(&self) {
        let mut manner = self.gate.lock();
        if manner == Manner::Words {
            let pass = || {
                // PAIRS: gate.stage
                fence(Ordering::SeqCst);
                true
            };
            manner = self
                .gate
                .leave_words(pass, || self.announced.iter().all(Announcement::is_quiet));
        }
        self.add_in(manner);
        self.gate.unlock();
    }
}

fn sums(origins: usize, adds: usize) {
    let target = Arc::new(Target::new(origins));
    let others: Vec<_> = (0..origins)
        .map(|origin| {
            let target = target.clone();
            thread::spawn(move || (0..adds).for_each(|_| target.add(origin)))
        })
        .collect();
    target.add_long();
    target.add_long();
    for other in others {
        other.join().unwrap();
    }
    let sum = target.sum.load(Ordering::Relaxed);
    assert_eq!(sum as usize, 2 + origins * adds);
}

#[test]
fn model_no_single_update_is_lost_to_a_long_one() {
    let mut builder = loom::model::Builder::new();
    if std::env::var("RANKPOINT_TEST_SCOPE").as_deref() != Ok("thorough") {
        // All orders take a minute.
        builder.preemption_bound = Some(3);
    }
    builder.check(|| sums(1, 2));
}

#[test]
fn model_two_single_origins_lose_nothing() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| sums(2, 1));
    // The shorter run without a bound, for the count of models.
    loom::model(|| sums(1, 1));
}
