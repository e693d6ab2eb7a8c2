// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program on their way through the heap of an endpoint.

use ::endpoints::area::Mapped;
use ::endpoints::command::Command;
use ::endpoints::heap::Heap;

use super::elements::Elements;

/// Where data of the proxy go.
pub(super) enum Output {
    /// There are none.
    Nothing,
    /// A message, which may be shorter.
    Message(Elements),
    /// Results of a collective.
    Results(Elements),
}

impl Output {
    /// Bytes in the heap.
    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Message(elements) | Self::Results(elements) => Some(elements.bytes()),
        }
    }
}

/// A block of the heap.
struct Block {
    at: u64,
    bytes: u64,
}

impl Block {
    fn new(heap: &mut Heap, bytes: u64) -> Option<Self> {
        let at = heap.allocate(bytes)?;
        Some(Self { at, bytes })
    }
}

/// Blocks of the heap for data of an operation.
pub(super) struct Staged {
    input: Option<Block>,
    results: Option<Block>,
    output: Output,
}

impl Staged {
    /// Takes blocks, packs the data for the proxy, and puts the places into the command. `None` where the heap is full.
    pub(super) fn new(
        heap: &mut Heap,
        mapped: Mapped,
        input: Option<&Elements>,
        output: Output,
        command: &mut Command,
    ) -> Option<Self> {
        let mut it = Self {
            input: None,
            results: None,
            output,
        };
        if it.stage(heap, mapped, input, command).is_none() {
            it.release(heap);
            return None;
        }
        Some(it)
    }

    fn stage(
        &mut self,
        heap: &mut Heap,
        mapped: Mapped,
        input: Option<&Elements>,
        command: &mut Command,
    ) -> Option<()> {
        if let Some(elements) = input {
            let block = self.input.insert(Block::new(heap, elements.bytes())?);
            command.offset = block.at;
            let to = mapped.at(block.at, block.bytes)?;
            // SAFETY: the program's elements, and a block of the heap with as many bytes.
            unsafe { elements.pack(to) };
        }
        if let Some(bytes) = self.output.bytes() {
            let block = self.results.insert(Block::new(heap, bytes)?);
            command.second = block.at;
        }
        Some(())
    }

    /// Unpacks the results into the program's buffer: of a message as many bytes as came.
    pub(super) fn deliver(&self, mapped: Mapped, came: i64) {
        let Some(block) = &self.results else {
            return;
        };
        let (elements, bytes) = match &self.output {
            Output::Nothing => return,
            Output::Message(elements) => (elements, u64::try_from(came).unwrap_or(0)),
            Output::Results(elements) => (elements, block.bytes),
        };
        if let Some(from) = mapped.at(block.at, block.bytes) {
            // SAFETY: the program's elements, and a block of the heap with as many bytes.
            unsafe { elements.unpack(from, bytes) };
        }
    }

    /// Gives the blocks back.
    pub(super) fn release(self, heap: &mut Heap) {
        for block in [self.input, self.results].into_iter().flatten() {
            heap.release(block.at, block.bytes);
        }
    }
}
