// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instruction sets of the processor, and the one in use.
#![expect(
    clippy::disallowed_types,
    reason = "this crate stands alone; the one word is a switch for tests, and orders nothing"
)]

use std::sync::atomic::{AtomicU8, Ordering};

/// Sets of instructions beyond what every processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    /// None.
    Portable,
    /// AVX2.
    Avx2,
    /// AVX-512 with masks of bytes and registers of any length (VBMI2, BW, VL).
    Avx512,
}

static LIMIT: AtomicU8 = AtomicU8::new(Isa::Avx512 as u8);

/// Uses no instructions beyond these from now on, in the whole process; results do not depend on it. For tests and for
/// measuring.
pub fn limit_isa(isa: Isa) {
    LIMIT.store(isa as u8, Ordering::Relaxed);
}

/// The most that is there and allowed.
pub fn best_isa() -> Isa {
    #[cfg(target_arch = "x86_64")]
    if has_byte_masks() {
        return Isa::Avx512;
    } else if has_avx2() {
        return Isa::Avx2;
    }
    Isa::Portable
}

#[cfg(target_arch = "x86_64")]
fn allowed(isa: Isa) -> bool {
    LIMIT.load(Ordering::Relaxed) >= isa as u8
}

/// Whether AVX2 is there and allowed.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && allowed(Isa::Avx2)
}

/// Whether bytes can be compressed and expanded by masks of 64.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_byte_masks() -> bool {
    std::arch::is_x86_feature_detected!("avx512vbmi2")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("popcnt")
        && allowed(Isa::Avx512)
}
