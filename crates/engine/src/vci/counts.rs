// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counting what happens ([`fabric::counters`]) without a cost to injected messages.
//!
//! Every cell of a ring is counted by the ring itself, so only cells that are no injected messages, and injected messages that
//! found no receive, are counted one by one; the rest is a difference. The numbers reach the rank's board, where the
//! launcher reads them, when a rank goes to sleep and at the end.

use fabric::counters::{COUNTERS, Counter};
use sys::sync::Ordering;

use super::VciState;

/// Counters, and the cells that are no injected messages.
pub(super) struct Counts {
    counted: [u64; COUNTERS.len()],
    other_cells_sent: u64,
    other_cells_received: u64,
    injected_unexpected: u64,
    /// The values that the rank's board has.
    published: [u64; COUNTERS.len()],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            counted: [0; COUNTERS.len()],
            other_cells_sent: 0,
            other_cells_received: 0,
            injected_unexpected: 0,
            published: [0; COUNTERS.len()],
        }
    }
}

impl VciState {
    /// Counts one of something.
    // account: caller
    #[inline(always)]
    pub(crate) const fn count(&mut self, counter: Counter) {
        self.count_many(counter, 1);
    }

    /// Counts `amount` of something.
    // account: caller
    #[inline(always)]
    pub(crate) const fn count_many(&mut self, counter: Counter, amount: u64) {
        let slot = &mut self.counts.counted[counter as usize];
        *slot = slot.wrapping_add(amount);
    }

    /// Takes over a count that is kept elsewhere.
    pub(crate) const fn set_count(&mut self, counter: Counter, value: u64) {
        self.counts.counted[counter as usize] = value;
    }

    /// The values of the counters that are counted one by one.
    #[cfg(test)]
    pub(crate) const fn counted(&self, counter: Counter) -> u64 {
        self.counts.counted[counter as usize]
    }

    /// Counts a published cell that is no injected message.
    pub(crate) const fn count_other_cell_sent(&mut self) {
        self.counts.other_cells_sent += 1;
    }

    /// Counts a consumed cell that is no injected message.
    pub(crate) const fn count_other_cell_received(&mut self) {
        self.counts.other_cells_received += 1;
    }

    /// Counts an injected message that found no receive.
    pub(crate) const fn count_injected_unexpected(&mut self) {
        self.counts.injected_unexpected += 1;
    }

    /// Adds what was counted since the last time to the rank's board.
    #[cold]
    pub(crate) fn publish(&mut self) {
        let values = self.values();
        let board = self.node.handle.board(self.node.me);
        let published = std::mem::replace(&mut self.counts.published, values);
        for ((slot, value), published) in board.counters.iter().zip(values).zip(published) {
            slot.fetch_add(value.wrapping_sub(published), Ordering::Relaxed);
        }
    }

    /// The value of each counter.
    #[cold]
    pub(crate) fn values(&self) -> [u64; COUNTERS.len()] {
        let connected = || self.links.connected();
        let cells_sent: u64 = connected().map(|link| link.sender.published()).sum();
        let cells_received: u64 = self.incoming.iter().map(|one| one.ring.consumed()).sum();
        let injected_sent = cells_sent.wrapping_sub(self.counts.other_cells_sent);
        let injected_posted = cells_received
            .wrapping_sub(self.counts.other_cells_received)
            .wrapping_sub(self.counts.injected_unexpected);
        let add = |counter: Counter| match counter {
            Counter::SendsInject => injected_sent,
            Counter::BytesSent => connected().map(|link| link.injected_bytes).sum(),
            Counter::ReceivesPosted => injected_posted,
            Counter::BytesReceived => self.incoming.iter().map(|one| one.injected_bytes).sum(),
            Counter::MatchesWildcard => self.posted.wild_matches + self.unexpected.wild_matches,
            Counter::OffersDead => self.posted.withdrawn(),
            Counter::Wakes => connected().map(|link| u64::from(link.wakes)).sum(),
            Counter::RingsConnected => (connected().count() + self.incoming.len()) as u64,
            _ => 0,
        };
        let derived = [
            Counter::SendsInject,
            Counter::BytesSent,
            Counter::ReceivesPosted,
            Counter::BytesReceived,
            Counter::MatchesWildcard,
            Counter::OffersDead,
            Counter::Wakes,
            Counter::RingsConnected,
        ];
        let mut values = self.counts.counted;
        for counter in derived {
            values[counter as usize] = values[counter as usize].wrapping_add(add(counter));
        }
        values
    }
}
