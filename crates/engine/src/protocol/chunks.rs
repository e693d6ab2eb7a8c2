// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrived chunks in the payload area.

use std::ptr::NonNull;

use fabric::ring::ChunkLocation;

use crate::vci::VciState;

/// The address of an arrived chunk, if its description is possible.
pub(super) fn chunk_at(
    state: &VciState,
    ring: usize,
    location: ChunkLocation,
    bytes: u64,
) -> Option<NonNull<u8>> {
    let incoming = &state.incoming[ring];
    let reverse = &state.links[incoming.peer].sender;
    let bytes = u32::try_from(bytes).ok()?;
    incoming.ring.payload(location, bytes, reverse)
}

/// Notes that an arrived chunk has been copied out.
#[inline]
pub(super) fn release_chunk(
    state: &mut VciState,
    ring: usize,
    location: ChunkLocation,
    bytes: u64,
) {
    state.taken_in += bytes as usize;
    let incoming = &mut state.incoming[ring];
    let reverse = &mut state.links[incoming.peer].sender;
    incoming
        .ring
        .release_payload(location, bytes as u32, reverse);
}
