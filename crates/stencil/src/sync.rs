// SPDX-License-Identifier: MIT OR Apache-2.0
//! When ranks of a node may read each other's boxes.
//!
//! A rank that starts exchange `n` stores `n` as `posted` in its area: its box is what neighbours shall read. A neighbour waits for that,
//! reads, and stores `n` as `done` in its own area when it has read all its neighbours. Arrays are used in turn, so a box that was read in
//! exchange `n` is written again in the step after exchange `n + 1`, which starts only when all neighbours have done `n`. A rank that drops
//! its domain stores [`LEFT`] in both words: it reads no more, and nobody may read it.
#![expect(unsafe_code, reason = "words in memory that other ranks map")]
#![expect(
    clippy::disallowed_types,
    reason = "the words are atomics of the standard library, as those of the Rust API"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::network::Network;

/// Tries before messages are looked for.
const SPINS: u32 = 200;

/// In place of the number of an exchange: the domain is dropped.
const LEFT: u64 = u64::MAX;

/// The words at the start of an area.
#[derive(Clone, Copy)]
pub(crate) struct Words(*mut u8);

/// Bytes from one word to the other: they lie in lines of their own.
const APART: usize = 128;

impl Words {
    /// Of an area.
    ///
    /// # Safety
    /// The area stays mapped as long as the value is used.
    pub(crate) const unsafe fn of(area: *mut u8) -> Self {
        Self(area)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the header of an area is aligned, has both words, and only this file uses it, by atomics (`of`).
        unsafe { AtomicU64::from_ptr(self.0.add(index * APART).cast()) }
    }

    /// The own box can be read.
    pub(crate) fn post(&self, exchange: u64) {
        // PAIRS: stencil.word
        // Release: the box is written before.
        self.word(0).store(exchange, Ordering::Release);
    }

    /// The neighbours' boxes have been read, or will not be.
    pub(crate) fn finish(&self, exchange: u64) {
        // PAIRS: stencil.word
        // Release: boxes are read before.
        self.word(1).store(exchange, Ordering::Release);
    }

    /// This rank reads no neighbour any more.
    pub(crate) fn stop_reading(&self) {
        self.finish(LEFT);
    }

    /// The own box will not be read any more.
    pub(crate) fn leave(&self) {
        self.post(LEFT);
    }

    /// Waits until the rank with this area has posted an exchange.
    ///
    /// # Errors
    /// When it has left, or some rank has died.
    pub(crate) fn wait_posted(
        &self,
        exchange: u64,
        rank: usize,
        network: &dyn Network<'_>,
    ) -> Result<()> {
        match self.wait(0, exchange, network)? {
            LEFT => Err(Error::Left(rank)),
            _ => Ok(()),
        }
    }

    /// Waits until the rank with this area has read its neighbours in an exchange.
    ///
    /// # Errors
    /// When some rank has died.
    pub(crate) fn wait_done(&self, exchange: u64, network: &dyn Network<'_>) -> Result<()> {
        self.wait(1, exchange, network).map(|_| ())
    }

    /// The number that the word has then.
    fn wait(&self, index: usize, exchange: u64, network: &dyn Network<'_>) -> Result<u64> {
        let mut tries = 0;
        loop {
            // PAIRS: stencil.word
            // Acquire: boxes are read, or written, after that.
            let number = self.word(index).load(Ordering::Acquire);
            if number >= exchange {
                return Ok(number);
            }
            tries += 1;
            if tries < SPINS {
                std::hint::spin_loop();
            } else {
                network.progress()?;
                std::thread::yield_now();
            }
        }
    }
}
