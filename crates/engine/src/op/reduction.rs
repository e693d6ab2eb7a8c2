// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations, and operations joined with a datatype.
#![expect(unsafe_code, reason = "operands are addresses that programs gave")]

use std::fmt;
use std::sync::Arc;

use sys::sync::{AtomicU64, Ordering};

use super::kernel::{self, Kernel};
use super::logical;
use crate::datatype::{Category, Datatype, Predefined};
use crate::errors::{Error, ErrorClass, Result};

/// The predefined operations; the numbers are the values of the handles in the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum Operator {
    Sum = 0x21,
    Min = 0x22,
    Max = 0x23,
    Prod = 0x24,
    Band = 0x28,
    Bor = 0x29,
    Bxor = 0x2a,
    Land = 0x30,
    Lor = 0x31,
    Lxor = 0x32,
    Minloc = 0x38,
    Maxloc = 0x39,
    Replace = 0x3c,
    NoOp = 0x3d,
}

/// A predefined operation: its name in C and the categories of types that it is defined for.
#[derive(Debug)]
pub struct OperatorRow {
    /// The operator; its number is the value of the handle in the ABI.
    pub operator: Operator,
    /// Name in C.
    pub name: &'static str,
    /// Types that it is defined for.
    pub categories: &'static [Category],
}

const fn row(
    operator: Operator,
    name: &'static str,
    categories: &'static [Category],
) -> OperatorRow {
    OperatorRow {
        operator,
        name,
        categories,
    }
}

/// Every predefined operation (MPI-5.0, section 6.9.2).
pub const OPERATORS: &[OperatorRow] = {
    use Category as C;
    const NUMBERS: &[Category] = &[
        C::CInteger,
        C::Char,
        C::FortranInteger,
        C::FloatingPoint,
        C::MultiLanguage,
        C::Complex,
    ];
    const ORDERED: &[Category] = &[
        C::CInteger,
        C::Char,
        C::FortranInteger,
        C::FloatingPoint,
        C::MultiLanguage,
    ];
    const BITS: &[Category] = &[
        C::CInteger,
        C::Char,
        C::FortranInteger,
        C::Byte,
        C::MultiLanguage,
    ];
    const TRUTHS: &[Category] = &[
        C::CInteger,
        C::Char,
        C::Logical,
        C::FortranInteger,
        C::MultiLanguage,
    ];
    const ALL: &[Category] = &[
        C::CInteger,
        C::Char,
        C::FortranInteger,
        C::FloatingPoint,
        C::Logical,
        C::Complex,
        C::Byte,
        C::MultiLanguage,
        C::Pair,
        C::Opaque,
    ];
    &[
        row(Operator::Sum, "MPI_SUM", NUMBERS),
        row(Operator::Min, "MPI_MIN", ORDERED),
        row(Operator::Max, "MPI_MAX", ORDERED),
        row(Operator::Prod, "MPI_PROD", NUMBERS),
        row(Operator::Band, "MPI_BAND", BITS),
        row(Operator::Bor, "MPI_BOR", BITS),
        row(Operator::Bxor, "MPI_BXOR", BITS),
        row(Operator::Land, "MPI_LAND", TRUTHS),
        row(Operator::Lor, "MPI_LOR", TRUTHS),
        row(Operator::Lxor, "MPI_LXOR", TRUTHS),
        row(Operator::Minloc, "MPI_MINLOC", &[C::Pair]),
        row(Operator::Maxloc, "MPI_MAXLOC", &[C::Pair]),
        row(Operator::Replace, "MPI_REPLACE", ALL),
        row(Operator::NoOp, "MPI_NO_OP", ALL),
    ]
};

impl Operator {
    /// The operator of a handle value.
    pub fn find(code: u32) -> Option<Self> {
        let row = OPERATORS.iter().find(|row| row.operator as u32 == code)?;
        Some(row.operator)
    }

    /// Whether only one-sided communication may use it (MPI_REPLACE, MPI_NO_OP).
    pub const fn is_for_accumulate(self) -> bool {
        matches!(self, Self::Replace | Self::NoOp)
    }

    fn row(self) -> &'static OperatorRow {
        let found = OPERATORS.iter().find(|row| row.operator == self);
        found.unwrap_or(&OPERATORS[0])
    }

    /// Name in C.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}

/// A user's function: `inout = input op inout` for `count` elements of a datatype. The face gives the function its own
/// handle of the datatype.
pub type UserFunction = dyn Fn(*const u8, *mut u8, usize, &Arc<Datatype>) + Send + Sync;

enum Kind {
    Predefined(Operator),
    User(Box<UserFunction>),
}

/// A reduction operation.
pub struct Op {
    kind: Kind,
    commutative: bool,
    /// The C face's handle of this object; 0 if it has none.
    pub handle: AtomicU64,
}

impl Op {
    /// A predefined operation.
    pub fn predefined(operator: Operator) -> Arc<Self> {
        Arc::new(Self {
            kind: Kind::Predefined(operator),
            commutative: !operator.is_for_accumulate(),
            handle: AtomicU64::new(operator as u64),
        })
    }

    /// An operation that calls a function (MPI_Op_create).
    pub fn user(function: Box<UserFunction>, commutative: bool) -> Arc<Self> {
        Arc::new(Self {
            kind: Kind::User(function),
            commutative,
            handle: AtomicU64::new(0),
        })
    }

    /// Whether `a op b` is `b op a`.
    pub const fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// The operator of a predefined operation.
    pub const fn operator(&self) -> Option<Operator> {
        match self.kind {
            Kind::Predefined(operator) => Some(operator),
            Kind::User(_) => None,
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Predefined(operator) => f.write_str(operator.name()),
            Kind::User(_) => write!(
                f,
                "user operation {:#x}",
                self.handle.load(Ordering::Relaxed)
            ),
        }
    }
}

#[derive(Clone)]
enum Action {
    Kernel(Kernel),
    User(Arc<Op>, Arc<Datatype>),
}

/// Set in the numbers of users' operations.
const USER: u64 = 1 << 32;

/// An operation on a datatype, checked.
#[derive(Clone)]
pub struct Reduction {
    action: Action,
    commutative: bool,
    /// `None` for a user's operation.
    operator: Option<Operator>,
}

impl Reduction {
    /// Joins a predefined operation with a datatype.
    ///
    /// # Errors
    /// MPI_ERR_OP when the operation is not defined for the type.
    pub fn predefined(operator: Operator, datatype: &Datatype) -> Result<Self> {
        let kernel = datatype
            .reduces_as()
            .and_then(|row| kernel_for(operator, row))
            .ok_or_else(|| undefined(operator, datatype))?;
        Ok(Self {
            action: Action::Kernel(kernel),
            commutative: true,
            operator: Some(operator),
        })
    }

    /// Joins an operation with a datatype.
    ///
    /// # Errors
    /// MPI_ERR_OP when the operation is not defined for the type.
    pub fn new(op: &Arc<Op>, datatype: &Arc<Datatype>) -> Result<Self> {
        match op.operator() {
            Some(operator) => Self::predefined(operator, datatype),
            None => Ok(Self {
                action: Action::User(op.clone(), datatype.clone()),
                commutative: op.commutative,
                operator: None,
            }),
        }
    }

    /// A number that is the same where members combine by the same predefined operation, or by users' ones.
    pub(crate) fn number(&self) -> u64 {
        match self.operator {
            Some(operator) => operator as u64,
            None => USER | u64::from(self.commutative),
        }
    }

    /// The name of an operation with this [`Self::number`].
    pub(crate) fn name_of(number: u64) -> String {
        if number & USER != 0 {
            let commutes = number & 1 == 1;
            let kind = if commutes {
                ""
            } else {
                " that does not commute"
            };
            return format!("a user's operation{kind}");
        }
        let operator = u32::try_from(number).ok().and_then(Operator::find);
        operator.map_or("no operation", Operator::name).to_owned()
    }

    /// Whether operands may be combined in any order.
    pub const fn is_commutative(&self) -> bool {
        self.commutative
    }

    /// `inout = input op inout`, element by element.
    ///
    /// # Safety
    /// `input` is readable and `inout` readable and writable for `count` elements of the datatype; they do not overlap.
    pub unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: usize) {
        if count == 0 {
            return;
        }
        match &self.action {
            // SAFETY: the kernel was chosen for the datatype; the caller's promise.
            Action::Kernel(kernel) => unsafe { kernel(input, inout, inout, count) },
            Action::User(op, datatype) => {
                if let Kind::User(function) = &op.kind {
                    function(input, inout, count, datatype);
                }
            }
        }
    }
}

impl Reduction {
    /// `result = left op right`, element by element; `bytes` bytes are `count` elements without holes. `result` may be
    /// `left` for predefined operations, and `right` always.
    ///
    /// # Safety
    /// `left` and `right` are readable, `result` is writable for the elements; else they do not overlap.
    #[inline(always)]
    pub unsafe fn apply_into(
        &self,
        left: *const u8,
        right: *const u8,
        result: *mut u8,
        shape: (usize, usize),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.action {
                Action::Kernel(kernel) => kernel(left, right, result, shape.0),
                Action::User(..) => self.apply_user(left, right, result, shape),
            }
        }
    }

    /// The same of a user's operation.
    #[inline(never)]
    unsafe fn apply_user(
        &self,
        left: *const u8,
        right: *const u8,
        result: *mut u8,
        (count, bytes): (usize, usize),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if !std::ptr::eq(right, result) {
                std::ptr::copy_nonoverlapping(right, result, bytes);
            }
            self.apply(left, result, count);
        }
    }

    /// Whether the operation calls a function of the user's.
    pub const fn is_user(&self) -> bool {
        matches!(self.action, Action::User(..))
    }
}

pub(super) fn kernel_for(operator: Operator, row: &'static Predefined) -> Option<Kernel> {
    if !operator.row().categories.contains(&row.category) {
        return None;
    }
    logical::find(operator, row).or_else(|| kernel::find(operator, row.shape, layout::best_isa()))
}

/// The error of an operation that is not defined for a datatype.
#[cold]
#[inline(never)]
pub(crate) fn undefined(operator: Operator, datatype: &Datatype) -> Error {
    let value = format!("{} on {}", operator.name(), datatype.describe());
    let categories: Vec<_> = operator
        .row()
        .categories
        .iter()
        .map(|c| category_text(*c))
        .collect();
    let expected = format!("a predefined datatype among: {}", categories.join(", "));
    Error::argument(ErrorClass::ERR_OP, "op", value, expected)
}

const fn category_text(category: Category) -> &'static str {
    match category {
        Category::CInteger => "C integers",
        Category::FortranInteger => "Fortran integers",
        Category::FloatingPoint => "floating point",
        Category::Logical => "logical",
        Category::Complex => "complex",
        Category::Byte => "MPI_BYTE",
        Category::Char => "MPI_CHAR",
        Category::MultiLanguage => "MPI_AINT, MPI_OFFSET, MPI_COUNT",
        Category::Pair => "pairs such as MPI_DOUBLE_INT",
        Category::Opaque => "other characters and packed data",
    }
}

/// `inout = input op inout` on the calling rank (MPI_Reduce_local).
///
/// # Errors
/// MPI_ERR_OP when the operation is not defined for the type.
///
/// # Safety
/// As for [`Reduction::apply`].
pub unsafe fn reduce_local(
    op: &Arc<Op>,
    input: *const u8,
    inout: *mut u8,
    count: usize,
    datatype: &Arc<Datatype>,
) -> Result<()> {
    let reduction = Reduction::new(op, datatype)?;
    // SAFETY: the caller's promise.
    unsafe { reduction.apply(input, inout, count) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Number, Shape, Width, predefined};

    fn named(code: u32) -> Arc<Datatype> {
        Predefined::find(code).unwrap().datatype().clone()
    }

    fn apply<T: Copy, const N: usize>(
        operator: Operator,
        code: u32,
        left: [T; N],
        right: [T; N],
    ) -> [T; N] {
        let mut inout = right;
        let op = Op::predefined(operator);
        let (from, into) = (left.as_ptr().cast(), inout.as_mut_ptr().cast());
        // SAFETY: both arrays have N elements of the type that `code` names.
        unsafe { reduce_local(&op, from, into, N, &named(code)) }.unwrap();
        inout
    }

    #[test]
    fn numbers_combine() {
        use Operator::*;
        use predefined::*;
        let (a, b) = ([6i32, -3, i32::MAX], [5i32, 4, 1]);
        assert_eq!(apply(Sum, INT, a, b), [11, 1, i32::MIN]);
        assert_eq!(apply(Prod, INTEGER, a, b), [30, -12, i32::MAX]);
        assert_eq!(apply(Min, INT32_T, a, b), [5, -3, 1]);
        assert_eq!(apply(Max, INT, a, b), [6, 4, i32::MAX]);
        assert_eq!(apply(Max, UNSIGNED, [u32::MAX, 1], [1, 2]), [u32::MAX, 2]);
        assert_eq!(apply(Band, BYTE, [0b1100u8], [0b1010]), [0b1000]);
        assert_eq!(apply(Bxor, UINT64_T, [12u64], [10]), [6]);
        assert_eq!(apply(Bor, AINT, [12i64], [3]), [15]);
        assert_eq!(apply(Land, INT, [2, 2, 0], [4, 0, 0]), [1, 0, 0]);
        assert_eq!(apply(Lxor, C_BOOL, [1u8, 1, 0], [1, 0, 0]), [0, 1, 0]);
        assert_eq!(apply(Lor, LOGICAL8, [0i64, 0], [7, 0]), [1, 0]);
        assert_eq!(apply(Prod, DOUBLE, [1.5, -2.0], [2.0, 8.0]), [3.0, -16.0]);
        assert_eq!(apply(Sum, REAL, [1.5f32], [0.25]), [1.75]);
        assert_eq!(apply(Sum, INTEGER16, [1i128 << 100], [1]), [(1 << 100) + 1]);
        let product = apply(Prod, C_DOUBLE_COMPLEX, [[1.0, 2.0]], [[3.0, -4.0]]);
        assert_eq!(product, [[11.0, 2.0]]);
        assert_eq!(apply(Min, CHAR, [-3i8, 7], [2, 9]), [-3, 7]);
        assert_eq!(apply(Lxor, CHAR, [5i8, 0], [1, 2]), [0, 1]);
        assert_eq!(apply(Replace, DOUBLE, [1.0], [2.0]), [1.0]);
        assert_eq!(apply(NoOp, DOUBLE, [1.0], [2.0]), [2.0]);
    }

    #[test]
    fn locations_keep_the_lowest_index_of_equal_values() {
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        struct DoubleInt(f64, i32);
        let (a, b) = (
            [DoubleInt(1.0, 7), DoubleInt(2.0, 1), DoubleInt(3.0, 5)],
            [DoubleInt(1.0, 3), DoubleInt(1.0, 9), DoubleInt(4.0, 2)],
        );
        let lowest = apply(Operator::Minloc, predefined::DOUBLE_INT, a, b);
        assert_eq!(
            lowest,
            [DoubleInt(1.0, 3), DoubleInt(1.0, 9), DoubleInt(3.0, 5)]
        );
        let highest = apply(Operator::Maxloc, predefined::DOUBLE_INT, a, b);
        assert_eq!(
            highest,
            [DoubleInt(1.0, 3), DoubleInt(2.0, 1), DoubleInt(4.0, 2)]
        );
        let pairs = apply(Operator::Maxloc, predefined::TWO_INT, [[4, 2]], [[4, 1]]);
        assert_eq!(pairs, [[4, 1]]);
    }

    /// Every valid combination has a kernel, and no other is accepted.
    #[test]
    fn combinations_are_the_standards() {
        let mut valid = 0;
        for &OperatorRow {
            operator,
            name,
            categories,
        } in OPERATORS
        {
            for row in predefined::PREDEFINED {
                let found = Reduction::new(&Op::predefined(operator), row.datatype());
                assert_eq!(
                    found.is_ok(),
                    categories.contains(&row.category),
                    "{name} on {}",
                    row.name
                );
                valid += usize::from(found.is_ok());
            }
        }
        assert_eq!(valid, 525);
        let error = Reduction::new(&Op::predefined(Operator::Band), &named(predefined::DOUBLE))
            .err()
            .unwrap();
        assert_eq!(error.class(), ErrorClass::ERR_OP);
        assert!(error.to_string().contains("MPI_BAND on MPI_DOUBLE"));
    }

    #[test]
    fn operands_need_no_alignment() {
        for row in predefined::PREDEFINED {
            let Ok(sum) = Reduction::new(&Op::predefined(Operator::Sum), row.datatype()) else {
                continue;
            };
            let bytes = 5 * row.size();
            let left: Vec<u8> = (0..=bytes).map(|i| i as u8 % 5).collect();
            let mut right = left.clone();
            let (mut aligned_left, mut aligned_right) = (vec![0u128; 10], vec![0u128; 10]);
            // SAFETY: both vectors hold five elements after their first byte, and the aligned ones five elements.
            unsafe {
                let pair = (
                    aligned_left.as_mut_ptr().cast::<u8>(),
                    aligned_right.as_mut_ptr().cast::<u8>(),
                );
                pair.0.copy_from_nonoverlapping(left.as_ptr().add(1), bytes);
                pair.1
                    .copy_from_nonoverlapping(right.as_ptr().add(1), bytes);
                sum.apply(left.as_ptr().add(1), right.as_mut_ptr().add(1), 5);
                sum.apply(pair.0, pair.1, 5);
                let expected = std::slice::from_raw_parts(pair.1, bytes);
                if row.shape == Shape::One(Number::I32) {
                    assert_ne!(expected[..4], left[1..5]);
                }
                assert_eq!(&right[1..], expected, "{}", row.name);
            }
        }
    }

    #[test]
    fn user_functions_get_the_datatype() {
        let seen = Arc::new(AtomicU64::new(0));
        let noted = seen.clone();
        let op = Op::user(
            Box::new(move |input, inout, count, datatype| {
                let bytes = count * datatype.size();
                noted.store(bytes as u64, Ordering::Relaxed);
                // SAFETY: the operands hold `count` elements (contract of user functions).
                unsafe { inout.copy_from_nonoverlapping(input, bytes) };
            }),
            false,
        );
        let three = Datatype::contiguous(3, &named(predefined::INT), Width::Int).unwrap();
        let mut inout = [0i32; 6];
        // SAFETY: both arrays hold two elements of three ints.
        unsafe {
            let into = inout.as_mut_ptr().cast();
            reduce_local(&op, [1i32, 2, 3, 4, 5, 6].as_ptr().cast(), into, 2, &three).unwrap();
        }
        assert_eq!(inout, [1, 2, 3, 4, 5, 6]);
        assert_eq!(seen.load(Ordering::Relaxed), 24);
        assert!(!op.is_commutative());
    }
}
