// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models of a window's lock with sleeping members, checked in every interleaving of two or three of them.
//!
//! A member that waits announces itself on a word of its own and sleeps there, as on the doorbell that the window's board names; who
//! enters or leaves wakes the owner of the next ticket.
//!
//! Mutations that they catch: `leaving` counted before `entering` is stored in `leave`, `Relaxed` instead of `SeqCst` in `may_enter` (a
//! data race on the protected cell), no ticket from `leave` (a deadlock). No ticket from `enter` of a shared holder only keeps shared
//! holders apart, which no model notices.

use std::sync::Arc;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::thread;
use sys::futex;
use sys::sync::{AtomicU32, Ordering, fence};

use super::{Hold, Next, WindowLock};

/// A target, and the words on which the members that want its lock sleep.
struct Target {
    lock: WindowLock,
    /// 1 + the member that has a ticket, by the ticket modulo the number of members.
    queue: Vec<AtomicU32>,
    asleep: Vec<AtomicU32>,
    value: UnsafeCell<u32>,
}

// SAFETY: the cell is touched under the lock only, which is what the model checks.
unsafe impl Sync for Target {}
// SAFETY: a number.
unsafe impl Send for Target {}

impl Target {
    fn new(members: usize) -> Self {
        let words = || (0..members).map(|_| AtomicU32::new(0)).collect();
        Self {
            lock: WindowLock::default(),
            queue: words(),
            asleep: words(),
            value: UnsafeCell::new(0),
        }
    }

    fn with_lock(&self, member: u32, hold: Hold, action: impl FnOnce(&UnsafeCell<u32>)) {
        let ticket = self.lock.try_enter(hold).unwrap_or_else(|| {
            let ticket = self.lock.draw();
            // PAIRS: model.bell
            self.queue[ticket as usize % self.queue.len()].store(member + 1, Ordering::SeqCst);
            self.sleep_until_next(member, ticket, hold);
            ticket
        });
        self.wake(self.lock.enter(ticket, hold));
        action(&self.value);
        self.wake(self.lock.leave(ticket, hold));
    }

    fn sleep_until_next(&self, member: u32, ticket: u32, hold: Hold) {
        let asleep = &self.asleep[member as usize];
        while !self.lock.may_enter(ticket, hold) {
            asleep.store(1, Ordering::Relaxed);
            // PAIRS: model.bell
            fence(Ordering::SeqCst);
            if !self.lock.may_enter(ticket, hold) {
                futex::wait(asleep, 1, Duration::from_secs(1));
            }
            asleep.store(0, Ordering::Relaxed);
        }
    }

    fn wake(&self, next: Next) {
        let Next(Some(ticket)) = next else {
            return;
        };
        // PAIRS: model.bell
        fence(Ordering::SeqCst);
        let owner = self.queue[ticket as usize % self.queue.len()].load(Ordering::SeqCst);
        if let Some(member) = owner.checked_sub(1) {
            let asleep = &self.asleep[member as usize];
            if asleep.swap(0, Ordering::Relaxed) == 1 {
                futex::wake_all(asleep);
            }
        }
    }

    fn add(&self, member: u32) {
        // SAFETY: under the lock.
        let add = |value: *mut u32| unsafe { *value += 1 };
        self.with_lock(member, Hold::Exclusive, |cell| cell.with_mut(add));
    }

    fn read(&self, member: u32) -> u32 {
        let mut found = 0;
        // SAFETY: under the lock.
        let read = |value: *const u32| unsafe { *value };
        self.with_lock(member, Hold::Shared, |cell| found = cell.with(read));
        found
    }
}

fn two_add_to_a_number() {
    let target = Arc::new(Target::new(2));
    let other = {
        let target = target.clone();
        thread::spawn(move || target.add(1))
    };
    target.add(0);
    other.join().unwrap();
    assert_eq!(target.read(0), 2);
}

fn two_read_what_one_adds() {
    let target = Arc::new(Target::new(3));
    let readers: Vec<_> = (1..3)
        .map(|member| {
            let target = target.clone();
            thread::spawn(move || assert!(target.read(member) <= 1))
        })
        .collect();
    target.add(0);
    for reader in readers {
        reader.join().unwrap();
    }
    assert_eq!(target.read(0), 1);
}

#[test]
fn model_exclusive_holders_follow_each_other() {
    loom::model(two_add_to_a_number);
}

#[test]
fn model_shared_holders_see_what_an_exclusive_one_wrote() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(two_read_what_one_adds);
}
