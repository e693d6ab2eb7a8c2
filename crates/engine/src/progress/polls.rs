// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a rank polls a location before it does something else.

// account: progress

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

impl Vci {
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
