// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast path of put and get: contiguous bytes at both sides, in node-shared memory, of a target that is open already. What it
//! refuses is decided by [`super::put`] and [`super::get`].

use std::hint::cold_path;

use sys::sync::Ordering;

use super::target::Target;
use super::window::Window;

/// The target with a rank, if this process may access it now.
// TIER: short
#[inline(always)]
pub fn open_target(window: &Window, rank: i32) -> Option<&Target> {
    let Some(target) = window.targets.get(rank as u32 as usize) else {
        cold_path();
        return None;
    };
    if target.access.load(Ordering::Relaxed) | window.epochs.open_to_all() == 0 {
        cold_path();
        return None;
    }
    Some(target)
}

impl Target {
    /// The address behind `bytes` bytes at a displacement, if they lie in memory that this process maps. The end, because the sum
    /// that is compared is the one that is used.
    // TIER: short
    #[inline(always)]
    pub fn end_of(&self, bytes: usize, disp: i64) -> Option<*mut u8> {
        let Some(start) = disp.checked_mul(self.unit as i64) else {
            cold_path();
            return None;
        };
        // A negative start is a large number here.
        let Some(end) = (start as u64).checked_add(bytes as u64) else {
            cold_path();
            return None;
        };
        if end > self.direct_bytes {
            cold_path();
            return None;
        }
        Some(self.base.wrapping_add(end as usize))
    }
}
