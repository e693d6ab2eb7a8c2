// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress on the other VCIs of the process by a thread that waits on one VCI.
//!
//! A correct program may need a thread inside MPI to advance messages of another VCI (MPI-5.0, section 2.9): its peer goes on only
//! then. With hybrid progress a wait polls its own VCI, and after a number of fruitless polls makes one round over all. Before it sleeps it
//! covers the others: their doorbells lead to its own ([`fabric::doorbell`]). It leaves out VCIs on which another thread has begun
//! to wait since it last asked, because covering them would have it woken for messages of that thread; while there is one,
//! it sleeps for [`SHORT_SLEEP`] at most.

// account: progress

use std::time::Duration;

use fabric::doorbell::Sleeper;
use sys::sync::Ordering;

use super::Vci;
use crate::identity::VciIndex;
use crate::settings::{ProgressModel, Settings};

/// Longest sleep of a thread while a message on a VCI that it does not cover would not wake it.
const SHORT_SLEEP: Duration = Duration::from_millis(4);

thread_local! {
    /// Its address tells threads apart.
    static ME: u8 = const { 0 };
}

/// How often a wait makes a round over all VCIs.
#[derive(Clone, Copy)]
pub(super) struct RoundInterval {
    /// After so many fruitless polls, a power of two, less 1; all ones for never.
    mask: u64,
}

impl RoundInterval {
    pub(super) fn new(settings: &Settings) -> Self {
        let mask = match settings.progress {
            ProgressModel::Vci => u64::MAX,
            ProgressModel::Global => 0,
            ProgressModel::Hybrid => settings.global_progress_polls.next_power_of_two() - 1,
        };
        Self { mask }
    }

    /// Whether the poll with this number, from 1 on, is followed by a round.
    #[inline(always)]
    pub(super) const fn follows(self, fruitless: u64) -> bool {
        fruitless & self.mask == 0
    }

    const fn is_never(self) -> bool {
        self.mask == u64::MAX
    }
}

/// The VCIs that a thread covers while it sleeps, until this is dropped.
pub(super) struct Covered<'a> {
    vci: &'a Vci,
    /// One bit each.
    covered: u64,
    /// Whether there are others that are not covered.
    is_partial: bool,
}

impl Drop for Covered<'_> {
    fn drop(&mut self) {
        let mut rest = self.covered;
        while rest != 0 {
            let other = rest.trailing_zeros();
            rest &= rest - 1;
            let doorbell = &self.vci.waiting.vci_board(VciIndex::of_bits(other)).asleep;
            Sleeper::uncover(doorbell, self.vci.index().get());
        }
    }
}

impl Vci {
    /// Notes that this thread begins to wait here.
    #[inline(always)]
    pub(super) fn note_visit(&self) {
        // Under no lock: a lost count makes a sleeping thread cover a VCI for a moment that is looked after.
        let visits = self.visits.load(Ordering::Relaxed).wrapping_add(1);
        self.visits.store(visits, Ordering::Relaxed);
        let me = ME.with(|me| std::ptr::from_ref(me).addr());
        self.visitor.store(me, Ordering::Relaxed);
    }

    /// Whether no other thread has begun to wait here since this was last asked.
    fn is_unattended(&self) -> bool {
        let me = ME.with(|me| std::ptr::from_ref(me).addr());
        let visits = self.visits.load(Ordering::Relaxed);
        let seen = self.visits_seen.swap(visits, Ordering::Relaxed);
        seen == visits || self.visitor.load(Ordering::Relaxed) == me
    }

    /// Whether this process uses other VCIs that a wait on this one has to look after.
    #[inline]
    pub(super) fn has_others(&self) -> bool {
        !self.waiting.rounds.is_never() && self.all.get().is_some_and(|all| all.are_several())
    }

    /// Whether waits on this VCI look after the others.
    pub(crate) const fn advances_others(&self) -> bool {
        !self.waiting.rounds.is_never()
    }

    /// Whether a thread that may enter this VCI may make progress on that one, too: without locks it stays out of those of other threads.
    pub(crate) fn may_advance(&self, other: VciIndex) -> bool {
        other == self.index() || !self.is_threaded() || !self.is_unlocked()
    }

    /// A round of progress of the other VCIs; returns how many things happened. The caller holds no guard.
    #[inline]
    pub(super) fn progress_others(&self) -> usize {
        if self.has_others() {
            self.advance_others()
        } else {
            0
        }
    }

    #[cold]
    #[inline(never)]
    fn advance_others(&self) -> usize {
        let Some(all) = self.all.get() else {
            return 0;
        };
        self.global_rounds.fetch_add(1, Ordering::Relaxed);
        let others = all.iter().filter(|vci| vci.index() != self.index());
        others.map(Self::advance_if_free).sum()
    }

    /// A round of progress, unless another thread is there, who makes progress itself.
    fn advance_if_free(&self) -> usize {
        let Some(mut guard) = self.try_enter() else {
            return 0;
        };
        let events = guard.progress();
        drop(guard);
        self.poll_tasks();
        if events != 0 {
            // A thread may sleep for what has happened.
            self.ring_own_doorbell();
        }
        events
    }

    /// Covers the other VCIs, before this thread announces that it sleeps on this one.
    pub(super) fn cover_others(&self) -> Covered<'_> {
        let (mut covered, mut is_partial) = (0, false);
        if self.has_others() {
            let all = self.all.get();
            let others = all.into_iter().flat_map(|all| all.iter());
            for other in others.filter(|other| other.index() != self.index()) {
                let index = other.index();
                let doorbell = &self.waiting.vci_board(index).asleep;
                if other.is_unattended() && Sleeper::cover(doorbell, self.index().get()) {
                    covered |= 1 << index.get();
                } else {
                    is_partial = true;
                }
            }
        }
        Covered {
            vci: self,
            covered,
            is_partial,
        }
    }

    /// How long a thread may sleep that covers these.
    pub(super) fn sleep_limit(&self, covered: &Covered<'_>) -> Duration {
        let longest = self.waiting.sleep_limit();
        if covered.is_partial {
            longest.min(SHORT_SLEEP)
        } else {
            longest
        }
    }
}

const _: () = assert!(1 << VciIndex::BITS <= u64::BITS);
