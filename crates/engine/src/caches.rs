// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which received data are written with non-temporal stores.
//!
//! A message, or the data of a collective on a node, can exceed the caches. A normal store to such a line first reads it from memory,
//! and evicts lines that are still needed, such as those of shared memory. A non-temporal store costs one memory transfer instead of
//! two, and evicts nothing.

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
