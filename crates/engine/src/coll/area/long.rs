// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives as sequences of rounds, for futures: any amount of data, in blocks of any layout, at every thread level.
//!
//! Each round is one of [`super::describe`]. A member publishes as many rounds ahead as buffers are free, and waits for other
//! members at most once a round. Operands are combined in rank order, from the right: every member gets the same bits.
#![expect(unsafe_code, reason = "blocks are addresses that programs gave")]

use std::borrow::Borrow;
use std::slice;

use algorithms::Case;
use algorithms::shared::{blocks, elements, published_of, shares};
use fabric::area::BUFFERS;

use super::Sequence;
use super::describe::{self, Members, Operands, lie_together};
use super::parts::{Parts, range_of, reduce_in_parts};
use super::spec::{Data, Needs, Publish, Shelf, Spec, Wakes};
use super::stores::Stores;
use crate::coll::blocks::Blocks;
use crate::coll::primitives::Block;
use crate::coll::select::Rounds;
use crate::errors::Result;
use crate::op::Reduction;

/// Rounds that a member may be ahead of the one in which it waits.
const AHEAD: usize = BUFFERS as usize;

/// A part of a block, or of each of several blocks: from packed position `start` on.
#[derive(Clone, Copy)]
struct Part<'a> {
    blocks: Selection<'a>,
    start: usize,
    stores: Stores,
}

#[derive(Clone, Copy)]
enum Selection<'a> {
    One(&'a Block),
    All(&'a Blocks),
}

impl<'a> Part<'a> {
    const fn one(block: &'a Block, start: usize, stores: Stores) -> Self {
        let blocks = Selection::One(block);
        Self {
            blocks,
            start,
            stores,
        }
    }

    const fn all(blocks: &'a Blocks, start: usize, stores: Stores) -> Self {
        let blocks = Selection::All(blocks);
        Self {
            blocks,
            start,
            stores,
        }
    }

    /// The block, and where the part begins in it.
    fn located(self) -> Option<(&'a Block, usize)> {
        match self.blocks {
            Selection::One(block) => Some((block, self.start.min(block.bytes()))),
            Selection::All(_) => None,
        }
    }
}

impl Data for Part<'_> {
    const CONTIGUOUS: bool = false;

    fn block(self, member: u32, _: usize) -> Self {
        match self.blocks {
            Selection::One(_) => self,
            Selection::All(blocks) => Self {
                blocks: Selection::One(blocks.block(member)),
                ..self
            },
        }
    }

    fn address(self) -> Option<*const u8> {
        let (block, start) = self.located()?;
        let dense = block.layout.is_contiguous();
        dense.then(|| block.base.0.wrapping_add(start).cast_const())
    }

    unsafe fn pack(self, slot: *mut u8, bytes: usize) {
        if let Some((block, start)) = self.located() {
            // SAFETY: this function's own promise; no other reference names the slot.
            block.pack_range(start, unsafe { slice::from_raw_parts_mut(slot, bytes) });
        }
    }

    unsafe fn unpack(self, slot: *const u8, bytes: usize) {
        if let Some((block, start)) = self.located() {
            // SAFETY: this function's own promise.
            let source = unsafe { slice::from_raw_parts(slot, bytes) };
            self.stores.unpack_range(block, start, source);
        }
    }

    /// Copies the whole block with its first part, because layouts may differ.
    unsafe fn copy_to(self, target: Self, _: usize) {
        if let (Some((from, 0)), Some((to, _))) = (self.located(), target.located())
            && self.start == 0
        {
            to.copy_from(from);
        }
    }
}

/// Takes the rounds of an operation one after the other.
async fn run<'s, R: Borrow<Reduction>>(
    sequence: Sequence<'_>,
    rounds: usize,
    spec_of: impl Fn(usize) -> Spec<Part<'s>, R>,
) -> Result<()> {
    let mut done = 0;
    for index in 0..rounds {
        let mut wakes = Wakes::Nobody;
        while done < rounds && done < index + AHEAD {
            let spec = spec_of(done);
            match spec.publish {
                Publish::Nothing => {}
                Publish::Later if done > index => break,
                Publish::Later if sequence.me + 1 == sequence.size => {}
                Publish::Later => {
                    let reader = sequence.me + 1;
                    sequence.enter_for(done, spec.published, reader).await;
                }
                _ if done == index => sequence.enter(done, spec.published).await,
                _ if !sequence.may_enter(done, spec.published) => break,
                _ => {}
            }
            let round = sequence.at(done, spec.published);
            // SAFETY: blocks are valid while the collective runs (Block::new), and the slot was entered.
            unsafe {
                round.publish_as(spec.publish, spec.published, spec.op());
                round.copy_own(spec.then);
            }
            if !matches!(spec.publish, Publish::Nothing | Publish::Later) {
                wakes = spec.wakes;
            }
            done += 1;
        }
        let spec = spec_of(index);
        let round = sequence.at(index, spec.published);
        round.wake_those(wakes);
        sequence.needed(index, spec.needs).await;
        // SAFETY: the needed members have published; blocks are valid while the collective runs (Block::new).
        unsafe { round.act(spec.then, spec.op()) };
        sequence.leave(index);
    }
    sequence.outcome()
}

const fn members(sequence: &Sequence<'_>) -> Members {
    Members {
        me: sequence.me,
        size: sequence.size,
    }
}

/// Nobody leaves before everybody entered.
pub(in crate::coll) async fn barrier(sequence: Sequence<'_>) -> Result<()> {
    run(sequence, 1, |_| describe::barrier()).await
}

/// The root's block goes to everyone.
pub(in crate::coll) async fn bcast(
    sequence: Sequence<'_>,
    block: &Block,
    root: u32,
    Rounds { count, most }: Rounds,
) -> Result<()> {
    let bytes = block.bytes();
    let stores = Stores::of(bytes.saturating_mul(sequence.size as usize));
    let outcome = run(sequence, count, |index| {
        let (start, length) = range_of(index, most, bytes);
        let part = Part::one(block, start, stores);
        describe::bcast(sequence.me, root, part, length)
    })
    .await;
    stores.settle();
    outcome
}

/// Every member's block goes to the root, or to everyone if there is none. `largest` is the largest block.
pub(in crate::coll) async fn gather(
    sequence: Sequence<'_>,
    send: Option<&Block>,
    receive: Option<&Blocks>,
    (root, largest): (Option<u32>, usize),
    Rounds { count, most }: Rounds,
) -> Result<()> {
    let me = sequence.me;
    let receive = receive.filter(|_| root.is_none_or(|root| root == me));
    let Some(own) = send.or_else(|| receive.map(|blocks| blocks.block(me))) else {
        return sequence.outcome();
    };
    let size = sequence.size as usize;
    let takers = if root.is_none() { size } else { 1 };
    // Every member's block, and all of them for those that get them.
    let stores = Stores::of(largest.saturating_mul(size * (1 + takers)));
    let outcome = run(sequence, count, |index| {
        let (start, length) = range_of(index, most, largest);
        let part = |block| Part::one(block, start, stores);
        let all = receive.map(|blocks| Part::all(blocks, start, stores));
        describe::gather(root, part(own), (all, send.map(part)), length)
    })
    .await;
    stores.settle();
    outcome
}

/// The rounds of a scatter, and their number and the bytes in a slot in one of them.
pub(in crate::coll) fn scatter_rounds(bytes: usize, members: u32) -> (Rounds, (usize, usize)) {
    let rounds = blocks(bytes, members);
    if lie_together(bytes, members) {
        return (rounds, (rounds.count, bytes * members as usize));
    }
    (rounds, rounds.published(bytes))
}

/// A block of the root, of `bytes` bytes, goes to each member.
pub(in crate::coll) async fn scatter(
    sequence: Sequence<'_>,
    send: Option<&Blocks>,
    receive: Option<&Block>,
    (root, bytes): (u32, usize),
    Rounds { count, most }: Rounds,
) -> Result<()> {
    let send = send.filter(|_| sequence.me == root);
    let stores = Stores::ThroughCaches;
    run(sequence, count, |index| {
        let (start, length) = range_of(index, most, bytes);
        let all = send.map(|blocks| Part::all(blocks, start, stores));
        let own = all.map(|all| all.block(root, length));
        let receive = receive.map(|block| Part::one(block, start, stores));
        describe::scatter(members(&sequence), root, all, (receive, own), length)
    })
    .await
}

/// Block `i` of every member, of `bytes` bytes, goes to member `i`.
pub(in crate::coll) async fn alltoall(
    sequence: Sequence<'_>,
    send: &Blocks,
    receive: &Blocks,
    (bytes, Rounds { count, most }): (usize, Rounds),
) -> Result<()> {
    let size = sequence.size;
    // What a member gives and gets, of as many members.
    let stores = Stores::of(2 * bytes * (size as usize).pow(2));
    let shelf = Shelf {
        stride: most,
        has_own: published_of(bytes, size) == size as usize,
        writes_own: false,
    };
    let outcome = run(sequence, count, |index| {
        let (start, length) = range_of(index, most, bytes);
        let parts = [send, receive].map(|blocks| Part::all(blocks, start, stores));
        describe::alltoall(members(&sequence), parts[0], parts[1], shelf, length)
    })
    .await;
    stores.settle();
    outcome
}

/// The elements that round `index` moves, `most` a round.
fn elements_of(block: &Block, index: usize, most: usize) -> Block {
    let (first, count) = range_of(index, most, block.count);
    block.part(first as i64, count)
}

/// The operand of a round, of which the result goes to `receive`, if it goes anywhere.
fn operands<'a>(
    send: &'a Block,
    receive: Option<&Block>,
    index: usize,
    most: usize,
) -> Operands<Part<'a>> {
    let own = elements_of(send, index, most);
    Operands {
        send: Part::one(
            send,
            index * most * send.layout.size(),
            Stores::ThroughCaches,
        ),
        own: own.base.0.cast_const(),
        target: receive.map(|block| elements_of(block, index, most).base.0),
        shape: (own.count, own.bytes()),
    }
}

/// The operands of all members are combined for everyone.
pub(in crate::coll) async fn allreduce(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    combining: Combining,
) -> Result<()> {
    let Rounds { count, most } = match combining {
        Combining::Whole(rounds) => rounds,
        Combining::Parts(rounds) => {
            return reduce_in_parts(sequence, (send, Some(receive)), op, None, rounds).await;
        }
    };
    let element = send.layout.size();
    let by_last = describe::combines_last(most.min(send.count) * element, sequence.size);
    run(sequence, count, |index| {
        let operands = operands(send, None, index, most);
        let part = Part::one(receive, index * most * element, Stores::ThroughCaches);
        let target = elements_of(receive, index, most).base.0;
        describe::allreduce(members(&sequence), operands, (target, part), op, by_last)
    })
    .await
}

/// Which members combine the operands of a reduction, and in which rounds.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Combining {
    /// One member all of them, or each for itself.
    Whole(Rounds),
    /// Each member a part.
    Parts(Rounds),
}

impl Combining {
    /// The rounds of a case; `None` if a buffer is too small for it.
    pub(in crate::coll) fn of(case: &Case, in_parts: bool) -> Option<Self> {
        match in_parts {
            false => elements(case).map(Self::Whole),
            true => shares(case).map(Self::Parts),
        }
    }

    /// The number of rounds, and the bytes that one of so many members publishes in one of them at most.
    pub(in crate::coll) fn published(self, send: &Block, members: u32) -> (usize, usize) {
        let element = send.layout.size();
        match self {
            Self::Whole(rounds) => rounds.published_elements(send.count, element),
            Self::Parts(Rounds { count, most }) => {
                let parts = Parts {
                    members,
                    most,
                    element,
                };
                (count, parts.published())
            }
        }
    }
}

/// The operands of all members are combined for the root.
pub(in crate::coll) async fn reduce(
    sequence: Sequence<'_>,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
    combining: Combining,
) -> Result<()> {
    let Rounds { count, most } = match combining {
        Combining::Whole(rounds) => rounds,
        Combining::Parts(rounds) => {
            return reduce_in_parts(sequence, (send, receive), op, Some(root), rounds).await;
        }
    };
    run(sequence, count, |index| {
        let operands = operands(send, receive, index, most);
        describe::reduce(members(&sequence), operands, op, root)
    })
    .await
}

/// Every member publishes `most` elements of each part a round; each combines those of its own part. Where all fit, that is
/// one round with the whole vector. `receive` may overlap `send`: its elements of a round lie where those of this or an earlier
/// one were.
pub(in crate::coll) async fn reduce_scatter(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    counts: &[usize],
    op: &Reduction,
    Rounds { count, most }: Rounds,
) -> Result<()> {
    let (me, element) = (sequence.me as usize, send.layout.size());
    let stores = Stores::ThroughCaches;
    let firsts = counts.iter().scan(0, |next, &count| {
        let first = *next;
        *next += count;
        Some((first, count))
    });
    let parts = firsts.map(|(first, count)| send.part(first as i64, count));
    let parts = Blocks(parts.collect());
    let own_first: usize = counts[..me].iter().sum();
    let shelf = Shelf {
        stride: most * element,
        has_own: true,
        writes_own: true,
    };
    run(sequence, count, |index| {
        let (published, skip) = if count == 1 {
            let whole = Part::one(send, 0, stores);
            ((Publish::Own(whole), send.bytes()), own_first * element)
        } else {
            let blocks = Part::all(&parts, index * most * element, stores);
            let bytes = shelf.stride * counts.len();
            ((Publish::Blocks(blocks, shelf), bytes), me * shelf.stride)
        };
        let part = elements_of(receive, index, most);
        let shape = (part.count, part.bytes());
        let own = (skip, part.base.0);
        describe::reduce_scatter(sequence.size, published, own, shape, op)
    })
    .await
}

/// The operands of the members up to this one, or below it, are combined.
pub(in crate::coll) async fn prefix(
    sequence: Sequence<'_>,
    (send, receive): (&Block, &Block),
    op: &Reduction,
    inclusive: bool,
) -> Result<()> {
    let operands = operands(send, Some(receive), 0, send.count);
    run(sequence, 1, |_| {
        describe::prefix(sequence.me, operands, op, inclusive)
    })
    .await
}

/// The same from member to member.
pub(in crate::coll) async fn prefix_chain(
    sequence: Sequence<'_>,
    (send, receive): (&Block, &Block),
    op: &Reduction,
    inclusive: bool,
    Rounds { count, most }: Rounds,
) -> Result<()> {
    run(sequence, count, |index| {
        let Operands {
            own, target, shape, ..
        } = operands(send, Some(receive), index, most);
        let target = target.unwrap_or(std::ptr::null_mut());
        describe::pass_on(sequence.me, (own, target), shape, op, inclusive)
    })
    .await
}

impl Sequence<'_> {
    /// Waits until the members have published whose data a round needs.
    async fn needed(&self, index: usize, needs: Needs) {
        match needs {
            Needs::Nobodys => {}
            Needs::One(member) => {
                self.published(index, member).await;
            }
            Needs::All => self.others_published(index).await,
            Needs::Lower => {
                for member in 0..self.me {
                    self.published(index, member).await;
                }
            }
        }
    }
}
