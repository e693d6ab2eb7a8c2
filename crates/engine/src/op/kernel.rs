// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels of the predefined operations: `result[i] = left[i] op right[i]` for every valid operation and number.
//!
//! Programs may pass addresses that are not aligned, so all accesses are unaligned; on x86-64 that costs
//! nothing, and the loops vectorise.
#![expect(unsafe_code, reason = "operands are addresses that programs gave")]

use layout::Isa;

use super::Operator;
use super::extended::Extended;
use super::half::Half;
use super::quad::Quad;
use crate::datatype::{Number, Shape};

/// Combines `count` elements: `(left, right, result, count)`.
///
/// # Safety
/// `left` and `right` are readable and `result` is writable for `count` elements of the type that the kernel was chosen
/// for. `result` may be `left` or `right`, and does not overlap them otherwise.
pub(crate) type Kernel = unsafe fn(*const u8, *const u8, *mut u8, usize);

/// An operation on two elements.
trait Combine<T> {
    fn combine(left: T, right: T) -> T;
}

/// # Safety
/// As for [`Kernel`].
#[inline(always)]
unsafe fn combine_all<T: Copy, O: Combine<T>>(
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    count: usize,
) {
    let (left, right, result) = (left.cast::<T>(), right.cast::<T>(), result.cast::<T>());
    // SAFETY: the caller's promise; `index` is below `count`.
    let combine = |left: *const T, right: *const T, index| unsafe {
        let (left, right) = (left.add(index), right.add(index));
        let value = O::combine(left.read_unaligned(), right.read_unaligned());
        result.add(index).write_unaligned(value);
    };
    // Three loops, because each vectorises only when the compiler sees which operand is the result.
    if std::ptr::eq(right, result) {
        for index in 0..count {
            combine(left, result, index);
        }
    } else if std::ptr::eq(left, result) {
        for index in 0..count {
            combine(result, right, index);
        }
    } else {
        for index in 0..count {
            combine(left, right, index);
        }
    }
}

/// The kernel for baseline instructions.
///
/// # Safety
/// As for [`Kernel`].
unsafe fn portable<T: Copy, O: Combine<T>>(
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { combine_all::<T, O>(left, right, result, count) }
}

/// The same loops as `$name`, with instructions that `$features` names.
macro_rules! with_features {
    ($name:ident, $features:literal) => {
        /// # Safety
        /// As for [`Kernel`], and the processor has these instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<T: Copy, O: Combine<T>>(
            left: *const u8,
            right: *const u8,
            result: *mut u8,
            count: usize,
        ) {
            // SAFETY: the caller's promise.
            unsafe { combine_all::<T, O>(left, right, result, count) }
        }
    };
}
with_features!(avx2, "avx2");
with_features!(avx512, "avx512f,avx512bw,avx512dq,avx512vl");

/// The kernel of an operation that vectorises.
fn vectorised<T: Copy, O: Combine<T>>(isa: Isa) -> Kernel {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::<T, O>,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::<T, O>,
        _ => portable::<T, O>,
    }
}

macro_rules! operations {
    ($($name:ident),*) => { $(struct $name;)* };
}
operations!(Sum, Prod, Min, Max, Band, Bor, Bxor, Land, Lor, Lxor);

macro_rules! combine {
    ($operation:ident on $($number:ty),* : |$left:ident, $right:ident| $result:expr) => {
        $(impl Combine<$number> for $operation {
            #[inline(always)]
            fn combine($left: $number, $right: $number) -> $number {
                $result
            }
        })*
    };
}

macro_rules! integers {
    ($($number:ty),*) => {
        $(
            combine!(Sum on $number: |a, b| a.wrapping_add(b));
            combine!(Prod on $number: |a, b| a.wrapping_mul(b));
            combine!(Min on $number: |a, b| a.min(b));
            combine!(Max on $number: |a, b| a.max(b));
            combine!(Band on $number: |a, b| a & b);
            combine!(Bor on $number: |a, b| a | b);
            combine!(Bxor on $number: |a, b| a ^ b);
            combine!(Land on $number: |a, b| <$number>::from((a != 0) & (b != 0)));
            combine!(Lor on $number: |a, b| <$number>::from((a != 0) | (b != 0)));
            combine!(Lxor on $number: |a, b| <$number>::from((a != 0) ^ (b != 0)));
        )*
    };
}
integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

/// Floating point numbers.
pub(super) trait Real: Copy {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn less(self, other: Self) -> bool;
}

macro_rules! native_reals {
    ($($number:ty),*) => {
        $(impl Real for $number {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
        })*
    };
}
native_reals!(f32, f64);

macro_rules! reals {
    ($($number:ty),*) => {
        $(
            combine!(Sum on $number: |a, b| Real::add(a, b));
            combine!(Prod on $number: |a, b| Real::mul(a, b));
            combine!(Min on $number: |a, b| if Real::less(a, b) { a } else { b });
            combine!(Max on $number: |a, b| if Real::less(b, a) { a } else { b });
        )*
    };
}
reals!(f32, f64, Half, Extended, Quad);

/// A complex number in memory.
#[derive(Clone, Copy)]
#[repr(C)]
struct Complex<T> {
    real: T,
    imaginary: T,
}

impl<T: Real> Combine<Complex<T>> for Sum {
    #[inline(always)]
    fn combine(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        Complex {
            real: a.real.add(b.real),
            imaginary: a.imaginary.add(b.imaginary),
        }
    }
}

impl<T: Real> Combine<Complex<T>> for Prod {
    #[inline(always)]
    fn combine(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        Complex {
            real: a.real.mul(b.real).sub(a.imaginary.mul(b.imaginary)),
            imaginary: a.real.mul(b.imaginary).add(a.imaginary.mul(b.real)),
        }
    }
}

/// A value and an index in memory, padded as in C.
#[repr(C)]
struct Pair<V, I> {
    value: V,
    index: I,
}

/// The order of values and indices.
trait Ordered: Copy {
    fn precedes(self, other: Self) -> bool;
}

macro_rules! ordered {
    ($($number:ty: |$a:ident, $b:ident| $result:expr;)*) => {
        $(impl Ordered for $number {
            #[inline(always)]
            fn precedes(self, other: Self) -> bool {
                let ($a, $b) = (self, other);
                $result
            }
        })*
    };
}
ordered! {
    i8: |a, b| a < b;
    i16: |a, b| a < b;
    i32: |a, b| a < b;
    i64: |a, b| a < b;
    i128: |a, b| a < b;
    f32: |a, b| a < b;
    f64: |a, b| a < b;
    Half: |a, b| a.less(b);
    Extended: |a, b| a.less(b);
    Quad: |a, b| a.less(b);
}

/// Keeps the lower (or higher) value and its index; of equal values the lower index. Padding is not written.
///
/// # Safety
/// As for [`Kernel`].
unsafe fn locate<V: Ordered, I: Ordered, const LOWEST: bool>(
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    count: usize,
) {
    let (left, right) = (left.cast::<Pair<V, I>>(), right.cast::<Pair<V, I>>());
    let result = result.cast::<Pair<V, I>>();
    for element in 0..count {
        // SAFETY: the caller's promise; `element` is below `count`.
        unsafe {
            let (left, right, result) =
                (left.add(element), right.add(element), result.add(element));
            let value = (&raw const (*left).value).read_unaligned();
            let index = (&raw const (*left).index).read_unaligned();
            let kept = (&raw const (*right).value).read_unaligned();
            let kept_index = (&raw const (*right).index).read_unaligned();
            let (wins, loses) = if LOWEST {
                (value.precedes(kept), kept.precedes(value))
            } else {
                (kept.precedes(value), value.precedes(kept))
            };
            let (value, index) = if wins || (!loses && index.precedes(kept_index)) {
                (value, index)
            } else {
                (kept, kept_index)
            };
            (&raw mut (*result).value).write_unaligned(value);
            (&raw mut (*result).index).write_unaligned(index);
        }
    }
}

/// Copies whole elements of `BYTES` bytes from the left (MPI_REPLACE).
///
/// # Safety
/// As for [`Kernel`].
unsafe fn replace<const BYTES: usize>(
    left: *const u8,
    _right: *const u8,
    result: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(left, result, count * BYTES) };
}

/// Copies whole elements of `BYTES` bytes from the right (MPI_NO_OP), where they usually are already.
///
/// # Safety
/// As for [`Kernel`].
unsafe fn keep<const BYTES: usize>(
    _left: *const u8,
    right: *const u8,
    result: *mut u8,
    count: usize,
) {
    if !std::ptr::eq(right, result) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(right, result, count * BYTES) };
    }
}

macro_rules! choose {
    ($isa:expr, $operator:expr, $number:ty: $($operation:ident),*) => {
        match $operator {
            $(Operator::$operation => Some(vectorised::<$number, $operation>($isa)),)*
            _ => None,
        }
    };
}

macro_rules! integer {
    ($isa:expr, $operator:expr, $number:ty) => {
        choose!($isa, $operator, $number: Sum, Prod, Min, Max, Band, Bor, Bxor, Land, Lor, Lxor)
    };
}

macro_rules! real {
    ($isa:expr, $operator:expr, $number:ty) => {
        choose!($isa, $operator, $number: Sum, Prod, Min, Max)
    };
}

/// For numbers that are computed one by one, with integers.
const SOFT: Isa = Isa::Portable;

/// The kernel of an operation on a kind of element, with these instructions, which the processor has. Which combinations MPI allows is decided elsewhere: all that mean
/// something are here.
pub(super) fn find(operator: Operator, shape: Shape, isa: Isa) -> Option<Kernel> {
    if let Operator::NoOp | Operator::Replace = operator {
        return one_side(operator, shape.extent());
    }
    match shape {
        Shape::One(Number::I8) => integer!(isa, operator, i8),
        Shape::One(Number::I16) => integer!(isa, operator, i16),
        Shape::One(Number::I32) => integer!(isa, operator, i32),
        Shape::One(Number::I64) => integer!(isa, operator, i64),
        Shape::One(Number::I128) => integer!(SOFT, operator, i128),
        Shape::One(Number::U8) => integer!(isa, operator, u8),
        Shape::One(Number::U16) => integer!(isa, operator, u16),
        Shape::One(Number::U32) => integer!(isa, operator, u32),
        Shape::One(Number::U64) => integer!(isa, operator, u64),
        Shape::One(Number::F16) => real!(SOFT, operator, Half),
        Shape::One(Number::F32) => real!(isa, operator, f32),
        Shape::One(Number::F64) => real!(isa, operator, f64),
        Shape::One(Number::F80) => real!(SOFT, operator, Extended),
        Shape::One(Number::F128) => real!(SOFT, operator, Quad),
        Shape::Complex(Number::F16) => choose!(SOFT, operator, Complex<Half>: Sum, Prod),
        Shape::Complex(Number::F32) => choose!(isa, operator, Complex<f32>: Sum, Prod),
        Shape::Complex(Number::F64) => choose!(isa, operator, Complex<f64>: Sum, Prod),
        Shape::Complex(Number::F80) => choose!(SOFT, operator, Complex<Extended>: Sum, Prod),
        Shape::Complex(Number::F128) => choose!(SOFT, operator, Complex<Quad>: Sum, Prod),
        Shape::Complex(_) => None,
        Shape::Pair(value, index) => pair(operator, value, index),
    }
}

fn pair(operator: Operator, value: Number, index: Number) -> Option<Kernel> {
    macro_rules! kernels {
        ($value:ty, $index:ty) => {
            match operator {
                Operator::Minloc => Some(locate::<$value, $index, true> as Kernel),
                Operator::Maxloc => Some(locate::<$value, $index, false> as Kernel),
                _ => None,
            }
        };
    }
    match (value, index) {
        (Number::F32, Number::I32) => kernels!(f32, i32),
        (Number::F64, Number::I32) => kernels!(f64, i32),
        (Number::I64, Number::I32) => kernels!(i64, i32),
        (Number::I32, Number::I32) => kernels!(i32, i32),
        (Number::I16, Number::I32) => kernels!(i16, i32),
        (Number::F80, Number::I32) => kernels!(Extended, i32),
        (Number::F32, Number::F32) => kernels!(f32, f32),
        (Number::F64, Number::F64) => kernels!(f64, f64),
        // MPI_2INTEGER, MPI_2REAL and MPI_2DOUBLE_PRECISION of compilers with other sizes.
        (Number::I8, Number::I8) => kernels!(i8, i8),
        (Number::I16, Number::I16) => kernels!(i16, i16),
        (Number::I64, Number::I64) => kernels!(i64, i64),
        (Number::I128, Number::I128) => kernels!(i128, i128),
        (Number::F16, Number::F16) => kernels!(Half, Half),
        (Number::F128, Number::F128) => kernels!(Quad, Quad),
        _ => None,
    }
}

/// The operations whose result is one of the operands.
fn one_side(operator: Operator, extent: usize) -> Option<Kernel> {
    macro_rules! sizes {
        ($($bytes:literal)*) => {
            match (operator, extent) {
                $((Operator::Replace, $bytes) => Some(replace::<$bytes> as Kernel),
                (Operator::NoOp, $bytes) => Some(keep::<$bytes> as Kernel),)*
                _ => None,
            }
        };
    }
    sizes!(1 2 4 8 16 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reduction::OPERATORS;
    use super::*;

    const NUMBERS: [Number; 11] = [
        Number::I8,
        Number::I16,
        Number::I32,
        Number::I64,
        Number::I128,
        Number::U8,
        Number::U16,
        Number::U32,
        Number::U64,
        Number::F32,
        Number::F64,
    ];

    /// Elements made of `seeds`: floating point numbers that are finite, integers of any bytes.
    fn elements(number: Number, seeds: &[u64], offset: usize) -> Vec<u8> {
        let mut bytes = vec![0; offset];
        for &seed in seeds {
            let value = (seed as i64 >> 40) as f64 / 256.0;
            let spread = u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            match number {
                Number::F32 => bytes.extend((value as f32).to_ne_bytes()),
                Number::F64 => bytes.extend(value.to_ne_bytes()),
                _ => bytes.extend(&spread.to_ne_bytes()[..number.size()]),
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn all_instructions_give_the_same_bytes(
            seeds in prop::collection::vec(any::<(u64, u64)>(), 0..200),
            offset in 0..4usize,
            target in 0..3,
        ) {
            let (lefts, rights): (Vec<_>, Vec<_>) = seeds.iter().copied().unzip();
            for number in NUMBERS {
                for shape in [Shape::One(number), Shape::Complex(number)] {
                    let values = match shape {
                        Shape::Complex(_) => lefts.len() / 2 * 2,
                        _ => lefts.len(),
                    };
                    let count = values * number.size() / shape.extent();
                    let run = |kernel: Kernel| {
                        let mut left = elements(number, &lefts[..values], offset);
                        let mut right = elements(number, &rights[..values], offset);
                        let mut result = vec![0; left.len()];
                        let left_at = left.as_mut_ptr().wrapping_add(offset);
                        let right_at = right.as_mut_ptr().wrapping_add(offset);
                        let result_at = result.as_mut_ptr().wrapping_add(offset);
                        let into = [left_at, right_at, result_at][target as usize];
                        // SAFETY: all three hold `count` elements behind `offset` bytes; the processor has the instructions.
                        unsafe { kernel(left_at, right_at, into, count) };
                        [left, right, result]
                    };
                    for row in OPERATORS {
                        let Some(portable) = find(row.operator, shape, Isa::Portable) else {
                            continue;
                        };
                        let expected = run(portable);
                        for isa in [Isa::Avx2, Isa::Avx512] {
                            if isa <= layout::best_isa() {
                                let kernel = find(row.operator, shape, isa);
                                let got = kernel.map(run);
                                prop_assert_eq!(got.as_ref(), Some(&expected), "{} of {:?}, {:?}", row.name, shape, isa);
                            }
                        }
                    }
                }
            }
        }
    }
}
