// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a member may write its data of a turn: what lay at that place before is needed by nobody any more.

use fabric::commons::{AREAS, Place, WIDE_BYTES};

use super::Meeting;

impl Meeting<'_> {
    /// Whether the own data of a turn, `bytes` bytes, can be written.
    pub(in crate::coll) fn may_enter(&self, index: usize, bytes: usize) -> bool {
        let (commons, turn) = (&self.shared.commons, self.turn(index));
        let place = if bytes <= WIDE_BYTES {
            Place::Line
        } else {
            self.long
        };
        self.with_turns(|turns| turns.may_enter(commons, turn, place))
    }

    /// Waits until the own data of a turn can be written.
    pub(in crate::coll) async fn enter(&self, index: usize, bytes: usize) {
        let look = || self.shared.commons.laggard();
        self.enter_when(look, || self.may_enter(index, bytes)).await;
    }

    /// The same where member `reader` alone looks at what this one shows in this operation.
    pub(in crate::coll) async fn enter_for(&self, index: usize, bytes: usize, reader: u32) {
        // Before that, the place had what other operations showed.
        if self.long != Place::Area || index < AREAS as usize {
            return self.enter(index, bytes).await;
        }
        let (commons, turn) = (&self.shared.commons, self.turn(index));
        let look = || commons.reader_or_laggard(turn, reader, Place::Area);
        let may_pass = || self.with_turns(|turns| turns.may_pass(commons, turn, reader));
        self.enter_when(look, may_pass).await;
    }

    /// The same for the only turn of a short operation, which lies in lines.
    pub(super) async fn enter_line_for(&self, readers: (u32, u64)) {
        let (commons, turn) = (&self.shared.commons, self.turn(0));
        let look = || commons.reader_or_laggard(turn, readers.0, Place::Line);
        let may_pass = || self.with_turns(|turns| turns.may_pass_line(commons, turn, readers));
        self.enter_when(look, may_pass).await;
    }

    /// `look` names the member that is waited for, and what its word holds.
    async fn enter_when(&self, look: impl Fn() -> (u32, u64), may_enter: impl Fn() -> bool) {
        if may_enter() {
            return;
        }
        let commons = &self.shared.commons;
        let look = || {
            let (member, left) = look();
            (member, commons.left_word(member), left)
        };
        self.until(look, || {
            commons.set_awaited(true);
            may_enter().then_some(())
        })
        .await;
        commons.set_awaited(false);
    }
}
