// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predefined reduction operations on predefined types (MPI-5.0, section 6.9.2): `inout = in op inout`, element by element.
//!
//! One generic kernel per operation; the table of types decides which operations exist for which. Loops over slices of one
//! type leave vectorisation to the compiler.

use crate::errors::{Error, ErrorClass, Result};

/// A predefined operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum Predefined {
    Sum,
    Min,
    Max,
    Prod,
    Band,
    Bor,
    Bxor,
    Land,
    Lor,
    Lxor,
    MinLoc,
    MaxLoc,
    Replace,
    NoOp,
}

/// What the elements of a predefined type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Rust's types")]
pub enum Element {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// Complex numbers of two `f32`.
    C32,
    /// Complex numbers of two `f64`.
    C64,
    /// C and C++ bool, one byte.
    Bool,
    /// Fortran LOGICAL of 1, 2, 4 or 8 bytes: an integer that is zero or not.
    Logical(u8),
    /// Bytes without meaning: bitwise operations only.
    Byte,
    /// A value and an index for MINLOC and MAXLOC: the value's type and the pair's layout.
    Pair(PairKind),
    /// No arithmetic in this library (characters, packed data, extended precision).
    Opaque,
}

/// Pair types of C and Fortran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are value and index types")]
pub enum PairKind {
    F32I32,
    F64I32,
    I64I32,
    I32I32,
    I16I32,
    F32F32,
    F64F64,
}

trait Number: Copy + PartialOrd {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => { $(impl Number for $t {
        fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
        fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
    })* };
}

macro_rules! floats {
    ($($t:ty)*) => { $(impl Number for $t {
        fn sum(self, other: Self) -> Self { self + other }
        fn product(self, other: Self) -> Self { self * other }
    })* };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
floats! { f32 f64 }

#[derive(Clone, Copy)]
#[repr(C)]
struct Complex<T>(T, T);

/// A value and an index as the C structs of the pair types lay them out.
#[derive(Clone, Copy)]
#[repr(C)]
struct Pair<V, I>(V, I);

/// Applies `f` to each pair of elements.
///
/// # Safety
/// `input` is readable and `inout` readable and writable for `count` elements; they do not overlap.
unsafe fn each<T: Copy>(input: *const u8, inout: *mut u8, count: usize, f: impl Fn(T, T) -> T) {
    for index in 0..count {
        // SAFETY: inside `count` elements (caller); unaligned access is allowed for packed user data.
        unsafe {
            let target = inout.cast::<T>().add(index);
            let value = f(
                input.cast::<T>().add(index).read_unaligned(),
                target.read_unaligned(),
            );
            target.write_unaligned(value);
        }
    }
}

/// Applies a predefined operation to `count` elements: `inout = in op inout`.
///
/// # Errors
/// MPI_ERR_OP when the operation is not defined for the type.
///
/// # Safety
/// `input` is readable and `inout` readable and writable for `count` elements; they do not overlap.
pub unsafe fn apply(
    op: Predefined,
    element: Element,
    input: *const u8,
    inout: *mut u8,
    count: usize,
) -> Result<()> {
    if op == Predefined::NoOp {
        return Ok(());
    }
    macro_rules! number {
        ($t:ty) => {
            // SAFETY: the caller's promise.
            unsafe { arithmetic::<$t>(op, input, inout, count) }
        };
    }
    macro_rules! integer {
        ($t:ty) => {
            // SAFETY: the caller's promise.
            number!($t) || unsafe { logical::<$t>(op, input, inout, count, |v| v != 0, <$t>::from) }
                || unsafe { bitwise::<$t>(op, input, inout, count) } // SAFETY: the caller's promise.
        };
    }
    let known = match element {
        Element::I8 => integer!(i8),
        Element::I16 => integer!(i16),
        Element::I32 => integer!(i32),
        Element::I64 => integer!(i64),
        Element::U8 => integer!(u8),
        Element::U16 => integer!(u16),
        Element::U32 => integer!(u32),
        Element::U64 => integer!(u64),
        Element::F32 => number!(f32),
        Element::F64 => number!(f64),
        // SAFETY: the caller's promise, for all arms below.
        Element::C32 => unsafe { complex::<f32>(op, input, inout, count) },
        // SAFETY: as above.
        Element::C64 => unsafe { complex::<f64>(op, input, inout, count) },
        // SAFETY: as above.
        Element::Bool => unsafe { logical::<u8>(op, input, inout, count, |v| v != 0, u8::from) },
        // SAFETY: as above.
        Element::Logical(1) => unsafe {
            logical::<i8>(op, input, inout, count, |v| v != 0, i8::from)
        },
        // SAFETY: as above.
        Element::Logical(2) => unsafe {
            logical::<i16>(op, input, inout, count, |v| v != 0, i16::from)
        },
        // SAFETY: as above.
        Element::Logical(4) => unsafe {
            logical::<i32>(op, input, inout, count, |v| v != 0, i32::from)
        },
        // SAFETY: as above.
        Element::Logical(_) => unsafe {
            logical::<i64>(op, input, inout, count, |v| v != 0, i64::from)
        },
        // SAFETY: as above.
        Element::Byte => unsafe { bitwise::<u8>(op, input, inout, count) },
        // SAFETY: as above.
        Element::Pair(kind) => unsafe { pairs(op, kind, input, inout, count) },
        Element::Opaque => false,
    };
    if known {
        Ok(())
    } else {
        Err(undefined(op, element))
    }
}

#[cold]
fn undefined(op: Predefined, element: Element) -> Error {
    Error::argument(
        ErrorClass::ERR_OP,
        "op",
        format!("{op:?}"),
        format!("an operation that is defined for elements of kind {element:?}"),
    )
}

/// Whether a predefined operation is defined for a type.
pub fn is_defined(op: Predefined, element: Element) -> bool {
    // SAFETY: no element is touched.
    unsafe { apply(op, element, std::ptr::null(), std::ptr::null_mut(), 0) }.is_ok()
}

unsafe fn arithmetic<T: Number>(
    op: Predefined,
    input: *const u8,
    inout: *mut u8,
    count: usize,
) -> bool {
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        match op {
            Predefined::Sum => each::<T>(input, inout, count, T::sum),
            Predefined::Prod => each::<T>(input, inout, count, T::product),
            Predefined::Min => each::<T>(input, inout, count, |a, b| if a < b { a } else { b }),
            Predefined::Max => each::<T>(input, inout, count, |a, b| if a > b { a } else { b }),
            Predefined::Replace => each::<T>(input, inout, count, |a, _| a),
            _ => return false,
        }
    }
    true
}

unsafe fn logical<T: Copy>(
    op: Predefined,
    input: *const u8,
    inout: *mut u8,
    count: usize,
    truth: impl Fn(T) -> bool,
    value: impl Fn(bool) -> T,
) -> bool {
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        match op {
            Predefined::Land => each::<T>(input, inout, count, |a, b| value(truth(a) && truth(b))),
            Predefined::Lor => each::<T>(input, inout, count, |a, b| value(truth(a) || truth(b))),
            Predefined::Lxor => each::<T>(input, inout, count, |a, b| value(truth(a) != truth(b))),
            Predefined::Replace => each::<T>(input, inout, count, |a, _| a),
            _ => return false,
        }
    }
    true
}

unsafe fn bitwise<T>(op: Predefined, input: *const u8, inout: *mut u8, count: usize) -> bool {
    let bytes = count * size_of::<T>();
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        match op {
            Predefined::Band => each::<u8>(input, inout, bytes, |a, b| a & b),
            Predefined::Bor => each::<u8>(input, inout, bytes, |a, b| a | b),
            Predefined::Bxor => each::<u8>(input, inout, bytes, |a, b| a ^ b),
            Predefined::Replace => each::<u8>(input, inout, bytes, |a, _| a),
            _ => return false,
        }
    }
    true
}

unsafe fn complex<T>(op: Predefined, input: *const u8, inout: *mut u8, count: usize) -> bool
where
    T: Copy + std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T>,
{
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        match op {
            Predefined::Sum => {
                each::<Complex<T>>(input, inout, count, |a, b| Complex(a.0 + b.0, a.1 + b.1))
            }
            Predefined::Prod => each::<Complex<T>>(input, inout, count, |a, b| {
                Complex(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
            }),
            Predefined::Replace => each::<Complex<T>>(input, inout, count, |a, _| a),
            _ => return false,
        }
    }
    true
}

unsafe fn pairs(
    op: Predefined,
    kind: PairKind,
    input: *const u8,
    inout: *mut u8,
    count: usize,
) -> bool {
    macro_rules! pair {
        ($v:ty, $i:ty) => {
            // SAFETY: the caller's promise.
            unsafe { locate::<$v, $i>(op, input, inout, count) }
        };
    }
    match kind {
        PairKind::F32I32 => pair!(f32, i32),
        PairKind::F64I32 => pair!(f64, i32),
        PairKind::I64I32 => pair!(i64, i32),
        PairKind::I32I32 => pair!(i32, i32),
        PairKind::I16I32 => pair!(i16, i32),
        PairKind::F32F32 => pair!(f32, f32),
        PairKind::F64F64 => pair!(f64, f64),
    }
}

/// The extreme value; of equal ones the lowest index (MPI-5.0, section 6.9.4).
unsafe fn locate<V: Copy + PartialOrd, I: Copy + PartialOrd>(
    op: Predefined,
    input: *const u8,
    inout: *mut u8,
    count: usize,
) -> bool {
    let better = |a: Pair<V, I>, b: Pair<V, I>, first: bool| {
        if first || (a.0 == b.0 && a.1 < b.1) {
            a
        } else {
            b
        }
    };
    // SAFETY: the caller's promise, in all arms.
    unsafe {
        match op {
            Predefined::MinLoc => {
                each::<Pair<V, I>>(input, inout, count, |a, b| better(a, b, a.0 < b.0))
            }
            Predefined::MaxLoc => {
                each::<Pair<V, I>>(input, inout, count, |a, b| better(a, b, a.0 > b.0))
            }
            Predefined::Replace => each::<Pair<V, I>>(input, inout, count, |a, _| a),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_combine_left_with_right() {
        let left = [3i32, -7, 5];
        let mut right = [4i32, 2, 5];
        // SAFETY: three elements each.
        unsafe {
            apply(
                Predefined::Max,
                Element::I32,
                left.as_ptr().cast(),
                right.as_mut_ptr().cast(),
                3,
            )
        }
        .unwrap();
        assert_eq!(right, [4, 2, 5]);
        let a = [Pair(1.5f64, 4i32), Pair(2.0, 9)];
        let mut b = [Pair(1.5f64, 2i32), Pair(3.0, 1)];
        let kind = Element::Pair(PairKind::F64I32);
        // SAFETY: two elements each.
        unsafe {
            apply(
                Predefined::MinLoc,
                kind,
                a.as_ptr().cast(),
                b.as_mut_ptr().cast(),
                2,
            )
        }
        .unwrap();
        assert_eq!((b[0].1, b[1].0), (2, 2.0));
        assert!(
            !is_defined(Predefined::Band, Element::F64)
                && is_defined(Predefined::Prod, Element::C32)
        );
        assert!(
            !is_defined(Predefined::Sum, Element::Bool)
                && is_defined(Predefined::Land, Element::Bool)
        );
    }
}
