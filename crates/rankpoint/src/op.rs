// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduction operations (MPI-5.0, section 6.9).
//!
//! # Safety
//! Functions of users are called with addresses of the elements that a reduction works on, whose type is the operation's.
#![expect(unsafe_code, reason = "the engine hands over addresses")]

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};

use engine::Result;
use engine::datatype::predefined::{self, Predefined};
use engine::datatype::{Datatype as EngineDatatype, Width};
use engine::op::{Op as EngineOp, Operator, Reduction};
use engine::{Error, ErrorClass};

use crate::abort::give_up;
use crate::data::is_dense;
use crate::{Datatype, Plain};

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
pub struct Op<V: Datatype> {
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

operators! { Reducible:
    /// The new value instead of the old one; only for windows ([`Window`](crate::Window)).
    REPLACE = Replace;
    /// The old value; only for windows, to read it.
    KEEP = NoOp;
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

impl<V: Datatype> Op<V> {
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
        let values = Values::<V>::new();
        let each =
            move |input: *const u8, inout: *mut u8, count: usize, _: &Arc<EngineDatatype>| {
                let _end = EndOnPanic;
                for index in 0..count {
                    let at = index.wrapping_mul(size_of::<V>());
                    // SAFETY: the engine passes `count` elements of the operation's type (Op::reduction).
                    unsafe {
                        let left = values.load(input.wrapping_add(at));
                        let right = values.load(inout.wrapping_add(at));
                        values.store(function(&left, &right), inout.wrapping_add(at));
                    }
                }
            };
        Self {
            kind: Kind::User(EngineOp::user(Box::new(each), commutative)),
            element: PhantomData,
        }
    }

    /// The predefined operation that it is.
    ///
    /// # Errors
    /// MPI_ERR_OP for a function of the program.
    pub(crate) fn operator(&self) -> Result<Operator> {
        match self.kind {
            Kind::Predefined(operator, _) => Ok(operator),
            Kind::User(_) => {
                let text = "one-sided communication combines by predefined operations only";
                Err(Error::new(ErrorClass::ERR_OP, text))
            }
        }
    }

    /// The operation on its type, and the type.
    pub(crate) fn reduction(&self) -> Result<(Reduction, Arc<EngineDatatype>)> {
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
                let datatype = described::<V>(row(predefined::BYTE)?.datatype())?;
                Ok((Reduction::new(op, &datatype)?, datatype))
            }
        }
    }
}

/// The types of elements that functions combine, as the engine knows them.
static DESCRIBED: Mutex<Option<HashMap<TypeId, Arc<EngineDatatype>>>> = Mutex::new(None);

/// The type of the elements as the engine knows it, made when it is first asked for.
fn described<V: Datatype>(byte: &Arc<EngineDatatype>) -> Result<Arc<EngineDatatype>> {
    let mut known = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(datatype) = known.get(&TypeId::of::<V>()) {
        return Ok(datatype.clone());
    }
    let (bytes, width) = (size_of::<V>() as i64, Width::Count);
    let datatype = if is_dense::<V>() {
        EngineDatatype::contiguous(bytes, byte, width)?
    } else {
        let blocks = V::unit().blocks();
        let (offsets, lengths): (Vec<i64>, Vec<i64>) = blocks
            .iter()
            .map(|&(offset, bytes)| (offset, bytes as i64))
            .unzip();
        let data = EngineDatatype::hindexed(&lengths, &offsets, byte, width)?;
        EngineDatatype::resized(0, bytes, &data, width)?
    };
    datatype.commit();
    known.insert(TypeId::of::<V>(), datatype.clone());
    Ok(datatype)
}

/// How values lie in the memory of the engine, which is not aligned, and has no room for padding at its end.
struct Values<V> {
    /// Where data are; all bytes if there is nothing else.
    blocks: Option<Vec<(i64, usize)>>,
    value: PhantomData<fn() -> V>,
}

impl<V: Datatype> Values<V> {
    fn new() -> Self {
        let blocks = (!is_dense::<V>()).then(|| V::unit().blocks());
        Self {
            blocks,
            value: PhantomData,
        }
    }

    /// # Safety
    /// The data of a value are readable at `from`.
    unsafe fn load(&self, from: *const u8) -> V {
        let Some(blocks) = &self.blocks else {
            // SAFETY: the caller's promise: all bytes are data.
            return unsafe { from.cast::<V>().read_unaligned() };
        };
        let mut value = MaybeUninit::<V>::zeroed();
        for &(offset, bytes) in blocks {
            let to = value.as_mut_ptr().cast::<u8>();
            // SAFETY: blocks lie in the value; the caller's promise.
            unsafe {
                let (from, to) = (from.offset(offset as isize), to.offset(offset as isize));
                std::ptr::copy_nonoverlapping(from, to, bytes);
            }
        }
        // SAFETY: the data were copied, and the rest is padding (Datatype).
        unsafe { value.assume_init() }
    }

    /// # Safety
    /// The data of a value are writable at `to`.
    unsafe fn store(&self, value: V, to: *mut u8) {
        let Some(blocks) = &self.blocks else {
            // SAFETY: the caller's promise: all bytes are data.
            return unsafe { to.cast::<V>().write_unaligned(value) };
        };
        for &(offset, bytes) in blocks {
            let from = (&raw const value).cast::<u8>();
            // SAFETY: blocks lie in the value; the caller's promise.
            unsafe {
                let (from, to) = (from.offset(offset as isize), to.offset(offset as isize));
                std::ptr::copy_nonoverlapping(from, to, bytes);
            }
        }
    }
}

/// A value and where it was found: what [`Op::min_at`] and [`Op::max_at`] work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Datatype)]
#[repr(C)]
pub struct At<V> {
    /// The value.
    pub value: V,
    /// Its place: a rank, an index.
    pub at: usize,
}

impl<V: Reducible + PartialOrd> Op<At<V>> {
    /// The smallest value and its place, the lowest one of equals (MPI_MINLOC).
    ///
    /// ```
    /// use rankpoint::{At, Op};
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let mine = At { value: 2.5f32, at: world.rank() };
    /// assert_eq!(world.all_reduce_value(mine, Op::min_at())?.at, 0);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    pub fn min_at() -> Self {
        Self::chosen(|new, old| new < old)
    }

    /// The largest value and its place, the lowest one of equals (MPI_MAXLOC).
    pub fn max_at() -> Self {
        Self::chosen(|new, old| new > old)
    }

    fn chosen(wins: impl Fn(V, V) -> bool + Send + Sync + 'static) -> Self {
        Self::commutative(move |&a: &At<V>, &b: &At<V>| {
            if wins(a.value, b.value) || (a.value == b.value && a.at < b.at) {
                a
            } else {
                b
            }
        })
    }
}

impl<V: Datatype> Clone for Op<V> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            element: PhantomData,
        }
    }
}

impl<V: Datatype> fmt::Debug for Op<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Predefined(operator, _) => write!(f, "Op({})", operator.name()),
            Kind::User(_) => f.write_str("Op(function)"),
        }
    }
}
