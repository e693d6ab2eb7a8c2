// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predefined operations and types of one-sided operations, found by their handles.

use std::hint::cold_path;
use std::sync::atomic::Ordering;

use engine::rma::{self, ElementReduction};
use mpi_abi_sys::types::{MPI_Datatype, MPI_Op};

use crate::handle::{DATATYPES, OPS};
use crate::sync::{AtomicPtr, AtomicU8};

/// The handles of predefined operations, and how many there may be.
const FIRST_OP: usize = 0x20;
const OP_HANDLES: usize = 0x20;
/// The same of types.
const FIRST_TYPE: usize = 0x200;
const TYPE_HANDLES: usize = 0x100;

/// Operations joined with types; kept for ever, because there are few of each.
static KNOWN: [AtomicPtr<ElementReduction>; OP_HANDLES * TYPE_HANDLES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; OP_HANDLES * TYPE_HANDLES];

/// Whether elements may be compared and swapped by an instruction.
static SWAPPED: [AtomicU8; TYPE_HANDLES] = [const { AtomicU8::new(UNKNOWN) }; TYPE_HANDLES];
const UNKNOWN: u8 = 0;
const BY_INSTRUCTION: u8 = 1;
const OTHERWISE: u8 = 2;

/// A predefined operation on a predefined type; `None` for others, and where it is not defined.
// TIER: short
#[inline(always)]
pub(crate) fn reduction(op: MPI_Op, datatype: MPI_Datatype) -> Option<&'static ElementReduction> {
    let (row, column) = (op.wrapping_sub(FIRST_OP), datatype.wrapping_sub(FIRST_TYPE));
    if row >= OP_HANDLES || column >= TYPE_HANDLES {
        cold_path();
        return None;
    }
    let slot = &KNOWN[row * TYPE_HANDLES + column];
    // PAIRS: op.elements
    let known = slot.load(Ordering::Acquire);
    // SAFETY: null, or the leaked object that `learn` stored.
    match unsafe { known.as_ref() } {
        None => learn(op, datatype, slot),
        known => known,
    }
}

#[cold]
#[inline(never)]
fn learn(
    op: MPI_Op,
    datatype: MPI_Datatype,
    slot: &AtomicPtr<ElementReduction>,
) -> Option<&'static ElementReduction> {
    let found = ElementReduction::find(OPS.get(op)?.operator()?, DATATYPES.get(datatype)?)?;
    let found = Box::leak(Box::new(found));
    // PAIRS: op.elements. If two threads learn the same, both are right.
    slot.store(found, Ordering::Release);
    Some(found)
}

/// Whether elements of a type may be compared and swapped by an instruction.
// TIER: short
#[inline(always)]
pub(crate) fn is_swapped(datatype: MPI_Datatype) -> bool {
    let Some(known) = SWAPPED.get(datatype.wrapping_sub(FIRST_TYPE)) else {
        cold_path();
        return false;
    };
    match known.load(Ordering::Relaxed) {
        UNKNOWN => learn_swapped(datatype, known),
        known => known == BY_INSTRUCTION,
    }
}

#[cold]
#[inline(never)]
fn learn_swapped(datatype: MPI_Datatype, known: &AtomicU8) -> bool {
    let is_swapped = DATATYPES.get(datatype).is_some_and(rma::is_swapped_by_word);
    let word = if is_swapped {
        BY_INSTRUCTION
    } else {
        OTHERWISE
    };
    known.store(word, Ordering::Relaxed);
    is_swapped
}

/// Forgets all that is known, because types have changed.
pub(crate) fn forget() {
    for slot in &KNOWN {
        // The object stays: another thread may be using it.
        slot.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    for word in &SWAPPED {
        word.store(UNKNOWN, Ordering::Relaxed);
    }
}
