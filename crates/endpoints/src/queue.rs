// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands of an endpoint: one producer, one consumer.
//!
//! The producer is the thread of the program that holds the endpoint's lock, the consumer is the proxy. The producer alone writes `tail`
//! and the entries from `tail` to `head + LENGTH`; the consumer alone writes `head`. Both count without end and wrap around at 2^32, which
//! LENGTH divides. Invariant: `tail - head` commands, at most LENGTH, are published and not taken. A process that ends between two steps
//! leaves a queue without the command that it was about to publish, or with the one that it was about to take. Commands are relaxed words,
//! so a reader of a corrupted index gets a wrong command, which the proxy validates.
//!
//! A consumer that sleeps says so in `sleeping`, which the producer reads after each command.
//!
//! Memory of zeros is an empty queue.

use std::time::Duration;

use sys::futex;
use sys::sync::{AtomicU32, AtomicU64, Ordering, fence};

use crate::command::{Command, WORDS};

/// Commands.
#[cfg(not(loom))]
pub const LENGTH: u32 = 256;
/// Commands of the model.
#[cfg(loom)]
pub const LENGTH: u32 = 1;

const _: () = assert!(LENGTH.is_power_of_two());

/// A cache line, or two: processors fetch pairs.
#[repr(C, align(128))]
struct Lines<T>(T);

#[repr(C, align(64))]
struct Entry([AtomicU64; WORDS]);

/// A queue of commands.
#[repr(C)]
pub struct Queue {
    /// Commands published so far. Written by the producer.
    tail: Lines<AtomicU32>,
    /// Commands taken so far. Written by the consumer.
    head: Lines<AtomicU32>,
    /// 1 while the consumer sleeps, or is about to.
    sleeping: Lines<AtomicU32>,
    entries: [Entry; LENGTH as usize],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Queue>() == 3 * 128 + 64 * LENGTH as usize);

impl Queue {
    /// An empty queue.
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> Self {
        Self {
            tail: Lines(AtomicU32::new(0)),
            head: Lines(AtomicU32::new(0)),
            sleeping: Lines(AtomicU32::new(0)),
            entries: std::array::from_fn(|_| Entry(std::array::from_fn(|_| AtomicU64::new(0)))),
        }
    }

    fn entry(&self, index: u32) -> &Entry {
        &self.entries[(index % LENGTH) as usize]
    }

    /// Publishes a command; `false` where the queue is full. Only the producer calls this.
    #[must_use]
    pub fn push(&self, command: &Command) -> bool {
        // Sole writer.
        let tail = self.tail.0.load(Ordering::Relaxed);
        // PAIRS: queue.taken
        let head = self.head.0.load(Ordering::Acquire);
        if tail.wrapping_sub(head) >= LENGTH {
            return false;
        }
        let entry = self.entry(tail);
        for (word, value) in entry.0.iter().zip(command.words()) {
            word.store(value, Ordering::Relaxed);
        }
        // PAIRS: queue.published
        self.tail.0.store(tail.wrapping_add(1), Ordering::Release);
        self.wake();
        true
    }

    /// Wakes a consumer that sleeps, so that it looks at everything again.
    pub fn wake(&self) {
        // SeqCst: without it this load may come before the store of what the consumer is to see, while the consumer, which stores
        // `sleeping` and then looks, sees nothing either: a lost wake-up.
        // PAIRS: queue.sleeping
        fence(Ordering::SeqCst);
        if self.sleeping.0.load(Ordering::Relaxed) == 1 {
            self.sleeping.0.store(0, Ordering::Relaxed);
            futex::wake_all(&self.sleeping.0);
        }
    }

    /// Takes the oldest command. Only the consumer calls this.
    pub fn pop(&self) -> Option<Command> {
        // Sole writer.
        let head = self.head.0.load(Ordering::Relaxed);
        // PAIRS: queue.published
        if self.tail.0.load(Ordering::Acquire) == head {
            return None;
        }
        let entry = self.entry(head);
        let words = std::array::from_fn(|at| entry.0[at].load(Ordering::Relaxed));
        // PAIRS: queue.taken
        self.head.0.store(head.wrapping_add(1), Ordering::Release);
        Some(Command::of(words))
    }

    /// Whether there is no command.
    pub fn is_empty(&self) -> bool {
        self.tail.0.load(Ordering::Relaxed) == self.head.0.load(Ordering::Relaxed)
    }

    /// Sleeps until a command is published or [`Self::wake`] is called, at most `timeout`; not at all where `is_due`. Only the consumer calls this.
    pub fn sleep(&self, timeout: Duration, is_due: impl Fn() -> bool) {
        self.sleeping.0.store(1, Ordering::Relaxed);
        // SeqCst: as in `wake`.
        // PAIRS: queue.sleeping
        fence(Ordering::SeqCst);
        if self.is_empty() && !is_due() {
            futex::wait(&self.sleeping.0, 1, timeout);
        }
        self.sleeping.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_takes_nothing_and_keeps_the_order() {
        let queue = Queue::new();
        let command = |count| Command {
            count,
            ..Command::default()
        };
        for round in 0..3 {
            for count in 0..u64::from(LENGTH) {
                assert!(queue.push(&command(count + round)));
            }
            assert!(!queue.push(&command(0)));
            for count in 0..u64::from(LENGTH) {
                assert_eq!(queue.pop(), Some(command(count + round)));
            }
            assert_eq!(queue.pop(), None);
        }
    }
}
