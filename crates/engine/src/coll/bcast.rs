// SPDX-License-Identifier: MIT OR Apache-2.0
//! Broadcast.

use std::sync::Arc;

use super::choose;
use super::commons::{Purpose, area_of, meet};
use super::inter::{self, Root};
use super::primitives::{Block, Flat, Round};
use super::shared;
use crate::comm::Comm;
use crate::errors::Result;

/// Copies the root's block to everyone (MPI_Bcast).
///
/// # Errors
/// Those of the messages.
pub async fn bcast(comm: Arc<Comm>, block: Block, root: impl Into<Root>) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::bcast(comm, block, root)).await;
    };
    let mut round = Round::new(comm);
    let bytes = block.bytes();
    if let Some(turns) = choose::shared_bcast(bytes, area_of(&round))
        && let Some(meeting) = meet(&mut round, Purpose::Bcast, bytes, turns.shown(bytes)).await
    {
        return shared::bcast(meeting, &block, root, turns).await;
    }
    if bytes > 0 {
        if choose::bcast_in_parts(bytes, round.size) {
            Box::pin(parts(&mut round, &block, root)).await;
        } else {
            Box::pin(tree(&mut round, &block, root)).await;
        }
    }
    round.outcome()
}

/// A binomial tree, ceil(log2 p) steps.
pub(super) async fn tree(round: &mut Round, block: &Block, root: u32) {
    let size = round.size;
    let me = (round.rank + size - root) % size;
    let real = |relative: u32| (relative + root) % size;
    let mut bit = 1;
    while bit < size && me & bit == 0 {
        bit *= 2;
    }
    if me != 0 {
        round.receive(block, real(me - bit)).await;
    }
    let mut step = round.step();
    bit /= 2;
    while bit > 0 {
        if me + bit < size {
            step.send(block, real(me + bit));
        }
        bit /= 2;
    }
    step.finish().await;
}

/// Scatters p parts down a binomial tree, then passes them round a ring: every rank sends and receives about twice the
/// block in all, however many ranks there are (van de Geijn).
async fn parts(round: &mut Round, block: &Block, root: u32) {
    let (size, bytes) = (round.size as usize, block.bytes());
    let root = root as usize;
    let me = (round.rank as usize + size - root) % size;
    let real = |relative: usize| ((relative + root) % size) as u32;
    let each = bytes.div_ceil(size);
    let start_of = |relative: usize| (relative * each).min(bytes);
    let mut flat = Flat::of(block, me == 0);

    let mut bit = 1;
    while bit < size && me & bit == 0 {
        bit *= 2;
    }
    let mine = |bit: usize| start_of(me)..start_of((me + bit).min(size));
    if me != 0 {
        let subtree = mine(bit);
        let into = flat.part(subtree.start, subtree.len());
        round.receive(&into, real(me - bit)).await;
    }
    let mut step = round.step();
    bit /= 2;
    while bit > 0 {
        let child = me + bit;
        if child < size {
            let (start, end) = (start_of(child), start_of((child + bit).min(size)));
            step.send(&flat.part(start, end - start), real(child));
        }
        bit /= 2;
    }
    step.finish().await;

    for distance in 0..size - 1 {
        let out = (me + size - distance) % size;
        let into = (me + size - distance - 1) % size;
        let sent = flat.part(start_of(out), start_of(out + 1) - start_of(out));
        let received = flat.part(start_of(into), start_of(into + 1) - start_of(into));
        let (to, from) = (round.above(1), round.below(1));
        round.exchange(&sent, to, &received, from).await;
    }
    if me != 0 {
        flat.store(block);
    }
}
