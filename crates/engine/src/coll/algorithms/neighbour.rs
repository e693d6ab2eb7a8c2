// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives among neighbours in a virtual topology (MPI-5.0, section 8.6): one message along each edge.

use std::sync::Arc;

use crate::coll::blocks::Blocks;
use crate::coll::check;
use crate::coll::primitives::{Block, Collective};
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};

/// Number of neighbours that the calling rank receives from, and sends to.
///
/// # Errors
/// MPI_ERR_TOPOLOGY when the communicator has no topology.
pub fn degrees(comm: &Comm) -> Result<(usize, usize)> {
    let (sources, destinations) = neighbours(comm)?;
    Ok((sources.len(), destinations.len()))
}

fn neighbours(comm: &Comm) -> Result<(Vec<i32>, Vec<i32>)> {
    let topology = comm.topology().ok_or_else(|| {
        let (value, expected) = ("a communicator without a topology", "a grid or a graph");
        Error::argument(ErrorClass::ERR_TOPOLOGY, "comm", value, expected)
    })?;
    Ok(topology.neighbours(comm.rank() as u32))
}

/// Block `i` of `send` to the `i`-th neighbour, and from the `i`-th into block `i` of `receive` (MPI_Neighbor_alltoall and
/// relatives). Where a grid ends the blocks are left alone.
///
/// # Errors
/// MPI_ERR_TOPOLOGY, or those of the messages.
pub async fn exchange(comm: Arc<Comm>, send: Blocks, receive: Blocks) -> Result<()> {
    let (sources, destinations) = neighbours(&comm)?;
    let grid = matches!(
        comm.topology(),
        Some(crate::comm::topology::Topology::Cart(_))
    );
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let statement = check::Statement::new(check::Call::Neighbor);
        Box::pin(check::same(&mut coll, statement)).await?;
    }
    let mut step = coll.step();
    for index in 0..sources.len() {
        // In a grid what was sent downwards comes from above. Where both neighbours are the same rank, messages that are
        // told apart by their order alone have to be received so.
        let index = if grid { index ^ 1 } else { index };
        if let Ok(source) = u32::try_from(sources[index]) {
            step.receive(receive.block(index as u32), source);
        }
    }
    for (block, &destination) in send.0.iter().zip(&destinations) {
        if let Ok(destination) = u32::try_from(destination) {
            step.send(block, destination);
        }
    }
    step.finish().await;
    coll.outcome()
}

/// The same block to every neighbour (MPI_Neighbor_allgather and relatives).
///
/// # Errors
/// Those of [`exchange`].
pub async fn spread(comm: Arc<Comm>, send: Block, receive: Blocks) -> Result<()> {
    let (_, destinations) = degrees(&comm)?;
    exchange(comm, Blocks(vec![send; destinations]), receive).await
}
