// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier.

use std::sync::Arc;

use algorithms::Barrier;

use super::bcast::tree;
use super::check::{self, Call, Statement};
use super::choose::{self, choose};
use super::commons::{Purpose, meet};
use super::hierarchy;
use super::primitives::{Round, Scratch};
use super::shared;
use crate::comm::Comm;
use crate::errors::Result;

/// Nobody leaves before everybody entered.
///
/// # Errors
/// Those of the messages.
pub async fn barrier(comm: Arc<Comm>) -> Result<()> {
    if comm.local().is_some() {
        return Box::pin(super::inter::barrier(comm)).await;
    }
    let mut round = Round::new(comm);
    if round.checks() {
        let statement = Statement::new(Call::Barrier);
        Box::pin(check::same(&mut round, statement)).await?;
    }
    let case = choose::case(&round, 0, 0);
    let mut choice = choose::<Barrier>(&round, &case);
    if choice.algorithm == Barrier::Shared {
        if let Some(meeting) = meet(&mut round, Purpose::Barrier, 0, (1, 0)).await {
            return shared::barrier(meeting).await;
        }
        choice = choose(&round, &case.without_shared());
    }
    if choice.algorithm == Barrier::Hierarchical
        && let Some(node) = round.comm.node()
    {
        return Box::pin(hierarchy::barrier(&round, node)).await;
    }
    by_messages(&mut round, choice.algorithm).await;
    round.outcome()
}

pub(super) async fn by_messages(round: &mut Round, algorithm: Barrier) {
    match algorithm {
        Barrier::Tree => Box::pin(up_and_down(round)).await,
        Barrier::Linear => Box::pin(linear(round)).await,
        Barrier::Dissemination | Barrier::Shared | Barrier::Hierarchical => {
            Box::pin(dissemination(round)).await;
        }
    }
}

/// Messages to the ranks at distances 1, 2, 4..., ceil(log2 p) rounds of one empty message each way.
pub(super) async fn dissemination(round: &mut Round) {
    let nothing = Scratch::new(0).block(0, 0);
    let mut distance = 1;
    while distance < round.size {
        let (to, from) = (round.above(distance), round.below(distance));
        round.exchange(&nothing, to, &nothing, from).await;
        distance *= 2;
    }
}

/// Up a binomial tree, then down: 2 (p - 1) messages in all.
async fn up_and_down(round: &mut Round) {
    let nothing = Scratch::new(0).block(0, 0);
    let (rank, size) = (round.rank, round.size);
    let mut bit = 1;
    let mut step = round.step();
    while bit < size && rank & bit == 0 {
        if rank + bit < size {
            step.receive(&nothing, rank + bit);
        }
        bit *= 2;
    }
    step.finish().await;
    if rank > 0 {
        round.send(&nothing, rank - bit).await;
    }
    tree(round, &nothing, 0).await;
}

/// Everybody tells rank 0, which answers.
async fn linear(round: &mut Round) {
    let nothing = Scratch::new(0).block(0, 0);
    if round.rank > 0 {
        round.exchange(&nothing, 0, &nothing, 0).await;
        return;
    }
    for receives in [true, false] {
        let mut step = round.step();
        for rank in 1..step.size() {
            if receives {
                step.receive(&nothing, rank);
            } else {
                step.send(&nothing, rank);
            }
        }
        step.finish().await;
    }
}
