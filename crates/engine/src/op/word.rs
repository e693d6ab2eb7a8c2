// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that the processor loads, stores and changes in one step, at addresses of memory that others access, too.
#![expect(unsafe_code, reason = "words are addresses of windows")]

use sys::sync::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A number that the processor changes in one step.
pub(crate) trait Word: Copy + PartialEq {
    type Cell: 'static;

    /// The number, of which nothing else is known.
    fn load_relaxed(cell: &Self::Cell) -> Self;
    /// Replaces the number; what was written before is not shown with it.
    fn store_relaxed(cell: &Self::Cell, value: Self);
    fn load(cell: &Self::Cell) -> Self;
    fn store(cell: &Self::Cell, value: Self);
    fn swap(cell: &Self::Cell, value: Self) -> Self;
    fn add(cell: &Self::Cell, value: Self) -> Self;
    fn and(cell: &Self::Cell, value: Self) -> Self;
    fn or(cell: &Self::Cell, value: Self) -> Self;
    fn xor(cell: &Self::Cell, value: Self) -> Self;
    fn compare_exchange(cell: &Self::Cell, old: Self, new: Self) -> Result<Self, Self>;
}

macro_rules! words {
    ($($word:ty: $cell:ty;)*) => {
        $(impl Word for $word {
            type Cell = $cell;

            #[inline(always)]
            fn load_relaxed(cell: &$cell) -> Self {
                cell.load(Ordering::Relaxed)
            }
            #[inline(always)]
            fn store_relaxed(cell: &$cell, value: Self) {
                cell.store(value, Ordering::Relaxed);
            }
            #[inline(always)]
            fn load(cell: &$cell) -> Self {
                // PAIRS: window.accumulate. Who reads a value sees what its writer wrote before.
                cell.load(Ordering::Acquire)
            }
            #[inline(always)]
            fn store(cell: &$cell, value: Self) {
                // PAIRS: window.accumulate
                cell.store(value, Ordering::Release);
            }
            #[inline(always)]
            fn swap(cell: &$cell, value: Self) -> Self {
                // PAIRS: window.accumulate
                cell.swap(value, Ordering::AcqRel)
            }
            #[inline(always)]
            fn add(cell: &$cell, value: Self) -> Self {
                // PAIRS: window.accumulate
                cell.fetch_add(value, Ordering::AcqRel)
            }
            #[inline(always)]
            fn and(cell: &$cell, value: Self) -> Self {
                // PAIRS: window.accumulate
                cell.fetch_and(value, Ordering::AcqRel)
            }
            #[inline(always)]
            fn or(cell: &$cell, value: Self) -> Self {
                // PAIRS: window.accumulate
                cell.fetch_or(value, Ordering::AcqRel)
            }
            #[inline(always)]
            fn xor(cell: &$cell, value: Self) -> Self {
                // PAIRS: window.accumulate
                cell.fetch_xor(value, Ordering::AcqRel)
            }
            #[inline(always)]
            fn compare_exchange(cell: &$cell, old: Self, new: Self) -> Result<Self, Self> {
                // PAIRS: window.accumulate
                cell.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
            }
        })*
    };
}
words! {
    u8: AtomicU8;
    u16: AtomicU16;
    u32: AtomicU32;
    u64: AtomicU64;
}

/// The word at an aligned address.
///
/// # Safety
/// The address is aligned, and readable and writable while the result is used; others change it by atomic instructions only.
#[inline(always)]
pub(super) unsafe fn cell<'a, W: Word>(address: *mut u8) -> &'a W::Cell {
    // SAFETY: the caller's promise; an atomic has the size of its number.
    unsafe { &*address.cast::<W::Cell>() }
}

/// Stores bytes word by word.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, whole words; `to` is aligned to words. Others access the bytes at `to` by atomic
/// instructions on words of this size only, and do not write those at `from`.
#[inline(always)]
pub(crate) unsafe fn store_words<W: Word>(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if bytes == size_of::<W>() {
            W::store_relaxed(cell::<W>(to), from.cast::<W>().read_unaligned());
        } else {
            store_many::<W>(from, to, bytes);
        }
    }
}

/// # Safety
/// As for [`store_words`].
#[inline(never)]
unsafe fn store_many<W: Word>(from: *const u8, to: *mut u8, bytes: usize) {
    for start in (0..bytes).step_by(size_of::<W>()) {
        // SAFETY: the caller's promise; the word lies inside the bytes.
        unsafe {
            let word = from.add(start).cast::<W>().read_unaligned();
            W::store_relaxed(cell::<W>(to.add(start)), word);
        }
    }
}

/// Loads bytes word by word: the converse of [`store_words`].
///
/// # Safety
/// As there, with `from` and `to` exchanged; the bytes at `from` belong to memory that is writable.
#[inline(always)]
pub(crate) unsafe fn load_words<W: Word>(from: *mut u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if bytes == size_of::<W>() {
            to.cast::<W>()
                .write_unaligned(W::load_relaxed(cell::<W>(from)));
        } else {
            load_many::<W>(from, to, bytes);
        }
    }
}

/// # Safety
/// As for [`load_words`].
#[inline(never)]
unsafe fn load_many<W: Word>(from: *mut u8, to: *mut u8, bytes: usize) {
    for start in (0..bytes).step_by(size_of::<W>()) {
        // SAFETY: the caller's promise; the word lies inside the bytes.
        unsafe {
            let word = W::load_relaxed(cell::<W>(from.add(start)));
            to.add(start).cast::<W>().write_unaligned(word);
        }
    }
}
