// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the layer has done, for the statistics.

use super::pool;
pub(super) use crate::counts::add;

crate::counts::counts! {
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
    /// Collectives that moved packed data.
    COLLECTIVES "datatypes.collectives";
    /// Buffers of derived types that went to the library because it is faster.
    FASTER "datatypes.passed_faster";
    /// Those that went there because their type was refused.
    UNKNOWN "datatypes.passed_refused";
    /// Those in device memory.
    DEVICE "datatypes.passed_device";
    /// Those whose receive overlaps itself, or whose size or count is out of bounds.
    IRREGULAR "datatypes.passed_irregular";
    => "datatypes.pool_peak_bytes" pool::peak() as u64;
}
