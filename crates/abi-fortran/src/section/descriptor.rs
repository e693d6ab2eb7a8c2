// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors, as compilers pass them.

use core::ffi::c_void;

use mpi_abi_sys::constants::MPI_SUCCESS;

use crate::{sentinel, status};

/// A dimension.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Dimension {
    lower_bound: isize,
    pub(super) extent: isize,
    pub(super) stride_bytes: isize,
}

/// A descriptor, without the dimensions, which follow it.
#[repr(C)]
pub(crate) struct Descriptor {
    pub(super) base: *mut c_void,
    pub(super) element_bytes: usize,
    version: i32,
    rank: u8,
    attributes: [u8; 3],
    dimensions: [Dimension; 0],
}

const _: () = assert!(core::mem::offset_of!(Descriptor, rank) == 20);
const _: () = assert!(size_of::<Descriptor>() == 24);

impl Descriptor {
    /// The dimensions.
    ///
    /// # Safety
    /// The compiler made the descriptor.
    pub(super) unsafe fn dimensions(&self) -> &[Dimension] {
        // SAFETY: as many dimensions as the rank says follow.
        unsafe { core::slice::from_raw_parts(self.dimensions.as_ptr(), self.rank.into()) }
    }

    /// The bytes at the start whose elements follow each other; none if that is all of the array.
    ///
    /// # Safety
    /// The compiler made the descriptor.
    pub(super) unsafe fn dense_bytes(&self) -> Option<isize> {
        if self.base.is_null() {
            // Not allocated: the dimensions hold anything.
            return None;
        }
        let mut dense = self.element_bytes as isize;
        // SAFETY: the caller's promise.
        for dimension in unsafe { self.dimensions() } {
            // A negative extent is that of an array of assumed size.
            if dimension.extent <= 0 {
                return None;
            }
            if dimension.extent > 1 && dimension.stride_bytes != dense {
                // An array without elements has no sections.
                // SAFETY: as above.
                let is_empty = unsafe { self.dimensions() }.iter().any(|it| it.extent <= 0);
                return (!is_empty).then_some(dense);
            }
            dense *= dimension.extent;
        }
        None
    }
}

/// Whether a buffer's elements may not follow each other; [`Descriptor::dense_bytes`] has the last word. A dimension of one element has
/// any distance, which is not tested here: each register more would cost all calls.
///
/// # Safety
/// The compiler made the descriptor.
#[inline]
pub(crate) unsafe fn is_section(descriptor: *const Descriptor) -> bool {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { &*descriptor };
    let mut dense = descriptor.element_bytes as isize;
    if descriptor.rank == 1 {
        // SAFETY: a dimension follows.
        return unsafe { &*descriptor.dimensions.as_ptr() }.stride_bytes != dense;
    }
    // SAFETY: as above.
    for dimension in unsafe { descriptor.dimensions() } {
        if dimension.stride_bytes != dense {
            return true;
        }
        dense = dense.wrapping_mul(dimension.extent);
    }
    false
}

/// The address of a buffer.
///
/// # Safety
/// The compiler made the descriptor.
#[inline]
pub(crate) unsafe fn address(descriptor: *const Descriptor) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { (*descriptor).base }
}

/// A buffer, as an entry point gets it.
pub(crate) trait Choice {
    /// The address.
    ///
    /// # Safety
    /// A descriptor is one that the compiler made.
    unsafe fn base(self) -> *mut c_void;
}

impl Choice for *mut c_void {
    unsafe fn base(self) -> *mut c_void {
        self
    }
}

impl Choice for *const Descriptor {
    unsafe fn base(self) -> *mut c_void {
        // SAFETY: the caller's promise.
        unsafe { address(self) }
    }
}

/// Whether a buffer is `MPI_IN_PLACE`.
///
/// # Safety
/// A descriptor is one that the compiler made.
pub(crate) unsafe fn is_in_place(buffer: impl Choice) -> bool {
    // SAFETY: the caller's promise.
    sentinel::is_in_place(unsafe { buffer.base() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mpirp_sizeof_cfi(x: *const Descriptor, size: *mut i32, ierror: *mut i32) {
    // SAFETY: the compiler passes a descriptor and two results, of which the second may be left out.
    unsafe {
        *size = i32::try_from((*x).element_bytes).unwrap_or(i32::MAX);
        status::set(ierror, MPI_SUCCESS);
    }
}

#[unsafe(export_name = "mpirp_f_sync_reg_cfi")]
extern "C" fn f_sync_reg(_: *const Descriptor) {}
