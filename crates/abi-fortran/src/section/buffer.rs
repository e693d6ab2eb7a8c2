// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls get in the place of sections.

use core::ffi::c_void;
use std::io::Write as _;

use mpi_abi_sys::constants::{
    MPI_COMM_SELF, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_REQUEST_NULL, MPI_SUCCESS,
};

use super::copy::Copy;
use super::datatype::{self, Datatype};
use super::descriptor::Descriptor;
use super::items;
use super::pending::{FILES, Pending, REQUESTS};
use super::used::Used;
use crate::library::profiling;
use crate::{handle, sentinel};

/// How long a call uses its buffers: `Life` of the crate `mpi-abi-sys`, without what is never a section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Call,
    Request,
    Persistent,
    Split,
    Epoch,
    Memory,
}

/// The object whose error handler a call invokes.
#[derive(Clone, Copy)]
pub(crate) enum Object {
    Comm(i32),
    Win(i32),
    File(i32),
    None,
}

impl Object {
    /// Reports a mistake and invokes the handler.
    ///
    /// # Safety
    /// As the C functions.
    #[cold]
    unsafe fn raise(self, code: i32, sentence: &str) -> i32 {
        // There is nowhere else to report that this cannot be written.
        let _ = writeln!(std::io::stderr(), "libmpifort_rankpoint.so.1: {sentence}");
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Comm(number) => {
                    let comm = handle::find::<handle::Comm>(number);
                    profiling::MPI_Comm_call_errhandler(comm, code);
                }
                Self::Win(number) => {
                    let win = handle::find::<handle::Win>(number);
                    profiling::MPI_Win_call_errhandler(win, code);
                }
                Self::File(number) => {
                    let file = handle::find::<handle::File>(number);
                    profiling::MPI_File_call_errhandler(file, code);
                }
                Self::None => {
                    profiling::MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
                }
            }
        }
        code
    }
}

/// The buffers of a call of which at least one is a section.
pub(crate) struct Buffers {
    call: &'static str,
    object: Object,
    life: Life,
    copies: Vec<Copy>,
    /// Operations that use them keep them.
    datatypes: Vec<Datatype>,
}

impl Buffers {
    pub(crate) fn new(call: &'static str, object: Object, life: Life) -> Self {
        Self {
            call,
            object,
            life,
            copies: Vec::new(),
            datatypes: Vec::new(),
        }
    }

    /// The address for the call, of a copy if it needs one; an error code if it can have none.
    ///
    /// # Safety
    /// The compiler made the descriptor, and a buffer of `is_stored` is writable.
    pub(crate) unsafe fn find(
        &mut self,
        descriptor: *const Descriptor,
        argument: &str,
        is_stored: bool,
        used: impl FnOnce() -> Option<Used>,
    ) -> Result<*mut c_void, i32> {
        // SAFETY: the caller's promise.
        unsafe {
            let Some(used) = self.beyond_start(descriptor, argument, used)? else {
                return Ok((*descriptor).base);
            };
            self.copy(descriptor, argument, is_stored, used)
        }
    }

    /// The same, where a datatype may describe the section: count and datatype become those for the call.
    ///
    /// # Safety
    /// As [`Self::find`].
    pub(crate) unsafe fn describe<C: TryInto<i64> + From<u8> + std::marker::Copy>(
        &mut self,
        descriptor: *const Descriptor,
        argument: &str,
        is_stored: bool,
        used: impl FnOnce() -> Option<Used>,
        count: &mut C,
        datatype: &mut i32,
    ) -> Result<*mut c_void, i32> {
        // SAFETY: the caller's promise.
        unsafe {
            let Some(used) = self.beyond_start(descriptor, argument, used)? else {
                return Ok((*descriptor).base);
            };
            let array = &*descriptor;
            let given = (*count).try_into().unwrap_or(i64::MAX);
            let (element_bytes, dimensions) = (array.element_bytes, array.dimensions());
            let mut section = datatype::of_section(element_bytes, dimensions, given, *datatype);
            if section.is_none() && self.life == Life::Epoch {
                let bytes = usize::try_from(used.high).unwrap_or(0);
                section = items::of_items(element_bytes, dimensions, (given, *datatype), bytes);
            }
            let Some(section) = section else {
                return self.copy(descriptor, argument, is_stored, used);
            };
            *count = C::from(1);
            *datatype = section.int();
            self.datatypes.push(section);
            Ok(array.base)
        }
    }

    /// The bytes that the call uses; `None` if the contiguous start of the section holds all of them.
    unsafe fn beyond_start(
        &self,
        descriptor: *const Descriptor,
        argument: &str,
        used: impl FnOnce() -> Option<Used>,
    ) -> Result<Option<Used>, i32> {
        // SAFETY: the compiler made the descriptor.
        unsafe {
            let array = &*descriptor;
            let Some(dense) = array.dense_bytes() else {
                return Ok(None);
            };
            let elements: isize = array.dimensions().iter().map(|it| it.extent).product();
            let all = elements as i64 * array.element_bytes as i64;
            let used = used().unwrap_or(Used { low: 0, high: all });
            if used.is_nothing() || (used.low >= 0 && used.high <= dense as i64) {
                return Ok(None);
            }
            if used.low < 0 || used.high > all {
                let sentence = format!(
                    "{}: count and datatype of '{argument}' mean the bytes from {} to {}, but it is a section of {} elements of {} bytes",
                    self.call,
                    used.low,
                    used.high,
                    shape(array),
                    array.element_bytes
                );
                return Err(self.object.raise(MPI_ERR_COUNT, &sentence));
            }
            Ok(Some(used))
        }
    }

    unsafe fn copy(
        &mut self,
        descriptor: *const Descriptor,
        argument: &str,
        is_stored: bool,
        used: Used,
    ) -> Result<*mut c_void, i32> {
        // SAFETY: the compiler made the descriptor; `used` lies inside the array.
        unsafe {
            let array = &*descriptor;
            let why = match self.life {
                Life::Memory => "the call lends memory to MPI, which must be contiguous",
                Life::Epoch => {
                    "a one-sided call without a request cannot describe more than 2 GiB of one, and takes single items only inside an element"
                }
                Life::Call | Life::Request | Life::Persistent | Life::Split => {
                    let bytes = usize::try_from(used.high).unwrap_or(0);
                    let copy = Copy::new(array, bytes, is_stored);
                    let address = copy.address();
                    self.copies.push(copy);
                    return Ok(address);
                }
            };
            let sentence = format!(
                "{}: '{argument}' is a section of {} elements that do not follow each other; {why}",
                self.call,
                shape(array)
            );
            Err(self.object.raise(MPI_ERR_BUFFER, &sentence))
        }
    }

    /// Stores in the sections what the call stored.
    ///
    /// # Safety
    /// The sections may be written.
    pub(crate) unsafe fn give_back(self) {
        for copy in &self.copies {
            // SAFETY: the caller's promise.
            unsafe { copy.give_back() };
        }
    }

    /// Gives the copies to the request that the call made.
    ///
    /// # Safety
    /// The sections may be used until the request is complete.
    pub(crate) unsafe fn keep_for_request(self, request: i32) {
        if self.copies.is_empty() || request as usize == MPI_REQUEST_NULL {
            return;
        }
        let pending = Pending::new(self.copies);
        // SAFETY: the caller's promise.
        unsafe {
            // A library may have one request for all operations that are complete at once.
            if self.life == Life::Request && is_complete(request) {
                return pending.give_back();
            }
        }
        REQUESTS.keep(request, pending);
    }

    /// Gives the copies to the split collective call that began on a file.
    ///
    /// # Safety
    /// The sections may be used until its other half.
    pub(crate) unsafe fn keep_for_file(self, file: i32) {
        if !self.copies.is_empty() {
            FILES.keep(file, Pending::new(self.copies));
        }
    }
}

/// Whether a request is complete, or not active.
///
/// # Safety
/// The request is one of the library.
pub(super) unsafe fn is_complete(request: i32) -> bool {
    let mut is_complete = 0;
    // SAFETY: the flag is a local variable, and a null status is MPI_STATUS_IGNORE.
    let code = unsafe {
        let request = handle::find::<handle::Request>(request);
        profiling::MPI_Request_get_status(request, &mut is_complete, core::ptr::null_mut())
    };
    code == MPI_SUCCESS && is_complete != 0
}

fn shape(array: &Descriptor) -> String {
    // SAFETY: the compiler made the descriptor.
    let dimensions = unsafe { array.dimensions() };
    let extents: Vec<String> = (dimensions.iter())
        .map(|it| it.extent.to_string())
        .collect();
    extents.join(" x ")
}

/// The address of a buffer, or one in its place if it is not allocated, for C would take that for `MPI_BOTTOM`; an error code if the
/// call would use it.
///
/// # Safety
/// As the C functions.
pub(crate) unsafe fn allocated(
    buffer: *mut c_void,
    call: &str,
    object: Object,
    argument: &str,
    used: impl FnOnce() -> Option<Used>,
) -> Result<*mut c_void, i32> {
    if !buffer.is_null() {
        return Ok(buffer);
    }
    match used() {
        Some(used) if !used.is_nothing() => {
            let sentence = format!("{call}: '{argument}' is not allocated");
            // SAFETY: the caller's promise.
            Err(unsafe { object.raise(MPI_ERR_BUFFER, &sentence) })
        }
        _ => Ok(core::ptr::dangling_mut::<u128>().cast()),
    }
}

/// The same, of a call that does not take `MPI_IN_PLACE`: not all libraries notice that.
///
/// # Safety
/// As the C functions.
pub(crate) unsafe fn allocated_elsewhere(
    buffer: *mut c_void,
    call: &str,
    object: Object,
    argument: &str,
    used: impl FnOnce() -> Option<Used>,
) -> Result<*mut c_void, i32> {
    if sentinel::is_in_place(buffer) {
        let sentence =
            format!("{call}: '{argument}' is MPI_IN_PLACE, which the call does not take");
        // SAFETY: the caller's promise.
        return Err(unsafe { object.raise(MPI_ERR_BUFFER, &sentence) });
    }
    // SAFETY: the caller's promise.
    unsafe { allocated(buffer, call, object, argument, used) }
}
