// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may travel in a message.
//!
//! # Safety
//! This file turns typed data into addresses and lengths in bytes. That is sound for types without padding (all bytes may be
//! read) that allow every bit pattern (all bytes may be written), which is what [`Plain`] stands for.
#![expect(unsafe_code, reason = "the traits promise facts about memory")]

/// Data that are nothing but their bytes: no padding, every bit pattern is a value, no addresses.
///
/// Implemented for the integers, floating-point numbers, `()` excluded, and arrays of plain data. `bool`, `char` and
/// references are not plain: not every bit pattern is one of them; send a `u8` or `u32` instead. For structs derive it:
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
/// The derive refuses structs with padding, which would send bytes that were never written:
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
pub unsafe trait Plain: Copy + Send + 'static {}

macro_rules! plain {
    ($($type:ty)*) => {
        $(
            // SAFETY: a number: no padding, every bit pattern is a value.
            unsafe impl Plain for $type {}
        )*
    };
}

plain! { u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64 }

// SAFETY: elements follow each other without a gap, and each is plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A buffer of a message: one plain value or a slice of them.
///
/// ```
/// fn bytes_of(data: &(impl rankpoint::Buffer + ?Sized)) -> usize {
///     data.byte_len()
/// }
/// assert_eq!(bytes_of(&1u64), 8);
/// assert_eq!(bytes_of(&[1u16, 2, 3][..]), 6);
/// ```
///
/// # Safety
/// The value occupies exactly [`Self::byte_len`] bytes at its address, all of which may be read and, through an exclusive
/// reference, overwritten with anything.
pub unsafe trait Buffer {
    /// Type of the elements.
    type Element: Plain;

    /// Bytes of the buffer.
    fn byte_len(&self) -> usize;

    /// The elements.
    fn elements(&self) -> &[Self::Element];

    /// The elements, to be overwritten.
    fn elements_mut(&mut self) -> &mut [Self::Element];
}

// SAFETY: the bytes of one plain value.
unsafe impl<T: Plain> Buffer for T {
    type Element = T;

    #[inline(always)]
    fn byte_len(&self) -> usize {
        size_of::<T>()
    }

    fn elements(&self) -> &[T] {
        std::slice::from_ref(self)
    }

    fn elements_mut(&mut self) -> &mut [T] {
        std::slice::from_mut(self)
    }
}

// SAFETY: the bytes of plain values that follow each other without a gap.
unsafe impl<T: Plain> Buffer for [T] {
    type Element = T;

    #[inline(always)]
    fn byte_len(&self) -> usize {
        size_of_val(self)
    }

    fn elements(&self) -> &[T] {
        self
    }

    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

/// Address of a buffer that is only read.
#[inline(always)]
pub(crate) const fn address<B: Buffer + ?Sized>(buffer: &B) -> *mut u8 {
    (&raw const *buffer).cast::<u8>().cast_mut()
}

/// Address of a buffer that may be written.
#[inline(always)]
pub(crate) const fn address_mut<B: Buffer + ?Sized>(buffer: &mut B) -> *mut u8 {
    (&raw mut *buffer).cast::<u8>()
}

/// A vector of zeros: what a message is received into.
pub(crate) fn zeros<T: Plain>(count: usize) -> Vec<T> {
    // SAFETY: every bit pattern is a value of a plain type, zeros too.
    let zero = unsafe { std::mem::zeroed::<T>() };
    vec![zero; count]
}
