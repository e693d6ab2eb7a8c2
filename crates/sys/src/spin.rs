// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pause between two polls of a spinning core.

// account: caller

/// Pauses for about ten nanoseconds between two polls of a word that another core is about to
/// write, on a core that no other thread wants.
///
/// Polls right after each other delay the arrival of the cache line, and the processor's own hint
/// ([`spin_loop`](std::hint::spin_loop)) pauses for about as long as a short message takes.
#[inline(always)]
pub fn cpu_relax() {
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    for _ in 0..3 {
        // SAFETY: every x86-64 processor has it; it waits until what comes before is done.
        unsafe { std::arch::x86_64::_mm_lfence() };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(loom))))]
    crate::sync::spin_loop();
}
