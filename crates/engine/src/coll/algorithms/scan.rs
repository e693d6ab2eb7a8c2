// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefix reductions.

use std::sync::Arc;

use algorithms::Scan;

use crate::coll::algorithms::reduce::{Image, combine};
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::check::{self, Call, Statement};
use crate::coll::primitives::{Block, Collective};
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// Which ranks a prefix covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefix {
    Inclusive,
    Exclusive,
}

/// Rank `r` gets the combination of ranks `0..=r` (MPI_Scan). In place: `send` is `receive`.
///
/// # Errors
/// Those of the messages.
pub async fn scan(comm: Arc<Comm>, send: Block, receive: Block, op: Reduction) -> Result<()> {
    prefix(comm, send, receive, op, Prefix::Inclusive).await
}

/// Rank `r` gets the combination of ranks `0..r` (MPI_Exscan); rank 0's receive block is left alone.
///
/// # Errors
/// Those of the messages.
pub async fn exscan(comm: Arc<Comm>, send: Block, receive: Block, op: Reduction) -> Result<()> {
    prefix(comm, send, receive, op, Prefix::Exclusive).await
}

async fn prefix(
    comm: Arc<Comm>,
    send: Block,
    receive: Block,
    op: Reduction,
    kind: Prefix,
) -> Result<()> {
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let call = match kind {
            Prefix::Inclusive => Call::Scan,
            Prefix::Exclusive => Call::Exscan,
        };
        let statement = Statement::new(call).with_op(&op).with_data(&send);
        Box::pin(check::same(&mut coll, statement)).await?;
    }
    let bytes = send.bytes();
    if bytes == 0 {
        return coll.outcome();
    }
    let case = select::reduction(&coll, &send, op.is_commutative());
    let mut choice = choose::<Scan>(&coll, &case);
    if choice.algorithm == Scan::Shared {
        if let Some(sequence) = enter_area(&mut coll, Purpose::Scan, bytes, (1, bytes)).await {
            let inclusive = kind == Prefix::Inclusive;
            return long::prefix(sequence, (&send, &receive), &op, inclusive).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Scan::SharedChain
        && let Some(rounds) = algorithms::shared::elements(&case)
    {
        let published = rounds.published_elements(send.count, send.layout.size());
        if let Some(sequence) = enter_area(&mut coll, Purpose::ScanChain, bytes, published).await {
            let inclusive = kind == Prefix::Inclusive;
            return long::prefix_chain(sequence, (&send, &receive), &op, inclusive, rounds).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    match choice.algorithm {
        Scan::Direct => Box::pin(direct(&mut coll, &send, &receive, &op, kind)).await,
        Scan::Linear => Box::pin(linear(&mut coll, &send, &receive, &op, kind)).await,
        Scan::RecursiveDoubling | Scan::Shared | Scan::SharedChain => {
            Box::pin(doubling(&mut coll, &send, &receive, &op, kind)).await;
        }
    }
    coll.outcome()
}

/// Every rank sends its operand to all higher ranks, which combine from the nearest down: the grouping of shared memory.
async fn direct(
    coll: &mut Collective,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    kind: Prefix,
) {
    let Some(images) = coll.memory(Image::two(send, send.count)) else {
        return;
    };
    let [sum, arrived] = images.each_ref().map(Image::block);
    let mut knows = kind == Prefix::Inclusive;
    if knows {
        sum.copy_from(send);
    }
    let rank = coll.rank;
    let mut leaving = coll.step();
    for above in rank + 1..leaving.size() {
        leaving.send(send, above);
    }
    leaving.finish().await;
    for below in (0..rank).rev() {
        if knows {
            coll.receive(arrived, below).await;
            combine(op, arrived, sum);
        } else {
            coll.receive(sum, below).await;
            knows = true;
        }
    }
    if knows {
        receive.copy_from(sum);
    }
}

/// From rank to rank, p - 1 steps: the fewest messages.
async fn linear(
    coll: &mut Collective,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    kind: Prefix,
) {
    let Some(images) = coll.memory(Image::two(send, send.count)) else {
        return;
    };
    let [sum, below] = images.each_ref().map(Image::block);
    sum.copy_from(send);
    if coll.rank > 0 {
        coll.receive(below, coll.rank - 1).await;
        combine(op, below, sum);
    }
    if coll.rank + 1 < coll.size {
        coll.send(sum, coll.rank + 1).await;
    }
    match kind {
        Prefix::Inclusive => receive.copy_from(sum),
        Prefix::Exclusive if coll.rank > 0 => receive.copy_from(below),
        Prefix::Exclusive => {}
    }
}

/// Doubling, ceil(log2 p) steps: before step k a rank knows the combination of itself and the 2^k - 1 ranks below.
async fn doubling(
    coll: &mut Collective,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    kind: Prefix,
) {
    let Some(images) = coll.memory(Image::three(send, send.count)) else {
        return;
    };
    let [range, below, arrived] = images.each_ref().map(Image::block);
    range.copy_from(send);
    let mut knows_below = false;
    let mut distance = 1;
    while distance < coll.size {
        let (rank, size) = (coll.rank, coll.size);
        let mut step = coll.step();
        if rank >= distance {
            step.receive(arrived, rank - distance);
        }
        if rank + distance < size {
            step.send(range, rank + distance);
        }
        step.finish().await;
        if rank >= distance {
            combine(op, arrived, range);
            if knows_below {
                combine(op, arrived, below);
            } else {
                below.copy_from(arrived);
                knows_below = true;
            }
        }
        distance *= 2;
    }
    match kind {
        Prefix::Inclusive => receive.copy_from(range),
        Prefix::Exclusive if knows_below => receive.copy_from(below),
        Prefix::Exclusive => {}
    }
}
