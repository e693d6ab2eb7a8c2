// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier.

use std::sync::Arc;

use algorithms::Barrier;

use crate::coll::algorithms::hierarchy;
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::check::{self, Call, Statement};
use crate::coll::primitives::{Collective, Scratch};
use crate::coll::select::{self, choose};
use crate::comm::{Comm, Process};
use crate::errors::Result;
use crate::task::block_on;

/// No rank leaves before all ranks have entered.
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
    meet(coll).await
}

/// The barrier itself, by the algorithm that fits.
async fn meet(mut coll: Collective) -> Result<()> {
    let case = select::case(&coll, 0, 0);
    let mut choice = choose::<Barrier>(&coll, &case);
    if choice.algorithm == Barrier::Shared {
        if let Some(sequence) = enter_area(&mut coll, Purpose::Barrier, 0, (1, 0)).await {
            return long::barrier(sequence).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Barrier::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        return Box::pin(hierarchy::barrier(&coll, node)).await;
    }
    Box::pin(dissemination(&mut coll)).await;
    coll.outcome()
}

/// Messages to the ranks at distances 1, 2, 4..., ceil(log2 p) rounds of one empty message each way.
pub(in crate::coll) async fn dissemination(coll: &mut Collective) {
    let Some(mut nothing) = coll.memory(Scratch::new(0)) else {
        return;
    };
    let nothing = nothing.block(0, 0);
    let mut distance = 1;
    while distance < coll.size {
        let (to, from) = (coll.above(distance), coll.below(distance));
        coll.exchange(&nothing, to, &nothing, from).await;
        distance *= 2;
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
    // Where nothing arrives, no rank depends on this one.
    if vci.delivers() {
        block_on(vci, CALL, depart(process))?;
    }
    // Other ranks' parts of an operation may depend on this rank's part.
    for vci in process.vcis().iter() {
        vci.wait_until(CALL, |_| vci.has_no_tasks())?;
        // The ranks may have met elsewhere than in the links: receives that the program has freed get what was sent before that.
        vci.take_arrived();
    }
    process.rest(CALL)
}

/// Waits for all ranks, in a context that no collective of the program uses. Only the check compares MPI_Finalize with the collectives
/// that the others do on MPI_COMM_WORLD.
async fn depart(process: &'static Process) -> Result<()> {
    let mut world = Collective::new(process.world().clone());
    if world.checks() {
        let statement = Statement::new(Call::Barrier);
        Box::pin(check::same(&mut world, statement)).await?;
    }
    meet(Collective::new(process.departure().clone())).await
}
