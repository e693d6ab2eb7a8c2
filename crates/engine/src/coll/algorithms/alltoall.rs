// SPDX-License-Identifier: MIT OR Apache-2.0
//! All-to-all, with equal or varying blocks and datatypes.

use std::sync::Arc;

use algorithms::{Alltoall, Case};

use crate::coll::algorithms::inter;
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::blocks::{Blocks, Sizes};
use crate::coll::check;
use crate::coll::primitives::{Block, Collective, Scratch};
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;

/// Block `i` of every rank goes to rank `i` (MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw); `send` is `None` when the blocks
/// are exchanged in place.
///
/// # Errors
/// Those of the messages.
pub async fn alltoall(
    comm: Arc<Comm>,
    send: Option<Blocks>,
    receive: Blocks,
    sizes: Sizes,
) -> Result<()> {
    if comm.local().is_some() {
        let send = send.ok_or_else(inter::not_in_place)?;
        return Box::pin(inter::alltoall(comm, send, receive)).await;
    }
    let mut coll = Collective::new(comm);
    if coll.checks() {
        let out = send.as_ref().unwrap_or(&receive);
        Box::pin(check::alltoall(&mut coll, out, &receive, sizes)).await?;
    }
    let equal = sizes == Sizes::Equal;
    let bytes = if equal {
        receive.block(coll.rank).bytes()
    } else {
        receive.0.iter().map(Block::bytes).max().unwrap_or(0)
    };
    let size = coll.size;
    let case = Case {
        equal,
        in_place: send.is_none(),
        ..select::case(&coll, bytes, bytes * size as usize)
    };
    if equal && bytes == 0 {
        return coll.outcome();
    }
    let mut choice = choose::<Alltoall>(&coll, &case);
    if choice.algorithm == Alltoall::Shared
        && let Some(rounds) = algorithms::shared::parts(bytes, size)
    {
        let blocks = algorithms::shared::published_of(bytes, size);
        let (purpose, published) = (Purpose::Alltoall, rounds.published_blocks(blocks));
        if let Some(sequence) = enter_area(&mut coll, purpose, bytes, published).await {
            let send = send.as_ref().unwrap_or(&receive);
            return long::alltoall(sequence, send, &receive, (bytes, rounds)).await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    let window = match choice.algorithm {
        Alltoall::Linear => u32::try_from(choice.parameter).unwrap_or(u32::MAX),
        _ => 1,
    };
    match (choice.algorithm, send) {
        (Alltoall::Bruck, send) => {
            let send = send.as_ref().unwrap_or(&receive);
            Box::pin(forward(&mut coll, send, &receive, bytes)).await;
        }
        (_, Some(send)) => Box::pin(direct(&mut coll, &send, &receive, window)).await,
        (_, None) => Box::pin(in_place(&mut coll, &receive)).await,
    }
    coll.outcome()
}

/// Messages straight to their ranks, `window` at once.
async fn direct(coll: &mut Collective, send: &Blocks, receive: &Blocks, window: u32) {
    receive.block(coll.rank).copy_from(send.block(coll.rank));
    let mut distance = 1;
    while distance < coll.size {
        let end = coll.size.min(distance.saturating_add(window));
        let peers: Vec<_> = (distance..end)
            .map(|distance| (coll.above(distance), coll.below(distance)))
            .collect();
        let mut step = match window {
            1 => coll.step(),
            // Each member has something for many: it copies what it gets.
            _ => coll.step().copied_by_receivers(),
        };
        for &(_, from) in &peers {
            if receive.block(from).bytes() > 0 {
                step.receive(receive.block(from), from);
            }
        }
        for &(to, _) in &peers {
            if send.block(to).bytes() > 0 {
                step.send(send.block(to), to);
            }
        }
        step.finish().await;
        distance = end;
    }
}

/// Pairs of ranks swap blocks: in step s rank r meets rank s - r. Only the block that leaves is copied.
async fn in_place(coll: &mut Collective, blocks: &Blocks) {
    let (rank, size) = (coll.rank, coll.size);
    for sum in 0..size {
        let partner = (sum + size - rank) % size;
        let block = blocks.block(partner);
        if partner != rank && block.bytes() > 0 {
            let Some(mut leaving) = coll.memory(Scratch::of(block)) else {
                return;
            };
            let out = leaving.block(0, block.bytes());
            coll.exchange(&out, partner, block, partner).await;
        }
    }
}

/// Small blocks travel packed, in ceil(log2 p) steps: in step k all blocks whose distance has bit k move 2^k ranks up
/// (Bruck). Each block is forwarded as often as its distance has bits.
async fn forward(coll: &mut Collective, send: &Blocks, receive: &Blocks, bytes: usize) {
    let size = coll.size;
    let half = (size as usize).div_ceil(2);
    let held = coll.memory(Scratch::of_equal(bytes, size as usize));
    let out = coll.memory(Scratch::of_equal(bytes, half));
    let into = coll.memory(Scratch::of_equal(bytes, half));
    let (Some(mut held), Some(mut out), Some(mut into)) = (held, out, into) else {
        return;
    };
    for (distance, block) in (0..size).zip(held.as_mut_slice().chunks_exact_mut(bytes)) {
        send.block(coll.above(distance)).pack_into(block);
    }
    let mut bit = 1;
    while bit < size {
        let moving = || (0..size as usize).filter(move |distance| distance & bit as usize != 0);
        let mut moved = 0;
        for distance in moving() {
            let from = &held.as_mut_slice()[distance * bytes..][..bytes];
            out.as_mut_slice()[moved..moved + bytes].copy_from_slice(from);
            moved += bytes;
        }
        let (to, from) = (coll.above(bit), coll.below(bit));
        let (sent, received) = (out.block(0, moved), into.block(0, moved));
        coll.exchange(&sent, to, &received, from).await;
        for (index, distance) in moving().enumerate() {
            let arrived = &into.as_mut_slice()[index * bytes..][..bytes];
            held.as_mut_slice()[distance * bytes..][..bytes].copy_from_slice(arrived);
        }
        bit *= 2;
    }
    for (distance, block) in (0..size).zip(held.as_mut_slice().chunks_exact(bytes)) {
        receive.block(coll.below(distance)).from_bytes(block);
    }
}
