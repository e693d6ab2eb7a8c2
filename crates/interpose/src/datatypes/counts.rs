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
    /// Those in the memory of a GPU that were packed into memory of the host, or unpacked from there.
    ONESHOT "datatypes.oneshot";
    /// Those that were packed into memory of the GPU, or unpacked from there.
    ON_DEVICE "datatypes.device";
    /// Bytes of all.
    BYTES "datatypes.bytes";
    /// Collectives that moved packed data.
    COLLECTIVES "datatypes.collectives";
    /// Buffers of derived types that went to the library because it is faster.
    FASTER "datatypes.passed_faster";
    /// Those that went there because their type was refused.
    UNKNOWN "datatypes.passed_refused";
    /// Those in the memory of a GPU.
    DEVICE "datatypes.passed_device";
    /// Those whose receive overlaps itself, or whose size or count is out of bounds.
    IRREGULAR "datatypes.passed_irregular";
    => "datatypes.pool_peak_bytes" pool::peak() as u64;
    => "datatypes.pinned_requests" pool::PINNED.requests() as u64;
    => "datatypes.pinned_allocations" pool::PINNED.allocations() as u64;
    => "datatypes.pinned_peak_bytes" pool::PINNED.peak() as u64;
    => "datatypes.device_requests" pool::DEVICE.requests() as u64;
    => "datatypes.device_allocations" pool::DEVICE.allocations() as u64;
    => "datatypes.device_peak_bytes" pool::DEVICE.peak() as u64;
}
