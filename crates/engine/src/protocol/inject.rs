// SPDX-License-Identifier: MIT OR Apache-2.0
//! The writer of injected messages: header and data in one cell.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

// account: fabric

use crate::vci::cell;
use crate::vci::link::Link;

/// Writes a message of at most `INJECT_BYTES` contiguous bytes into the next cell of a link.
///
/// # Safety
/// `base` is readable for `bytes` bytes, `bytes` is at most `INJECT_BYTES`, and the link has a credit.
// TIER: short
#[inline(always)]
pub(crate) unsafe fn write(link: &mut Link, word: u64, base: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { write_as::<{ cell::INJECT }>(link, word, base, bytes) };
}

/// [`write()`] in a cell of a kind, which names the receiver's path.
///
/// # Safety
/// As there.
// TIER: short
#[inline(always)]
pub(crate) unsafe fn write_as<const KIND: u8>(
    link: &mut Link,
    word: u64,
    base: *const u8,
    bytes: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { link.sender.inject(KIND, word, base, bytes) };
    link.injected_bytes += bytes as u64;
}
