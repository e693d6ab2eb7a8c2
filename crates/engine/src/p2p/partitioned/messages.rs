// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of partitioned requests: their match words, and their entries in the request slab.

use fabric::board::{PARTITIONED, kind as record_kind};

use crate::comm::Comm;
use crate::datatype::Memory;
use crate::device;
use crate::errors::Result;
use crate::request::{Part, Receiving, RequestIndex};
use crate::vci::VciState;

/// In the tag of a message with data, where the tags of programs have 0.
pub(super) const DATA: u32 = 1 << 31;
/// Channels are told apart by this many numbers.
pub(super) const CHANNELS: u32 = 1 << 31;
/// Words of an opening: channel, partitions, bytes of a partition, VCIs.
pub(super) const OPENING_WORDS: usize = 4;
pub(super) const OPENING_BYTES: usize = OPENING_WORDS * size_of::<u64>();

/// The match word of the data of a partition. Partitions are numbered by 31 bits, and their highest number is no partition.
pub(super) fn data_word(channel: u32, number: usize) -> u64 {
    PARTITIONED | u64::from(channel) << 32 | u64::from(DATA) | number as u64
}

/// The match word of an opening.
pub(super) fn opening_word(comm: &Comm, tag: i32) -> u64 {
    PARTITIONED | comm.match_base() | tag as u64
}

/// Adds the entry of a message to those of its request, or gives all of them back.
pub(super) fn note_part(
    state: &mut VciState,
    index: RequestIndex,
    number: usize,
    made: Result<RequestIndex>,
    messages: &mut Vec<RequestIndex>,
) -> Result<()> {
    match made {
        Ok(message) => {
            let entry = state.slab.entry_mut(message);
            entry.set_part(Part {
                request: index,
                number: number as u32,
            });
            entry.record.kind = record_kind::INACTIVE;
            messages.push(message);
            Ok(())
        }
        Err(error) => {
            messages.drain(..).for_each(|message| state.retire(message));
            Err(error)
        }
    }
}

/// `bytes` packed bytes of a memory from `start` on, which both divide into elements if the memory has a layout.
pub(super) fn part_of(memory: Memory<'_>, start: usize, bytes: usize) -> Result<Memory<'_>> {
    let Some((layout, _)) = memory.layout else {
        return Ok(Memory::contiguous(memory.base.wrapping_add(start), bytes));
    };
    let size = layout.size().max(1);
    let distance = (start / size) as i64 * layout.extent();
    let (base, count) = (memory.base.wrapping_offset(distance as isize), bytes / size);
    let whole = Memory {
        base,
        bytes,
        layout: Some((layout, count)),
        types: None,
    };
    if device::device_of(base, layout, count)?.is_some() {
        return Ok(whole);
    }
    Ok(Memory::laid_out(base, count, layout).unwrap_or(whole))
}

pub(super) fn receiving(state: &mut VciState, index: RequestIndex) -> Option<&mut Receiving> {
    state.partitioned(index)?.receiving.as_mut()
}
