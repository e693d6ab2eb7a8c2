// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allgather, with equal or varying pieces, and the exchange of single words that communicator creation needs.

use std::sync::Arc;

use algorithms::Allgather;

use super::check;
use super::choose::{self, choose};
use super::commons::{Purpose, meet};
use super::gather::Pieces;
use super::hierarchy;
use super::inter;
use super::primitives::{Block, Round, Scratch};
use super::shared;
use crate::comm::Comm;
use crate::errors::Result;

/// Every rank's piece to every rank (MPI_Allgather, MPI_Allgatherv); `send` is `None` when the own piece is in place.
///
/// # Errors
/// Those of the messages.
pub async fn allgather(comm: Arc<Comm>, send: Option<Block>, pieces: Pieces) -> Result<()> {
    if comm.local().is_some() {
        let send = send.ok_or_else(inter::not_in_place)?;
        return Box::pin(inter::allgather(comm, send, pieces)).await;
    }
    let mut round = Round::new(comm);
    if round.checks() {
        Box::pin(check::allgather(&mut round, send.as_ref(), &pieces)).await?;
    }
    let largest = pieces.0.iter().map(Block::bytes).max().unwrap_or(0);
    let total = pieces.0.iter().map(Block::bytes).sum();
    let case = choose::case(&round, largest, total);
    let mut choice = choose::<Allgather>(&round, &case);
    if choice.algorithm == Allgather::Shared {
        let turns = algorithms::shared::pieces(largest, round.size);
        let (purpose, shown) = (Purpose::Allgather, turns.shown(largest));
        if let Some(meeting) = meet(&mut round, purpose, largest, shown).await {
            return shared::gather(meeting, send.as_ref(), Some(&pieces), None, turns).await;
        }
        choice = choose(&round, &case.without_shared());
    }
    if choice.algorithm == Allgather::Hierarchical
        && let Some(node) = round.comm.node()
    {
        if let Some(block) = send {
            pieces.piece(round.rank).copy_from(&block);
        }
        return Box::pin(hierarchy::allgather(&round, node, &pieces)).await;
    }
    let place = pieces.piece(round.rank);
    let own = send.as_ref().filter(|own| own.bytes() == place.bytes());
    if let (Some(block), None) = (&send, own) {
        place.copy_from(block);
    }
    if total > 0 {
        let own = own.unwrap_or(place);
        by_messages(&mut round, &pieces, own, total, choice.algorithm).await;
    }
    // Last: what has just been written here is slower to read from other cores, and nobody waits for it.
    if let Some(block) = own {
        place.copy_from(block);
    }
    round.outcome()
}

/// Exchanges pieces of `total` bytes in all; `own` holds this rank's, which need not be in place.
pub(super) async fn by_messages(
    round: &mut Round,
    pieces: &Pieces,
    own: &Block,
    total: usize,
    algorithm: Allgather,
) {
    match algorithm {
        Allgather::Bruck => Box::pin(bruck(round, pieces, own, total)).await,
        Allgather::RecursiveDoubling => Box::pin(doubling(round, pieces, own, total)).await,
        Allgather::Linear => Box::pin(linear(round, pieces, own)).await,
        Allgather::Ring | Allgather::Shared | Allgather::Hierarchical => {
            Box::pin(ring(round, pieces, own)).await;
        }
    }
}

/// Every rank sends its piece to every other, all at once.
async fn linear(round: &mut Round, pieces: &Pieces, own: &Block) {
    let (rank, size) = (round.rank, round.size);
    let mut step = round.step();
    for from in (1..size).map(|distance| (rank + size - distance) % size) {
        if pieces.piece(from).bytes() > 0 {
            step.receive(pieces.piece(from), from);
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
async fn doubling(round: &mut Round, pieces: &Pieces, own: &Block, total: usize) {
    let (rank, size) = (round.rank as usize, round.size as usize);
    let mut starts = vec![0];
    for piece in &pieces.0 {
        starts.push(starts[starts.len() - 1] + piece.bytes());
    }
    let mut packed = Scratch::new(total);
    own.pack_into(&mut packed.as_mut_slice()[starts[rank]..starts[rank + 1]]);
    let mut known = 1;
    while known < size {
        let (first, partner) = (rank & !(known - 1), (rank ^ known) as u32);
        let mut range = |first: usize| {
            let start = starts[first];
            packed.block(start, starts[first + known] - start)
        };
        let (out, into) = (range(first), range(first ^ known));
        round.exchange(&out, partner, &into, partner).await;
        known *= 2;
    }
    for (other, piece) in pieces.0.iter().enumerate() {
        if other != rank {
            piece.from_bytes(&packed.as_mut_slice()[starts[other]..starts[other + 1]]);
        }
    }
}

/// Each piece goes once round the ring: p - 1 steps, no copies.
async fn ring(round: &mut Round, pieces: &Pieces, own: &Block) {
    for distance in 0..round.size - 1 {
        let out = match distance {
            0 => own,
            _ => pieces.piece(round.below(distance)),
        };
        let into = pieces.piece(round.below(distance + 1));
        let (to, from) = (round.above(1), round.below(1));
        let mut step = round.step();
        if into.bytes() > 0 {
            step.receive(into, from);
        }
        if out.bytes() > 0 {
            step.send(out, to);
        }
        step.finish().await;
    }
}

/// The number of known pieces doubles in each of ceil(log2 p) steps (Bruck). Pieces are packed in the order of their
/// distance above the own rank.
pub(super) async fn bruck(round: &mut Round, pieces: &Pieces, own: &Block, total: usize) {
    let size = round.size;
    let start_of: Vec<usize> = (0..=size)
        .scan(0, |position, distance| {
            let start = *position;
            *position += pieces.piece(round.above(distance)).bytes();
            Some(start)
        })
        .collect();
    let mut packed = Scratch::new(total);
    own.pack_into(&mut packed.as_mut_slice()[..start_of[1]]);
    let mut known = 1;
    while known < size {
        let count = known.min(size - known);
        let out = packed.block(0, start_of[count as usize]);
        let (start, end) = (start_of[known as usize], start_of[(known + count) as usize]);
        let into = packed.block(start, end - start);
        let (to, from) = (round.below(known), round.above(known));
        round.exchange(&out, to, &into, from).await;
        known += count;
    }
    for distance in 1..size {
        let range = start_of[distance as usize]..start_of[distance as usize + 1];
        pieces
            .piece(round.above(distance))
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
    let mut all = Scratch::new(bytes * size as usize);
    let pieces = Pieces::equal(&all.block(0, 0), bytes, size);
    let own: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    pieces.piece(comm.rank() as u32).from_bytes(&own);
    allgather(comm, None, pieces).await?;
    let mut result = vec![0; words.len() * size as usize];
    all.store_words(&mut result);
    Ok(result)
}
