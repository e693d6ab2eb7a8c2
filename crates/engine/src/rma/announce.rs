// SPDX-License-Identifier: MIT OR Apache-2.0
//! Announcing that a thread combines by atomic instructions ([`fabric::lock::AccumulateGate`]).

use std::hint::cold_path;

use fabric::lock::{AccumulateGate, Announcement, Manner};
use fabric::window::{ANNOUNCEMENTS, WindowView};
use sys::barrier;
use sys::sync::{AtomicU8, Ordering};

use super::window::Window;
use crate::comm::Process;

/// How the threads of a member announce themselves.
pub(super) struct Announcer {
    /// The member's board; `None` where members share no memory, and nobody combines into memory of others.
    own: Option<WindowView>,
    /// Whether several threads may do so at the same time.
    is_threaded: bool,
    /// Elements of long accumulates that this member combines by atomic instructions into a target before it moves the gate on; `None`
    /// where the kernel has no barrier for all ranks.
    pub(super) most_words: Option<u32>,
}

/// The same without a hint: what moving on costs, some microseconds.
const MOST_WORDS: u32 = 2048;

/// Threads with a word of their own, one bit each. The last word of a board is that of the others.
static TAKEN: AtomicU8 = AtomicU8::new(1 << SHARED);
const SHARED: usize = ANNOUNCEMENTS - 1;

/// The index of a thread's word.
struct Slot(usize);

thread_local! {
    static SLOT: Slot = Slot::take();
}

impl Slot {
    fn take() -> Self {
        let mut taken = TAKEN.load(Ordering::Relaxed);
        loop {
            let free = taken.trailing_ones() as usize;
            if free >= SHARED {
                return Self(SHARED);
            }
            // PAIRS: gate.slot. The word is as its last thread left it.
            let outcome = TAKEN.compare_exchange(
                taken,
                taken | 1 << free,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match outcome {
                Ok(_) => return Self(free),
                Err(now) => taken = now,
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.0 != SHARED {
            // PAIRS: gate.slot
            TAKEN.fetch_and(!(1 << self.0), Ordering::Release);
        }
    }
}

impl Announcer {
    /// That of a window under construction; a granularity of several elements asks for locks at once (`mpi_accumulate_granularity`).
    pub(super) fn new(process: &Process, own: Option<WindowView>, granularity: u64) -> Self {
        /// Bytes of the largest element that an instruction combines.
        const WORD_BYTES: u64 = 8;
        let cannot_move_on = process.node().sender_fences().load(Ordering::Relaxed) != 0;
        Self {
            own,
            is_threaded: process.is_threaded(),
            most_words: match granularity {
                _ if cannot_move_on => None,
                0..=WORD_BYTES => Some(MOST_WORDS),
                _ => Some(0),
            },
        }
    }
}

impl Window {
    /// Calls `action`, which combines by atomic instructions into the memory of a gate's target, if these are permitted now; else the
    /// caller takes the lock.
    #[inline(always)]
    pub(super) fn combines_now(&self, gate: &AccumulateGate, action: impl FnOnce()) -> bool {
        let Some(own) = &self.announcer.own else {
            cold_path();
            return false;
        };
        let words = &own.board().announced;
        if self.announcer.is_threaded {
            return combines_among_threads(words, gate, action);
        }
        let word = &words[0];
        word.announce();
        let is_open = gate.is_open();
        if is_open {
            action();
        }
        word.withdraw();
        is_open
    }

    /// Moves a gate on whose lock the caller holds, if possible.
    #[cold]
    pub(super) fn move_on(&self, gate: &AccumulateGate) -> Manner {
        let is_quiet = || {
            let boards = self.targets.iter().map(|target| &target.view);
            let is_quiet = |view: &Option<WindowView>| {
                let quiet = |view: &WindowView| {
                    let mut words = view.board().announced.iter();
                    words.all(Announcement::is_quiet)
                };
                view.as_ref().is_some_and(quiet)
            };
            boards.into_iter().all(is_quiet)
        };
        gate.leave_words(barrier::everywhere, is_quiet)
    }
}

/// [`Window::combines_now`] where each thread has its own word, or shares one.
fn combines_among_threads(
    words: &[Announcement; ANNOUNCEMENTS],
    gate: &AccumulateGate,
    action: impl FnOnce(),
) -> bool {
    let slot = SLOT.try_with(|slot| slot.0).unwrap_or(SHARED);
    let word = &words[slot];
    if slot == SHARED {
        word.announce_one();
    } else {
        word.announce();
    }
    let is_open = gate.is_open();
    if is_open {
        action();
    }
    if slot == SHARED {
        word.withdraw_one();
    } else {
        word.withdraw();
    }
    is_open
}
