// SPDX-License-Identifier: MIT OR Apache-2.0
//! Combining what members publish: in rank order, from the right, part by part where there are many operands.
#![expect(unsafe_code, reason = "operands are memory images")]

use crate::op::Reduction;

/// Where the operands of all members lie.
#[derive(Clone, Copy)]
pub(super) struct Slots {
    /// The address of rank 0's operand, and the distance to that of the next rank.
    pub(super) first: *const u8,
    pub(super) stride: usize,
    /// The operand that lies elsewhere: its rank and its address.
    pub(super) own: Option<(u32, *const u8)>,
}

impl Slots {
    #[inline(always)]
    const fn of(self, rank: u32) -> *const u8 {
        match self.own {
            Some((me, own)) if me == rank => own,
            _ => self.first.wrapping_add(self.stride * rank as usize),
        }
    }

    /// The same so many bytes later.
    #[inline(always)]
    fn after(self, bytes: usize) -> Self {
        Self {
            first: self.first.wrapping_add(bytes),
            own: self.own.map(|(me, own)| (me, own.wrapping_add(bytes))),
            ..self
        }
    }
}

/// Operands in memory of their own, for an outlined function, so that the inlined code keeps its operands in registers.
struct OutlinedOperands {
    operands: Slots,
}

/// Bytes of a result that stay in the nearest cache while operands are combined into it; tests have several parts of everything.
const NEAR_BYTES: usize = if cfg!(test) { 40 } else { 8 << 10 };

/// Combines operands `0..=last`, in rank order and from the right, into `result`; `shape` is their count and bytes.
///
/// # Safety
/// The operands are readable and `result` is writable for the elements. `result` may be one of the last two operands of a
/// predefined operation, and the last of any; else it overlaps none.
#[inline(always)]
pub(super) unsafe fn fold(
    op: &Reduction,
    last: u32,
    operands: Slots,
    result: *mut u8,
    shape: (usize, usize),
) {
    if last > 1 && shape.1 > NEAR_BYTES && !op.is_user() {
        // SAFETY: this function's own promise.
        return unsafe { fold_in_parts(op, last, OutlinedOperands { operands }, result, shape) };
    }
    // SAFETY: this function's own promise.
    unsafe { fold_whole(op, last, operands, result, shape) };
}

/// The same part by part: more than two operands go over the result again and again, which stays in the nearest cache.
///
/// # Safety
/// As for [`fold`].
#[inline(never)]
unsafe fn fold_in_parts(
    op: &Reduction,
    last: u32,
    OutlinedOperands { operands }: OutlinedOperands,
    result: *mut u8,
    (count, bytes): (usize, usize),
) {
    let element = bytes / count.max(1);
    let most = (NEAR_BYTES / element.max(1)).max(1);
    for first in (0..count).step_by(most) {
        let (start, count) = (first * element, most.min(count - first));
        let operands = operands.after(start);
        let shape = (count, count * element);
        // SAFETY: this function's own promise; elements are dense.
        unsafe { fold_whole(op, last, operands, result.wrapping_add(start), shape) };
    }
}

/// The same at once.
///
/// # Safety
/// As for [`fold`].
#[inline(always)]
unsafe fn fold_whole(
    op: &Reduction,
    last: u32,
    operands: Slots,
    result: *mut u8,
    shape: (usize, usize),
) {
    // SAFETY: this function's own promise.
    unsafe {
        let Some(before) = last.checked_sub(1) else {
            std::ptr::copy(operands.of(0), result, shape.1);
            return;
        };
        op.apply_into(operands.of(before), operands.of(last), result, shape);
        for rank in (0..before).rev() {
            op.apply_into(operands.of(rank), result, result, shape);
        }
    }
}

/// Whether rank `me` of `size` may use its operand where it lies, or has to copy it because the result grows there.
pub(super) fn usable_in_place(op: &Reduction, me: u32, size: u32) -> bool {
    me + 1 == size || (me + 2 == size && !op.is_user())
}
