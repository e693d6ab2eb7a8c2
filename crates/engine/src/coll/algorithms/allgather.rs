// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allgather, with equal or varying blocks, and the exchange of single words that communicator creation needs.

use std::sync::Arc;

use algorithms::Allgather;

use crate::coll::algorithms::hierarchy;
use crate::coll::algorithms::inter;
use crate::coll::area::long;
use crate::coll::area::{Purpose, enter_area};
use crate::coll::blocks::Blocks;
use crate::coll::check;
use crate::coll::primitives::{Block, Collective, Scratch};
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;

/// Every rank's block to every rank (MPI_Allgather, MPI_Allgatherv); `send` is `None` when the own block is in place.
///
/// # Errors
/// Those of the messages.
pub async fn allgather(comm: Arc<Comm>, send: Option<Block>, blocks: Blocks) -> Result<()> {
    if comm.local().is_some() {
        let send = send.ok_or_else(inter::not_in_place)?;
        return Box::pin(inter::allgather(comm, send, blocks)).await;
    }
    let mut coll = Collective::new(comm);
    if coll.checks() {
        Box::pin(check::allgather(&mut coll, send.as_ref(), &blocks)).await?;
    }
    let largest = blocks.0.iter().map(Block::bytes).max().unwrap_or(0);
    let total = blocks.0.iter().map(Block::bytes).sum();
    let case = select::case(&coll, largest, total);
    let mut choice = choose::<Allgather>(&coll, &case);
    if choice.algorithm == Allgather::Shared {
        let rounds = algorithms::shared::blocks(largest, coll.size);
        let (purpose, published) = (Purpose::Allgather, rounds.published(largest));
        if let Some(sequence) = enter_area(&mut coll, purpose, largest, published).await {
            return long::gather(
                sequence,
                send.as_ref(),
                Some(&blocks),
                (None, largest),
                rounds,
            )
            .await;
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Allgather::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        if let Some(block) = send {
            blocks.block(coll.rank).copy_from(&block);
        }
        return Box::pin(hierarchy::allgather(&coll, node, &blocks)).await;
    }
    let target = blocks.block(coll.rank);
    let own = send.as_ref().filter(|own| own.bytes() == target.bytes());
    if let (Some(block), None) = (&send, own) {
        target.copy_from(block);
    }
    if total > 0 {
        let own = own.unwrap_or(target);
        by_messages(&mut coll, &blocks, own, total, choice.algorithm).await;
    }
    // Last, because lines just written here are slower to read from other cores, and no rank waits for this copy.
    if let Some(block) = own {
        target.copy_from(block);
    }
    coll.outcome()
}

/// Exchanges blocks of `total` bytes in all; `own` holds this rank's, which need not be in place.
pub(in crate::coll) async fn by_messages(
    coll: &mut Collective,
    blocks: &Blocks,
    own: &Block,
    total: usize,
    algorithm: Allgather,
) {
    match algorithm {
        Allgather::Bruck => Box::pin(bruck(coll, blocks, own, total)).await,
        Allgather::RecursiveDoubling => Box::pin(doubling(coll, blocks, own, total)).await,
        Allgather::Linear => Box::pin(linear(coll, blocks, own)).await,
        Allgather::Ring | Allgather::Shared | Allgather::Hierarchical => {
            Box::pin(ring(coll, blocks, own)).await;
        }
    }
}

/// Every rank sends its block to every other, all at once.
async fn linear(coll: &mut Collective, blocks: &Blocks, own: &Block) {
    let (rank, size) = (coll.rank, coll.size);
    let mut step = coll.step();
    for from in (1..size).map(|distance| (rank + size - distance) % size) {
        if blocks.block(from).bytes() > 0 {
            step.receive(blocks.block(from), from);
        }
    }
    for to in (1..size).map(|distance| (rank + distance) % size) {
        if own.bytes() > 0 {
            step.send(own, to);
        }
    }
    step.finish().await;
}

/// Pairs at distances 1, 2, 4... exchange all they know: log2 p steps. The number of ranks is a power of two.
async fn doubling(coll: &mut Collective, blocks: &Blocks, own: &Block, total: usize) {
    let (rank, size) = (coll.rank as usize, coll.size as usize);
    let mut starts = vec![0];
    for block in &blocks.0 {
        starts.push(starts[starts.len() - 1] + block.bytes());
    }
    let Some(mut packed) = coll.memory(Scratch::new(total)) else {
        return;
    };
    own.pack_into(&mut packed.as_mut_slice()[starts[rank]..starts[rank + 1]]);
    let mut known = 1;
    while known < size {
        let (first, partner) = (rank & !(known - 1), (rank ^ known) as u32);
        let mut range = |first: usize| {
            let start = starts[first];
            packed.block(start, starts[first + known] - start)
        };
        let (out, into) = (range(first), range(first ^ known));
        coll.exchange(&out, partner, &into, partner).await;
        known *= 2;
    }
    for (other, block) in blocks.0.iter().enumerate() {
        if other != rank {
            block.from_bytes(&packed.as_mut_slice()[starts[other]..starts[other + 1]]);
        }
    }
}

/// Each block goes once round the ring: p - 1 steps, no copies.
async fn ring(coll: &mut Collective, blocks: &Blocks, own: &Block) {
    for distance in 0..coll.size - 1 {
        let out = match distance {
            0 => own,
            _ => blocks.block(coll.below(distance)),
        };
        let into = blocks.block(coll.below(distance + 1));
        let (to, from) = (coll.above(1), coll.below(1));
        let mut step = coll.step();
        if into.bytes() > 0 {
            step.receive(into, from);
        }
        if out.bytes() > 0 {
            step.send(out, to);
        }
        step.finish().await;
    }
}

/// The number of known blocks doubles in each of ceil(log2 p) steps (Bruck). Blocks are packed in the order of their
/// distance above the own rank.
pub(in crate::coll) async fn bruck(
    coll: &mut Collective,
    blocks: &Blocks,
    own: &Block,
    total: usize,
) {
    let size = coll.size;
    let start_of: Vec<usize> = (0..=size)
        .scan(0, |position, distance| {
            let start = *position;
            *position += blocks.block(coll.above(distance)).bytes();
            Some(start)
        })
        .collect();
    let Some(mut packed) = coll.memory(Scratch::new(total)) else {
        return;
    };
    own.pack_into(&mut packed.as_mut_slice()[..start_of[1]]);
    let mut known = 1;
    while known < size {
        let count = known.min(size - known);
        let out = packed.block(0, start_of[count as usize]);
        let (start, end) = (start_of[known as usize], start_of[(known + count) as usize]);
        let into = packed.block(start, end - start);
        let (to, from) = (coll.below(known), coll.above(known));
        coll.exchange(&out, to, &into, from).await;
        known += count;
    }
    for distance in 1..size {
        let range = start_of[distance as usize]..start_of[distance as usize + 1];
        blocks
            .block(coll.above(distance))
            .from_bytes(&packed.as_mut_slice()[range]);
    }
}

/// Every rank's words, in rank order, at every rank; all ranks give as many.
///
/// # Errors
/// Those of the messages.
pub async fn gather_words(comm: Arc<Comm>, words: &[u64]) -> Result<Vec<u64>> {
    let size = comm.size() as u32;
    let bytes = size_of_val(words);
    let mut all = Scratch::of_equal(bytes, size as usize)?;
    let blocks = Blocks::equal(&all.block(0, 0), bytes, size);
    let own: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    blocks.block(comm.rank() as u32).from_bytes(&own);
    allgather(comm, None, blocks).await?;
    let mut result = vec![0; words.len() * size as usize];
    all.store_words(&mut result);
    Ok(result)
}

/// As [`gather_words`], by messages of a collective that has begun.
///
/// # Errors
/// MPI_ERR_NO_MEM; those of the messages are the collective's.
pub(crate) async fn gather_words_in(coll: &mut Collective, words: &[u64]) -> Result<Vec<u64>> {
    let size = coll.size;
    let bytes = size_of_val(words);
    let mut all = Scratch::of_equal(bytes, size as usize)?;
    let blocks = Blocks::equal(&all.block(0, 0), bytes, size);
    let own: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let slot = blocks.block(coll.rank);
    slot.from_bytes(&own);
    bruck(coll, &blocks, slot, bytes * size as usize).await;
    let mut result = vec![0; words.len() * size as usize];
    all.store_words(&mut result);
    Ok(result)
}
