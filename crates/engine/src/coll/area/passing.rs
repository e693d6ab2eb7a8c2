// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefix reductions in the area, from member to member: each adds its operand to what the member below publishes.
//!
//! Each looks at one other's data whatever the number of members, and waits for nobody above, so that those below run ahead as
//! far as places are free. Operands are combined from the first one on, in rank order.
#![expect(unsafe_code, reason = "operands are memory images")]

use crate::coll::area::Sequence;
use crate::coll::area::long::elements_of;
use crate::coll::area::spec::copy;
use crate::coll::primitives::Block;
use crate::coll::select::Rounds;
use crate::errors::Result;
use crate::op::Reduction;

/// What goes from member to member: `shape` is the count and the bytes of the elements.
pub(in crate::coll) struct Passing<'a> {
    pub(in crate::coll) op: &'a Reduction,
    /// The own operand, and where the result goes; they may be the same.
    pub(in crate::coll) own: *const u8,
    pub(in crate::coll) target: *mut u8,
    pub(in crate::coll) shape: (usize, usize),
    /// Whether the own operand is part of the own result.
    pub(in crate::coll) inclusive: bool,
}

/// Combines what the member below publishes with the own operand, and publishes that to the one above. `place` gives the place of a member's
/// data, and `publish` says that the own ones are there.
///
/// # Safety
/// The member below has published; the own place was entered unless this is the last member; the operand is readable and the
/// target writable.
#[inline(always)]
pub(in crate::coll) unsafe fn pass_on(
    (me, size): (u32, u32),
    passing: &Passing<'_>,
    place: impl Fn(u32) -> *mut u8,
    publish: impl FnOnce(),
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
    let published = (me + 1 < size).then(|| place(me));
    // SAFETY: the caller's promise; nobody writes what the member below publishes before this one has left the round, and
    // nobody but this one the own place.
    unsafe {
        if let Some(published) = published {
            match below {
                Some(below) => op.apply_into(below, own, published, shape),
                None => copy(own, published, bytes),
            }
            publish();
        }
        match (inclusive, below, published) {
            (true, None, _) => copy(own, target, bytes),
            (true, Some(_), Some(published)) => copy(published, target, bytes),
            (true, Some(below), None) => op.apply_into(below, own, target, shape),
            (false, Some(below), _) => copy(below, target, bytes),
            (false, None, _) => {}
        }
    }
}

/// Each adds its operand to what the member below publishes, `most` elements a round, and publishes that to the one above: whoever comes
/// first runs ahead.
pub(in crate::coll) async fn chain(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    inclusive: bool,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, size) = (sequence.me, sequence.size);
    let round_bytes = most.min(send.count) * send.layout.size();
    for index in 0..rounds {
        if me + 1 < size {
            sequence.enter_for(index, round_bytes, me + 1).await;
        }
        if let Some(below) = me.checked_sub(1) {
            sequence.published(index, below).await;
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
        // SAFETY: entered and published; blocks are valid while the collective runs, and dense.
        unsafe {
            let place = |member| sequence.place(index, member, passing.shape.1);
            pass_on((me, size), &passing, place, || {
                sequence.publish(index);
                sequence.wake(me + 1);
            });
        }
        sequence.leave(index);
    }
    sequence.outcome()
}
