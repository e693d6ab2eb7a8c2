// SPDX-License-Identifier: MIT OR Apache-2.0
//! From rank to rank in segments: while one is passed on the next arrives. For long data among few ranks, or many segments:
//! each rank sends the data once, in segments + p - 2 steps.

use crate::coll::algorithms::allreduce::part_of;
use crate::coll::algorithms::reduce::{Image, combine, elements};
use crate::coll::primitives::{Block, Collective, Flat};
use crate::op::Reduction;

/// The root's block travels up the ranks, `segment` bytes at a time.
pub(in crate::coll) async fn bcast(coll: &mut Collective, block: &Block, root: u32, segment: u64) {
    let bytes = block.bytes();
    let segment = usize::try_from(segment)
        .unwrap_or(bytes)
        .clamp(1, bytes.max(1));
    let count = bytes.div_ceil(segment);
    let me = (coll.rank + coll.size - root) % coll.size;
    let (to, from) = (coll.above(1), coll.below(1));
    let passes_on = me + 1 < coll.size;
    let Some(mut flat) = coll.memory(Flat::of(block, me == 0)) else {
        return;
    };
    let mut part = |index: usize| {
        let start = index * segment;
        flat.part(start, segment.min(bytes - start))
    };
    for index in 0..=count {
        let mut step = coll.step();
        if me > 0 && index < count {
            step.receive(&part(index), from);
        }
        if passes_on && index > 0 {
            step.send(&part(index - 1), to);
        }
        step.finish().await;
    }
    if me != 0 {
        flat.store(block);
    }
}

/// Operands are combined from the last rank down to rank 0, which hands the result to another root; segments are of
/// `segment` bytes or one element.
pub(in crate::coll) async fn reduce(
    coll: &mut Collective,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    (root, segment): (u32, u64),
) {
    let (rank, last) = (coll.rank, coll.size - 1);
    let most = usize::try_from(segment).unwrap_or(usize::MAX) / send.layout.size().max(1);
    let most = most.clamp(1, send.count.max(1));
    let count = send.count.div_ceil(most);
    let range = |index: usize| (index * most, ((index + 1) * most).min(send.count));
    // One segment arrives while the one before it leaves.
    let Some(images) = coll.memory(Image::two(send, most)) else {
        return;
    };
    let arrival = |index: usize| {
        let (low, high) = range(index);
        images[index % 2].block().part(0, high - low)
    };
    let mut kept = None;
    if rank == 0 && root > 0 {
        kept = coll.memory(Image::new(send, send.count));
        if kept.is_none() {
            return;
        }
    }
    let target = kept.as_ref().map(Image::block).or(receive);
    for index in 0..=count {
        let mut step = coll.step();
        if rank < last && index < count {
            step.receive(&arrival(index), rank + 1);
        }
        if rank > 0 && index > 0 {
            if rank < last {
                step.send(&arrival(index - 1), rank - 1);
            } else {
                step.send(&elements(send, range(index - 1)), rank - 1);
            }
        }
        step.finish().await;
        if rank < last && index < count {
            let sum = arrival(index);
            combine(op, &elements(send, range(index)), &sum);
            if rank == 0
                && let Some(target) = target
            {
                elements(target, range(index)).copy_from(&sum);
            }
        }
    }
    if root > 0 {
        if let Some(kept) = &kept {
            coll.send(kept.block(), root).await;
        } else if let Some(target) = receive {
            coll.receive(target, 0).await;
        }
    }
}

/// Rank 0 combines everything and sends each rank its part.
pub(in crate::coll) async fn reduce_scatter(
    coll: &mut Collective,
    send: &Block,
    receive: &Block,
    counts: &[usize],
    op: &Reduction,
    segment: u64,
) {
    if coll.rank > 0 {
        reduce(coll, send, None, op, (0, segment)).await;
        if receive.bytes() > 0 {
            coll.receive(receive, 0).await;
        }
        return;
    }
    let Some(whole) = coll.memory(Image::new(send, send.count)) else {
        return;
    };
    reduce(coll, send, Some(whole.block()), op, (0, segment)).await;
    let mut step = coll.step();
    for rank in 1..step.size() {
        let part = part_of(whole.block(), counts, rank);
        if part.bytes() > 0 {
            step.send(&part, rank);
        }
    }
    receive.copy_from(&part_of(whole.block(), counts, 0));
    step.finish().await;
}
