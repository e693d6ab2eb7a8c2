// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions round a ring, for operations that commute: with neighbours only, each rank sends no more than it must.

use crate::coll::algorithms::reduce::{Image, combine};
use crate::coll::primitives::{Block, Collective};
use crate::op::Reduction;

/// Combines `value` in place: its p parts go round the ring once to be combined, and once to be collected. Each element is
/// combined by one chain of ranks, so all get the same bits.
pub(in crate::coll) async fn allreduce(coll: &mut Collective, value: &Block, op: &Reduction) {
    let size = coll.size as usize;
    let part = |index: u32| {
        let (index, count) = (index as usize, value.count);
        let bound = |index: usize| (count as u128 * index as u128 / size as u128) as usize;
        value.part(bound(index) as i64, bound(index + 1) - bound(index))
    };
    let largest = value.count.div_ceil(size);
    let Some(spare) = coll.memory(Image::new(value, largest)) else {
        return;
    };
    let (to, from) = (coll.above(1), coll.below(1));
    for distance in 1..coll.size {
        let out = part(coll.below(distance));
        let mine = part(coll.below(distance + 1));
        let arrived = spare.block().part(0, mine.count);
        coll.exchange(&out, to, &arrived, from).await;
        combine(op, &arrived, &mine);
    }
    for distance in 0..coll.size - 1 {
        let out = part(coll.below(distance));
        let into = part(coll.below(distance + 1));
        coll.exchange(&out, to, &into, from).await;
    }
}

/// The combination of the own part: a partial result of each part travels up the ring until it comes to its rank. `spares`
/// hold the largest part each; the result is in one of them.
pub(in crate::coll) async fn reduce_scatter(
    coll: &mut Collective,
    parts: &[Block],
    spares: [Block; 2],
    op: &Reduction,
) -> Block {
    let (to, from) = (coll.above(1), coll.below(1));
    let [mut partial, mut arrived] = spares;
    for distance in 1..coll.size {
        let (out, into) = (coll.below(distance), coll.below(distance + 1));
        let (out, mine) = (&parts[out as usize], &parts[into as usize]);
        let into = arrived.part(0, mine.count);
        let mut step = coll.step();
        if mine.count > 0 {
            step.receive(&into, from);
        }
        if out.count > 0 {
            let first = distance == 1;
            step.send(
                &if first {
                    out.clone()
                } else {
                    partial.part(0, out.count)
                },
                to,
            );
        }
        step.finish().await;
        combine(op, mine, &into);
        std::mem::swap(&mut partial, &mut arrived);
    }
    partial.part(0, parts[coll.rank as usize].count)
}
