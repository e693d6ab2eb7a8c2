// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier.

use std::sync::Arc;

use algorithms::Barrier;

use crate::coll::algorithms::bcast::tree;
use crate::coll::algorithms::hierarchy;
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::check::{self, Call, Statement};
use crate::coll::primitives::{Collective, Scratch};
use crate::coll::select::{self, choose};
use crate::comm::{Comm, Process};
use crate::errors::Result;
use crate::task::block_on;

/// Nobody leaves before everybody entered.
///
/// # Errors
/// Those of the messages.
pub async fn barrier(comm: Arc<Comm>) -> Result<()> {
    if comm.local().is_some() {
        return Box::pin(crate::coll::algorithms::inter::barrier(comm)).await;
    }
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let statement = Statement::new(Call::Barrier);
        Box::pin(check::same(&mut coll, statement)).await?;
    }
    let case = select::case(&coll, 0, 0);
    let mut choice = choose::<Barrier>(&coll, &case);
    if choice.algorithm == Barrier::Shared {
        if let Some(sequence) = enter_area(&mut coll, Purpose::Barrier, 0, (1, 0)).await {
            return long::barrier(sequence).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Barrier::Hierarchical
        && let Some(node) = coll.comm.node()
    {
        return Box::pin(hierarchy::barrier(&coll, node)).await;
    }
    by_messages(&mut coll, choice.algorithm).await;
    coll.outcome()
}

pub(in crate::coll) async fn by_messages(coll: &mut Collective, algorithm: Barrier) {
    match algorithm {
        Barrier::Tree => Box::pin(up_and_down(coll)).await,
        Barrier::Linear => Box::pin(linear(coll)).await,
        Barrier::Dissemination | Barrier::Shared | Barrier::Hierarchical => {
            Box::pin(dissemination(coll)).await;
        }
    }
}

/// Messages to the ranks at distances 1, 2, 4..., ceil(log2 p) rounds of one empty message each way.
pub(in crate::coll) async fn dissemination(coll: &mut Collective) {
    let nothing = Scratch::new(0).block(0, 0);
    let mut distance = 1;
    while distance < coll.size {
        let (to, from) = (coll.above(distance), coll.below(distance));
        coll.exchange(&nothing, to, &nothing, from).await;
        distance *= 2;
    }
}

/// Up a binomial tree, then down: 2 (p - 1) messages in all.
async fn up_and_down(coll: &mut Collective) {
    let nothing = Scratch::new(0).block(0, 0);
    let (rank, size) = (coll.rank, coll.size);
    let mut bit = 1;
    let mut step = coll.step();
    while bit < size && rank & bit == 0 {
        if rank + bit < size {
            step.receive(&nothing, rank + bit);
        }
        bit *= 2;
    }
    step.finish().await;
    if rank > 0 {
        coll.send(&nothing, rank - bit).await;
    }
    tree(coll, &nothing, 0).await;
}

/// Everybody tells rank 0, which answers.
async fn linear(coll: &mut Collective) {
    let nothing = Scratch::new(0).block(0, 0);
    if coll.rank > 0 {
        coll.exchange(&nothing, 0, &nothing, 0).await;
        return;
    }
    for receives in [true, false] {
        let mut step = coll.step();
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

/// The collective part of MPI_Finalize: waits until all ranks have started all that they will ever start, ends what the program
/// has not waited for, and sends everything that is still queued.
///
/// # Errors
/// When a peer broke the protocol.
pub fn finish(process: &'static Process) -> Result<()> {
    const CALL: &str = "MPI_Finalize";
    let vci = process.vci();
    block_on(vci, CALL, barrier(process.world().clone()))?;
    // Other ranks' parts of an operation may depend on this rank's part.
    vci.wait_until(CALL, |_| vci.has_no_tasks())?;
    process.rest(CALL)
}
