// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions of which each member combines a part.
//!
//! Of `n` bytes in `p` members' vectors each, a member reads `n` to combine, and writes and reads about as much, however many there
//! are; one that combines all of them reads `p n`. Operands are combined in rank order, from the right, as elsewhere.
#![expect(unsafe_code, reason = "operands are memory images")]

use algorithms::shared::{Rounds, published_parts};

use super::Sequence;
use super::fold::{Slots, fold};
use crate::coll::primitives::Block;
use crate::errors::Result;
use crate::op::Reduction;

/// The range of packed bytes, or of elements, that round `index` moves.
pub(super) fn range_of(index: usize, most: usize, all: usize) -> (usize, usize) {
    let start = (index * most).min(all);
    (start, most.min(all - start))
}

/// How the elements of a vector lie in steps and parts.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) members: u32,
    /// The most elements of a part.
    pub(super) most: usize,
    /// Bytes of an element.
    pub(super) element: usize,
}

impl Parts {
    /// Bytes from one part to the next in what a member publishes.
    const fn stride(self) -> usize {
        self.most * self.element
    }

    /// Bytes that a member publishes in a round at most.
    pub(super) const fn published(self) -> usize {
        published_parts(self.members) * self.stride()
    }

    /// Where the part of a member begins in what others publish.
    const fn offset(self, member: u32) -> usize {
        match published_parts(self.members) {
            1 => 0,
            _ => member as usize * self.stride(),
        }
    }

    /// The elements of a step that a member combines.
    fn part(self, block: &Block, step: usize, member: u32) -> Block {
        let (first, count) = range_of(step, self.members as usize * self.most, block.count);
        let even = count.div_ceil(self.members as usize);
        let (start, count) = range_of(member as usize, even, count);
        block.part((first + start) as i64, count)
    }
}

/// Each member publishes its operands of the others' parts of a step, combines its own part, and publishes that; the root, or everyone
/// if there is none, takes the results. The operands of the next step are published before, and the results of a step are taken
/// after the next step is combined, so that no member waits for what another one is doing. A step's two rounds are not neighbours:
/// members leave rounds in their order.
pub(super) async fn reduce_in_parts(
    sequence: Sequence<'_>,
    (send, receive): (&Block, Option<&Block>),
    op: &Reduction,
    root: Option<u32>,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, steps) = (sequence.me, rounds / 2);
    let parts = Parts {
        members: sequence.size,
        most,
        element: send.layout.size(),
    };
    let published = parts.published();
    let receive = receive.filter(|_| root.is_none_or(|root| root == me));
    let operands = |step: usize| (2 * step).saturating_sub(1);
    let results = |step: usize| (2 * step + 2).min(rounds - 1);
    for step in 0..=steps {
        let ahead = if step == 0 {
            0..steps.min(2)
        } else {
            step + 1..steps.min(step + 2)
        };
        for next in ahead {
            sequence.enter(operands(next), published).await;
            let slot = sequence.own(operands(next), published);
            for member in sequence.others() {
                let part = parts.part(send, next, member);
                let offset = parts.offset(member);
                part.pack_range(0, &mut slot[offset..offset + part.bytes()]);
            }
            sequence.publish(operands(next));
            sequence.wake_all();
        }
        if step < steps {
            sequence.enter(results(step), published).await;
            sequence.others_published(operands(step)).await;
            let own = parts.part(send, step, me);
            let at = |member| sequence.address(operands(step), member, published);
            let slots = Slots {
                first: at(0).wrapping_add(parts.offset(me)).cast_const(),
                stride: at(1).addr() - at(0).addr(),
                own: Some((me, own.base.0.cast_const())),
            };
            let (shape, result) = (
                (own.count, own.bytes()),
                sequence.own(results(step), own.bytes()),
            );
            // SAFETY: the others have published their operands; the own one and the own slot are dense, valid while the
            // collective runs, and not the same memory.
            unsafe { fold(op, sequence.size - 1, slots, result.as_mut_ptr(), shape) };
            sequence.leave(operands(step));
            sequence.publish(results(step));
            match root {
                None => sequence.wake_all(),
                Some(root) if root != me => sequence.wake(root),
                Some(_) => {}
            }
        }
        if let Some(before) = step.checked_sub(1) {
            if let Some(receive) = receive {
                sequence.others_published(results(before)).await;
                // Members start with different ones, so that not all read the same one at a time.
                for member in (me..sequence.size).chain(0..me) {
                    let part = parts.part(receive, before, member);
                    part.unpack_range(0, sequence.data_of(results(before), member, part.bytes()));
                }
            }
            sequence.leave(results(before));
        }
    }
    sequence.outcome()
}
