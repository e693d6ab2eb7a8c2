// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which data are written past the caches.
//!
//! A message, or what a collective brings to all ranks of a node, can be more than its caches hold. Each line of it that is written through
//! a cache is first read from memory, and drives out what is still to be read, such as the memory that ranks share. Written past the
//! caches it costs memory one transfer instead of two, and the rest stays where it is.

use std::sync::OnceLock;

use sys::memory;

/// Where the system does not tell how large its caches are.
const USUAL_CACHE_BYTES: usize = 32 << 20;

/// Whether so many bytes that are read and written are more than the largest cache holds.
pub(crate) fn are_exceeded_by(moved_bytes: usize) -> bool {
    static CACHE_BYTES: OnceLock<usize> = OnceLock::new();
    // Tests go both ways without moving that much.
    let cache = CACHE_BYTES.get_or_init(|| {
        if cfg!(test) {
            64 << 10
        } else {
            memory::cache_bytes().unwrap_or(USUAL_CACHE_BYTES)
        }
    });
    moved_bytes >= *cache
}

/// Whether the source and the target of a message of so many bytes are.
pub(crate) fn are_exceeded_by_message(bytes: usize) -> bool {
    are_exceeded_by(bytes.saturating_mul(2))
}
