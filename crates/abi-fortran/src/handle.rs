// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles as INTEGERs.
//!
//! The integer of a predefined handle is its value, which is copied, because one library's conversions do not keep it. Others go
//! through `MPI_X_fromint` and `MPI_X_toint`. A handle that a call was given is converted back only if the call changed it.

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::MPI_Datatype;

use crate::keep::Keep;
use crate::library::profiling;

/// Handles below this are constants of the ABI.
const FIRST_DYNAMIC: u32 = 4096;

/// Whether a handle is a constant of the ABI.
pub(crate) fn is_predefined(handle: usize) -> bool {
    handle < FIRST_DYNAMIC as usize
}

/// Whether an integer is that of a constant of the ABI.
#[inline]
pub(crate) fn is_constant<K: Kind>(number: i32) -> bool {
    let (first, count) = K::CONSTANTS;
    (number as u32).wrapping_sub(first) < count
}

/// The handle of a constant of the ABI.
#[inline]
pub(crate) fn constant(number: i32) -> usize {
    number as u32 as usize
}

/// A kind of handle.
pub(crate) trait Kind {
    /// The null handle.
    const NULL: usize;
    /// The first integer of constants of the ABI, and the number of them.
    const CONSTANTS: (u32, u32) = (0, FIRST_DYNAMIC);
    /// # Safety
    /// As the C function.
    unsafe fn to_int(handle: usize) -> i32;
    /// # Safety
    /// As the C function.
    unsafe fn from_int(number: i32) -> usize;
}

macro_rules! kinds {
    ($($kind:ident $null:ident $to:ident $from:ident $($constants:expr)?;)*) => {
        $(
            #[doc = concat!("Handles `MPI_", stringify!($kind), "`.")]
            pub(crate) enum $kind {}

            impl Kind for $kind {
                const NULL: usize = mpi::$null;
                $(const CONSTANTS: (u32, u32) = $constants;)?

                unsafe fn to_int(handle: usize) -> i32 {
                    // SAFETY: the caller's promise.
                    unsafe { profiling::$to(handle) }
                }

                unsafe fn from_int(number: i32) -> usize {
                    // SAFETY: the caller's promise.
                    unsafe { profiling::$from(number) }
                }
            }
        )*
    };
}

kinds! {
    Comm MPI_COMM_NULL MPI_Comm_toint MPI_Comm_fromint;
    Group MPI_GROUP_NULL MPI_Group_toint MPI_Group_fromint;
    Datatype MPI_DATATYPE_NULL MPI_Type_toint MPI_Type_fromint;
    Op MPI_OP_NULL MPI_Op_toint MPI_Op_fromint;
    Request MPI_REQUEST_NULL MPI_Request_toint MPI_Request_fromint;
    Message MPI_MESSAGE_NULL MPI_Message_toint MPI_Message_fromint;
    Info MPI_INFO_NULL MPI_Info_toint MPI_Info_fromint;
    Errhandler MPI_ERRHANDLER_NULL MPI_Errhandler_toint MPI_Errhandler_fromint;
    Win MPI_WIN_NULL MPI_Win_toint MPI_Win_fromint;
    // One library counts files from 1.
    File MPI_FILE_NULL MPI_File_toint MPI_File_fromint (mpi::MPI_FILE_NULL as u32, 1);
    Session MPI_SESSION_NULL MPI_Session_toint MPI_Session_fromint;
}

/// The null handle of a kind.
#[inline]
pub(crate) fn null<K: Kind>() -> usize {
    K::NULL
}

/// The handle of an integer.
///
/// # Safety
/// As `MPI_X_fromint`, which takes any integer.
#[inline]
pub(crate) unsafe fn find<K: Kind>(number: i32) -> usize {
    if is_constant::<K>(number) {
        return constant(number);
    }
    // SAFETY: the caller's promise.
    unsafe { find_dynamic::<K>(number) }
}

/// Apart, so that it is in the library once for each kind.
///
/// # Safety
/// As [`find`].
#[inline(never)]
unsafe fn find_dynamic<K: Kind>(number: i32) -> usize {
    // SAFETY: the caller's promise.
    match unsafe { K::from_int(number) } {
        // Not a handle: the integer itself is none either, and the library's error text names it.
        0 => number as u32 as usize,
        handle => handle,
    }
}

/// The integer of a handle.
///
/// # Safety
/// The handle is one of the library.
#[inline]
pub(crate) unsafe fn int<K: Kind>(handle: usize) -> i32 {
    if handle < FIRST_DYNAMIC as usize {
        return handle as i32;
    }
    // SAFETY: the caller's promise.
    unsafe { int_of_dynamic::<K>(handle) }
}

/// Apart, as [`find_dynamic`].
///
/// # Safety
/// As [`int`].
#[inline(never)]
unsafe fn int_of_dynamic<K: Kind>(handle: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { K::to_int(handle) }
}

/// The integer of a handle that a call made, or of the null handle if it failed.
///
/// # Safety
/// The call that returned `code` stored `handle`, unless it failed.
#[inline]
pub(crate) unsafe fn made<K: Kind>(code: i32, handle: usize) -> i32 {
    if code != mpi::MPI_SUCCESS {
        return K::NULL as i32;
    }
    // SAFETY: the caller's promise.
    unsafe { int::<K>(handle) }
}

/// Stores the integer of a handle if a call changed the handle.
///
/// # Safety
/// `number` is writable, and a call changed `old` to `new`.
#[inline]
pub(crate) unsafe fn change<K: Kind>(number: *mut i32, old: usize, new: usize) {
    if old != new {
        // SAFETY: the caller's promise.
        unsafe { *number = int::<K>(new) };
    }
}

/// Entries of an array whose length an argument gives.
#[inline]
pub(crate) fn count(length: i64) -> usize {
    usize::try_from(length).unwrap_or(0)
}

/// Entries that need no allocation.
const INLINE: usize = 64;

/// An array of handles for a C function.
pub(crate) struct Array<K: Kind> {
    short: [usize; INLINE],
    long: Vec<usize>,
    length: usize,
    kind: std::marker::PhantomData<K>,
}

impl<K: Kind> Array<K> {
    /// The handles of an array of integers.
    ///
    /// # Safety
    /// `numbers` is readable for `length` integers.
    pub(crate) unsafe fn given(numbers: *const i32, length: usize) -> Self {
        let mut array = Self::room(length);
        for (index, handle) in array.entries().iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *handle = unsafe { find::<K>(*numbers.add(index)) };
        }
        array
    }

    /// Room for handles that a call makes, which are null until then.
    pub(crate) fn room(length: usize) -> Self {
        Self {
            short: [K::NULL; INLINE],
            long: if length > INLINE {
                vec![K::NULL; length]
            } else {
                Vec::new()
            },
            length,
            kind: std::marker::PhantomData,
        }
    }

    fn entries(&mut self) -> &mut [usize] {
        if self.length > INLINE {
            &mut self.long
        } else {
            &mut self.short[..self.length]
        }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut usize {
        self.entries().as_mut_ptr()
    }

    /// Stores the integers of the handles that a call changed.
    ///
    /// # Safety
    /// The array was made from `numbers`, which is writable.
    pub(crate) unsafe fn give_changed(&mut self, numbers: *mut i32) {
        for (index, handle) in self.entries().iter().enumerate() {
            // SAFETY: the caller's promise; what a call leaves is a handle, or the integer that it was given.
            unsafe {
                let number = numbers.add(index);
                let now = int::<K>(*handle);
                if *number != now {
                    *number = now;
                }
            }
        }
    }

    /// Stores the integers of the handles that a call made, if it succeeded.
    ///
    /// # Safety
    /// `numbers` is writable for the array's length.
    pub(crate) unsafe fn give(&mut self, code: i32, numbers: *mut i32) {
        if code == mpi::MPI_SUCCESS {
            for (index, handle) in self.entries().iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { *numbers.add(index) = int::<K>(*handle) };
            }
        }
    }
}

/// An array of datatypes for a call that goes on behind its return: the library may read the array until the call completes.
///
/// # Safety
/// `numbers` is readable for `length` integers.
pub(crate) unsafe fn kept_types(numbers: *const i32, length: usize) -> *const MPI_Datatype {
    static ARRAYS: Keep<[MPI_Datatype]> = Keep::new();
    // SAFETY: the caller's promise.
    let handles = (0..length).map(|index| unsafe { find::<Datatype>(*numbers.add(index)) });
    ARRAYS.get(handles.collect()).as_ptr()
}
