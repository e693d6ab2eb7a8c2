// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a rank polls a location before it does something else.

// account: progress

use sys::sync::Ordering;

use super::Vci;

/// See [`Vci::short_polls`]: several times as long as a cache line takes from one core to another.
pub(super) const SHORT_POLLS: u32 = 30;

/// See [`Vci::direct_polls`]: somewhat longer than a short answer takes.
const DIRECT_POLLS: u32 = 150;

/// How often a rank yields its core before its wait is one that the launcher reports.
const SHORT_YIELDS: u64 = 16;

/// How long each stage of a wait lasts.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// Polls before a wait is a long one: none where waits are traced, which then polls as often.
    pub(super) first_polls: u64,
    pub(super) polls: u64,
    pub(super) yields: u64,
}

impl Patience {
    /// So many polls and yields.
    pub(super) const fn new(polls: u64, yields: u64, is_traced: bool) -> Self {
        Self {
            first_polls: if is_traced { 0 } else { polls },
            polls,
            yields,
        }
    }
}

/// Polls between rounds of progress of the other VCIs while this rank expects to be asked again.
const ASKED_INTERVAL: u64 = 256;

/// Whether a wait that yields polls more often for a while, because other ranks ask this one to execute their operations ([`Vci::note_help`]):
/// each of them waits for the next poll, and a yield takes several times as long as an answer.
pub(super) struct Asked {
    seen: u32,
    /// Polls until the wait yields again.
    polls: u64,
}

impl Asked {
    /// That of a wait that begins when so many operations have been executed.
    pub(super) const fn after(helped: u32) -> Self {
        Self {
            seen: helped,
            polls: 0,
        }
    }

    /// Whether to poll again at once, when so many operations have been executed.
    pub(super) const fn goes_on(&mut self, helped: u32, patience: Patience) -> bool {
        if self.seen != helped {
            self.seen = helped;
            self.polls = patience.polls;
        }
        self.polls = self.polls.saturating_sub(1);
        !self.polls.is_multiple_of(ASKED_INTERVAL)
    }
}

impl Vci {
    /// This rank has executed an operation that another rank had posted, and may be asked again.
    pub(crate) fn note_help(&self) {
        self.tasks.helped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn helped(&self) -> u32 {
        self.tasks.helped.load(Ordering::Relaxed)
    }

    /// Polls of a word that another rank is about to write, before making progress meanwhile is worth while.
    #[inline]
    pub(crate) const fn short_polls(&self) -> u32 {
        self.waiting.short_polls
    }

    /// Polls of the one ring that a message should come from, before a receive is posted.
    #[inline(always)]
    pub(crate) const fn direct_polls(&self) -> u32 {
        if self.waiting.is_oversubscribed {
            0
        } else {
            DIRECT_POLLS
        }
    }

    /// Whether ranks outnumber cores.
    #[inline]
    pub(crate) const fn is_oversubscribed(&self) -> bool {
        self.waiting.is_oversubscribed
    }

    /// Polls of a word that another core is about to write, before yielding this core is worth while.
    pub(crate) const fn oversubscribed_polls(&self) -> u64 {
        self.waiting.oversubscribed.polls
    }

    /// How often to yield the core before a wait is a long one.
    pub(crate) fn short_yields(&self) -> u64 {
        let most = self.waiting.oversubscribed.yields.min(SHORT_YIELDS);
        if self.waiting.has_external_load() {
            0
        } else {
            most
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_is_asked_polls_for_a_while_and_then_yields_again() {
        let patience = Patience::new(3 * ASKED_INTERVAL, 0, false);
        let mut asked = Asked::after(7);
        let mut polls = |helped| {
            let goes_on = (0..4 * ASKED_INTERVAL).map(|_| asked.goes_on(helped, patience));
            goes_on.filter(|&goes_on| goes_on).count() as u64
        };
        // Operations that were executed before the wait do not count.
        assert_eq!(polls(7), 0);
        // All but those that let the other VCIs have their round.
        assert_eq!(polls(8), 3 * (ASKED_INTERVAL - 1));
        assert_eq!(polls(8), 0);
        assert_eq!(polls(u32::MAX), 3 * (ASKED_INTERVAL - 1));
    }
}
