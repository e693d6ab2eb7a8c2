// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefix reductions.

use std::sync::Arc;

use super::choose;
use super::commons::{Purpose, area_of, meet};
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

/// Doubling, ceil(log2 p) steps: before step k a rank knows the combination of itself and the 2^k - 1 ranks below.
async fn prefix(
    comm: Arc<Comm>,
    send: Block,
    receive: Block,
    op: Reduction,
    kind: Prefix,
) -> Result<()> {
    let mut round = Round::new(comm);
    if send.bytes() == 0 {
        return round.outcome();
    }
    if choose::shared_in_one_turn(&send, area_of(&round))
        && let Some(meeting) =
            meet(&mut round, Purpose::Scan, send.bytes(), (1, send.bytes())).await
    {
        let inclusive = kind == Prefix::Inclusive;
        return shared::prefix(meeting, &send, &receive, &op, inclusive).await;
    }
    let images = [(); 3].map(|()| Image::new(&send, send.count));
    let [range, below, arrived] = images.each_ref().map(Image::block);
    range.copy_from(&send);
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
            combine(&op, arrived, range);
            if knows_below {
                combine(&op, arrived, below);
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
    round.outcome()
}
