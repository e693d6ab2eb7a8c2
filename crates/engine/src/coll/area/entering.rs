// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a member may write its data of a round: when no member needs the data of the round that had the slot before.

use fabric::area::{BUFFERS, Slot, WIDE_BYTES};

use super::Sequence;

impl Sequence<'_> {
    /// Whether this member may write its data of a round, `bytes` bytes.
    pub(in crate::coll) fn may_enter(&self, index: usize, bytes: usize) -> bool {
        let (area, round) = (&self.shared.area, self.round(index));
        let slot = if bytes <= WIDE_BYTES {
            Slot::Line
        } else {
            self.long
        };
        self.with_tracker(|rounds| rounds.may_enter(area, round, slot))
    }

    /// Waits until this member may write its data of a round.
    pub(in crate::coll) async fn enter(&self, index: usize, bytes: usize) {
        let laggard = || self.shared.area.laggard();
        self.enter_when(laggard, || self.may_enter(index, bytes))
            .await;
    }

    /// The same where only member `reader` reads the data of this member in this operation.
    pub(in crate::coll) async fn enter_for(&self, index: usize, bytes: usize, reader: u32) {
        // Rounds of other operations had the slot before.
        if self.long != Slot::Buffer || index < BUFFERS as usize {
            return self.enter(index, bytes).await;
        }
        let (area, round) = (&self.shared.area, self.round(index));
        let laggard = || area.reader_or_laggard(round, reader, Slot::Buffer);
        let may_pass = || self.with_tracker(|rounds| rounds.may_pass(area, round, reader));
        self.enter_when(laggard, may_pass).await;
    }

    /// The same for an operation of one round whose data lie in lines.
    pub(in crate::coll) async fn enter_line_for(&self, readers: (u32, u64)) {
        let (area, round) = (&self.shared.area, self.round(0));
        let laggard = || area.reader_or_laggard(round, readers.0, Slot::Line);
        let may_pass = || self.with_tracker(|rounds| rounds.may_pass_line(area, round, readers));
        self.enter_when(laggard, may_pass).await;
    }

    /// `laggard` gives the member to wait for, and the value of its word.
    async fn enter_when(&self, laggard: impl Fn() -> (u32, u64), may_enter: impl Fn() -> bool) {
        if may_enter() {
            return;
        }
        let area = &self.shared.area;
        let awaited = || {
            let (member, left) = laggard();
            (member, area.left_word(member), left)
        };
        self.until(awaited, || {
            area.set_awaited(true);
            may_enter().then_some(())
        })
        .await;
        area.set_awaited(false);
    }
}
