// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a member may write its data of a round: what lay at that place before is needed by nobody any more.

use fabric::area::{BUFFERS, Slot, WIDE_BYTES};

use super::Sequence;

impl Sequence<'_> {
    /// Whether the own data of a round, `bytes` bytes, can be written.
    pub(in crate::coll) fn may_enter(&self, index: usize, bytes: usize) -> bool {
        let (area, round) = (&self.shared.area, self.round(index));
        let place = if bytes <= WIDE_BYTES {
            Slot::Line
        } else {
            self.long
        };
        self.with_tracker(|rounds| rounds.may_enter(area, round, place))
    }

    /// Waits until the own data of a round can be written.
    pub(in crate::coll) async fn enter(&self, index: usize, bytes: usize) {
        let look = || self.shared.area.laggard();
        self.enter_when(look, || self.may_enter(index, bytes)).await;
    }

    /// The same where member `reader` alone looks at what this one publishes in this operation.
    pub(in crate::coll) async fn enter_for(&self, index: usize, bytes: usize, reader: u32) {
        // Before that, the place had what other operations showed.
        if self.long != Slot::Buffer || index < BUFFERS as usize {
            return self.enter(index, bytes).await;
        }
        let (area, round) = (&self.shared.area, self.round(index));
        let look = || area.reader_or_laggard(round, reader, Slot::Buffer);
        let may_pass = || self.with_tracker(|rounds| rounds.may_pass(area, round, reader));
        self.enter_when(look, may_pass).await;
    }

    /// The same for the only round of a short operation, which lies in lines.
    pub(in crate::coll) async fn enter_line_for(&self, readers: (u32, u64)) {
        let (area, round) = (&self.shared.area, self.round(0));
        let look = || area.reader_or_laggard(round, readers.0, Slot::Line);
        let may_pass = || self.with_tracker(|rounds| rounds.may_pass_line(area, round, readers));
        self.enter_when(look, may_pass).await;
    }

    /// `look` names the member that is waited for, and what its word holds.
    async fn enter_when(&self, look: impl Fn() -> (u32, u64), may_enter: impl Fn() -> bool) {
        if may_enter() {
            return;
        }
        let area = &self.shared.area;
        let look = || {
            let (member, left) = look();
            (member, area.left_word(member), left)
        };
        self.until(look, || {
            area.set_awaited(true);
            may_enter().then_some(())
        })
        .await;
        area.set_awaited(false);
    }
}
