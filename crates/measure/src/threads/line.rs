// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that two threads write and read, each in a line of its own.

use crate::sync::{AtomicU64, Ordering};

/// The number that ends an echo.
const END: u64 = u64::MAX;

/// A word, two cache lines from the next, because processors fetch lines in pairs. All zeros is a line that nobody has written.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct CacheLine(AtomicU64);

/// The other end has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stop;

impl CacheLine {
    /// Writes a number after everything that the thread has written before.
    #[inline]
    pub fn publish(&self, number: u64) {
        // PAIRS: cache_line.number
        self.0.store(number, Ordering::Release);
    }

    /// The word itself, for operations of other kinds.
    #[inline]
    pub const fn word(&self) -> &AtomicU64 {
        &self.0
    }

    /// Tells the other end that no more numbers come.
    pub fn end(&self) {
        self.publish(END);
    }

    /// The number that was written last.
    #[inline]
    pub fn number(&self) -> u64 {
        // PAIRS: cache_line.number
        self.0.load(Ordering::Acquire)
    }

    /// Whether the other end has ended.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.number() == END
    }

    /// Waits for another number than the last one.
    #[inline]
    pub fn next(&self, last: u64) -> Result<u64, Stop> {
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

    /// Waits for this very number, or the end.
    #[inline]
    pub fn wait_for(&self, number: u64) {
        loop {
            let found = self.number();
            if found == number || found == END {
                return;
            }
            std::hint::spin_loop();
        }
    }
}
