// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduction operations (MPI-5.0, section 6.9).
//!
//! # Safety
//! Functions of users are called with addresses of the elements that a reduction works on, whose type is the operation's.
#![expect(unsafe_code, reason = "the engine hands over addresses")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use engine::Result;
use engine::datatype::predefined::{self, Predefined};
use engine::datatype::{Datatype, Width};
use engine::op::{Op as EngineOp, Operator, Reduction};
use engine::{Error, ErrorClass};

use crate::Plain;
use crate::p2p::give_up;

/// Numbers that the predefined operations work on.
pub trait Reducible: Plain + private::Sealed {
    /// The MPI datatype's handle value.
    #[doc(hidden)]
    const CODE: u32;
}

/// Whole numbers, whose bits can be combined.
pub trait Integer: Reducible {}

mod private {
    pub trait Sealed {}
}

macro_rules! reducible {
    ($($type:ty = $code:ident;)*) => {
        $(
            impl private::Sealed for $type {}
            impl Reducible for $type {
                const CODE: u32 = predefined::$code;
            }
        )*
    };
}

reducible! {
    i8 = INT8_T; i16 = INT16_T; i32 = INT32_T; i64 = INT64_T;
    u8 = UINT8_T; u16 = UINT16_T; u32 = UINT32_T; u64 = UINT64_T;
    f32 = FLOAT; f64 = DOUBLE;
    isize = AINT; usize = UNSIGNED_LONG;
}

macro_rules! integers {
    ($($type:ty)*) => { $(impl Integer for $type {})* };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 isize usize }

#[derive(Clone)]
enum Kind {
    Predefined(Operator, u32),
    User(Arc<EngineOp>),
}

/// How a reduction combines two elements of type `V`: predefined, or a function.
///
/// ```
/// use rankpoint::Op;
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let longest = Op::commutative(|a: &[f64; 2], b: &[f64; 2]| {
///     if a[0].hypot(a[1]) < b[0].hypot(b[1]) { *b } else { *a }
/// });
/// let found = world.all_reduce_value([3.0, 4.0], longest)?;
/// assert_eq!(found, [3.0, 4.0]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct Op<V: Plain> {
    kind: Kind,
    element: PhantomData<fn(V) -> V>,
}

macro_rules! operators {
    ($bound:ident: $($(#[$doc:meta])* $name:ident = $operator:ident;)*) => {
        impl<V: $bound> Op<V> {
            $($(#[$doc])* pub const $name: Self = Self::predefined(Operator::$operator, V::CODE);)*
        }
    };
}

operators! { Reducible:
    /// The sum.
    SUM = Sum;
    /// The product.
    PRODUCT = Prod;
    /// The smallest.
    MIN = Min;
    /// The largest.
    MAX = Max;
}

operators! { Integer:
    /// Bitwise and.
    AND = Band;
    /// Bitwise or.
    OR = Bor;
    /// Bitwise exclusive or.
    XOR = Bxor;
}

/// Ends the program when a function of the user panics: it is called in the middle of operations, of other tasks too, whose
/// buffers unwinding would free.
struct EndOnPanic;

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            give_up(None);
        }
    }
}

impl<V: Plain> Op<V> {
    const fn predefined(operator: Operator, code: u32) -> Self {
        Self {
            kind: Kind::Predefined(operator, code),
            element: PhantomData,
        }
    }

    /// An associative function whose operands may change places.
    pub fn commutative(function: impl Fn(&V, &V) -> V + Send + Sync + 'static) -> Self {
        Self::user(function, true)
    }

    /// An associative function; operands are combined in the order of their ranks.
    pub fn ordered(function: impl Fn(&V, &V) -> V + Send + Sync + 'static) -> Self {
        Self::user(function, false)
    }

    fn user(function: impl Fn(&V, &V) -> V + Send + Sync + 'static, commutative: bool) -> Self {
        let each = move |input: *const u8, inout: *mut u8, count: usize, _: &Arc<Datatype>| {
            let _end = EndOnPanic;
            let (input, inout) = (input.cast::<V>(), inout.cast::<V>());
            for index in 0..count {
                // SAFETY: the engine passes `count` elements of the operation's type (Op::reduction); plain data may be
                // read from anywhere, unaligned.
                unsafe {
                    let left = input.add(index).read_unaligned();
                    let right = inout.add(index).read_unaligned();
                    inout.add(index).write_unaligned(function(&left, &right));
                }
            }
        };
        Self {
            kind: Kind::User(EngineOp::user(Box::new(each), commutative)),
            element: PhantomData,
        }
    }

    /// The operation on its type, and the type.
    pub(crate) fn reduction(&self) -> Result<(Reduction, Arc<Datatype>)> {
        let row = |code| {
            Predefined::find(code).ok_or_else(|| {
                Error::new(
                    ErrorClass::ERR_TYPE,
                    "a predefined datatype is not in the table",
                )
            })
        };
        match &self.kind {
            Kind::Predefined(operator, code) => {
                let datatype = row(*code)?.datatype();
                let reduction = Reduction::predefined(*operator, datatype)?;
                Ok((reduction, datatype.clone()))
            }
            Kind::User(op) => {
                let byte = row(predefined::BYTE)?.datatype();
                let datatype = Datatype::contiguous(size_of::<V>() as i64, byte, Width::Count)?;
                datatype.commit();
                Ok((Reduction::new(op, &datatype)?, datatype))
            }
        }
    }
}

impl<V: Plain> Clone for Op<V> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            element: PhantomData,
        }
    }
}

impl<V: Plain> fmt::Debug for Op<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Predefined(operator, _) => write!(f, "Op({})", operator.name()),
            Kind::User(_) => f.write_str("Op(function)"),
        }
    }
}
