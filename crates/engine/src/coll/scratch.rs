// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that collectives work in. Large blocks are kept for the next one: fresh pages cost more than what is done in them.

use std::mem;

use sys::sync::Mutex;

use crate::allocate;
use crate::errors::Result;

/// Smallest block that is worth keeping; smaller ones the allocator keeps itself.
const LEAST_KEPT_BYTES: usize = 64 << 10;
/// Most bytes that are kept.
const MOST_KEPT_BYTES: usize = 16 << 20;

static KEPT: Mutex<Vec<Vec<u128>>> = Mutex::new(Vec::new());

/// Bytes with any content, aligned as strictly as any type demands. They stay where they are while the room moves.
pub(super) struct Room {
    words: Vec<u128>,
    bytes: usize,
}

impl Room {
    /// Room for so many bytes.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(super) fn new(bytes: usize) -> Result<Self> {
        let count = bytes.div_ceil(size_of::<u128>());
        let words = if bytes >= LEAST_KEPT_BYTES {
            reuse(count)
        } else {
            None
        };
        let words = match words {
            Some(words) => words,
            None => allocate::zeroed_words(count)?,
        };
        Ok(Self { words, bytes })
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) const fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }
}

/// The smallest kept block that is large enough, and not twice as large.
fn reuse(count: usize) -> Option<Vec<u128>> {
    let mut kept = KEPT.lock().ok()?;
    let fitting = kept
        .iter()
        .enumerate()
        .filter(|(_, words)| (count..2 * count).contains(&words.len()));
    let (index, _) = fitting.min_by_key(|(_, words)| words.len())?;
    Some(kept.swap_remove(index))
}

impl Drop for Room {
    fn drop(&mut self) {
        let bytes = size_of_val(self.words.as_slice());
        if !(LEAST_KEPT_BYTES..=MOST_KEPT_BYTES).contains(&bytes) {
            return;
        }
        if let Ok(mut kept) = KEPT.lock() {
            kept.push(mem::take(&mut self.words));
            let mut total: usize = kept.iter().map(|words| size_of_val(words.as_slice())).sum();
            while total > MOST_KEPT_BYTES {
                // The oldest goes.
                total -= size_of_val(kept.remove(0).as_slice());
            }
        }
    }
}
