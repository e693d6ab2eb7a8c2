// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a rank looks at something before it does something else.

use super::Vci;

/// See [`Vci::short_polls`]: several times as long as a cache line takes from one core to another.
pub(super) const SHORT_POLLS: u32 = 30;

/// See [`Vci::direct_polls`]: somewhat longer than a short answer takes.
const DIRECT_POLLS: u32 = 150;

/// How often a rank gives its core to others before its wait is one that the launcher may read about.
const SHORT_YIELDS: u64 = 16;

impl Vci {
    /// Looks at a word that another rank is about to write, before it is worth while to make progress meanwhile.
    #[inline]
    pub(crate) const fn short_polls(&self) -> u32 {
        self.waiting.short_polls
    }

    /// Looks at the one ring that a message should come from, before a receive is posted.
    #[inline(always)]
    pub(crate) const fn direct_polls(&self) -> u32 {
        if self.waiting.is_crowded {
            0
        } else {
            DIRECT_POLLS
        }
    }

    /// Whether ranks outnumber cores.
    #[inline]
    pub(crate) const fn is_crowded(&self) -> bool {
        self.waiting.is_crowded
    }

    /// Looks at something that another core is about to write, before it is worth while to give this one away.
    pub(crate) const fn crowded_polls(&self) -> u64 {
        self.waiting.crowded.polls
    }

    /// How often to give the core away before a wait is a long one.
    pub(crate) fn short_yields(&self) -> u64 {
        let most = self.waiting.crowded.yields.min(SHORT_YIELDS);
        if self.waiting.has_external_load() {
            0
        } else {
            most
        }
    }
}
