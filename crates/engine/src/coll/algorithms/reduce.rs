// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduce to one rank, and what all reductions share.
//!
//! Operands are always combined in rank order, also for operations that commute: then every rank that computes the same
//! thing gets the same bits, whatever the numbers are (of two values one of which is no number, the minimum depends on the
//! order).
#![expect(unsafe_code, reason = "operands are memory images")]

use std::sync::Arc;

use algorithms::{Choice, Reduce};

use crate::coll::algorithms::chain;
use crate::coll::algorithms::hierarchy;
use crate::coll::algorithms::inter;
use crate::coll::area::long::{self, Combining};
use crate::coll::area::{Purpose, enter_area};
use crate::coll::blocks::Root;
use crate::coll::check::{self, Call, Statement};
use crate::coll::primitives::{Block, Collective, RawMut};
use crate::coll::scratch::Room;
use crate::coll::select::{self, choose};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// `right = left op right`.
pub(in crate::coll) fn combine(op: &Reduction, left: &Block, right: &Block) {
    let count = left.count.min(right.count);
    // SAFETY: blocks are valid while the collective runs (Block::new); algorithms combine distinct memory.
    unsafe { op.apply(left.base.0, right.base.0, count) };
}

/// Private memory with the layout of a block, holes included.
pub(in crate::coll) struct Image {
    _room: Room,
    block: Block,
}

impl Image {
    /// Room for `count` elements like those of `like`, aligned as strictly as any type demands.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(in crate::coll) fn new(like: &Block, count: usize) -> Result<Self> {
        const STRICTEST: i64 = 16;
        let (first, bytes) = like.layout.span(count).unwrap_or((0, 0));
        let shift = -(first.div_euclid(STRICTEST) * STRICTEST);
        let mut room = Room::new(bytes.saturating_add(STRICTEST as usize))?;
        let base = room.as_mut_ptr();
        let block = Block {
            base: RawMut(base.wrapping_offset(shift as isize)),
            count,
            layout: like.layout.clone(),
            signature: like.signature,
            held: None,
        };
        Ok(Self { _room: room, block })
    }

    /// Two of them.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(in crate::coll) fn two(like: &Block, count: usize) -> Result<[Self; 2]> {
        Ok([Self::new(like, count)?, Self::new(like, count)?])
    }

    /// Three of them.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(in crate::coll) fn three(like: &Block, count: usize) -> Result<[Self; 3]> {
        let [first, second] = Self::two(like, count)?;
        Ok([first, second, Self::new(like, count)?])
    }

    pub(in crate::coll) const fn block(&self) -> &Block {
        &self.block
    }
}

/// A partial result and room for an operand, which change places.
pub(in crate::coll) struct Accumulator<'a> {
    op: &'a Reduction,
    pub(in crate::coll) value: Block,
    pub(in crate::coll) spare: Block,
}

impl<'a> Accumulator<'a> {
    /// Starts with `value`, which is overwritten.
    pub(in crate::coll) const fn new(op: &'a Reduction, value: Block, spare: Block) -> Self {
        Self { op, value, spare }
    }

    /// `value = spare op value`.
    pub(in crate::coll) fn prepend_spare(&self) {
        combine(self.op, &self.spare, &self.value);
    }

    /// `value = value op spare`.
    pub(in crate::coll) fn append_spare(&mut self) {
        combine(self.op, &self.value, &self.spare);
        std::mem::swap(&mut self.value, &mut self.spare);
    }
}

/// A power of two of ranks, into which the others are folded: of the first `2 * extra` ranks every even one hands its
/// operand to its upper neighbour, so that all hold neighbouring ranges of ranks.
pub(in crate::coll) struct Folded {
    pub(in crate::coll) ranks: u32,
    extra: u32,
}

impl Folded {
    pub(in crate::coll) const fn new(size: u32) -> Self {
        let ranks = 1 << size.ilog2();
        Self {
            ranks,
            extra: size - ranks,
        }
    }

    /// The folded rank; `None` for one that handed its operand over.
    pub(in crate::coll) const fn rank(&self, real: u32) -> Option<u32> {
        if real >= 2 * self.extra {
            Some(real - self.extra)
        } else if real % 2 == 1 {
            Some(real / 2)
        } else {
            None
        }
    }

    pub(in crate::coll) const fn real(&self, folded: u32) -> u32 {
        if folded < self.extra {
            2 * folded + 1
        } else {
            folded + self.extra
        }
    }

    /// Hands operands over; afterwards the ranks with a folded rank hold everything.
    pub(in crate::coll) async fn fold(&self, coll: &mut Collective, sum: &Accumulator<'_>) {
        if coll.rank < 2 * self.extra {
            if coll.rank.is_multiple_of(2) {
                coll.send(&sum.value, coll.rank + 1).await;
            } else {
                coll.receive(&sum.spare, coll.rank - 1).await;
                sum.prepend_spare();
            }
        }
    }

    /// Sends the result back to the ranks that handed their operands over.
    pub(in crate::coll) async fn unfold(&self, coll: &mut Collective, result: &Block) {
        if coll.rank < 2 * self.extra {
            if coll.rank.is_multiple_of(2) {
                coll.receive(result, coll.rank + 1).await;
            } else {
                coll.send(result, coll.rank - 1).await;
            }
        }
    }
}

/// The elements for which a folded rank is responsible after halving: where it stands after each bit.
pub(in crate::coll) struct Halves {
    /// Elements before each halving, outermost first.
    pub(in crate::coll) ranges: Vec<(usize, usize)>,
}

impl Halves {
    /// The ranges of folded rank `me`: with each bit, low first, it keeps the lower half if the bit is 0.
    pub(in crate::coll) fn new(count: usize, me: u32, ranks: u32) -> Self {
        let mut ranges = vec![(0, count)];
        let (mut low, mut high, mut bit) = (0, count, 1);
        while bit < ranks {
            let middle = low + (high - low) / 2;
            if me & bit == 0 {
                high = middle;
            } else {
                low = middle;
            }
            ranges.push((low, high));
            bit *= 2;
        }
        Self { ranges }
    }
}

/// The elements `low..high` of a block.
pub(in crate::coll) fn elements(block: &Block, (low, high): (usize, usize)) -> Block {
    block.part(low as i64, high - low)
}

/// Halves the vector with each partner, at distances 1, 2, 4...: each folded rank ends with its part of the combination of
/// all. The result is in `sum.value`.
pub(in crate::coll) async fn halve(
    coll: &mut Collective,
    folded: &Folded,
    me: u32,
    sum: &Accumulator<'_>,
    halves: &Halves,
) {
    for (index, pair) in halves.ranges.windows(2).enumerate() {
        let bit = 1u32 << index;
        let partner = folded.real(me ^ bit);
        let (whole, kept) = (pair[0], pair[1]);
        let given = if me & bit == 0 {
            (kept.1, whole.1)
        } else {
            (whole.0, kept.0)
        };
        let (mine, theirs) = (elements(&sum.value, kept), elements(&sum.spare, kept));
        let out = elements(&sum.value, given);
        coll.exchange(&out, partner, &theirs, partner).await;
        // Each element is combined by one rank only: an operation that commutes may take the cheaper order.
        if me & bit == 0 && !sum.op.is_commutative() {
            combine(sum.op, &mine, &theirs);
            mine.copy_from(&theirs);
        } else {
            combine(sum.op, &theirs, &mine);
        }
    }
}

/// Undoes the halving of `value`: each folded rank collects the parts of all.
pub(in crate::coll) async fn double(
    coll: &mut Collective,
    folded: &Folded,
    me: u32,
    value: &Block,
    halves: &Halves,
) {
    for (index, pair) in halves.ranges.windows(2).enumerate().rev() {
        let bit = 1u32 << index;
        let partner = folded.real(me ^ bit);
        let (whole, kept) = (pair[0], pair[1]);
        let missing = if me & bit == 0 {
            (kept.1, whole.1)
        } else {
            (whole.0, kept.0)
        };
        let (out, into) = (elements(value, kept), elements(value, missing));
        coll.exchange(&out, partner, &into, partner).await;
    }
}

/// Combines every rank's block at the root (MPI_Reduce). `receive` is significant at the root, which passes it as `send` too
/// to work in place.
///
/// # Errors
/// Those of the messages.
pub async fn reduce(
    comm: Arc<Comm>,
    send: Block,
    receive: Option<Block>,
    op: Reduction,
    root: impl Into<Root>,
) -> Result<()> {
    let root = root.into();
    let Some(root) = root.within(&comm) else {
        return Box::pin(inter::reduce(comm, send, receive, &op, root)).await;
    };
    let mut coll = Collective::new(comm);
    let receive = receive.filter(|_| coll.rank == root);
    if coll.checks() {
        let statement = Statement::new(Call::Reduce).with_root(root);
        let statement = statement.with_op(&op).with_data(&send);
        Box::pin(check::same(&mut coll, statement)).await?;
    }
    let case = select::reduction(&coll, &send, op.is_commutative());
    let mut choice = choose::<Reduce>(&coll, &case);
    if let Reduce::Shared | Reduce::SharedParts = choice.algorithm {
        let parts = choice.algorithm == Reduce::SharedParts;
        if let Some(combining) = Combining::of(&case, parts) {
            let published = combining.published(&send, coll.size);
            let purpose = Purpose::Reduce;
            if let Some(sequence) = enter_area(&mut coll, purpose, send.bytes(), published).await {
                return long::reduce(sequence, &send, receive.as_ref(), &op, root, combining).await;
            }
        }
        choice = choose(&coll, &case.without_shared());
    }
    if choice.algorithm == Reduce::Hierarchical
        && let Some(node) = coll.comm.node_map()
    {
        let receive = receive.as_ref();
        return Box::pin(hierarchy::reduce(&coll, node, &send, receive, &op, root)).await;
    }
    if coll.size == 1 {
        if let Some(target) = receive {
            target.copy_from(&send);
        }
    } else if send.bytes() > 0 {
        let receive = receive.as_ref();
        Box::pin(by_messages(&mut coll, &send, receive, &op, root, choice)).await;
    }
    coll.outcome()
}

/// Combines every rank's block, which is not empty, at rank 0.
pub(in crate::coll) async fn into_first(
    coll: &mut Collective,
    send: &Block,
    target: &Block,
    op: &Reduction,
) {
    if coll.size == 1 {
        target.copy_from(send);
        return;
    }
    let receive = Some(target).filter(|_| coll.rank == 0);
    let case = select::reduction(coll, send, op.is_commutative()).without_shared();
    let choice = choose(coll, &case);
    by_messages(coll, send, receive, op, 0, choice).await;
}

pub(in crate::coll) async fn by_messages(
    coll: &mut Collective,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
    choice: Choice<Reduce>,
) {
    let number = choice.parameter;
    match choice.algorithm {
        Reduce::Tree | Reduce::Shared | Reduce::SharedParts | Reduce::Hierarchical => {
            tree(coll, send, receive, op, (root, 2)).await
        }
        Reduce::Knomial => tree(coll, send, receive, op, (root, number)).await,
        Reduce::Linear => linear(coll, send, receive, op, root).await,
        Reduce::Chain => chain::reduce(coll, send, receive, op, (root, number)).await,
        Reduce::Rabenseifner => halving(coll, send, receive, op, root).await,
    }
}

/// Where a rank accumulates: in the receive block if it has one, else in private memory; and room for an operand. Memory comes
/// first, then the copy of the own operand.
fn accumulate_in(send: &Block, receive: Option<&Block>) -> Result<(Block, Image, Option<Image>)> {
    let spare = Image::new(send, send.count)?;
    let (target, image) = match receive {
        Some(receive) => (receive.clone(), None),
        None => {
            let image = Image::new(send, send.count)?;
            (image.block().clone(), Some(image))
        }
    };
    target.copy_from(send);
    Ok((target, spare, image))
}

/// A tree over rank order, of ceil(log_degree p) levels; rank 0 hands the result to another root. A rank takes the operands of
/// up to degree - 1 children at each of the distances 1, degree, degree^2..., nearest first, which is their order.
pub(in crate::coll) async fn tree(
    coll: &mut Collective,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    (root, degree): (u32, u64),
) {
    let (rank, size) = (u64::from(coll.rank), u64::from(coll.size));
    let parent = |distance: u64| (rank - rank / distance % degree * distance) as u32;
    let mut distance = 1;
    if rank.is_multiple_of(degree) {
        let Some((value, spare, _kept)) = coll.memory(accumulate_in(send, receive)) else {
            return;
        };
        let mut sum = Accumulator::new(op, value, spare.block().clone());
        while distance < size && (rank / distance).is_multiple_of(degree) {
            let children = (1..degree).map(|index| rank + index * distance);
            for child in children.take_while(|&child| child < size) {
                coll.receive(&sum.spare, child as u32).await;
                sum.append_spare();
            }
            distance *= degree;
        }
        if rank > 0 {
            coll.send(&sum.value, parent(distance)).await;
        } else if root > 0 {
            coll.send(&sum.value, root).await;
        } else if let Some(target) = receive {
            target.copy_from(&sum.value);
        }
    } else {
        coll.send(send, parent(distance)).await;
    }
    take_from_first(coll, receive, root).await;
}

/// The root gets the result from rank 0, if it is another one.
async fn take_from_first(coll: &mut Collective, receive: Option<&Block>, root: u32) {
    if let Some(target) = receive
        && root > 0
    {
        coll.receive(target, 0).await;
    }
}

/// Rank 0 receives the operands of all ranks, the last rank's first, and sends the result to another root.
async fn linear(
    coll: &mut Collective,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
) {
    if coll.rank > 0 {
        coll.send(send, 0).await;
    } else {
        let Some(images) = coll.memory(Image::two(send, send.count)) else {
            return;
        };
        let [value, spare] = images.each_ref().map(|image| image.block().clone());
        coll.receive(&value, coll.size - 1).await;
        let sum = Accumulator::new(op, value, spare);
        for rank in (1..coll.size - 1).rev() {
            coll.receive(&sum.spare, rank).await;
            sum.prepend_spare();
        }
        combine(op, send, &sum.value);
        match receive {
            Some(target) if root == 0 => target.copy_from(&sum.value),
            _ => coll.send(&sum.value, root).await,
        }
    }
    take_from_first(coll, receive, root).await;
}

/// Halves the vector, then gathers the parts at the root (Rabenseifner): every rank sends and receives about the vector
/// once, and combines it once.
async fn halving(
    coll: &mut Collective,
    send: &Block,
    receive: Option<&Block>,
    op: &Reduction,
    root: u32,
) {
    let folded = Folded::new(coll.size);
    let Some((value, spare, _kept)) = coll.memory(accumulate_in(send, receive)) else {
        return;
    };
    let sum = Accumulator::new(op, value, spare.block().clone());
    folded.fold(coll, &sum).await;
    // A root that handed its operand over is stood for by its upper neighbour.
    let (collector, stands_in) = match folded.rank(root) {
        Some(collector) => (collector, false),
        None => (folded.rank(root + 1).unwrap_or(0), true),
    };
    if let Some(me) = folded.rank(coll.rank) {
        let halves = Halves::new(send.count, me, folded.ranks);
        halve(coll, &folded, me, &sum, &halves).await;
        for (index, pair) in halves.ranges.windows(2).enumerate().rev() {
            let bit = 1u32 << index;
            let partner = folded.real(me ^ bit);
            let (whole, kept) = (pair[0], pair[1]);
            if (me ^ collector) & bit != 0 {
                coll.send(&elements(&sum.value, kept), partner).await;
                break;
            }
            let missing = if me & bit == 0 {
                (kept.1, whole.1)
            } else {
                (whole.0, kept.0)
            };
            coll.receive(&elements(&sum.value, missing), partner).await;
        }
        if stands_in && me == collector {
            coll.send(&sum.value, root).await;
        }
    }
    if let Some(target) = receive
        && stands_in
    {
        coll.receive(target, root + 1).await;
    }
}
