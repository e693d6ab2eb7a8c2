// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that two threads write and read, each in a line of its own.

use crate::sync::{AtomicU64, Ordering};

/// The number that ends an echo.
const END: u64 = u64::MAX;

/// Polls of a line after which a wait asks whether the other end has ended.
const POLLS: u32 = 1000;

/// A word, two cache lines from the next, because processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct CacheLine(pub(crate) AtomicU64);

/// The other end has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stop;

impl CacheLine {
    /// Writes a number after everything that the thread has written before.
    #[inline]
    pub(crate) fn publish(&self, number: u64) {
        // PAIRS: scope_line.number
        self.0.store(number, Ordering::Release);
    }

    /// Tells the other end that no more numbers come.
    pub(crate) fn end(&self) {
        self.publish(END);
    }

    /// The number that was written last.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        // PAIRS: scope_line.number
        self.0.load(Ordering::Acquire)
    }

    /// Whether the other end has ended.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.number() == END
    }

    /// Waits for another number than the last one.
    #[inline]
    pub(crate) fn next(&self, last: u64) -> Result<u64, Stop> {
        loop {
            let number = self.number();
            if number == END {
                return Err(Stop);
            }
            if number != last {
                return Ok(number);
            }
            std::hint::spin_loop();
        }
    }

    /// Waits for this very number, until another line has ended.
    #[inline]
    pub(crate) fn wait_until_ended(&self, number: u64, end: &Self) -> Result<(), Stop> {
        loop {
            for _ in 0..POLLS {
                if self.number() == number {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            if end.has_ended() {
                return Err(Stop);
            }
        }
    }

    /// Waits for this very number, or the end.
    #[inline]
    pub(crate) fn wait_for(&self, number: u64) {
        loop {
            let found = self.number();
            if found == number || found == END {
                return;
            }
            std::hint::spin_loop();
        }
    }
}
