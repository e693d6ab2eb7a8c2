// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes: an INTEGER of address size, or of default size in the calls of MPI-1.
//!
//! C keeps a pointer. A program's value is that pointer itself; of the predefined attributes, the value that C's pointer leads to.

use core::ffi::c_void;

use mpi_abi_sys::constants::{
    MPI_APPNUM, MPI_HOST, MPI_IO, MPI_LASTUSEDCODE, MPI_SUCCESS, MPI_TAG_UB, MPI_UNIVERSE_SIZE,
    MPI_WIN_CREATE_FLAVOR, MPI_WIN_DISP_UNIT, MPI_WIN_MODEL, MPI_WIN_SIZE, MPI_WTIME_IS_GLOBAL,
};

use crate::library::types;
use crate::{handle, logical};

/// The value of an attribute from what C has.
///
/// # Safety
/// `value` is what the library returned for the key.
unsafe fn value_of(keyval: i32, value: *mut c_void) -> i64 {
    // SAFETY: these keys have pointers to values of these types (MPI-5.0, sections 9.1.2 and 12.2.6).
    unsafe {
        match keyval {
            MPI_TAG_UB
            | MPI_IO
            | MPI_HOST
            | MPI_WTIME_IS_GLOBAL
            | MPI_APPNUM
            | MPI_LASTUSEDCODE
            | MPI_UNIVERSE_SIZE
            | MPI_WIN_DISP_UNIT
            | MPI_WIN_CREATE_FLAVOR
            | MPI_WIN_MODEL => (*value.cast::<i32>()).into(),
            MPI_WIN_SIZE => *value.cast::<i64>(),
            _ => value as i64,
        }
    }
}

macro_rules! attributes {
    ($($set:ident $c_set:ident $get:ident $c_get:ident $kind:ident $value:ty;)*) => {
        $(
            pub(crate) unsafe fn $set(call: types::$c_set, object: *mut i32, keyval: *mut i32, value: *mut $value) -> i32 {
                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let object = handle::find::<handle::$kind>(*object);
                    call(object, *keyval, *value as isize as *mut c_void)
                }
            }

            pub(crate) unsafe fn $get(
                call: types::$c_get,
                object: *mut i32,
                keyval: *mut i32,
                value: *mut $value,
                flag: *mut i32,
            ) -> i32 {
                let mut found = core::ptr::null_mut::<c_void>();
                let mut is_set = 0;
                // SAFETY: as above.
                unsafe {
                    let object = handle::find::<handle::$kind>(*object);
                    let code = call(object, *keyval, (&raw mut found).cast(), &mut is_set);
                    *flag = logical::taken(is_set);
                    if code == MPI_SUCCESS && is_set != 0 {
                        *value = value_of(*keyval, found) as $value;
                    }
                    code
                }
            }
        )*
    };
}

attributes! {
    comm_set_attr MPI_Comm_set_attr comm_get_attr MPI_Comm_get_attr Comm i64;
    type_set_attr MPI_Type_set_attr type_get_attr MPI_Type_get_attr Datatype i64;
    win_set_attr MPI_Win_set_attr win_get_attr MPI_Win_get_attr Win i64;
    attr_put MPI_Attr_put attr_get MPI_Attr_get Comm i32;
}
