// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions whose result every rank gets, whole or in part.

use std::sync::Arc;

use algorithms::{Allreduce, Case, Choice, ReduceScatter};

use crate::coll::algorithms::bcast;
use crate::coll::algorithms::chain;
use crate::coll::algorithms::hierarchy;
use crate::coll::algorithms::inter;
use crate::coll::algorithms::reduce::{Accumulator, Folded, Halves, Image, combine, double, halve};
use crate::coll::algorithms::ring;
use crate::coll::area::long::{self, Combining};
use crate::coll::area::{Purpose, enter_area};
use crate::coll::check::{self, Call, Statement};
use crate::coll::primitives::{Block, Collective};
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// Combines every rank's block everywhere (MPI_Allreduce). In place: `send` is `receive`.
///
/// # Errors
/// Those of the messages.
pub async fn allreduce(comm: Arc<Comm>, send: Block, receive: Block, op: Reduction) -> Result<()> {
    if comm.local().is_some() {
        return Box::pin(inter::allreduce(comm, send, receive, &op)).await;
    }
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let statement = Statement::new(Call::Allreduce).with_op(&op);
        Box::pin(check::same(&mut coll, statement.with_data(&send))).await?;
    }
    let case = select::reduction(&coll, &send, op.is_commutative());
    let mut choice = choose::<Allreduce>(&coll, &case);
    if let Allreduce::Shared | Allreduce::SharedParts = choice.algorithm {
        let parts = choice.algorithm == Allreduce::SharedParts;
        if let Some(combining) = Combining::of(&case, parts) {
            let published = combining.published(&send, coll.size);
            let purpose = Purpose::Allreduce;
            if let Some(sequence) = enter_area(&mut coll, purpose, send.bytes(), published).await {
                return long::allreduce(sequence, &send, &receive, &op, combining).await;
            }
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Allreduce::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        return Box::pin(hierarchy::allreduce(&coll, node, &send, &receive, &op)).await;
    }
    receive.copy_from(&send);
    if receive.bytes() > 0 && coll.size > 1 {
        Box::pin(by_messages(&mut coll, &receive, &op, choice)).await;
    }
    coll.outcome()
}

/// Combines `value` in place.
pub(in crate::coll) async fn by_messages(
    coll: &mut Collective,
    value: &Block,
    op: &Reduction,
    choice: Choice<Allreduce>,
) {
    match choice.algorithm {
        Allreduce::Ring => ring::allreduce(coll, value, op).await,
        Allreduce::Chain => {
            let first = Some(value).filter(|_| coll.rank == 0);
            chain::reduce(coll, value, first, op, (0, choice.parameter)).await;
            bcast::tree(coll, value, 0).await;
        }
        Allreduce::Rabenseifner => folded(coll, value, op, Within::Halves).await,
        Allreduce::RecursiveDoubling
        | Allreduce::Shared
        | Allreduce::SharedParts
        | Allreduce::Hierarchical => {
            folded(coll, value, op, Within::Whole).await;
        }
    }
}

/// The data that partners exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Whole vectors, at distances 1, 2, 4...: ceil(log2 p) steps.
    Whole,
    /// Halves of what they are responsible for, and back (Rabenseifner): about two vectors in all.
    Halves,
}

/// Combines `value` in place, within a power of two of ranks.
async fn folded(coll: &mut Collective, value: &Block, op: &Reduction, within: Within) {
    let folded = Folded::new(coll.size);
    let Some(spare) = coll.memory(Image::new(value, value.count)) else {
        return;
    };
    let mut sum = Accumulator::new(op, value.clone(), spare.block().clone());
    folded.fold(coll, &sum).await;
    if let Some(me) = folded.rank(coll.rank) {
        if within == Within::Halves {
            let halves = Halves::new(value.count, me, folded.ranks);
            halve(coll, &folded, me, &sum, &halves).await;
            double(coll, &folded, me, value, &halves).await;
        } else {
            let mut bit = 1;
            while bit < folded.ranks {
                let partner = folded.real(me ^ bit);
                coll.exchange(&sum.value, partner, &sum.spare, partner)
                    .await;
                if me & bit == 0 {
                    sum.append_spare();
                } else {
                    sum.prepend_spare();
                }
                bit *= 2;
            }
            value.copy_from(&sum.value);
        }
    }
    folded.unfold(coll, value).await;
}

/// Combines every rank's vector; rank `r` gets the `counts[r]` elements that are its part (MPI_Reduce_scatter and
/// MPI_Reduce_scatter_block). `send` holds the whole vector; it may overlap `receive`, which is written last.
///
/// # Errors
/// Those of the messages.
pub async fn reduce_scatter(
    comm: Arc<Comm>,
    send: Block,
    receive: Block,
    counts: Vec<usize>,
    op: Reduction,
) -> Result<()> {
    if comm.local().is_some() {
        return Box::pin(inter::reduce_scatter(comm, send, receive, &counts, &op)).await;
    }
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let statement = Statement::new(Call::ReduceScatter).with_op(&op);
        let part = |&count: &usize| check::DataSummary::of_elements(&send, count);
        let parts: Vec<_> = counts.iter().map(part).collect();
        let statement = statement.with_data(&send);
        Box::pin(check::same_lists(&mut coll, statement, &parts)).await?;
    }
    if send.bytes() == 0 {
        return coll.outcome();
    }
    let size = send.layout.size();
    let case = Case {
        bytes: counts.iter().max().map_or(0, |&count| count * size),
        ..select::reduction(&coll, &send, op.is_commutative())
    };
    let bytes = send.bytes();
    let mut choice = choose::<ReduceScatter>(&coll, &case);
    if choice.algorithm == ReduceScatter::Shared
        && let Some(rounds) = algorithms::shared::element_parts(&case)
    {
        let published = match rounds.count {
            1 => bytes,
            _ => rounds.most * size * counts.len(),
        };
        let published = (rounds.count, published);
        if let Some(sequence) =
            enter_area(&mut coll, Purpose::ReduceScatter, bytes, published).await
        {
            return long::reduce_scatter(sequence, &send, &receive, &counts, &op, rounds).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    let data = (&send, &receive);
    Box::pin(reduce_scatter_by_messages(
        &mut coll, choice, data, &counts, &op,
    ))
    .await;
    coll.outcome()
}

async fn reduce_scatter_by_messages(
    coll: &mut Collective,
    choice: Choice<ReduceScatter>,
    (send, receive): (&Block, &Block),
    counts: &[usize],
    op: &Reduction,
) {
    let mine = part_of(send, counts, coll.rank);
    let within = match choice.algorithm {
        ReduceScatter::RecursiveDoubling => Some(Within::Whole),
        ReduceScatter::Rabenseifner => Some(Within::Halves),
        _ => None,
    };
    if let Some(within) = within {
        let Some(image) = coll.memory(Image::new(send, send.count)) else {
            return;
        };
        image.block().copy_from(send);
        Box::pin(folded(coll, image.block(), op, within)).await;
        receive.copy_from(&part_of(image.block(), counts, coll.rank));
    } else if choice.algorithm == ReduceScatter::Chain && coll.size > 1 {
        let number = choice.parameter;
        Box::pin(chain::reduce_scatter(
            coll, send, receive, counts, op, number,
        ))
        .await;
    } else if choice.algorithm == ReduceScatter::Ring && coll.size > 1 {
        let parts: Vec<_> = (0..coll.size)
            .map(|rank| part_of(send, counts, rank))
            .collect();
        let largest = counts.iter().max().map_or(0, |&count| count);
        let Some(images) = coll.memory(Image::two(send, largest)) else {
            return;
        };
        let spares = images.each_ref().map(|image| image.block().clone());
        let result = Box::pin(ring::reduce_scatter(coll, &parts, spares, op)).await;
        receive.copy_from(&result);
    } else {
        let Some(images) = coll.memory(Image::three(send, mine.count)) else {
            return;
        };
        let blocks = images.each_ref().map(|image| image.block().clone());
        blocks[0].copy_from(&mine);
        let result = Box::pin(direct(coll, send, counts, blocks, op)).await;
        receive.copy_from(&result);
    }
}

/// A rank's part of a vector whose parts have these counts.
pub(in crate::coll) fn part_of(whole: &Block, counts: &[usize], rank: u32) -> Block {
    let first: usize = counts[..rank as usize].iter().sum();
    whole.part(first as i64, counts[rank as usize])
}

/// Every rank sends each other its part, p - 1 steps. Operands arrive in descending rank order from the own rank down and
/// then from the top: those of lower ranks are put before the own one, those of higher ranks are combined apart.
async fn direct(
    coll: &mut Collective,
    send: &Block,
    counts: &[usize],
    [low, high, spare]: [Block; 3],
    op: &Reduction,
) -> Block {
    let starts: Vec<i64> = counts
        .iter()
        .scan(0, |position, &count| {
            let start = *position;
            *position += count as i64;
            Some(start)
        })
        .collect();
    let mut above: Option<Accumulator<'_>> = None;
    let (mut high, mut spare) = (Some(high), spare);
    for distance in 1..coll.size {
        let (to, from) = (coll.above(distance), coll.below(distance));
        let out = send.part(starts[to as usize], counts[to as usize]);
        let into = match &high {
            Some(first) if from > coll.rank => first.clone(),
            _ => spare.clone(),
        };
        let mut step = coll.step();
        if into.count > 0 {
            step.receive(&into, from);
        }
        if out.count > 0 {
            step.send(&out, to);
        }
        step.finish().await;
        if from < coll.rank {
            combine(op, &into, &low);
        } else if let Some(first) = high.take() {
            above = Some(Accumulator::new(op, first, spare.clone()));
        } else if let Some(sum) = &above {
            sum.prepend_spare();
        }
    }
    match above {
        Some(sum) => {
            combine(op, &low, &sum.value);
            spare = sum.value;
            spare
        }
        None => low,
    }
}
