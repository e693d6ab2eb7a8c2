// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in the commons: everybody posts, and takes from the others what it needs.
//!
//! One step, whatever the number of members: a member waits for others at most once a turn, so where ranks outnumber cores
//! an operation costs each of them one switch. Long data take several turns, and a member runs ahead as far as slots are
//! free. Operands are combined in rank order, from the right, so every member that computes a result gets the same bits.
#![expect(unsafe_code, reason = "operands are memory images")]

use algorithms::shared::{pieces, shown_of};
use fabric::commons::{AREAS, WIDE_BYTES};

use super::choose::{EACH_FOR_ITSELF_BYTES, Turns};
use super::commons::Meeting;
use super::fold::{fold, usable_in_place};
use super::gather::Pieces;
use super::primitives::Block;
use super::streaming::Way;
use crate::errors::Result;
use crate::op::Reduction;

/// Turns that a member may be ahead of the one it looks at.
const AHEAD: usize = AREAS as usize;

/// The range of packed bytes that turn `index` moves.
fn range_of(index: usize, most: usize, bytes: usize) -> (usize, usize) {
    let start = (index * most).min(bytes);
    (start, most.min(bytes - start))
}

/// Writes and posts turns, of at most `bytes` bytes, from `*done` on, as far ahead of turn `index` as slots are free, and at least that one.
async fn post_ahead(
    meeting: &Meeting<'_>,
    done: &mut usize,
    (index, turns): (usize, usize),
    bytes: usize,
    mut write: impl FnMut(usize),
) {
    while *done < turns && *done < index + AHEAD {
        if *done == index {
            meeting.enter(index, bytes).await;
        } else if !meeting.may_enter(*done, bytes) {
            return;
        }
        write(*done);
        meeting.post(*done);
        *done += 1;
    }
}

/// Nobody leaves before everybody entered.
pub(super) async fn barrier(meeting: Meeting<'_>) -> Result<()> {
    meeting.enter(0, 0).await;
    meeting.post(0);
    meeting.wake_all();
    meeting.all_posted(0).await;
    meeting.leave(0);
    meeting.outcome()
}

/// The root shows its block, `most` bytes a turn.
pub(super) async fn bcast(
    meeting: Meeting<'_>,
    block: &Block,
    root: u32,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let bytes = block.bytes();
    let way = Way::of(bytes.saturating_mul(meeting.size as usize));
    for index in 0..turns {
        let (start, length) = range_of(index, most, bytes);
        if meeting.me == root {
            meeting.enter(index, length).await;
            block.pack_range(start, meeting.own(index, length));
            meeting.post(index);
            meeting.wake_all();
        } else {
            meeting.posted(index, root).await;
            way.unpack_range(block, start, meeting.shown(index, root, length));
        }
        meeting.leave(index);
    }
    way.settle();
    meeting.outcome()
}

/// Everybody shows its piece; the root, or everybody, takes them all.
pub(super) async fn gather(
    meeting: Meeting<'_>,
    send: Option<&Block>,
    receive: Option<&Pieces>,
    root: Option<u32>,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let me = meeting.me;
    let takes = root.is_none_or(|root| root == me);
    let shows = root != Some(me);
    let own = send.or_else(|| receive.map(|pieces| pieces.piece(me)));
    let size = meeting.size as usize;
    let takers = if root.is_none() { size } else { 1 };
    // Everybody's piece, and all of them for those who take them.
    let largest = own.map_or(0, Block::bytes);
    let way = Way::of(largest.saturating_mul(size * (1 + takers)));
    let mut done = 0;
    for index in 0..turns {
        if let Some(block) = own.filter(|_| shows) {
            let before = done;
            post_ahead(
                &meeting,
                &mut done,
                (index, turns),
                most.min(block.bytes()),
                |turn| {
                    let (start, length) = range_of(turn, most, block.bytes());
                    block.pack_range(start, meeting.own(turn, length));
                },
            )
            .await;
            if done > before {
                meeting.wake_for(root);
            }
        }
        if let Some(pieces) = receive.filter(|_| takes) {
            if let Some(block) = send.filter(|_| index == 0) {
                // While the others write theirs.
                pieces.piece(me).copy_from(block);
            }
            for rank in (0..meeting.size).filter(|&rank| rank != me) {
                let piece = pieces.piece(rank);
                meeting.posted(index, rank).await;
                let (start, length) = range_of(index, most, piece.bytes());
                way.unpack_range(piece, start, meeting.shown(index, rank, length));
            }
        }
        meeting.leave(index);
    }
    way.settle();
    meeting.outcome()
}

/// Whether the pieces of a scatter lie one after the other where the root shows its own data; else each lies at the place of its
/// member, since nobody else shows anything in these turns.
pub(super) const fn lie_together(bytes: usize, members: u32) -> bool {
    bytes * members as usize <= WIDE_BYTES
}

/// The turns of a scatter, and the bytes that are shown at one place in one of them.
pub(super) fn scatter_turns(bytes: usize, members: u32) -> (Turns, (usize, usize)) {
    let turns = pieces(bytes, members);
    if lie_together(bytes, members) {
        return (turns, (turns.count, bytes * members as usize));
    }
    (turns, turns.shown(bytes))
}

/// The root shows the pieces, of `bytes` bytes each, at most an area of each a turn; everybody takes its own.
pub(super) async fn scatter(
    meeting: Meeting<'_>,
    send: Option<&Pieces>,
    receive: Option<&Block>,
    (root, bytes): (u32, usize),
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let (me, size) = (meeting.me, meeting.size);
    let together = lie_together(bytes, size);
    if me == root
        && let (Some(pieces), Some(block)) = (send, receive)
    {
        block.copy_from(pieces.piece(me));
    }
    for index in 0..turns {
        let (start, length) = range_of(index, most, bytes);
        if me == root {
            let each = if together {
                length * size as usize
            } else {
                length
            };
            meeting.enter(index, each).await;
            if let Some(pieces) = send {
                for rank in meeting.others() {
                    let place = meeting.place_of_piece(index, (me, rank), length);
                    pieces.piece(rank).pack_range(start, place);
                }
            }
            meeting.post(index);
            meeting.wake_all();
        } else if let Some(block) = receive {
            meeting.posted(index, root).await;
            block.unpack_range(start, meeting.place_of_piece(index, (root, me), length));
        }
        meeting.leave(index);
    }
    meeting.outcome()
}

impl Meeting<'_> {
    /// Where the root shows a member its piece of `bytes` bytes in a turn.
    #[expect(clippy::mut_from_ref, reason = "memory that no other reference names")]
    pub(super) fn place_of_piece(
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
        // SAFETY: the root alone writes in the turns of a scatter, each piece at a place of its own, before it posts; and the member
        // alone looks at its piece, after that and before it leaves.
        unsafe { std::slice::from_raw_parts_mut(place, bytes) }
    }
}

/// What a member shows in a turn of an all-to-all: as much of each piece, and of its own if that makes one run of all.
#[derive(Clone, Copy)]
struct Shelf {
    most: usize,
    pieces: usize,
    with_own: bool,
}

impl Shelf {
    const fn new(bytes: usize, members: u32, most: usize) -> Self {
        let pieces = shown_of(bytes, members);
        Self {
            most,
            pieces,
            with_own: pieces == members as usize,
        }
    }

    const fn bytes(self) -> usize {
        self.most * self.pieces
    }

    /// Where the piece for a member begins in what `owner` shows.
    const fn start(self, owner: u32, member: u32) -> usize {
        let before = member - (!self.with_own && member > owner) as u32;
        before as usize * self.most
    }

    /// Writes a part of each piece into the own place of a turn.
    fn fill(self, meeting: &Meeting<'_>, pieces: &Pieces, index: usize) {
        let place = meeting.own(index, self.bytes());
        // Nobody else wants the own one.
        for rank in meeting.others() {
            let piece = pieces.piece(rank);
            let (start, length) = range_of(index, self.most, piece.bytes());
            let first = self.start(meeting.me, rank);
            piece.pack_range(start, &mut place[first..first + length]);
        }
    }

    /// The part of the own piece that a member shows in a turn.
    fn take<'a>(
        self,
        meeting: &'a Meeting<'_>,
        index: usize,
        member: u32,
        length: usize,
    ) -> &'a [u8] {
        let first = self.start(member, meeting.me);
        &meeting.shown(index, member, self.bytes())[first..first + length]
    }
}

/// Everybody shows a part of each of its pieces, of `bytes` bytes, a turn, and takes its own from all.
pub(super) async fn alltoall(
    meeting: Meeting<'_>,
    send: &Pieces,
    receive: &Pieces,
    (bytes, Turns { count: turns, most }): (usize, Turns),
) -> Result<()> {
    let me = meeting.me;
    // What a member gives and gets, of as many members.
    let way = Way::of(2 * bytes * (meeting.size as usize).pow(2));
    let shelf = Shelf::new(bytes, meeting.size, most);
    let mut done = 0;
    for index in 0..turns {
        let before = done;
        let all = shelf.bytes();
        post_ahead(&meeting, &mut done, (index, turns), all, |turn| {
            shelf.fill(&meeting, send, turn);
        })
        .await;
        if done > before {
            meeting.wake_all();
        }
        if index == 0 {
            // While the others write theirs.
            receive.piece(me).copy_from(send.piece(me));
        }
        meeting.all_posted(index).await;
        for distance in 1..meeting.size {
            let rank = (me + distance) % meeting.size;
            let piece = receive.piece(rank);
            let (start, length) = range_of(index, most, piece.bytes());
            way.unpack_range(piece, start, shelf.take(&meeting, index, rank, length));
        }
        meeting.leave(index);
    }
    way.settle();
    meeting.outcome()
}

/// The elements that turn `index` moves, `most` a turn.
pub(super) fn elements_of(block: &Block, index: usize, most: usize) -> Block {
    let (first, count) = range_of(index, most, block.count);
    block.part(first as i64, count)
}

/// Everybody shows its operand, `most` elements a turn; the result is for all.
pub(super) async fn allreduce(
    meeting: Meeting<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let (me, size) = (meeting.me, meeting.size);
    let turn_bytes = most.min(send.count) * send.layout.size();
    let by_last = size > 2 && turn_bytes * size as usize > EACH_FOR_ITSELF_BYTES;
    let lies_well = send.base != receive.base || usable_in_place(op, me, size);
    let mut done = 0;
    for index in 0..turns {
        let before = done;
        post_ahead(&meeting, &mut done, (index, turns), turn_bytes, |turn| {
            let part = elements_of(send, turn, most);
            // Nobody else looks at the operand of who combines them.
            let has_last = by_last && meeting.comes_last(turn);
            if !has_last {
                part.pack_range(0, meeting.own(turn, part.bytes()));
            }
            if by_last && meeting.is_last(turn) {
                let result = meeting.elements(turn, size, &part, part.count);
                meeting.combine(turn, size - 1, op, has_last.then_some(&part), &result);
                meeting.post_common(turn);
            }
        })
        .await;
        if done > before {
            meeting.wake_all();
        }
        let part = elements_of(receive, index, most);
        if by_last {
            meeting.posted(index, size).await;
            part.unpack_range(0, meeting.shown(index, size, part.bytes()));
        } else {
            meeting.all_posted(index).await;
            let own = elements_of(send, index, most);
            let own = lies_well.then_some(&own);
            meeting.combine(index, size - 1, op, own, &part);
        }
        meeting.leave(index);
    }
    meeting.outcome()
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

/// Each of two members shows its operands of the other's half of a step, combines its own half, and shows that. The operands of
/// the next step are shown before, and the results of a step are taken after the next step is combined, so that neither waits
/// for what the other is doing. A step's two turns are not neighbours: members leave turns in their order.
///
/// Of the data of a vector, each member copies half out, half in and half of what it has combined, instead of all of its
/// operands: a fifth less memory is read, and half as much is combined.
pub(super) async fn allreduce_of_two(
    meeting: Meeting<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let (me, other, steps) = (meeting.me, 1 - meeting.me, turns / 2);
    let turn_bytes = most * send.layout.size();
    let operands = |step: usize| (2 * step).saturating_sub(1);
    let results = |step: usize| (2 * step + 2).min(turns - 1);
    for step in 0..=steps {
        let shown = if step == 0 {
            0..steps.min(2)
        } else {
            step + 1..steps.min(step + 2)
        };
        for next in shown {
            let part = half_of(send, next, most, other);
            meeting.enter(operands(next), turn_bytes).await;
            part.pack_range(0, meeting.own(operands(next), part.bytes()));
            meeting.post(operands(next));
            meeting.wake_all();
        }
        if step < steps {
            let (own, part) = (
                half_of(send, step, most, me),
                half_of(receive, step, most, me),
            );
            meeting.others_posted(operands(step)).await;
            meeting.combine(operands(step), 1, op, Some(&own), &part);
            meeting.leave(operands(step));
            meeting.enter(results(step), turn_bytes).await;
            part.pack_range(0, meeting.own(results(step), part.bytes()));
            meeting.post(results(step));
            meeting.wake_all();
        }
        if let Some(before) = step.checked_sub(1) {
            let part = half_of(receive, before, most, other);
            meeting.others_posted(results(before)).await;
            part.unpack_range(0, meeting.shown(results(before), other, part.bytes()));
            meeting.leave(results(before));
        }
    }
    meeting.outcome()
}

/// Everybody but the root shows its operand, `most` elements a turn; the result is for the root.
pub(super) async fn reduce(
    meeting: Meeting<'_>,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let (me, size) = (meeting.me, meeting.size);
    let mut done = 0;
    for index in 0..turns {
        if let Some(block) = receive.filter(|_| me == root) {
            let (own, part) = (
                elements_of(send, index, most),
                elements_of(block, index, most),
            );
            let lies_well = send.base != block.base || usable_in_place(op, me, size);
            if !lies_well {
                meeting.enter(index, own.bytes()).await;
                own.pack_range(0, meeting.own(index, own.bytes()));
            }
            meeting.others_posted(index).await;
            let own = lies_well.then_some(&own);
            meeting.combine(index, size - 1, op, own, &part);
        } else {
            let turn_bytes = most.min(send.count) * send.layout.size();
            post_ahead(&meeting, &mut done, (index, turns), turn_bytes, |turn| {
                let part = elements_of(send, turn, most);
                part.pack_range(0, meeting.own(turn, part.bytes()));
            })
            .await;
            meeting.wake(root);
        }
        meeting.leave(index);
    }
    meeting.outcome()
}

/// Everybody shows `most` elements of each part a turn; each combines those of its own. Where all fit, that is one turn with the
/// whole vector. `receive` may overlap `send`: its elements of a turn lie where those of this or an earlier one were.
pub(super) async fn reduce_scatter(
    meeting: Meeting<'_>,
    send: &Block,
    receive: &Block,
    counts: &[usize],
    op: &Reduction,
    Turns { count: turns, most }: Turns,
) -> Result<()> {
    let (me, element) = (meeting.me as usize, send.layout.size());
    let whole = turns == 1;
    let turn_bytes = if whole {
        send.bytes()
    } else {
        most * element * counts.len()
    };
    let mut done = 0;
    for index in 0..turns {
        let before = done;
        post_ahead(&meeting, &mut done, (index, turns), turn_bytes, |turn| {
            let place = meeting.own(turn, turn_bytes);
            if whole {
                send.pack_range(0, place);
                return;
            }
            let mut first = 0;
            for (&count, place) in counts.iter().zip(place.chunks_exact_mut(most * element)) {
                let (start, length) = range_of(turn, most, count);
                send.pack_range((first + start) * element, &mut place[..length * element]);
                first += count;
            }
        })
        .await;
        if done > before {
            meeting.wake_all();
        }
        meeting.all_posted(index).await;
        let part = elements_of(receive, index, most);
        let skip = if whole {
            counts[..me].iter().sum()
        } else {
            me * most
        };
        let operand = |rank| {
            let start = meeting.place(index, rank, turn_bytes).cast_const();
            start.wrapping_add(skip * element)
        };
        if part.count > 0 {
            // SAFETY: all have posted; from there on lie as many elements of the own part, which are dense.
            unsafe {
                fold(
                    op,
                    meeting.size - 1,
                    operand,
                    part.base.0,
                    (part.count, part.bytes()),
                );
            }
        }
        meeting.leave(index);
    }
    meeting.outcome()
}

/// Everybody shows its operand in one turn; each combines those of the ranks below, and its own if `inclusive`.
pub(super) async fn prefix(
    meeting: Meeting<'_>,
    send: &Block,
    receive: &Block,
    op: &Reduction,
    inclusive: bool,
) -> Result<()> {
    meeting.enter(0, send.bytes()).await;
    send.pack_range(0, meeting.own(0, send.bytes()));
    meeting.post(0);
    for rank in meeting.me + 1..meeting.size {
        meeting.wake(rank);
    }
    let below = if inclusive {
        Some(meeting.me)
    } else {
        meeting.me.checked_sub(1)
    };
    if let Some(last) = below {
        for rank in 0..=last {
            meeting.posted(0, rank).await;
        }
        meeting.combine(0, last, op, None, receive);
    }
    meeting.leave(0);
    meeting.outcome()
}
