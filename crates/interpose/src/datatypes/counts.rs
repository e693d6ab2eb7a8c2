// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the layer has done, for the statistics.

use std::sync::atomic::Ordering::Relaxed;

use super::pool;
use crate::sync::AtomicU64;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        $($(#[$doc])* pub(super) static $name: AtomicU64 = AtomicU64::new(0);)*

        /// All numbers, by name.
        pub(crate) fn lines() -> Vec<(&'static str, u64)> {
            let mut all = vec![$(($text, $name.load(Relaxed))),*];
            all.push(("datatypes.pool_peak_bytes", pool::peak() as u64));
            all
        }
    };
}

counts! {
    /// Types whose layout is known.
    DECODED "datatypes.types";
    /// Types that the library handles, because their layout here is not the library's.
    REFUSED "datatypes.types_refused";
    /// Buffers that were packed here.
    PACKED "datatypes.packed";
    /// Buffers that were unpacked here.
    UNPACKED "datatypes.unpacked";
    /// Bytes of both.
    BYTES "datatypes.bytes";
    /// Buffers of derived types that went to the library because it is faster.
    FASTER "datatypes.passed_faster";
    /// Those that went there because their type was refused.
    UNKNOWN "datatypes.passed_refused";
    /// Those in device memory.
    DEVICE "datatypes.passed_device";
    /// Those whose receive overlaps itself, or whose size or count is out of bounds.
    IRREGULAR "datatypes.passed_irregular";
}

/// Adds to a number.
pub(super) fn add(count: &AtomicU64, number: u64) {
    count.fetch_add(number, Relaxed);
}
