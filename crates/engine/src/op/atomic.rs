// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predefined operations on memory that other processes and threads combine into at the same time (MPI-5.0, section 12.3.4).
//!
//! One rule decides how an element is combined, for every origin and whatever the size of a call: elements of 1, 2, 4 or 8 bytes at
//! addresses that are multiples of their size by instructions of the processor, all others by plain loads and stores under a lock, which
//! the caller takes.
#![expect(unsafe_code, reason = "operands are addresses that programs gave")]

use std::sync::OnceLock;

use super::Operator;
use super::kernel::Kernel;
use super::reduction::kernel_for;
use super::word::{Word, cell};
use crate::datatype::predefined::NULL_CODE;
use crate::datatype::{Category, Number, Predefined, Shape};

/// Combines `count` elements of `source` into aligned words at `target`, each in one step, and stores what they were at `old` unless it
/// is null. The kernel is that of the operation.
///
/// # Safety
/// As for [`AtomicReduction::apply_words`].
type WordKernel = unsafe fn(*const u8, *mut u8, *mut u8, usize, Kernel);

/// A predefined operation joined with a basic type.
#[derive(Clone, Copy)]
pub(crate) struct AtomicReduction {
    kernel: Kernel,
    words: WordKernel,
    /// The bits of an address that are 0 where the word kernel may be used; all of them if it never may.
    misaligned: usize,
    operator: Operator,
    shape: Shape,
    is_dense: bool,
    /// The size of dense elements is this power of two; 255 if it is none.
    size_log: u8,
}

/// Of elements that are no words.
const NEVER: usize = usize::MAX;
/// Of a size that is no power of two.
const NO_POWER: u8 = u8::MAX;

/// Predefined types times operators.
const ENTRIES: usize = 256 * 16;

impl AtomicReduction {
    /// Joins an operation with a basic type; `None` when it is not defined for the type.
    #[inline]
    pub(crate) fn find(operator: Operator, row: &'static Predefined) -> Option<Self> {
        static FOUND: [OnceLock<Option<AtomicReduction>>; ENTRIES] =
            [const { OnceLock::new() }; ENTRIES];
        // Types of the program's Fortran compiler share their codes with others, and programs may tell the values of booleans late.
        if row.is_resized() || row.category == Category::Logical {
            return Self::join(operator, row);
        }
        let place = (row.code - NULL_CODE) as usize * 16 + operator.index();
        match FOUND.get(place) {
            Some(found) => *found.get_or_init(|| Self::join(operator, row)),
            None => Self::join(operator, row),
        }
    }

    #[cold]
    fn join(operator: Operator, row: &'static Predefined) -> Option<Self> {
        let kernel = kernel_for(operator, row)?;
        let shape = row.shape;
        let (size, is_dense) = (shape.size(), shape.size() == shape.extent());
        let (words, is_word): (WordKernel, bool) = match size {
            // Programs move structures as bytes, and expect those of one call to stay together: the lock keeps them.
            _ if row.category == Category::Byte => (read_words::<u8>, false),
            1 if is_dense => (word_kernel::<u8>(operator, shape), true),
            2 if is_dense => (word_kernel::<u16>(operator, shape), true),
            4 if is_dense => (word_kernel::<u32>(operator, shape), true),
            8 if is_dense => (word_kernel::<u64>(operator, shape), true),
            _ => (read_words::<u8>, false),
        };
        Some(Self {
            kernel,
            words,
            misaligned: if is_word { size - 1 } else { NEVER },
            operator,
            shape,
            is_dense,
            size_log: if size.is_power_of_two() {
                size.trailing_zeros() as u8
            } else {
                NO_POWER
            },
        })
    }

    /// The operation.
    pub(crate) const fn operator(&self) -> Operator {
        self.operator
    }

    /// The parts of an element.
    pub(crate) const fn shape(&self) -> Shape {
        self.shape
    }

    /// The same for memory where all elements are combined under the lock, because some process reaches it by copies only.
    pub(crate) const fn without_words(self) -> Self {
        Self {
            misaligned: NEVER,
            ..self
        }
    }

    /// Whether elements at aligned addresses are combined by instructions.
    pub(crate) const fn has_words(&self) -> bool {
        self.misaligned != NEVER
    }

    /// Whether the operation copies elements only, one way or the other.
    pub(crate) const fn only_copies(&self) -> bool {
        matches!(self.operator, Operator::Replace | Operator::NoOp)
    }

    /// Whether elements lie in memory as they are packed.
    #[inline(always)]
    pub(crate) const fn is_dense(&self) -> bool {
        self.is_dense
    }

    /// The number of elements in so many packed bytes.
    #[inline(always)]
    pub(crate) const fn elements_in(&self, bytes: usize) -> usize {
        if self.size_log != NO_POWER {
            bytes >> self.size_log
        } else {
            bytes / self.shape.size()
        }
    }

    /// Whether elements at an address are combined by instructions ([`Self::apply_words`]), and not under the lock.
    #[inline(always)]
    pub(crate) fn needs_no_lock(&self, target: *const u8) -> bool {
        target as usize & self.misaligned == 0
    }

    /// Combines `count` consecutive elements of `source` into those at `target`, and stores what they were at `old` unless it is null.
    ///
    /// # Safety
    /// `source` is readable (not needed for MPI_NO_OP), `target` readable and writable, `old` writable or null, for `count` elements as
    /// they lie in memory; they do not overlap. [`Self::needs_no_lock`] holds for the target.
    #[inline(always)]
    pub(crate) unsafe fn apply_words(
        &self,
        source: *const u8,
        target: *mut u8,
        old: *mut u8,
        count: usize,
    ) {
        // SAFETY: the caller's promise, stated above; the kernel was chosen for elements of this size, and the address is aligned.
        unsafe { (self.words)(source, target, old, count, self.kernel) };
    }

    /// As [`Self::apply_words`], by plain loads and stores.
    ///
    /// # Safety
    /// As there; instead of what is said of the target, the caller holds the lock of the target's memory.
    #[inline(never)]
    pub(crate) unsafe fn apply_locked(
        &self,
        source: *const u8,
        target: *mut u8,
        old: *mut u8,
        count: usize,
    ) {
        // SAFETY: the caller's promise, stated above.
        unsafe {
            if !old.is_null() {
                copy_elements(self.shape, target, old, count);
            }
            match self.operator {
                Operator::NoOp => {}
                Operator::Replace => copy_elements(self.shape, source, target, count),
                _ => (self.kernel)(source, target, target, count),
            }
        }
    }
}

impl Operator {
    /// A number below 16.
    #[inline(always)]
    const fn index(self) -> usize {
        match self {
            Self::Sum => 0,
            Self::Min => 1,
            Self::Max => 2,
            Self::Prod => 3,
            Self::Band => 4,
            Self::Bor => 5,
            Self::Bxor => 6,
            Self::Land => 7,
            Self::Lor => 8,
            Self::Lxor => 9,
            Self::Minloc => 10,
            Self::Maxloc => 11,
            Self::Replace => 12,
            Self::NoOp => 13,
        }
    }
}

/// Copies elements as they lie in memory; the padding of pairs is not touched.
///
/// # Safety
/// `from` is readable and `to` writable for `count` elements; they do not overlap.
unsafe fn copy_elements(shape: Shape, from: *const u8, to: *mut u8, count: usize) {
    let extent = shape.extent();
    // SAFETY: the caller's promise; the parts of a pair lie inside its extent.
    unsafe {
        match shape {
            Shape::Pair(value, index) if shape.size() < extent => {
                let at = Shape::index_offset(value, index);
                for element in 0..count {
                    let (from, to) = (from.add(element * extent), to.add(element * extent));
                    from.copy_to_nonoverlapping(to, value.size());
                    from.add(at)
                        .copy_to_nonoverlapping(to.add(at), index.size());
                }
            }
            _ => from.copy_to_nonoverlapping(to, count * extent),
        }
    }
}

/// Calls `update` with each word and its operand; the result is what the word was.
///
/// # Safety
/// As for [`WordKernel`].
#[inline(always)]
unsafe fn for_each_word<W: Word>(
    source: *const u8,
    target: *mut u8,
    old: *mut u8,
    count: usize,
    update: impl Fn(&W::Cell, W) -> W,
) {
    let bytes = size_of::<W>();
    // SAFETY: the caller's promise; `index` is below `count`.
    let one = |index: usize| unsafe {
        let operand = source.cast::<W>().add(index).read_unaligned();
        update(cell::<W>(target.add(index * bytes)), operand)
    };
    if old.is_null() {
        for index in 0..count {
            one(index);
        }
    } else {
        for index in 0..count {
            // SAFETY: as above.
            unsafe { old.cast::<W>().add(index).write_unaligned(one(index)) };
        }
    }
}

/// Exchanges a word for `next` of it.
#[inline(always)]
fn exchange<W: Word>(cell: &W::Cell, next: impl Fn(W) -> W) -> W {
    let mut seen = W::load(cell);
    loop {
        let new = next(seen);
        if new == seen {
            return seen;
        }
        match W::compare_exchange(cell, seen, new) {
            Ok(_) => return seen,
            Err(now) => seen = now,
        }
    }
}

macro_rules! word_kernels {
    ($($name:ident: $method:ident;)*) => {
        $(/// # Safety
        /// As for [`WordKernel`].
        unsafe fn $name<W: Word>(
            source: *const u8,
            target: *mut u8,
            old: *mut u8,
            count: usize,
            _kernel: Kernel,
        ) {
            // SAFETY: the caller's promise.
            unsafe { for_each_word::<W>(source, target, old, count, W::$method) };
        })*
    };
}
word_kernels! {
    add_words: add;
    and_words: and;
    or_words: or;
    xor_words: xor;
}

macro_rules! float_kernels {
    ($($name:ident: $word:ty, $float:ty;)*) => {
        $(/// # Safety
        /// As for [`WordKernel`].
        unsafe fn $name(
            source: *const u8,
            target: *mut u8,
            old: *mut u8,
            count: usize,
            _kernel: Kernel,
        ) {
            let update = |cell: &<$word as Word>::Cell, operand: $word| {
                let operand = <$float>::from_bits(operand);
                exchange::<$word>(cell, |seen| (operand + <$float>::from_bits(seen)).to_bits())
            };
            // SAFETY: the caller's promise.
            unsafe { for_each_word::<$word>(source, target, old, count, update) };
        })*
    };
}
float_kernels! {
    add_floats: u32, f32;
    add_doubles: u64, f64;
}

/// Any operation, by the kernel of one element.
///
/// # Safety
/// As for [`WordKernel`].
unsafe fn combine_words<W: Word>(
    source: *const u8,
    target: *mut u8,
    old: *mut u8,
    count: usize,
    kernel: Kernel,
) {
    let update = |cell: &W::Cell, operand: W| {
        exchange(cell, |seen: W| {
            let mut new = seen;
            let (left, right) = ((&raw const operand).cast(), (&raw const seen).cast());
            // SAFETY: three elements of the size of a word, for which the kernel was chosen.
            unsafe { kernel(left, right, (&raw mut new).cast(), 1) };
            new
        })
    };
    // SAFETY: the caller's promise.
    unsafe { for_each_word::<W>(source, target, old, count, update) };
}

/// MPI_REPLACE.
///
/// # Safety
/// As for [`WordKernel`].
unsafe fn replace_words<W: Word>(
    source: *const u8,
    target: *mut u8,
    old: *mut u8,
    count: usize,
    _kernel: Kernel,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if old.is_null() {
            let store = |cell: &W::Cell, value| {
                W::store(cell, value);
                value
            };
            for_each_word::<W>(source, target, old, count, store);
        } else {
            for_each_word::<W>(source, target, old, count, W::swap);
        }
    }
}

/// MPI_NO_OP; there is no source.
///
/// # Safety
/// As for [`WordKernel`].
unsafe fn read_words<W: Word>(
    _source: *const u8,
    target: *mut u8,
    old: *mut u8,
    count: usize,
    _kernel: Kernel,
) {
    let bytes = size_of::<W>();
    for start in (0..count * bytes).step_by(bytes).filter(|_| !old.is_null()) {
        // SAFETY: the caller's promise.
        unsafe {
            let word = W::load(cell::<W>(target.add(start)));
            old.add(start).cast::<W>().write_unaligned(word);
        }
    }
}

fn word_kernel<W: Word>(operator: Operator, shape: Shape) -> WordKernel {
    let is_float = |number| matches!(number, Number::F16 | Number::F32 | Number::F64);
    match (operator, shape) {
        (Operator::Replace, _) => replace_words::<W>,
        (Operator::NoOp, _) => read_words::<W>,
        (Operator::Sum, Shape::One(Number::F32)) => add_floats,
        (Operator::Sum, Shape::One(Number::F64)) => add_doubles,
        (Operator::Sum, Shape::One(number)) if !is_float(number) => add_words::<W>,
        (Operator::Band, Shape::One(_)) => and_words::<W>,
        (Operator::Bor, Shape::One(_)) => or_words::<W>,
        (Operator::Bxor, Shape::One(_)) => xor_words::<W>,
        _ => combine_words::<W>,
    }
}

/// Whether an element is a word at an aligned address, for [`compare_and_swap`].
#[inline(always)]
pub(crate) fn is_comparable_word(target: *const u8, bytes: usize) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8) && target as usize & (bytes - 1) == 0
}

/// Stores the element at `origin` at `target` if the one there is equal to that at `compare`, and what was there at `result`.
///
/// # Safety
/// `origin` and `compare` are readable, `target` is readable and writable, `result` writable for `bytes` bytes; `result` overlaps none of
/// them. [`is_comparable_word`] holds for the target; for others, and under the lock, there is [`compare_and_swap_locked`].
#[inline(always)]
pub(crate) unsafe fn compare_and_swap(
    operands: [*const u8; 2],
    result: *mut u8,
    target: *mut u8,
    bytes: usize,
) {
    /// # Safety
    /// As for [`compare_and_swap`]; the target is aligned.
    #[inline(always)]
    unsafe fn of_word<W: Word>(
        [origin, compare]: [*const u8; 2],
        result: *mut u8,
        target: *mut u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let compare = compare.cast::<W>().read_unaligned();
            let origin = origin.cast::<W>().read_unaligned();
            let (Ok(old) | Err(old)) = W::compare_exchange(cell::<W>(target), compare, origin);
            result.cast::<W>().write_unaligned(old);
        }
    }
    // SAFETY: the caller's promise; the target is aligned.
    unsafe {
        match bytes {
            8 => of_word::<u64>(operands, result, target),
            4 => of_word::<u32>(operands, result, target),
            2 => of_word::<u16>(operands, result, target),
            _ => of_word::<u8>(operands, result, target),
        }
    }
}

/// As [`compare_and_swap`], for any element of at most 32 bytes.
///
/// # Safety
/// As there; the caller holds the lock of the target's memory.
pub(crate) unsafe fn compare_and_swap_locked(
    [origin, compare]: [*const u8; 2],
    result: *mut u8,
    target: *mut u8,
    bytes: usize,
) {
    let (mut old, mut wanted) = ([0u8; 32], [0u8; 32]);
    let bytes = bytes.min(old.len());
    // SAFETY: the caller's promise; both arrays are long enough.
    unsafe {
        target.copy_to_nonoverlapping(old.as_mut_ptr(), bytes);
        compare.copy_to_nonoverlapping(wanted.as_mut_ptr(), bytes);
        if old == wanted {
            origin.copy_to_nonoverlapping(target, bytes);
        }
        old.as_ptr().copy_to_nonoverlapping(result, bytes);
    }
}
