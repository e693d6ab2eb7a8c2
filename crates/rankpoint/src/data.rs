// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes of Rust values: which of their bytes hold data.
//!
//! # Safety
//! The traits promise facts about memory: which bytes of a value are initialised, and that anything may be written to them.
#![expect(unsafe_code, reason = "the traits promise facts about memory")]

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

pub use engine::datatype::NamedSignature;
use engine::datatype::{Predefined, predefined};
use layout::Layout;

use crate::abort::give_up;

/// Data that messages can hold: their type says which bytes are data, and any bytes are a value (MPI-5.0, chapter 5).
///
/// Implemented for the integers, floating-point numbers, and arrays of such data. `bool`, `char` and references cannot
/// travel: not every bit pattern is one of them; send a `u8` or `u32` instead. For structs derive it. Padding is left where
/// it is: it is neither read nor sent nor written.
///
/// ```
/// use rankpoint::Datatype;
///
/// #[derive(Clone, Copy, Datatype)]
/// #[repr(C)]
/// struct Sample {
///     kind: u8,
///     // 7 bytes of padding.
///     value: f64,
///     flags: [u16; 3],
///     // 2 bytes of padding.
/// }
///
/// #[derive(Clone, Copy, Datatype)]
/// #[repr(C)]
/// struct Series {
///     samples: [Sample; 4],
///     length: u8,
/// }
///
/// #[derive(Clone, Copy, Datatype)]
/// #[repr(C)]
/// struct Tagged<V> {
///     tag: u16,
///     value: V,
/// }
///
/// assert_eq!(Sample::PACKED_BYTES, 1 + 8 + 6);
/// assert_eq!(Series::PACKED_BYTES, 4 * 15 + 1);
/// assert_eq!(Tagged::<f64>::PACKED_BYTES, 2 + 8);
/// ```
///
/// A type for which some bit patterns are invalid does not compile:
///
/// ```compile_fail
/// #[derive(Clone, Copy, rankpoint::Datatype)]
/// #[repr(C)]
/// struct Switch {
///     on: bool,
/// }
/// ```
///
/// # Safety
/// [`Self::PACKED_BYTES`] and the layout of [`Self::unit`] describe bytes of the type that are initialised in every value and
/// may be overwritten with anything; a type whose packed size is its size is nothing but those bytes in their order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel in a message",
    note = "integers, floating-point numbers and arrays of them can, and structs of them with \
            `#[derive(Clone, Copy, rankpoint::Datatype)]` and `#[repr(C)]`",
    note = "a `bool` travels as a `u8`, a `char` as a `u32`, text as its bytes"
)]
pub unsafe trait Datatype: Copy + Send + 'static {
    /// Bytes of data in a value: what it takes in a message.
    const PACKED_BYTES: usize;

    /// The number of the predefined type that a value is some elements of, where it is one.
    #[doc(hidden)]
    const BASIC: Option<u32> = None;

    /// Which bytes they are.
    #[doc(hidden)]
    fn unit() -> Unit;

    /// Which basic types they are, where that is known.
    #[doc(hidden)]
    fn basics() -> Option<NamedSignature> {
        let datatype = Predefined::find(Self::BASIC?)?.datatype();
        Some(datatype.typed().clone())
    }
}

/// Data that are nothing but their bytes: no padding, every bit pattern is a value, no addresses.
///
/// Predefined reductions work on numbers, which are. The derive, which implements [`Datatype`] too, refuses structs with padding:
///
/// ```
/// use rankpoint::Plain;
///
/// #[derive(Clone, Copy, Plain)]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f32,
///     kind: u32,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, rankpoint::Plain)]
/// #[repr(C)]
/// struct Padded {
///     small: u8,
///     large: u64,
/// }
/// ```
///
/// # Safety
/// The type has no padding and no interior mutability, and every bit pattern is a valid value of it.
pub unsafe trait Plain: Datatype {}

/// The layout of a value: so many elements of a layout, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub(crate) layout: &'static Layout,
    pub(crate) repeat: usize,
}

impl Unit {
    /// Where the data are in a value: offsets and lengths in bytes.
    pub(crate) fn blocks(self) -> Vec<(i64, usize)> {
        let one = self.layout.blocks();
        let at = |index: usize| (index as i64).wrapping_mul(self.layout.extent());
        let all = (0..self.repeat).flat_map(|index| {
            let blocks = one.iter();
            blocks.map(move |block| (block.offset + at(index), block.bytes))
        });
        all.collect()
    }

    /// Of a type that is nothing but its bytes.
    #[doc(hidden)]
    pub const fn dense<T>() -> Self {
        Self {
            layout: const { &Layout::aligned(size_of::<T>(), size_of::<T>(), align_of::<T>() as u32) },
            repeat: 1,
        }
    }
}

/// The layout of a struct, made when it is first asked for.
#[doc(hidden)]
#[derive(Debug)]
pub struct StructUnit(OnceLock<Layout>);

impl StructUnit {
    /// Of no struct yet.
    #[expect(clippy::new_without_default, reason = "used by derives, in statics")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The layout of `T`, whose fields lie at these offsets.
    pub fn of<T>(&'static self, fields: &[(usize, Unit)]) -> Unit {
        let layout = self.0.get_or_init(|| struct_layout::<T>(fields));
        Unit { layout, repeat: 1 }
    }
}

/// Layouts of generic structs, by type.
static GENERIC: Mutex<Option<HashMap<TypeId, &'static Layout>>> = Mutex::new(None);

/// The layout of `T`, a struct with type parameters, whose fields lie at these offsets.
#[doc(hidden)]
pub fn generic_unit<T: 'static>(fields: &[(usize, Unit)]) -> Unit {
    let mut known = GENERIC.lock().unwrap_or_else(PoisonError::into_inner);
    let layout = *known
        .get_or_insert_default()
        .entry(TypeId::of::<T>())
        .or_insert_with(|| Box::leak(Box::new(struct_layout::<T>(fields))));
    Unit { layout, repeat: 1 }
}

/// The basic types of a struct with these fields, in their order.
#[doc(hidden)]
pub fn struct_basics(
    name: &str,
    fields: &[fn() -> Option<NamedSignature>],
) -> Option<NamedSignature> {
    let known: Option<Vec<_>> = fields.iter().map(|field| Some((1, field()?))).collect();
    Some(NamedSignature::of_parts(name, known?.into_iter()))
}

/// The basic types of a value, and its bytes of data.
pub(crate) type Values = (&'static NamedSignature, usize);

/// The basic types of a value and its bytes of data, kept for the life of the program.
pub(crate) fn value_types<T: Datatype>() -> Option<Values> {
    static KNOWN: Mutex<Option<HashMap<TypeId, Option<&'static NamedSignature>>>> =
        Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let typed = *known
        .get_or_insert_default()
        .entry(TypeId::of::<T>())
        .or_insert_with(|| T::basics().map(|typed| &*Box::leak(Box::new(typed))));
    Some((typed?, T::PACKED_BYTES))
}

fn struct_layout<T>(fields: &[(usize, Unit)]) -> Layout {
    let blocks = fields
        .iter()
        .map(|&(offset, unit)| (offset as i64, unit.repeat, unit.layout));
    let made = Layout::structure(blocks);
    match made.and_then(|layout| layout.resized(0, size_of::<T>() as i64)) {
        Ok(layout) => layout,
        // Offsets in a type fit into an address; its blocks could exceed memory in theory only.
        Err(_) => give_up(None),
    }
}

macro_rules! numbers {
    ($($type:ty: $basic:expr,)*) => {
        $(
            // SAFETY: a number: all of its bytes are data, every bit pattern is a value.
            unsafe impl Datatype for $type {
                const PACKED_BYTES: usize = size_of::<$type>();
                const BASIC: Option<u32> = $basic;

                fn unit() -> Unit {
                    Unit::dense::<$type>()
                }
            }

            // SAFETY: a number: no padding, every bit pattern is a value.
            unsafe impl Plain for $type {}
        )*
    };
}

numbers! {
    u8: Some(predefined::UINT8_T),
    i8: Some(predefined::INT8_T),
    u16: Some(predefined::UINT16_T),
    i16: Some(predefined::INT16_T),
    u32: Some(predefined::UINT32_T),
    i32: Some(predefined::INT32_T),
    u64: Some(predefined::UINT64_T),
    i64: Some(predefined::INT64_T),
    // The standard has no integers of 128 bits.
    u128: None,
    i128: None,
    usize: Some(predefined::UINT64_T),
    isize: Some(predefined::INT64_T),
    f32: Some(predefined::FLOAT),
    f64: Some(predefined::DOUBLE),
}

// SAFETY: elements follow each other without a gap; what is data in each is data here.
unsafe impl<T: Datatype, const N: usize> Datatype for [T; N] {
    const PACKED_BYTES: usize = N * T::PACKED_BYTES;
    const BASIC: Option<u32> = T::BASIC;

    fn unit() -> Unit {
        let one = T::unit();
        Unit {
            repeat: one.repeat * N,
            ..one
        }
    }

    fn basics() -> Option<NamedSignature> {
        let one = T::basics()?;
        let name = format!("{} x {N}", one.name());
        Some(NamedSignature::of_parts(
            &name,
            std::iter::once((N as u64, one)),
        ))
    }
}

// SAFETY: elements follow each other without a gap, and each is plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Whether all bytes of a type are data, in their order.
pub(crate) const fn is_dense<T: Datatype>() -> bool {
    T::PACKED_BYTES == size_of::<T>()
}

/// A vector of zeros: what a message is received into.
pub(crate) fn zeros<T: Datatype>(count: usize) -> Vec<T> {
    // SAFETY: all bits of the data may be anything, zeros too; the rest is padding.
    let zero = unsafe { std::mem::zeroed::<T>() };
    vec![zero; count]
}
