// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word of shared memory on which a wait depends.

use std::ptr::NonNull;

use fabric::board::kind;
use sys::sync::{AtomicU64, Ordering};

use super::state::Awaited;

use crate::identity::LinkIndex;

/// A word of shared memory, and its value when a wait for its change began.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    word: NonNull<AtomicU64>,
    seen: u64,
    /// The peer that is to change it.
    peer: LinkIndex,
    /// Match word of the operation that waits.
    match_word: u64,
}

// SAFETY: the word is atomic, and mapped as long as the process lives (Watch::new).
unsafe impl Send for Watch {}

impl Watch {
    /// Waits for a word to change from what it held when the waiter last looked whether it had to wait.
    ///
    /// # Safety
    /// The word stays mapped.
    pub(crate) const unsafe fn new(
        word: *const AtomicU64,
        seen: u64,
        peer: LinkIndex,
        match_word: u64,
    ) -> Self {
        // SAFETY: a reference's address, or that of a mapped word (caller).
        let word = unsafe { NonNull::new_unchecked(word.cast_mut()) };
        Self {
            word,
            seen,
            peer,
            match_word,
        }
    }

    /// The peer that is to change the word.
    pub(crate) const fn peer(&self) -> LinkIndex {
        self.peer
    }

    /// The same for the hang report.
    pub(crate) const fn awaited(&self) -> Awaited {
        Awaited {
            kind: kind::ROUND,
            peer: self.peer,
            match_word: self.match_word,
        }
    }

    /// Whether the word has changed.
    #[inline(always)]
    pub(crate) fn has_changed(&self) -> bool {
        // SAFETY: mapped (Watch::new).
        unsafe { self.word.as_ref() }.load(Ordering::Relaxed) != self.seen
    }
}
