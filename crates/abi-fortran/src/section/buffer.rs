// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors, and the buffers that calls get.

use core::ffi::c_void;
use std::io::Write as _;

use mpi_abi_sys::constants::{MPI_COMM_SELF, MPI_ERR_BUFFER, MPI_SUCCESS};

use super::datatype;
use crate::library::profiling;
use crate::{handle, status};

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
    base: *mut c_void,
    element_bytes: usize,
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
    unsafe fn dimensions(&self) -> &[Dimension] {
        // SAFETY: as many dimensions as the rank says follow.
        unsafe { core::slice::from_raw_parts(self.dimensions.as_ptr(), self.rank.into()) }
    }

    /// The dimensions of a section whose elements do not follow each other; none of any other buffer.
    ///
    /// # Safety
    /// The compiler made the descriptor.
    unsafe fn section(&self) -> Option<&[Dimension]> {
        if self.base.is_null() {
            // Not allocated: the dimensions hold anything.
            return None;
        }
        // SAFETY: the caller's promise.
        let dimensions = unsafe { self.dimensions() };
        // A negative extent is that of an array of assumed size.
        if dimensions.iter().any(|dimension| dimension.extent <= 0) {
            return None;
        }
        let mut dense = self.element_bytes as isize;
        for dimension in dimensions {
            if dimension.extent > 1 && dimension.stride_bytes != dense {
                return Some(dimensions);
            }
            dense *= dimension.extent;
        }
        None
    }
}

/// Calls a function with the address of each element of a section, in the order of the array.
///
/// # Safety
/// `base` and the dimensions are those of a section.
unsafe fn each(base: *mut u8, dimensions: &[Dimension], visit: &mut impl FnMut(*mut u8)) {
    let Some((outer, inner)) = dimensions.split_last() else {
        return visit(base);
    };
    for index in 0..outer.extent {
        // SAFETY: the caller's promise.
        unsafe { each(base.offset(index * outer.stride_bytes), inner, visit) };
    }
}

/// A buffer for a call.
pub(crate) struct Buffer<'a> {
    descriptor: &'a Descriptor,
    /// The elements of a section.
    copy: Option<(Vec<u8>, &'a [Dimension])>,
}

impl Buffer<'_> {
    /// The address that is passed to the C call: of the copy, or of the array itself.
    #[inline]
    pub(crate) fn address(&self) -> *mut c_void {
        match &self.copy {
            None => self.descriptor.base,
            Some((elements, _)) => elements.as_ptr().cast_mut().cast(),
        }
    }

    /// Stores what the call received.
    ///
    /// # Safety
    /// The section may be written.
    #[inline]
    pub(crate) unsafe fn give_back(self) {
        if let Some((elements, dimensions)) = &self.copy {
            let size = self.descriptor.element_bytes;
            let mut from = elements.as_ptr();
            // SAFETY: the copy holds all elements of the section, in this order.
            unsafe {
                each(self.descriptor.base.cast(), dimensions, &mut |element| {
                    core::ptr::copy_nonoverlapping(from, element, size);
                    from = from.add(size);
                });
            }
        }
    }
}

/// A buffer for a call that has finished with it when it returns.
///
/// # Safety
/// The compiler made the descriptor.
#[inline]
pub(crate) unsafe fn for_call<'a>(descriptor: *const Descriptor) -> Option<Buffer<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        let descriptor = &*descriptor;
        let copy = descriptor
            .section()
            .map(|dimensions| gathered(descriptor, dimensions));
        Some(Buffer { descriptor, copy })
    }
}

/// The elements of a section.
///
/// # Safety
/// The compiler made the descriptor, which has these dimensions.
#[cold]
unsafe fn gathered<'a>(
    descriptor: &Descriptor,
    dimensions: &'a [Dimension],
) -> (Vec<u8>, &'a [Dimension]) {
    let size = descriptor.element_bytes;
    let count: isize = dimensions
        .iter()
        .map(|dimension| dimension.extent)
        .product();
    let mut elements: Vec<u8> = Vec::with_capacity(count as usize * size);
    // SAFETY: there is room for all elements of the section.
    unsafe {
        each(descriptor.base.cast(), dimensions, &mut |element| {
            elements.extend_from_slice(core::slice::from_raw_parts(element, size));
        });
    }
    (elements, dimensions)
}

/// A buffer for a call that goes on behind its return; none if it is a section.
///
/// # Safety
/// The compiler made the descriptor.
#[inline]
pub(crate) unsafe fn lasting<'a>(descriptor: *const Descriptor) -> Option<Buffer<'a>> {
    // SAFETY: the caller's promise.
    unsafe {
        let descriptor = &*descriptor;
        match descriptor.section() {
            None => Some(Buffer {
                descriptor,
                copy: None,
            }),
            Some(_) => None,
        }
    }
}

/// A buffer for a call that goes on behind its return, and the datatype in the place of the program's own.
pub(crate) struct Described {
    address: *mut c_void,
    datatype: Option<usize>,
}

impl Described {
    #[inline]
    pub(crate) fn address(&self) -> *mut c_void {
        self.address
    }

    /// The count for the call.
    #[inline]
    pub(crate) fn count<T: From<u8>>(&self, given: T) -> T {
        if self.datatype.is_some() {
            T::from(1)
        } else {
            given
        }
    }

    /// The datatype for the call.
    ///
    /// # Safety
    /// The value is not used behind the end of this one.
    #[inline]
    pub(crate) unsafe fn datatype(&self, given: i32) -> i32 {
        match self.datatype {
            // SAFETY: the datatype was made for this buffer.
            Some(datatype) => unsafe { handle::int::<handle::Datatype>(datatype) },
            None => given,
        }
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        if let Some(datatype) = &mut self.datatype {
            // SAFETY: a datatype that was made for this buffer; operations that use it keep it.
            unsafe { profiling::MPI_Type_free(datatype) };
        }
    }
}

/// A buffer for a call that goes on behind its return; none if it is a section that these elements are not whole ones of.
///
/// # Safety
/// The compiler made the descriptor.
#[inline]
pub(crate) unsafe fn described(
    descriptor: *const Descriptor,
    count: i64,
    datatype: i32,
) -> Option<Described> {
    // SAFETY: the caller's promise.
    unsafe {
        let descriptor = &*descriptor;
        let datatype = match descriptor.section() {
            None => None,
            Some(dimensions) => Some(datatype::of_section(
                descriptor.element_bytes,
                dimensions,
                count,
                datatype,
            )?),
        };
        Some(Described {
            address: descriptor.base,
            datatype,
        })
    }
}

/// Reports a section to the handler of MPI_COMM_SELF.
///
/// # Safety
/// The compiler made the descriptor; `ierror` is null or writable.
#[cold]
pub(crate) unsafe fn refuse(
    call: &str,
    argument: &str,
    descriptor: *const Descriptor,
    ierror: *mut i32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let shape: Vec<String> = ((*descriptor).dimensions().iter())
            .map(|dimension| dimension.extent.to_string())
            .collect();
        // There is nowhere else to report that this cannot be written.
        let _ = writeln!(
            std::io::stderr(),
            "libmpifort_rankpoint.so.1: {call}: '{argument}' is a section of {} elements that do not follow each other; a call that goes on \
             behind its return takes one only as whole elements of a predefined datatype, and reductions take none: pass a contiguous array",
            shape.join(" x ")
        );
        profiling::MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_BUFFER);
        status::set(ierror, MPI_ERR_BUFFER);
    }
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
