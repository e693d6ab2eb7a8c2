// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in the area: everybody publishes, and takes from the others what it needs.
//!
//! Long data take several rounds. Operands are combined in rank order, from the right: every member gets the same bits.
#![expect(unsafe_code, reason = "operands are memory images")]

use algorithms::shared::{pieces, published_of};
use fabric::area::{BUFFERS, WIDE_BYTES};

use crate::coll::algorithms::gather::Pieces;
use crate::coll::area::Sequence;
use crate::coll::area::fold::{fold, usable_in_place};
use crate::coll::area::stores::Stores;
use crate::coll::primitives::Block;
use crate::coll::select::{EACH_FOR_ITSELF_BYTES, Rounds};
use crate::errors::Result;
use crate::op::Reduction;

/// Rounds that a member may be ahead of the one it looks at.
const AHEAD: usize = BUFFERS as usize;

/// The range of packed bytes that round `index` moves.
fn range_of(index: usize, most: usize, bytes: usize) -> (usize, usize) {
    let start = (index * most).min(bytes);
    (start, most.min(bytes - start))
}

/// Writes and publishes rounds from `*done` on, as far ahead as slots are free, and at least round `index`.
async fn publish_ahead(
    sequence: &Sequence<'_>,
    done: &mut usize,
    (index, rounds): (usize, usize),
    bytes: usize,
    mut write: impl FnMut(usize),
) {
    while *done < rounds && *done < index + AHEAD {
        if *done == index {
            sequence.enter(index, bytes).await;
        } else if !sequence.may_enter(*done, bytes) {
            return;
        }
        write(*done);
        sequence.publish(*done);
        *done += 1;
    }
}

/// Nobody leaves before everybody entered.
pub(in crate::coll) async fn barrier(sequence: Sequence<'_>) -> Result<()> {
    sequence.enter(0, 0).await;
    sequence.publish(0);
    sequence.wake_all();
    sequence.all_published(0).await;
    sequence.leave(0);
    sequence.outcome()
}

/// The root publishes its block, `most` bytes a round.
pub(in crate::coll) async fn bcast(
    sequence: Sequence<'_>,
    block: &Block,
    root: u32,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let bytes = block.bytes();
    let way = Stores::of(bytes.saturating_mul(sequence.size as usize));
    for index in 0..rounds {
        let (start, length) = range_of(index, most, bytes);
        if sequence.me == root {
            sequence.enter(index, length).await;
            block.pack_range(start, sequence.own(index, length));
            sequence.publish(index);
            sequence.wake_all();
        } else {
            sequence.published(index, root).await;
            way.unpack_range(block, start, sequence.data_of(index, root, length));
        }
        sequence.leave(index);
    }
    way.settle();
    sequence.outcome()
}

/// Everybody publishes its piece; the root, or everybody, takes them all.
pub(in crate::coll) async fn gather(
    sequence: Sequence<'_>,
    send: Option<&Block>,
    receive: Option<&Pieces>,
    root: Option<u32>,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let me = sequence.me;
    let takes = root.is_none_or(|root| root == me);
    let publishes = root != Some(me);
    let own = send.or_else(|| receive.map(|pieces| pieces.piece(me)));
    let size = sequence.size as usize;
    let takers = if root.is_none() { size } else { 1 };
    // Everybody's piece, and all of them for those who take them.
    let largest = own.map_or(0, Block::bytes);
    let way = Stores::of(largest.saturating_mul(size * (1 + takers)));
    let mut done = 0;
    for index in 0..rounds {
        if let Some(block) = own.filter(|_| publishes) {
            let before = done;
            publish_ahead(
                &sequence,
                &mut done,
                (index, rounds),
                most.min(block.bytes()),
                |round| {
                    let (start, length) = range_of(round, most, block.bytes());
                    block.pack_range(start, sequence.own(round, length));
                },
            )
            .await;
            if done > before {
                sequence.wake_for(root);
            }
        }
        if let Some(pieces) = receive.filter(|_| takes) {
            if let Some(block) = send.filter(|_| index == 0) {
                // While the others write theirs.
                pieces.piece(me).copy_from(block);
            }
            for rank in (0..sequence.size).filter(|&rank| rank != me) {
                let piece = pieces.piece(rank);
                sequence.published(index, rank).await;
                let (start, length) = range_of(index, most, piece.bytes());
                way.unpack_range(piece, start, sequence.data_of(index, rank, length));
            }
        }
        sequence.leave(index);
    }
    way.settle();
    sequence.outcome()
}

/// Whether the pieces of a scatter lie one after the other where the root publishes its own data; else each lies at the place of its
/// member, since nobody else publishes anything in these rounds.
pub(in crate::coll) const fn lie_together(bytes: usize, members: u32) -> bool {
    bytes * members as usize <= WIDE_BYTES
}

/// The rounds of a scatter, and the bytes that are published at one place in one of them.
pub(in crate::coll) fn scatter_rounds(bytes: usize, members: u32) -> (Rounds, (usize, usize)) {
    let rounds = pieces(bytes, members);
    if lie_together(bytes, members) {
        return (rounds, (rounds.count, bytes * members as usize));
    }
    (rounds, rounds.published(bytes))
}

/// The root publishes the pieces, of `bytes` bytes each, at most an buffer of each a round; everybody takes its own.
pub(in crate::coll) async fn scatter(
    sequence: Sequence<'_>,
    send: Option<&Pieces>,
    receive: Option<&Block>,
    (root, bytes): (u32, usize),
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, size) = (sequence.me, sequence.size);
    let together = lie_together(bytes, size);
    if me == root
        && let (Some(pieces), Some(block)) = (send, receive)
    {
        block.copy_from(pieces.piece(me));
    }
    for index in 0..rounds {
        let (start, length) = range_of(index, most, bytes);
        if me == root {
            let each = if together {
                length * size as usize
            } else {
                length
            };
            sequence.enter(index, each).await;
            if let Some(pieces) = send {
                for rank in sequence.others() {
                    let place = sequence.place_of_piece(index, (me, rank), length);
                    pieces.piece(rank).pack_range(start, place);
                }
            }
            sequence.publish(index);
            sequence.wake_all();
        } else if let Some(block) = receive {
            sequence.published(index, root).await;
            block.unpack_range(start, sequence.place_of_piece(index, (root, me), length));
        }
        sequence.leave(index);
    }
    sequence.outcome()
}

impl Sequence<'_> {
    /// Where the root publishes a member its piece of `bytes` bytes in a round.
    #[expect(clippy::mut_from_ref, reason = "memory that no other reference names")]
    pub(in crate::coll) fn place_of_piece(
        &self,
        index: usize,
        (root, member): (u32, u32),
        bytes: usize,
    ) -> &mut [u8] {
        let place = if lie_together(bytes, self.size) {
            let all = bytes * self.size as usize;
            let start = bytes * member as usize;
            self.place(index, root, all).wrapping_add(start)
        } else {
            self.place(index, member, bytes)
        };
        // SAFETY: the root alone writes in the rounds of a scatter, each piece at a place of its own, before it publishes; and the member
        // alone looks at its piece, after that and before it leaves.
        unsafe { std::slice::from_raw_parts_mut(place, bytes) }
    }
}

/// What a member publishes in a round of an all-to-all: as much of each piece, and of its own if that makes one run of all.
#[derive(Clone, Copy)]
struct Shelf {
    most: usize,
    pieces: usize,
    with_own: bool,
}

impl Shelf {
    const fn new(bytes: usize, members: u32, most: usize) -> Self {
        let pieces = published_of(bytes, members);
        Self {
            most,
            pieces,
            with_own: pieces == members as usize,
        }
    }

    const fn bytes(self) -> usize {
        self.most * self.pieces
    }

    /// Where the piece for a member begins in what `owner` publishes.
    const fn start(self, owner: u32, member: u32) -> usize {
        let before = member - (!self.with_own && member > owner) as u32;
        before as usize * self.most
    }

    /// Writes a part of each piece into the own place of a round.
    fn fill(self, sequence: &Sequence<'_>, pieces: &Pieces, index: usize) {
        let place = sequence.own(index, self.bytes());
        // Nobody else wants the own one.
        for rank in sequence.others() {
            let piece = pieces.piece(rank);
            let (start, length) = range_of(index, self.most, piece.bytes());
            let first = self.start(sequence.me, rank);
            piece.pack_range(start, &mut place[first..first + length]);
        }
    }

    /// The part of the own piece that a member publishes in a round.
    fn take<'a>(
        self,
        sequence: &'a Sequence<'_>,
        index: usize,
        member: u32,
        length: usize,
    ) -> &'a [u8] {
        let first = self.start(member, sequence.me);
        &sequence.data_of(index, member, self.bytes())[first..first + length]
    }
}

/// Everybody publishes a part of each of its pieces, of `bytes` bytes, a round, and takes its own from all.
pub(in crate::coll) async fn alltoall(
    sequence: Sequence<'_>,
    send: &Pieces,
    receive: &Pieces,
    (
        bytes,
        Rounds {
            count: rounds,
            most,
        },
    ): (usize, Rounds),
) -> Result<()> {
    let me = sequence.me;
    // What a member gives and gets, of as many members.
    let way = Stores::of(2 * bytes * (sequence.size as usize).pow(2));
    let shelf = Shelf::new(bytes, sequence.size, most);
    let mut done = 0;
    for index in 0..rounds {
        let before = done;
        let all = shelf.bytes();
        publish_ahead(&sequence, &mut done, (index, rounds), all, |round| {
            shelf.fill(&sequence, send, round);
        })
        .await;
        if done > before {
            sequence.wake_all();
        }
        if index == 0 {
            // While the others write theirs.
            receive.piece(me).copy_from(send.piece(me));
        }
        sequence.all_published(index).await;
        for distance in 1..sequence.size {
            let rank = (me + distance) % sequence.size;
            let piece = receive.piece(rank);
            let (start, length) = range_of(index, most, piece.bytes());
            way.unpack_range(piece, start, shelf.take(&sequence, index, rank, length));
        }
        sequence.leave(index);
    }
    way.settle();
    sequence.outcome()
}

/// The elements that round `index` moves, `most` a round.
pub(in crate::coll) fn elements_of(block: &Block, index: usize, most: usize) -> Block {
    let (first, count) = range_of(index, most, block.count);
    block.part(first as i64, count)
}

/// Everybody publishes its operand, `most` elements a round; the result is for all.
pub(in crate::coll) async fn allreduce(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, size) = (sequence.me, sequence.size);
    let round_bytes = most.min(send.count) * send.layout.size();
    let by_last = size > 2 && round_bytes * size as usize > EACH_FOR_ITSELF_BYTES;
    let lies_well = send.base != receive.base || usable_in_place(op, me, size);
    let mut done = 0;
    for index in 0..rounds {
        let before = done;
        publish_ahead(
            &sequence,
            &mut done,
            (index, rounds),
            round_bytes,
            |round| {
                let part = elements_of(send, round, most);
                // Nobody else looks at the operand of who combines them.
                let has_last = by_last && sequence.comes_last(round);
                if !has_last {
                    part.pack_range(0, sequence.own(round, part.bytes()));
                }
                if by_last && sequence.is_last(round) {
                    let result = sequence.elements(round, size, &part, part.count);
                    sequence.combine(round, size - 1, op, has_last.then_some(&part), &result);
                    sequence.publish_common(round);
                }
            },
        )
        .await;
        if done > before {
            sequence.wake_all();
        }
        let part = elements_of(receive, index, most);
        if by_last {
            sequence.published(index, size).await;
            part.unpack_range(0, sequence.data_of(index, size, part.bytes()));
        } else {
            sequence.all_published(index).await;
            let own = elements_of(send, index, most);
            let own = lies_well.then_some(&own);
            sequence.combine(index, size - 1, op, own, &part);
        }
        sequence.leave(index);
    }
    sequence.outcome()
}

/// What a member combines of the elements of a step, of which there are at most twice `most`.
fn half_of(block: &Block, step: usize, most: usize, member: u32) -> Block {
    let (first, count) = range_of(step, 2 * most, block.count);
    let front = count.div_ceil(2);
    if member == 0 {
        block.part(first as i64, front)
    } else {
        block.part((first + front) as i64, count - front)
    }
}

/// Each of two members publishes its operands of the other's half of a step, combines its own half, and publishes that. The operands of
/// the next step are published before, and the results of a step are taken after the next step is combined, so that neither waits
/// for what the other is doing. A step's two rounds are not neighbours: members leave rounds in their order.
///
/// Of the data of a vector, each member copies half out, half in and half of what it has combined, instead of all of its
/// operands: a fifth less memory is read, and half as much is combined.
pub(in crate::coll) async fn allreduce_of_two(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, other, steps) = (sequence.me, 1 - sequence.me, rounds / 2);
    let round_bytes = most * send.layout.size();
    let operands = |step: usize| (2 * step).saturating_sub(1);
    let results = |step: usize| (2 * step + 2).min(rounds - 1);
    for step in 0..=steps {
        let published = if step == 0 {
            0..steps.min(2)
        } else {
            step + 1..steps.min(step + 2)
        };
        for next in published {
            let part = half_of(send, next, most, other);
            sequence.enter(operands(next), round_bytes).await;
            part.pack_range(0, sequence.own(operands(next), part.bytes()));
            sequence.publish(operands(next));
            sequence.wake_all();
        }
        if step < steps {
            let (own, part) = (
                half_of(send, step, most, me),
                half_of(receive, step, most, me),
            );
            sequence.others_published(operands(step)).await;
            sequence.combine(operands(step), 1, op, Some(&own), &part);
            sequence.leave(operands(step));
            sequence.enter(results(step), round_bytes).await;
            part.pack_range(0, sequence.own(results(step), part.bytes()));
            sequence.publish(results(step));
            sequence.wake_all();
        }
        if let Some(before) = step.checked_sub(1) {
            let part = half_of(receive, before, most, other);
            sequence.others_published(results(before)).await;
            part.unpack_range(0, sequence.data_of(results(before), other, part.bytes()));
            sequence.leave(results(before));
        }
    }
    sequence.outcome()
}

/// Everybody but the root publishes its operand, `most` elements a round; the result is for the root.
pub(in crate::coll) async fn reduce(
    sequence: Sequence<'_>,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, size) = (sequence.me, sequence.size);
    let mut done = 0;
    for index in 0..rounds {
        if let Some(block) = receive.filter(|_| me == root) {
            let (own, part) = (
                elements_of(send, index, most),
                elements_of(block, index, most),
            );
            let lies_well = send.base != block.base || usable_in_place(op, me, size);
            if !lies_well {
                sequence.enter(index, own.bytes()).await;
                own.pack_range(0, sequence.own(index, own.bytes()));
            }
            sequence.others_published(index).await;
            let own = lies_well.then_some(&own);
            sequence.combine(index, size - 1, op, own, &part);
        } else {
            let round_bytes = most.min(send.count) * send.layout.size();
            publish_ahead(
                &sequence,
                &mut done,
                (index, rounds),
                round_bytes,
                |round| {
                    let part = elements_of(send, round, most);
                    part.pack_range(0, sequence.own(round, part.bytes()));
                },
            )
            .await;
            sequence.wake(root);
        }
        sequence.leave(index);
    }
    sequence.outcome()
}

/// Everybody publishes `most` elements of each part a round; each combines those of its own. Where all fit, that is one round with the
/// whole vector. `receive` may overlap `send`: its elements of a round lie where those of this or an earlier one were.
pub(in crate::coll) async fn reduce_scatter(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    counts: &[usize],
    op: &Reduction,
    Rounds {
        count: rounds,
        most,
    }: Rounds,
) -> Result<()> {
    let (me, element) = (sequence.me as usize, send.layout.size());
    let whole = rounds == 1;
    let round_bytes = if whole {
        send.bytes()
    } else {
        most * element * counts.len()
    };
    let mut done = 0;
    for index in 0..rounds {
        let before = done;
        publish_ahead(
            &sequence,
            &mut done,
            (index, rounds),
            round_bytes,
            |round| {
                let place = sequence.own(round, round_bytes);
                if whole {
                    send.pack_range(0, place);
                    return;
                }
                let mut first = 0;
                for (&count, place) in counts.iter().zip(place.chunks_exact_mut(most * element)) {
                    let (start, length) = range_of(round, most, count);
                    send.pack_range((first + start) * element, &mut place[..length * element]);
                    first += count;
                }
            },
        )
        .await;
        if done > before {
            sequence.wake_all();
        }
        sequence.all_published(index).await;
        let part = elements_of(receive, index, most);
        let skip = if whole {
            counts[..me].iter().sum()
        } else {
            me * most
        };
        let operand = |rank| {
            let start = sequence.place(index, rank, round_bytes).cast_const();
            start.wrapping_add(skip * element)
        };
        if part.count > 0 {
            // SAFETY: all have published; from there on lie as many elements of the own part, which are dense.
            unsafe {
                fold(
                    op,
                    sequence.size - 1,
                    operand,
                    part.base.0,
                    (part.count, part.bytes()),
                );
            }
        }
        sequence.leave(index);
    }
    sequence.outcome()
}

/// Everybody publishes its operand in one round; each combines those of the ranks below, and its own if `inclusive`.
pub(in crate::coll) async fn prefix(
    sequence: Sequence<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    inclusive: bool,
) -> Result<()> {
    sequence.enter(0, send.bytes()).await;
    send.pack_range(0, sequence.own(0, send.bytes()));
    sequence.publish(0);
    for rank in sequence.me + 1..sequence.size {
        sequence.wake(rank);
    }
    let below = if inclusive {
        Some(sequence.me)
    } else {
        sequence.me.checked_sub(1)
    };
    if let Some(last) = below {
        for rank in 0..=last {
            sequence.published(0, rank).await;
        }
        sequence.combine(0, last, op, None, receive);
    }
    sequence.leave(0);
    sequence.outcome()
}
