// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of the program on their way through the heap of an endpoint.

use std::ops::Range;

use ::endpoints::area::Mapped;
use ::endpoints::command::{Command, TABLE_BYTES};
use ::endpoints::heap::{Heap, of_slot};

use super::elements::Elements;

/// Data of an operation.
pub(super) enum Data {
    /// Elements.
    One(Elements),
    /// A block for each member, packed one behind the other, with a table in front: the bytes of all, then their places behind it.
    Blocks(Vec<Elements>),
}

impl Data {
    /// Bytes in the heap.
    fn bytes(&self) -> u64 {
        match self {
            Self::One(elements) => elements.bytes(),
            Self::Blocks(blocks) => {
                let bytes = blocks.iter().map(Elements::bytes);
                bytes.fold(self.table_bytes(), u64::saturating_add)
            }
        }
    }

    fn table_bytes(&self) -> u64 {
        match self {
            Self::One(_) => 0,
            Self::Blocks(blocks) => blocks.len() as u64 * TABLE_BYTES,
        }
    }

    /// Writes the table.
    ///
    /// # Safety
    /// There is room for all bytes at an address for integers.
    unsafe fn describe(&self, at: *mut u8) {
        let Self::Blocks(blocks) = self else {
            return;
        };
        let (counts, mut place) = (at.cast::<u64>(), 0);
        for (index, block) in blocks.iter().enumerate() {
            // SAFETY: two integers for each block.
            unsafe {
                counts.add(index).write(block.bytes());
                counts.add(blocks.len() + index).write(place);
            }
            place += block.bytes();
        }
    }

    /// The elements, and where the packed ones are.
    ///
    /// # Safety
    /// There is room for all bytes.
    unsafe fn each(&self, at: *mut u8, mut action: impl FnMut(&Elements, *mut u8)) {
        let blocks = match self {
            Self::One(elements) => std::slice::from_ref(elements),
            Self::Blocks(blocks) => blocks,
        };
        // SAFETY: the caller's promise.
        let mut place = unsafe { at.add(self.table_bytes() as usize) };
        for block in blocks {
            action(block, place);
            // SAFETY: as above.
            place = unsafe { place.add(block.bytes() as usize) };
        }
    }
}

/// Where data of the proxy go.
pub(super) enum Output {
    /// There are none.
    Nothing,
    /// A message, which may be shorter.
    Message(Elements),
    /// Results of a collective.
    Results(Data),
    /// So many bytes of results that the program has already, or must not get.
    Unwanted(u64),
}

impl Output {
    /// Bytes in the heap.
    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Message(elements) => Some(elements.bytes()),
            Self::Results(data) => Some(data.bytes()),
            Self::Unwanted(bytes) => Some(*bytes),
        }
    }
}

/// Elements of all types are aligned to so many bytes.
const ALIGNMENT: u64 = 32;

/// Where data of an operation may lie: in what is left of the bytes of its slot, else in the heap.
struct Room<'a> {
    own: Range<u64>,
    heap: &'a mut Heap,
}

impl Room<'_> {
    fn block(&mut self, bytes: u64) -> Option<Block> {
        let is_allocated = bytes > self.own.end - self.own.start;
        let at = match is_allocated {
            true => self.heap.allocate(bytes)?,
            false => {
                let next = self.own.start + bytes.next_multiple_of(ALIGNMENT);
                std::mem::replace(&mut self.own.start, next)
            }
        };
        Some(Block {
            at,
            bytes,
            is_allocated,
        })
    }
}

/// Where data lie.
struct Block {
    at: u64,
    bytes: u64,
    /// Whether the heap gets it back.
    is_allocated: bool,
}

/// Where data of an operation lie.
pub(super) struct Staged {
    input: Option<Block>,
    results: Option<Block>,
    output: Output,
}

impl Staged {
    /// Takes blocks, packs the data for the proxy, and puts the places into the command, which has its slot. `None` where the heap is full.
    pub(super) fn new(
        heap: &mut Heap,
        mapped: Mapped,
        input: Option<&Data>,
        output: Output,
        command: &mut Command,
    ) -> Option<Self> {
        let mut it = Self {
            input: None,
            results: None,
            output,
        };
        let mut room = Room {
            own: of_slot(command.slot),
            heap,
        };
        if it.stage(&mut room, mapped, input, command).is_none() {
            it.release(heap);
            return None;
        }
        Some(it)
    }

    fn stage(
        &mut self,
        room: &mut Room<'_>,
        mapped: Mapped,
        input: Option<&Data>,
        command: &mut Command,
    ) -> Option<()> {
        if let Some(data) = input {
            let block = self.input.insert(room.block(data.bytes())?);
            command.offset = block.at;
            let to = mapped.at(block.at, block.bytes)?;
            // SAFETY: the program's elements, and a block of the heap with as many bytes.
            unsafe {
                data.describe(to);
                data.each(to, |elements, to| elements.pack(to));
            }
        }
        if let Some(bytes) = self.output.bytes() {
            let block = self.results.insert(room.block(bytes)?);
            command.second = block.at;
            if let Output::Results(data) = &self.output {
                let to = mapped.at(block.at, block.bytes)?;
                // SAFETY: a block of the heap with as many bytes.
                unsafe { data.describe(to) };
            }
        }
        Some(())
    }

    /// Unpacks the results into the program's buffer, once: of a message as many bytes as came.
    pub(super) fn deliver(&mut self, mapped: Mapped, came: i64) {
        let Some(block) = &self.results else {
            return;
        };
        let output = std::mem::replace(&mut self.output, Output::Nothing);
        let Some(from) = mapped.at(block.at, block.bytes) else {
            return;
        };
        // SAFETY: the program's elements, and a block of the heap with as many bytes.
        unsafe {
            match output {
                Output::Nothing | Output::Unwanted(_) => {}
                Output::Message(elements) => {
                    elements.unpack(from, u64::try_from(came).unwrap_or(0));
                }
                Output::Results(data) => {
                    data.each(from, |elements, from| {
                        elements.unpack(from, elements.bytes());
                    });
                }
            }
        }
    }

    /// Gives the blocks back.
    pub(super) fn release(self, heap: &mut Heap) {
        for block in [self.input, self.results].into_iter().flatten() {
            if block.is_allocated {
                heap.release(block.at, block.bytes);
            }
        }
    }
}
