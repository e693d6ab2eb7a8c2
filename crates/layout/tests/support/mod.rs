// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests of kernels share: numbers, and all sets of instructions in turn.

use std::sync::Mutex;

use layout::{Isa, limit_isa};

/// Numbers that look random.
pub(crate) struct Numbers(u64);

impl Numbers {
    /// One below the limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

/// Runs a test with every set of instructions; an interpreter knows the first one only.
pub(crate) fn on_every_isa(test: impl Fn(&mut Numbers)) {
    // The limit is the process's: one test at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let all = [Isa::Portable, Isa::Avx2, Isa::Avx512];
    for isa in all.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
        limit_isa(isa);
        test(&mut Numbers(u64::from(isa as u8) + 7));
    }
}
