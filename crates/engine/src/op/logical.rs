// SPDX-License-Identifier: MIT OR Apache-2.0
//! Booleans of Fortran, as a program's compiler stores them (MPI-5.0, section 20.4.1): .TRUE. is 1 for some and -1 for others.
//!
//! Until the program declares them, the literals are C's: 0 is false, everything else is true, and true is stored as 1.
#![expect(unsafe_code, reason = "operands are addresses that programs gave")]

use std::sync::OnceLock;

use super::Operator;
use super::kernel::Kernel;
use crate::datatype::{Category, Number, Predefined, Shape};
use crate::errors::{Error, ErrorClass, Result};

/// The values of .TRUE. and .FALSE.; booleans of all sizes have the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literals {
    /// .TRUE.
    pub yes: i128,
    /// .FALSE.
    pub no: i128,
}

/// C's.
const USUAL: Literals = Literals { yes: 1, no: 0 };

static TOLD: OnceLock<Literals> = OnceLock::new();

/// The literals that the program declared.
pub fn told() -> Option<Literals> {
    TOLD.get().copied()
}

/// Operations that are joined with types from now on use these literals.
///
/// # Errors
/// MPI_ERR_ABI when they were declared before.
pub fn tell(literals: Literals) -> Result<()> {
    TOLD.set(literals).map_err(|_| {
        let text = "the values of .TRUE. and .FALSE. were declared before";
        Error::new(ErrorClass::ERR_ABI, text)
    })
}

/// The kernel of an operation on booleans whose literals are not C's.
pub(super) fn find(operator: Operator, row: &Predefined) -> Option<Kernel> {
    let is_unusual = told().is_some_and(|literals| literals != USUAL);
    if !is_unusual || row.category != Category::Logical {
        return None;
    }
    match row.shape {
        Shape::One(Number::I8) => of_size::<i8>(operator),
        Shape::One(Number::I16) => of_size::<i16>(operator),
        Shape::One(Number::I32) => of_size::<i32>(operator),
        Shape::One(Number::I64) => of_size::<i64>(operator),
        Shape::One(Number::I128) => of_size::<i128>(operator),
        // C's and C++'s bool.
        _ => None,
    }
}

fn of_size<T: Stored>(operator: Operator) -> Option<Kernel> {
    Some(match operator {
        Operator::Land => all::<T, { Operator::Land as u32 }>,
        Operator::Lor => all::<T, { Operator::Lor as u32 }>,
        Operator::Lxor => all::<T, { Operator::Lxor as u32 }>,
        _ => return None,
    })
}

/// A size of boolean.
trait Stored: Copy + PartialEq {
    fn of(value: i128) -> Self;
}

macro_rules! stored {
    ($($number:ty),*) => {
        $(impl Stored for $number {
            fn of(value: i128) -> Self {
                value as Self
            }
        })*
    };
}
stored!(i8, i16, i32, i64, i128);

/// # Safety
/// As for [`Kernel`].
unsafe fn all<T: Stored, const OPERATOR: u32>(
    left: *const u8,
    right: *const u8,
    result: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { combine::<T, OPERATOR>(told().unwrap_or(USUAL), (left, right, result), count) }
}

/// # Safety
/// As for [`Kernel`].
unsafe fn combine<T: Stored, const OPERATOR: u32>(
    literals: Literals,
    (left, right, result): (*const u8, *const u8, *mut u8),
    count: usize,
) {
    let (yes, no) = (T::of(literals.yes), T::of(literals.no));
    let (left, right, result) = (left.cast::<T>(), right.cast::<T>(), result.cast::<T>());
    for index in 0..count {
        // SAFETY: the caller's promise; `index` is below `count`.
        unsafe {
            let left = left.add(index).read_unaligned() != no;
            let right = right.add(index).read_unaligned() != no;
            let value = match OPERATOR {
                and if and == Operator::Land as u32 => left & right,
                or if or == Operator::Lor as u32 => left | right,
                _ => left ^ right,
            };
            result
                .add(index)
                .write_unaligned(if value { yes } else { no });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Stored + Default, const OPERATOR: u32>(yes: i128, no: i128) -> [bool; 4] {
        let stored = |value: bool| T::of(if value { yes } else { no });
        let left = [false, false, true, true].map(stored);
        let right = [false, true, false, true].map(stored);
        let mut result = [T::default(); 4];
        let at = (
            left.as_ptr().cast(),
            right.as_ptr().cast(),
            result.as_mut_ptr().cast(),
        );
        // SAFETY: three arrays of four elements.
        unsafe { combine::<T, OPERATOR>(Literals { yes, no }, at, 4) };
        result.map(|value| {
            assert!(value == stored(true) || value == stored(false));
            value == stored(true)
        })
    }

    #[test]
    fn results_are_literals_whatever_they_are() {
        const AND: u32 = Operator::Land as u32;
        const OR: u32 = Operator::Lor as u32;
        const XOR: u32 = Operator::Lxor as u32;
        for (yes, no) in [(1, 0), (-1, 0), (0, -1), (7, 3)] {
            let and = [false, false, false, true];
            assert_eq!(combined::<i32, AND>(yes, no), and);
            assert_eq!(combined::<i8, OR>(yes, no), [false, true, true, true]);
            assert_eq!(combined::<i128, XOR>(yes, no), [false, true, true, false]);
        }
    }
}
