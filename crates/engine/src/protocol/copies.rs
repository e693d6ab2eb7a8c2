// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between the memory of operations and chunks of messages, some of them measured ([`crate::vci::copy_mode`]).

// account: fabric

use std::ptr::NonNull;

use fabric::ring::hand_over;
use sys::clock;

use super::publish_preferences;
use crate::caches;
use crate::request::{RequestEntry, RequestIndex};
use crate::vci::copy_mode;
use crate::vci::{CmaPolicy, VciState};

/// Copies bytes `[position, position + bytes)` of a send to a chunk at `target`; returns the ticks that it took where they are
/// measured, else 0.
///
/// # Safety
/// As for [`pack`].
pub(super) unsafe fn pack_chunk(
    state: &mut VciState,
    index: RequestIndex,
    position: usize,
    target: NonNull<u8>,
    bytes: usize,
) -> u64 {
    let entry = state.slab.entry(index);
    // SAFETY: the caller's promise.
    unsafe {
        if is_contiguous(entry) {
            let source = entry.base.add(position);
            return fill_chunk(state, source, target, bytes);
        }
        pack(entry, position, target.as_ptr(), bytes);
    }
    hand_over(target, bytes);
    0
}

/// [`pack_chunk`] of contiguous bytes at `source`.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes.
#[inline]
pub(super) unsafe fn fill_chunk(
    state: &mut VciState,
    source: *const u8,
    target: NonNull<u8>,
    bytes: usize,
) -> u64 {
    let is_measured = bytes as u64 >= copy_mode::SMALLEST
        && state.node.cma == CmaPolicy::Measured
        && state.copy_modes.is_due();
    let start = is_measured.then(clock::ticks);
    // SAFETY: the caller's promise.
    unsafe { layout::copy_bytes(source, target.as_ptr(), bytes) };
    hand_over(target, bytes);
    start.map_or(0, |start| clock::ticks().wrapping_sub(start).max(1))
}

/// Copies a chunk of `bytes` bytes that took its sender `packed` ticks (0: not measured) to the position of a receive.
///
/// # Safety
/// As for [`unpack`].
pub(super) unsafe fn unpack_chunk(
    state: &mut VciState,
    index: RequestIndex,
    source: *const u8,
    bytes: usize,
    packed: u64,
) {
    let entry = state.slab.entry_mut(index);
    // A chunk that is cut off tells nothing: its sender copied more.
    let is_measured = packed != 0
        && bytes as u64 >= copy_mode::SMALLEST
        && state.node.cma == CmaPolicy::Measured
        && is_contiguous(entry);
    let start = is_measured.then(clock::ticks);
    let (whole, position) = (entry.record.bytes, entry.receive().position);
    if is_contiguous(entry) && caches::are_exceeded_by_message(whole as usize) {
        // SAFETY: the caller's promise; payloads lie outside the memory of programs.
        unsafe { layout::copy_past_caches(source, entry.base.add(position), bytes) };
        layout::settle();
    } else {
        // SAFETY: the caller's promise.
        unsafe { unpack(entry, position, source, bytes) };
    }
    let receive = entry.receive_mut();
    receive.position += bytes;
    let is_last = receive.position == receive.wanted;
    if let Some(start) = start {
        let ticks = [packed, clock::ticks().wrapping_sub(start)];
        if state.copy_modes.note_chunk(whole, bytes as u64, ticks) {
            publish_preferences(state);
        }
    }
    if is_last {
        state.copy_modes.end_message(whole);
    }
}

/// Copies packed bytes `[position, position + bytes)` of an operation's memory to `target`.
///
/// # Safety
/// The operation's memory is readable, `target` writable for `bytes` bytes.
pub(crate) unsafe fn pack(entry: &RequestEntry, position: usize, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; `position + bytes` is within the operation's packed length.
    unsafe {
        let Some(extra) = &entry.extra else {
            return layout::copy_bytes(entry.base.add(position), target, bytes);
        };
        match (&extra.staged, &extra.layout) {
            (Some(staged), _) => {
                let source = &staged.bytes()[position..position + bytes];
                std::ptr::copy_nonoverlapping(source.as_ptr(), target, bytes);
            }
            (None, Some((layout, _))) => {
                layout.pack(entry.base, position..position + bytes, target)
            }
            (None, None) => layout::copy_bytes(entry.base.add(position), target, bytes),
        }
    }
}

/// Copies `bytes` bytes at `source` to packed position `position` of a receive's memory. Memory of a GPU gets all of the message with
/// its last bytes, which come last; what the driver refuses is the receive's error.
///
/// # Safety
/// The operation's memory is writable, `source` readable for `bytes` bytes.
pub(crate) unsafe fn unpack(
    entry: &mut RequestEntry,
    position: usize,
    source: *const u8,
    bytes: usize,
) {
    // SAFETY: the caller's promise; `position + bytes` is within the operation's packed length.
    unsafe {
        let Some(extra) = &mut entry.extra else {
            return layout::copy_bytes(source, entry.base.add(position), bytes);
        };
        match (&mut extra.staged, &extra.layout) {
            (Some(staged), _) => {
                let target = &mut staged.host()[position..position + bytes];
                std::ptr::copy(source, target.as_mut_ptr(), bytes);
                let end = position + bytes;
                if bytes > 0
                    && end as u64 == entry.record.bytes
                    && let Err(error) = staged.store(end)
                    && entry.error == 0
                {
                    entry.error = error.class().0;
                    extra.error_text = error.to_string();
                }
            }
            (None, Some((layout, _))) => {
                layout.unpack(entry.base, position..position + bytes, source)
            }
            (None, None) => layout::copy_bytes(source, entry.base.add(position), bytes),
        }
    }
}

/// Copies the first `bytes` packed bytes of one operation's memory to another's.
///
/// # Safety
/// The memory of `from` is readable for the bytes copied, that of `to` writable, and they do not overlap.
pub(super) unsafe fn copy(from: &RequestEntry, to: &RequestEntry, bytes: usize) {
    let layout = |entry: &RequestEntry| Some(entry.extra.as_ref()?.layout.as_ref()?.0.clone());
    // SAFETY: the caller's promise.
    unsafe {
        match (layout(from), layout(to)) {
            (Some(source), Some(target)) => source.copy(from.base, &target, to.base, 0..bytes),
            (_, None) => pack(from, 0, to.base, bytes),
            (None, Some(target)) => target.unpack(to.base, 0..bytes, from.base),
        }
    }
}

/// Whether an operation's memory is one run of bytes.
pub(crate) fn is_contiguous(entry: &RequestEntry) -> bool {
    entry
        .extra
        .as_ref()
        .is_none_or(|extra| extra.layout.is_none() && extra.staged.is_none())
}
