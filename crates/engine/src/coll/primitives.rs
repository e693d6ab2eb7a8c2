// SPDX-License-Identifier: MIT OR Apache-2.0
//! The building blocks of collective algorithms: steps of sends and receives, copies, private memory.
//!
//! An algorithm never stops half-way, because other members would wait for ever: its [`Collective`] keeps the first error of a
//! message and returns it at the end. A [`Step`] ends only when all of its messages are complete, so no message outlives its buffer.
#![expect(unsafe_code, reason = "blocks are addresses that programs gave")]

use std::sync::Arc;

use layout::{Layout, SharedLayout};

use super::on_device::Held;
use super::scratch::Room;
use super::step::Step;
use crate::allocate;
use crate::comm::Comm;
use crate::comm::node_map::{Leaders, NodeMap};
use crate::datatype::{Datatype, Signature};
use crate::errors::{Error, Result};
use crate::identity::Rank;
use crate::p2p::Memory;

/// An address that a task may carry: the rank that started the collective keeps the memory valid until it completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawMut(pub *mut u8);

/// Elements in memory: a base address, a count, and their layout.
#[derive(Clone)]
pub struct Block {
    /// Base address of the elements.
    pub base: RawMut,
    /// Number of elements.
    pub count: usize,
    /// Layout of one element.
    pub layout: SharedLayout,
    /// Basic types of one element, where members compare them (`RANKPOINT_CHECK=collectives`).
    pub signature: Signature,
    /// The GPU in whose memory the elements are, if they are in one's.
    pub(in crate::coll) held: Option<Box<Held>>,
}

static BYTE: Layout = Layout::named(1, 1);

/// The layout of packed bytes.
const fn byte_layout() -> SharedLayout {
    SharedLayout::Forever(&BYTE)
}

impl Block {
    /// `count` elements of `layout` at `base`.
    ///
    /// # Safety
    /// Until every collective that is given this block or a part of it is complete, the elements are readable, and
    /// writable where the collective receives or combines into the block; nothing else touches them if it writes. Their
    /// bytes do not exceed the address space.
    pub const unsafe fn new(base: *mut u8, count: usize, layout: SharedLayout) -> Self {
        Self {
            base: RawMut(base),
            count,
            layout,
            signature: Signature::UNKNOWN,
            held: None,
        }
    }

    /// `count` elements of a datatype at `base`.
    ///
    /// # Safety
    /// As for [`Self::new`].
    pub unsafe fn of(base: *mut u8, count: usize, datatype: &Datatype) -> Self {
        // SAFETY: the caller's promise.
        let block = unsafe { Self::new(base, count, datatype.shared_layout().clone()) };
        if crate::datatype::is_signing() {
            return Self {
                signature: datatype.signature(),
                ..block
            };
        }
        block
    }

    /// Packed length in bytes.
    pub fn bytes(&self) -> usize {
        self.layout.size() * self.count
    }

    /// The `count` elements that start `first` elements after this block's start.
    pub fn part(&self, first: i64, count: usize) -> Self {
        let offset = self.layout.extent().wrapping_mul(first);
        Self {
            base: RawMut(self.base.0.wrapping_offset(offset as isize)),
            count,
            layout: self.layout.clone(),
            signature: self.signature,
            held: self.held.clone(),
        }
    }

    /// The memory of the block.
    pub fn memory(&self) -> Memory<'_> {
        Memory::laid_out(self.base.0, self.count, &self.layout)
            .unwrap_or(Memory::contiguous(self.base.0, 0))
    }

    /// Packs the block.
    pub(crate) fn pack_into(&self, target: &mut [u8]) {
        self.pack_range(0, target);
    }

    /// Stores packed bytes into the block.
    pub fn from_bytes(&self, packed: &[u8]) {
        self.unpack_range(0, packed);
    }

    /// Packs the bytes from packed position `start` on, as many as `target` holds and the block has.
    pub(crate) fn pack_range(&self, start: usize, target: &mut [u8]) {
        let memory = self.memory();
        let bytes = target.len().min(memory.bytes.saturating_sub(start));
        // SAFETY: the block is readable while the collective runs (Block::new); `target` holds `bytes` bytes.
        unsafe {
            match memory.layout {
                Some((layout, _)) => {
                    layout.pack(memory.base, start..start + bytes, target.as_mut_ptr());
                }
                None => layout::copy_bytes(memory.base.add(start), target.as_mut_ptr(), bytes),
            }
        }
    }

    /// Stores packed bytes into the block from packed position `start` on, as many as fit.
    pub(crate) fn unpack_range(&self, start: usize, source: &[u8]) {
        let memory = self.memory();
        let bytes = source.len().min(memory.bytes.saturating_sub(start));
        // SAFETY: the block is writable while the collective runs (Block::new); `source` holds `bytes` bytes.
        unsafe {
            match memory.layout {
                Some((layout, _)) => {
                    layout.unpack(memory.base, start..start + bytes, source.as_ptr());
                }
                None => layout::copy_bytes(source.as_ptr(), memory.base.add(start), bytes),
            }
        }
    }

    /// The address of the first byte and that behind the last one; `None` if there is no byte, or if they do not fit into the address space.
    pub fn reach(&self) -> Option<(usize, usize)> {
        let (first, bytes) = self.layout.span(self.count)?;
        let start = (self.base.0 as usize).wrapping_add_signed(first as isize);
        (bytes > 0).then_some((start, start.checked_add(bytes)?))
    }

    /// Whether no byte between the first and the last of one block lies between those of the other.
    fn is_apart_from(&self, other: &Self) -> bool {
        match (self.reach(), other.reach()) {
            (Some(mine), Some(theirs)) => mine.1 <= theirs.0 || theirs.1 <= mine.0,
            _ => false,
        }
    }

    /// Copies the elements of `source`, whose type signature is the same, into this block.
    pub fn copy_from(&self, source: &Self) {
        let bytes = self.bytes().min(source.bytes());
        if bytes == 0 || (self.base == source.base && self.layout == source.layout) {
            return;
        }
        let (target, from) = (self.memory(), source.memory());
        // SAFETY: both blocks hold `bytes` bytes and are valid while the collective runs (Block::new).
        unsafe {
            match (target.layout, from.layout) {
                (None, None) => layout::copy_bytes(from.base, target.base, bytes),
                (None, Some((layout, _))) => layout.pack(from.base, 0..bytes, target.base),
                (Some((layout, _)), None) => layout.unpack(target.base, 0..bytes, from.base),
                (Some((mine, _)), Some((theirs, _))) if self.is_apart_from(source) => {
                    theirs.copy(from.base, mine, target.base, 0..bytes);
                }
                (Some(_), Some(_)) => self.copy_by_chunks(source, bytes),
            }
        }
    }

    /// Copies packed bytes: all at once, for the blocks may overlap, or in chunks where there is no memory for them.
    #[cold]
    fn copy_by_chunks(&self, source: &Self, bytes: usize) {
        const CHUNK: usize = 4096;
        let mut few = [0; CHUNK];
        let mut all = allocate::zeroed(bytes).unwrap_or_default();
        let packed = if all.is_empty() {
            &mut few[..]
        } else {
            &mut all
        };
        let mut start = 0;
        while start < bytes {
            let length = packed.len().min(bytes - start);
            source.pack_range(start, &mut packed[..length]);
            self.unpack_range(start, &packed[..length]);
            start += length;
        }
    }
}

/// Temporary memory for packed bytes.
pub(crate) struct Scratch {
    room: Room,
}

impl Scratch {
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn new(bytes: usize) -> Result<Self> {
        let room = Room::new(bytes)?;
        Ok(Self { room })
    }

    /// Memory for `count` times `bytes` bytes.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn of_equal(bytes: usize, count: usize) -> Result<Self> {
        Self::new(bytes.saturating_mul(count))
    }

    /// The packed bytes of a block.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn of(block: &Block) -> Result<Self> {
        let mut scratch = Self::new(block.bytes())?;
        block.pack_into(scratch.as_mut_slice());
        Ok(scratch)
    }

    /// The bytes of words.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn of_words(words: &[u64]) -> Result<Self> {
        let mut scratch = Self::new(size_of_val(words))?;
        for (eight, word) in scratch.as_mut_slice().chunks_exact_mut(8).zip(words) {
            eight.copy_from_slice(&word.to_ne_bytes());
        }
        Ok(scratch)
    }

    /// The bytes as words.
    pub(crate) fn store_words(&mut self, words: &mut [u64]) {
        for (word, eight) in words.iter_mut().zip(self.as_mut_slice().chunks_exact(8)) {
            let mut bytes = [0u8; 8];
            bytes.copy_from_slice(eight);
            *word = u64::from_ne_bytes(bytes);
        }
    }

    /// A part of the bytes as a block. The scratch lives in the algorithm's future, which awaits every step that uses it.
    pub(crate) fn block(&mut self, start: usize, bytes: usize) -> Block {
        assert!(start <= self.room.bytes() && bytes <= self.room.bytes() - start);
        Block {
            base: RawMut(self.room.as_mut_ptr().wrapping_add(start)),
            count: bytes,
            layout: byte_layout(),
            signature: Signature::UNKNOWN,
            held: None,
        }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the room holds as many bytes, which are initialised.
        unsafe { std::slice::from_raw_parts_mut(self.room.as_mut_ptr(), self.room.bytes()) }
    }
}

/// The bytes of a block as contiguous memory that can be cut anywhere: the block itself if it is contiguous, else a packed copy.
pub(crate) enum Flat {
    Borrowed(Block),
    Copied(Scratch),
}

impl Flat {
    /// The bytes of `block`; a copy holds them only if `filled`.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM.
    pub(crate) fn of(block: &Block, filled: bool) -> Result<Self> {
        let memory = block.memory();
        Ok(match memory.layout {
            None => Self::Borrowed(Block {
                base: RawMut(memory.base),
                count: memory.bytes,
                layout: byte_layout(),
                signature: Signature::UNKNOWN,
                held: None,
            }),
            Some(_) if filled => Self::Copied(Scratch::of(block)?),
            Some(_) => Self::Copied(Scratch::new(memory.bytes)?),
        })
    }

    pub(crate) fn part(&mut self, start: usize, bytes: usize) -> Block {
        match self {
            Self::Borrowed(block) => block.part(start as i64, bytes),
            Self::Copied(scratch) => scratch.block(start, bytes),
        }
    }

    /// Unpacks a copy into the block that it stands for.
    pub(crate) fn store(mut self, block: &Block) {
        if let Self::Copied(scratch) = &mut self {
            block.from_bytes(scratch.as_mut_slice());
        }
    }
}

/// Some ranks of a communicator.
enum Members {
    Listed(Box<[u32]>),
    /// One of each node.
    Leaders(Leaders),
}

/// The ranks and the tag of one collective operation, and its first error.
pub(crate) struct Collective {
    pub(crate) comm: Arc<Comm>,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(super) tag: u32,
    /// Ranks of the communicator that take part; all if `None`.
    members: Option<Members>,
    /// Whether each of them is on a node of its own.
    pub(crate) apart: bool,
    failure: Option<Error>,
}

/// Set in the tags of agreements among some ranks of a communicator, which draw no tag from its sequence.
const AMONG_SOME: u32 = 1 << 31;

impl Collective {
    /// Draws the operation's tag. Members draw in the order in which they call collectives, so an algorithm makes its
    /// `Collective` before it first waits, and makes only one.
    pub(crate) fn new(comm: Arc<Comm>) -> Self {
        let (rank, size) = (comm.rank() as u32, comm.size() as u32);
        let tag = comm.next_collective();
        Self {
            comm,
            rank,
            size,
            tag,
            members: None,
            apart: false,
            failure: None,
        }
    }

    /// The level of this operation within this node, in the communicator of the members on it.
    pub(crate) fn within_node(&self, node: &NodeMap) -> Self {
        let comm = node.comm.clone();
        Self {
            rank: comm.rank() as u32,
            size: comm.size() as u32,
            comm,
            tag: self.tag,
            members: None,
            apart: false,
            failure: None,
        }
    }

    /// The level of this operation between nodes: one rank on each takes part, this one with index `me`.
    pub(crate) fn between_nodes(&self, me: u32, leaders: Leaders) -> Self {
        Self {
            comm: self.comm.clone(),
            rank: me,
            size: leaders.count(),
            tag: self.tag,
            members: Some(Members::Leaders(leaders)),
            apart: true,
            failure: None,
        }
    }

    /// An operation of some ranks of a communicator, with a tag on which they agree; this rank has index `me` among them.
    pub(crate) fn among(comm: Arc<Comm>, tag: u32, me: u32, members: Box<[u32]>) -> Self {
        Self {
            comm,
            rank: me,
            size: members.len() as u32,
            tag: tag | AMONG_SOME,
            members: Some(Members::Listed(members)),
            apart: false,
            failure: None,
        }
    }

    /// Messages between two ranks of a communicator, or the first ranks of its two groups.
    pub(crate) fn between(comm: Arc<Comm>, tag: u32) -> Self {
        let size = comm.peers;
        Self {
            comm,
            rank: 0,
            size,
            tag: tag | AMONG_SOME,
            members: None,
            apart: false,
            failure: None,
        }
    }

    /// Whether all ranks of the communicator's own group take part, in its sequence of collectives.
    pub(crate) fn is_of_all(&self) -> bool {
        self.tag & AMONG_SOME == 0 && self.members.is_none() && self.comm.local().is_none()
    }

    /// Which collective of the communicator this is, from 0.
    pub(crate) const fn number(&self) -> u32 {
        self.tag
    }

    pub(super) fn real(&self, rank: u32) -> Rank {
        Rank::new(match &self.members {
            None => rank,
            Some(Members::Listed(ranks)) => ranks[rank as usize],
            Some(Members::Leaders(leaders)) => leaders.of(rank),
        })
    }

    /// The rank `distance` above, cyclically; `distance` is at most the size.
    pub(crate) const fn above(&self, distance: u32) -> u32 {
        let sum = self.rank as u64 + distance as u64;
        (sum % self.size as u64) as u32
    }

    /// The rank `distance` below, cyclically; `distance` is at most the size.
    pub(crate) const fn below(&self, distance: u32) -> u32 {
        self.above(self.size - distance)
    }

    pub(crate) const fn step(&mut self) -> Step<'_> {
        Step::new(self)
    }

    /// Sends a block and waits until it can be used again.
    pub(crate) async fn send(&mut self, block: &Block, to: u32) {
        let mut step = self.step();
        step.send(block, to);
        step.finish().await;
    }

    /// Receives a block.
    pub(crate) async fn receive(&mut self, block: &Block, from: u32) {
        let mut step = self.step();
        step.receive(block, from);
        step.finish().await;
    }

    /// Sends one block and receives another.
    pub(crate) async fn exchange(&mut self, out: &Block, to: u32, into: &Block, from: u32) {
        let mut step = self.step();
        step.receive(into, from);
        step.send(out, to);
        step.finish().await;
    }

    /// Broadcasts the root's words.
    pub(crate) async fn bcast_words(&mut self, words: &mut [u64], root: u32) {
        let Some(mut bytes) = self.memory(Scratch::of_words(words)) else {
            return;
        };
        let block = bytes.block(0, size_of_val(words));
        super::algorithms::bcast::tree(self, &block, root).await;
        bytes.store_words(words);
    }

    /// The lowest of all ranks' words, at rank 0: up a binomial tree.
    pub(crate) async fn lowest_word(&mut self, own: u64) -> u64 {
        let mut lowest = [own];
        let mut bit = 1;
        while bit < self.size && self.rank & bit == 0 {
            if self.rank + bit < self.size {
                let Some(mut bytes) = self.memory(Scratch::new(size_of::<u64>())) else {
                    return lowest[0];
                };
                let block = bytes.block(0, size_of::<u64>());
                self.receive(&block, self.rank + bit).await;
                let mut theirs = [0];
                bytes.store_words(&mut theirs);
                lowest = lowest.min(theirs);
            }
            bit *= 2;
        }
        if self.rank > 0
            && let Some(mut bytes) = self.memory(Scratch::of_words(&lowest))
        {
            let block = bytes.block(0, size_of::<u64>());
            self.send(&block, self.rank - bit).await;
        }
        lowest[0]
    }

    /// Exchanges words with a partner.
    pub(crate) async fn exchange_words(&mut self, out: &[u64], into: &mut [u64], partner: u32) {
        let sent = self.memory(Scratch::of_words(out));
        let received = self.memory(Scratch::of_words(into));
        let (Some(mut sent), Some(mut received)) = (sent, received) else {
            return;
        };
        let blocks = (
            sent.block(0, size_of_val(out)),
            received.block(0, size_of_val(into)),
        );
        self.exchange(&blocks.0, partner, &blocks.1, partner).await;
        received.store_words(into);
    }

    /// Memory that an algorithm needs before it starts messages. Without it the algorithm ends, and [`Self::outcome`] returns the
    /// error; members that have their memory may then wait for this one, as after every error of a collective.
    pub(crate) fn memory<T>(&mut self, memory: Result<T>) -> Option<T> {
        memory.map_err(|error| self.note(error)).ok()
    }

    pub(super) fn note(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// The outcome: the first error, if any.
    pub(crate) fn outcome(self) -> Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_copied_between_layouts_even_where_they_overlap() {
        let int = Layout::named(4, 4);
        let pairs = SharedLayout::from(Layout::vector(4, 2, 3, &int).unwrap());
        let sparse = SharedLayout::from(int.resized(0, 8).unwrap());
        let numbers: Vec<i32> = (0..32).collect();
        let copied = |from: usize, to: usize| {
            let mut memory = numbers.clone();
            let base = memory.as_mut_ptr();
            // SAFETY: both blocks lie inside the memory: 11 numbers and 15.
            unsafe {
                let source = Block::new(base.add(from).cast(), 1, pairs.clone());
                let target = Block::new(base.add(to).cast(), 8, sparse.clone());
                target.copy_from(&source);
            }
            memory
        };
        for (from, to) in [(0, 12), (17, 0), (3, 5), (5, 3)] {
            let mut expected = numbers.clone();
            for index in 0..8 {
                expected[to + 2 * index] = numbers[from + index / 2 * 3 + index % 2];
            }
            assert_eq!(copied(from, to), expected, "from {from} to {to}");
        }
    }
}
