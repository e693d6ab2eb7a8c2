// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefix reductions in the commons, from member to member: each adds its operand to what the member below shows.
//!
//! Each looks at one other's data whatever the number of members, and waits for nobody above, so that those below run ahead as
//! far as places are free. Operands are combined from the first one on, in rank order.
#![expect(unsafe_code, reason = "operands are memory images")]

use super::choose::Turns;
use super::commons::Meeting;
use super::primitives::Block;
use super::shared::elements_of;
use super::step::copy;
use crate::errors::Result;
use crate::op::Reduction;

/// What goes from member to member: `shape` is the count and the bytes of the elements.
pub(super) struct Passing<'a> {
    pub(super) op: &'a Reduction,
    /// The own operand, and where the result goes; they may be the same.
    pub(super) own: *const u8,
    pub(super) target: *mut u8,
    pub(super) shape: (usize, usize),
    /// Whether the own operand is part of the own result.
    pub(super) inclusive: bool,
}

/// Combines what the member below shows with the own operand, and shows that to the one above. `place` gives the place of a member's
/// data, and `show` says that the own ones are there.
///
/// # Safety
/// The member below has posted; the own place was entered unless this is the last member; the operand is readable and the
/// target writable.
#[inline(always)]
pub(super) unsafe fn pass_on(
    (me, size): (u32, u32),
    passing: &Passing<'_>,
    place: impl Fn(u32) -> *mut u8,
    show: impl FnOnce(),
) {
    let &Passing {
        op,
        own,
        target,
        shape,
        inclusive,
    } = passing;
    let bytes = shape.1;
    let below = me.checked_sub(1).map(|below| place(below).cast_const());
    let shown = (me + 1 < size).then(|| place(me));
    // SAFETY: the caller's promise; nobody writes what the member below shows before this one has left the turn, and
    // nobody but this one the own place.
    unsafe {
        if let Some(shown) = shown {
            match below {
                Some(below) => op.apply_into(below, own, shown, shape),
                None => copy(own, shown, bytes),
            }
            show();
        }
        match (inclusive, below, shown) {
            (true, None, _) => copy(own, target, bytes),
            (true, Some(_), Some(shown)) => copy(shown, target, bytes),
            (true, Some(below), None) => op.apply_into(below, own, target, shape),
            (false, Some(below), _) => copy(below, target, bytes),
            (false, None, _) => {}
        }
    }
}

/// Each adds its operand to what the member below shows, `most` elements a turn, and shows that to the one above: whoever comes
/// first runs ahead.
pub(super) async fn chain(
    meeting: Meeting<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    inclusive: bool,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let (me, size) = (meeting.me, meeting.size);
    let turn_bytes = most.min(send.count) * send.layout.size();
    for index in 0..turns {
        if me + 1 < size {
            meeting.enter_for(index, turn_bytes, me + 1).await;
        }
        if let Some(below) = me.checked_sub(1) {
            meeting.posted(index, below).await;
        }
        let (own, part) = (
            elements_of(send, index, most),
            elements_of(receive, index, most),
        );
        let passing = Passing {
            op,
            own: own.base.0,
            target: part.base.0,
            shape: (own.count, own.bytes()),
            inclusive,
        };
        // SAFETY: entered and posted; blocks are valid while the collective runs, and dense.
        unsafe {
            let place = |member| meeting.place(index, member, passing.shape.1);
            pass_on((me, size), &passing, place, || {
                meeting.post(index);
                meeting.wake(me + 1);
            });
        }
        meeting.leave(index);
    }
    meeting.outcome()
}
