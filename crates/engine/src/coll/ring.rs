// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions round a ring, for operations that commute: with neighbours only, each rank sends no more than it must.

use super::primitives::{Block, Round};
use super::reduce::{Image, combine};
use crate::op::Reduction;

/// Combines `value` in place: its p parts go round the ring once to be combined, and once to be collected. Each element is
/// combined by one chain of ranks, so all get the same bits.
pub(super) async fn allreduce(round: &mut Round, value: &Block, op: &Reduction) {
    let size = round.size as usize;
    let part = |index: u32| {
        let (index, count) = (index as usize, value.count);
        let bound = |index: usize| (count as u128 * index as u128 / size as u128) as usize;
        value.part(bound(index) as i64, bound(index + 1) - bound(index))
    };
    let largest = value.count.div_ceil(size);
    let spare = Image::new(value, largest);
    let (to, from) = (round.above(1), round.below(1));
    for distance in 1..round.size {
        let out = part(round.below(distance));
        let mine = part(round.below(distance + 1));
        let arrived = spare.block().part(0, mine.count);
        round.exchange(&out, to, &arrived, from).await;
        combine(op, &arrived, &mine);
    }
    for distance in 0..round.size - 1 {
        let out = part(round.below(distance));
        let into = part(round.below(distance + 1));
        round.exchange(&out, to, &into, from).await;
    }
}

/// The combination of the own part: a partial result of each part travels up the ring until it comes to its rank. `spares`
/// hold the largest part each; the result is in one of them.
pub(super) async fn reduce_scatter(
    round: &mut Round,
    parts: &[Block],
    spares: [Block; 2],
    op: &Reduction,
) -> Block {
    let (to, from) = (round.above(1), round.below(1));
    let [mut partial, mut arrived] = spares;
    for distance in 1..round.size {
        let (out, into) = (round.below(distance), round.below(distance + 1));
        let (out, mine) = (&parts[out as usize], &parts[into as usize]);
        let into = arrived.part(0, mine.count);
        let mut step = round.step();
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
    partial.part(0, parts[round.rank as usize].count)
}
