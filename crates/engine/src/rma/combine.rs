// SPDX-License-Identifier: MIT OR Apache-2.0
//! Combining operands with memory that this process maps, however both are laid out.
#![expect(unsafe_code, reason = "operands are addresses that programs gave")]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use fabric::lock::Manner;
use sys::sync::Ordering;

use super::granule::Granule;
use super::target::{Place, Target};
use super::window::Window;
use crate::datatype::{Memory, Shape};
use crate::op::{self, AtomicReduction, Operator};

/// What is combined with the target, packed or laid out, and where its old elements go.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    pub(super) reduction: AtomicReduction,
    /// `None` for MPI_NO_OP.
    pub(super) origin: Option<&'a Memory<'a>>,
    pub(super) result: Option<&'a Memory<'a>>,
}

/// Calls `action` with the accumulate lock of a target held, and with the manner in which words are combined there.
#[inline(never)]
pub(super) fn locked<R>(target: &Target, action: impl FnOnce(Manner) -> R) -> R {
    // Without boards, all origins send messages, and the target combines them one after the other.
    let Some(view) = &target.view else {
        return action(Manner::Kernels);
    };
    let gate = &view.board().accumulate;
    let manner = gate.lock();
    let result = action(manner);
    gate.unlock();
    result
}

/// From so many elements on, an accumulate is long: then plain loads and stores are faster, even if it takes the lock.
const LONG: usize = 16;

/// Elements that a long accumulate combines before it lets others have the lock.
const STEP: usize = 4096;

/// Combines elements that lie in memory as they do at a target: those at the first address with those at the second, of which the old ones go
/// to the third unless it is null.
///
/// # Safety
/// As for [`AtomicReduction::apply_words`], whatever the alignment of the second address; the elements there are the target's.
#[inline(always)]
pub(super) unsafe fn apply(
    window: &Window,
    target: &Target,
    reduction: &AtomicReduction,
    sides: [*mut u8; 3],
    count: usize,
) {
    let [source, there, old] = sides;
    if count < LONG
        && reduction.needs_no_lock(there)
        && let Some(view) = &target.view
    {
        // SAFETY: the caller's promise; the address is aligned.
        let combine = || unsafe { reduction.apply_words(source, there, old, count) };
        if window.combines_now(&view.board().accumulate, combine) {
            return;
        }
    }
    // SAFETY: passed on.
    unsafe { apply_long(window, target, reduction, sides, count) };
}

/// As [`apply`], for many elements, and where they need the lock.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn apply_long(
    window: &Window,
    target: &Target,
    reduction: &AtomicReduction,
    [source, there, old]: [*mut u8; 3],
    count: usize,
) {
    let are_words = reduction.needs_no_lock(there);
    let extent = reduction.shape().extent();
    let at = |base: *mut u8, start: usize| match base.is_null() {
        true => base,
        false => base.wrapping_add(start * extent),
    };
    for start in (0..count).step_by(STEP) {
        let step = (count - start).min(STEP);
        let (source, there, old) = (at(source, start), at(there, start), at(old, start));
        let moves_on = are_words && target.moves_on(window, reduction, step);
        // SAFETY: a part of the elements of the caller's promise; words are aligned.
        unsafe {
            let by_words = || reduction.apply_words(source, there, old, step);
            if are_words
                && !moves_on
                && let Some(view) = &target.view
                && window.combines_now(&view.board().accumulate, by_words)
            {
                continue;
            }
            locked(target, |mut manner| {
                if moves_on
                    && manner == Manner::Words
                    && let Some(view) = &target.view
                {
                    manner = window.move_on(&view.board().accumulate);
                }
                if are_words && manner == Manner::Words {
                    by_words();
                } else {
                    apply_locked(target, reduction, [source, there, old], step);
                }
            });
        }
    }
}

/// Combines elements by plain loads and stores: in place, or in a copy where accesses to the target have a granule.
///
/// # Safety
/// As for [`apply`]; the caller holds the lock of the target, whose granule divides the elements.
unsafe fn apply_locked(
    target: &Target,
    reduction: &AtomicReduction,
    [source, there, old]: [*mut u8; 3],
    count: usize,
) {
    let granule = target.granule;
    if granule == Granule::Any {
        // SAFETY: the caller's promise.
        return unsafe { reduction.apply_locked(source, there, old, count) };
    }
    let mut copy = Stage::new();
    let (copied, extent) = (copy.start(), reduction.shape().extent());
    let step = STAGE_BYTES / extent;
    for start in (0..count).step_by(step) {
        let (count, at) = ((count - start).min(step), start * extent);
        let (source, there) = (source.wrapping_add(at), there.wrapping_add(at));
        let old = if old.is_null() {
            old
        } else {
            old.wrapping_add(at)
        };
        // SAFETY: the caller's promise; the copy has room for so many elements.
        unsafe {
            granule.load(there, copied, count * extent);
            reduction.apply_locked(source, copied, old, count);
            if reduction.operator() != Operator::NoOp {
                granule.store(copied, there, count * extent);
            }
        }
    }
}

impl Target {
    /// Whether a part of a long accumulate should no longer be combined by atomic instructions.
    fn moves_on(&self, window: &Window, reduction: &AtomicReduction, count: usize) -> bool {
        let Some(most) = window.announcer.most_words else {
            return false;
        };
        if count < LONG || reduction.only_copies() {
            return false;
        }
        let combined = self.words_combined.load(Ordering::Relaxed);
        if combined >= most {
            // For the case that somebody is in the way.
            self.words_combined.store(0, Ordering::Relaxed);
            return true;
        }
        let combined = combined.saturating_add(count as u32);
        self.words_combined.store(combined, Ordering::Relaxed);
        false
    }
}

/// Compares and swaps an element of `bytes` bytes at an address of a target that this process maps; `in_bytes` if accumulates of its type
/// always hold the lock.
///
/// # Safety
/// The operands are readable and `result` is writable for the bytes, at most 32; `result` overlaps none of them.
#[inline(always)]
pub(super) unsafe fn compare_and_swap(
    window: &Window,
    target: &Target,
    operands: [*const u8; 2],
    result: *mut u8,
    (there, bytes): (*mut u8, usize),
    in_bytes: bool,
) {
    let is_word = !in_bytes && op::is_comparable_word(there, bytes);
    // SAFETY: the caller's promise; a word is aligned.
    let by_word = || unsafe { op::compare_and_swap(operands, result, there, bytes) };
    if is_word
        && let Some(view) = &target.view
        && window.combines_now(&view.board().accumulate, by_word)
    {
        return;
    }
    locked(target, |manner| {
        if is_word && manner == Manner::Words {
            by_word();
        } else {
            // SAFETY: the caller's promise; the lock is held.
            unsafe { swap_locked(target, operands, result, (there, bytes)) };
        }
    });
}

/// Compares and swaps an element by plain loads and stores: in place, or in a copy where accesses to the target have a granule.
///
/// # Safety
/// As for [`compare_and_swap`]; the caller holds the lock of the target, whose granule divides the element.
pub(super) unsafe fn swap_locked(
    target: &Target,
    operands: [*const u8; 2],
    result: *mut u8,
    (there, bytes): (*mut u8, usize),
) {
    let granule = target.granule;
    if granule == Granule::Any {
        // SAFETY: the caller's promise.
        return unsafe { op::compare_and_swap_locked(operands, result, there, bytes) };
    }
    let mut element = [0u8; 32];
    let copied = element.as_mut_ptr();
    // SAFETY: the caller's promise; the copy has room for an element.
    unsafe {
        granule.load(there, copied, bytes);
        let before = element;
        op::compare_and_swap_locked(operands, result, copied, bytes);
        if element != before {
            granule.store(copied, there, bytes);
        }
    }
}

/// Combines the operands with a place.
///
/// # Safety
/// The origin is readable, the result writable, and they are as long as the place, which this process maps; the origin does not overlap
/// the result.
#[inline(always)]
pub(super) unsafe fn combine(window: &Window, operands: &Operands<'_>, place: &Place<'_>) {
    let reduction = &operands.reduction;
    let run = |memory: Option<&Memory<'_>>| match memory {
        None => Some(ptr::null_mut()),
        Some(memory) => memory.layout.is_none().then_some(memory.base),
    };
    let sides = (run(operands.origin), place.run(), run(operands.result));
    if let (true, (Some(origin), Some(there), Some(result))) = (reduction.is_dense(), sides) {
        let count = reduction.elements_in(place.bytes);
        // SAFETY: dense elements one behind the other on all sides (caller); the place lies inside the window (`Window::place`).
        unsafe {
            apply(
                window,
                place.target,
                reduction,
                [origin, there, result],
                count,
            )
        };
    } else {
        // SAFETY: passed on.
        unsafe { combine_staged(window, operands, place) };
    }
}

/// Whether elements have no padding.
pub(super) const fn is_dense(shape: Shape) -> bool {
    shape.size() == shape.extent()
}

/// Bytes of one step.
pub(super) const STAGE_BYTES: usize = 4096;

/// Elements of one step, as they lie in memory.
#[repr(align(64))]
pub(super) struct Stage(MaybeUninit<[u8; STAGE_BYTES]>);

impl Stage {
    pub(super) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    pub(super) const fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Combines step by step, through copies of the elements in which they lie as one element does at the target.
///
/// # Safety
/// As for [`combine()`].
#[inline(never)]
unsafe fn combine_staged(window: &Window, operands: &Operands<'_>, place: &Place<'_>) {
    let reduction = &operands.reduction;
    let shape = reduction.shape();
    let (mut sources, mut olds) = (Stage::new(), Stage::new());
    let (source, old) = (sources.start(), olds.start());
    let step = STAGE_BYTES / shape.extent() * shape.size();
    let mut start = 0;
    while start < place.bytes {
        let range = start..place.bytes.min(start + step);
        start = range.end;
        // SAFETY: the stages hold the elements of a step; the caller's promises for the rest.
        unsafe {
            if let Some(origin) = operands.origin {
                load(origin, range.clone(), shape, source);
            }
            let with_result = |element: usize| match operands.result {
                Some(_) => old.add(element * shape.extent()),
                None => ptr::null_mut(),
            };
            let sides = |there, element: usize| {
                [
                    source.add(element * shape.extent()),
                    there,
                    with_result(element),
                ]
            };
            if reduction.has_words() {
                for_each_batch(place, range.clone(), shape, |there, element, count| {
                    apply(
                        window,
                        place.target,
                        reduction,
                        sides(there, element),
                        count,
                    );
                });
            } else {
                locked(place.target, |_| {
                    for_each_batch(place, range.clone(), shape, |there, element, count| {
                        let [from, there, old] = sides(there, element);
                        apply_locked(place.target, reduction, [from, there, old], count);
                    });
                });
            }
            if let Some(result) = operands.result {
                store(result, range, shape, old);
            }
        }
    }
}

/// Calls `action` with the address of elements that lie one behind the other, the index of the first one in the range, and their number.
fn for_each_batch(
    place: &Place<'_>,
    range: Range<usize>,
    shape: Shape,
    mut action: impl FnMut(*mut u8, usize, usize),
) {
    let size = shape.size();
    let mut at = 0usize;
    place.layout.for_each_run(range, |offset, bytes| {
        // Elements belong to the run in which they start: a pair may have its parts in two.
        let first = at.div_ceil(size);
        let count = (at + bytes).div_ceil(size) - first;
        let start = place.base.wrapping_offset(offset as isize);
        let start = start.wrapping_add(first * size - at);
        at += bytes;
        if is_dense(shape) && count > 0 {
            action(start, first, count);
        } else {
            for element in 0..count {
                action(start.wrapping_add(element * size), first + element, 1);
            }
        }
    });
}

/// Copies the elements of a range of the packed form to a stage.
///
/// # Safety
/// The memory is readable; the stage has room for the elements.
pub(super) unsafe fn load(memory: &Memory<'_>, range: Range<usize>, shape: Shape, stage: *mut u8) {
    let mut packed = Stage::new();
    let to = if is_dense(shape) {
        stage
    } else {
        packed.start()
    };
    let count = range.len() / shape.size();
    // SAFETY: packed elements are not longer than those of a stage; the caller's promise for the memory.
    unsafe {
        match memory.layout {
            None => {
                let from = memory.base.add(range.start);
                from.copy_to_nonoverlapping(to, range.len());
            }
            Some((layout, _)) => layout.pack(memory.base, range, to),
        }
        spread(shape, to, stage, count);
    }
}

/// The converse of [`load`].
///
/// # Safety
/// The memory is writable; the stage holds the elements.
pub(super) unsafe fn store(memory: &Memory<'_>, range: Range<usize>, shape: Shape, stage: *mut u8) {
    let mut packed = Stage::new();
    let from = if is_dense(shape) {
        stage
    } else {
        packed.start()
    };
    let count = range.len() / shape.size();
    // SAFETY: as for `load`.
    unsafe {
        gather(shape, stage, from, count);
        match memory.layout {
            None => {
                let to = memory.base.add(range.start);
                from.copy_to_nonoverlapping(to, range.len());
            }
            Some((layout, _)) => layout.unpack(memory.base, range, from),
        }
    }
}

/// Places packed pairs as they lie in memory; other elements are where they belong.
///
/// # Safety
/// `packed` holds the elements, `stage` has room for them.
pub(super) unsafe fn spread(shape: Shape, packed: *const u8, stage: *mut u8, count: usize) {
    for_each_part(shape, count, |from, to, bytes| {
        // SAFETY: the caller's promise.
        unsafe {
            packed
                .add(from)
                .copy_to_nonoverlapping(stage.add(to), bytes)
        };
    });
}

/// The converse of [`spread`].
///
/// # Safety
/// As there.
pub(super) unsafe fn gather(shape: Shape, stage: *const u8, packed: *mut u8, count: usize) {
    for_each_part(shape, count, |to, from, bytes| {
        // SAFETY: the caller's promise.
        unsafe {
            stage
                .add(from)
                .copy_to_nonoverlapping(packed.add(to), bytes)
        };
    });
}

/// Calls `action` with the packed offset, the offset in memory and the length of each part of pairs with padding.
fn for_each_part(shape: Shape, count: usize, mut action: impl FnMut(usize, usize, usize)) {
    let Shape::Pair(value, index) = shape else {
        return;
    };
    if is_dense(shape) {
        return;
    }
    let at = Shape::index_offset(value, index);
    for element in 0..count {
        let (packed, spread) = (element * shape.size(), element * shape.extent());
        action(packed, spread, value.size());
        action(packed + value.size(), spread + at, index.size());
    }
}
