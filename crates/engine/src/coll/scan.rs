// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefix reductions.

use std::sync::Arc;

use algorithms::Scan;

use super::check::{self, Call, Statement};
use super::choose::{self, choose};
use super::commons::{Purpose, meet};
use super::passing;
use super::primitives::{Block, Round};
use super::reduce::{Image, combine};
use super::shared;
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
    let mut round = Round::new(comm);
    if round.checks() {
        let call = match kind {
            Prefix::Inclusive => Call::Scan,
            Prefix::Exclusive => Call::Exscan,
        };
        let statement = Statement::new(call).with_op(&op).with_data(&send);
        Box::pin(check::same(&mut round, statement)).await?;
    }
    let bytes = send.bytes();
    if bytes == 0 {
        return round.outcome();
    }
    let case = choose::reduction(&round, &send, op.is_commutative());
    let mut choice = choose::<Scan>(&round, &case);
    if choice.algorithm == Scan::Shared {
        if let Some(meeting) = meet(&mut round, Purpose::Scan, bytes, (1, bytes)).await {
            let inclusive = kind == Prefix::Inclusive;
            return shared::prefix(meeting, &send, &receive, &op, inclusive).await;
        }
        choice = choose(&round, &case.without_shared());
    }
    if choice.algorithm == Scan::SharedChain
        && let Some(turns) = algorithms::shared::elements(&case)
    {
        let shown = turns.shown_elements(send.count, send.layout.size());
        if let Some(meeting) = meet(&mut round, Purpose::ScanChain, bytes, shown).await {
            let inclusive = kind == Prefix::Inclusive;
            return passing::chain(meeting, &send, &receive, &op, inclusive, turns).await;
        }
        choice = choose(&round, &case.without_shared());
    }
    match choice.algorithm {
        Scan::Direct => Box::pin(direct(&mut round, &send, &receive, &op, kind)).await,
        Scan::Linear => Box::pin(linear(&mut round, &send, &receive, &op, kind)).await,
        Scan::RecursiveDoubling | Scan::Shared | Scan::SharedChain => {
            Box::pin(doubling(&mut round, &send, &receive, &op, kind)).await;
        }
    }
    round.outcome()
}

/// Every rank sends its operand to all above, who combine from the nearest down: the grouping of shared memory.
async fn direct(round: &mut Round, send: &Block, receive: &Block, op: &Reduction, kind: Prefix) {
    let images = [(); 2].map(|()| Image::new(send, send.count));
    let [sum, arrived] = images.each_ref().map(Image::block);
    let mut knows = kind == Prefix::Inclusive;
    if knows {
        sum.copy_from(send);
    }
    let rank = round.rank;
    let mut leaving = round.step();
    for above in rank + 1..leaving.size() {
        leaving.send(send, above);
    }
    leaving.finish().await;
    for below in (0..rank).rev() {
        if knows {
            round.receive(arrived, below).await;
            combine(op, arrived, sum);
        } else {
            round.receive(sum, below).await;
            knows = true;
        }
    }
    if knows {
        receive.copy_from(sum);
    }
}

/// From rank to rank, p - 1 steps: the fewest messages.
async fn linear(round: &mut Round, send: &Block, receive: &Block, op: &Reduction, kind: Prefix) {
    let images = [(); 2].map(|()| Image::new(send, send.count));
    let [sum, below] = images.each_ref().map(Image::block);
    sum.copy_from(send);
    if round.rank > 0 {
        round.receive(below, round.rank - 1).await;
        combine(op, below, sum);
    }
    if round.rank + 1 < round.size {
        round.send(sum, round.rank + 1).await;
    }
    match kind {
        Prefix::Inclusive => receive.copy_from(sum),
        Prefix::Exclusive if round.rank > 0 => receive.copy_from(below),
        Prefix::Exclusive => {}
    }
}

/// Doubling, ceil(log2 p) steps: before step k a rank knows the combination of itself and the 2^k - 1 ranks below.
async fn doubling(round: &mut Round, send: &Block, receive: &Block, op: &Reduction, kind: Prefix) {
    let images = [(); 3].map(|()| Image::new(send, send.count));
    let [range, below, arrived] = images.each_ref().map(Image::block);
    range.copy_from(send);
    let mut knows_below = false;
    let mut distance = 1;
    while distance < round.size {
        let (rank, size) = (round.rank, round.size);
        let mut step = round.step();
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
