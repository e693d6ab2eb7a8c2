// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of the lock, checked in every interleaving of two or three threads.
//!
//! Mutations that they catch: `Relaxed` instead of `Acquire` in `try_lock` or of `Release` in `unlock` (a data race on the
//! protected cell); no fence in `release_word`, and no look at the lock before a sleep (a deadlock each).

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::VciLock;

struct Counter {
    lock: VciLock,
    value: UnsafeCell<u32>,
}

// SAFETY: the cell is touched under the lock only, which is what the model checks.
unsafe impl Sync for Counter {}
// SAFETY: a number.
unsafe impl Send for Counter {}

fn count_to_the_number_of(threads: u32) {
    let counter = Arc::new(Counter {
        lock: VciLock::new(),
        value: UnsafeCell::new(0),
    });
    let add = |counter: &Counter| {
        counter.lock.lock();
        // SAFETY: under the lock.
        counter.value.with_mut(|value| unsafe { *value += 1 });
        counter.lock.unlock();
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || add(&counter))
        })
        .collect();
    add(&counter);
    for other in others {
        other.join().unwrap();
    }
    counter.lock.lock();
    // SAFETY: under the lock.
    assert_eq!(counter.value.with(|value| unsafe { *value }), threads);
    counter.lock.unlock();
}

#[test]
fn model_two_threads_exclude_each_other() {
    loom::model(|| count_to_the_number_of(2));
}

#[test]
fn model_three_threads_lose_no_wake_up() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| count_to_the_number_of(3));
    // The shorter run without a bound, for the count of models.
    loom::model(|| count_to_the_number_of(1));
}
