// SPDX-License-Identifier: MIT OR Apache-2.0
//! Combining what members publish: in rank order, from the right, part by part where there are many operands.
#![expect(unsafe_code, reason = "operands are memory images")]

use crate::coll::area::Sequence;
use crate::coll::primitives::Block;
use crate::op::Reduction;

/// Bytes of a result that stay in the nearest cache while operands are combined into it; tests have several parts of everything.
const NEAR_BYTES: usize = if cfg!(test) { 40 } else { 8 << 10 };

/// Combines operands `0..=last`, in rank order and from the right, into `result`; `shape` is their count and bytes.
///
/// # Safety
/// The operands are readable and `result` is writable for the elements. `result` may be one of the last two operands of a
/// predefined operation, and the last of any; else it overlaps none.
#[inline(always)]
pub(in crate::coll) unsafe fn fold(
    op: &Reduction,
    last: u32,
    operand: impl Fn(u32) -> *const u8,
    result: *mut u8,
    shape: (usize, usize),
) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(before) = last.checked_sub(1) else {
            std::ptr::copy(operand(0), result, shape.1);
            return;
        };
        op.apply_into(operand(before), operand(last), result, shape);
        for rank in (0..before).rev() {
            op.apply_into(operand(rank), result, result, shape);
        }
    }
}

/// Whether rank `me` of `size` may use its operand where it lies, or has to copy it because the result grows there.
pub(in crate::coll) fn usable_in_place(op: &Reduction, me: u32, size: u32) -> bool {
    me + 1 == size || (me + 2 == size && !op.is_user())
}

impl Sequence<'_> {
    /// Combines what members `0..=last` publish in a round into `result`; `own` is this member's operand if it is not to be
    /// taken from what it publishes.
    pub(in crate::coll) fn combine(
        &self,
        index: usize,
        last: u32,
        op: &Reduction,
        own: Option<&Block>,
        result: &Block,
    ) {
        let (count, bytes) = (result.count, result.bytes());
        let operand = |rank| match own {
            Some(own) if rank == self.me => own.base.0.cast_const(),
            _ => self.place(index, rank, bytes).cast_const(),
        };
        // More than two operands go over the result again and again, which stays in the nearest cache part by part.
        let element = bytes / count.max(1);
        let most = match last > 1 && !op.is_user() {
            true => (NEAR_BYTES / element.max(1)).max(1),
            false => count.max(1),
        };
        for first in (0..count).step_by(most) {
            let (start, count) = (first * element, most.min(count - first));
            let operand = |rank| operand(rank).wrapping_add(start);
            let (target, shape) = (result.base.0.wrapping_add(start), (count, count * element));
            // SAFETY: members have published as many elements; blocks are valid while the collective runs, and dense.
            unsafe { fold(op, last, operand, target, shape) };
        }
    }
}
