// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes: an INTEGER of address size, or of default size in the calls of MPI-1.
//!
//! C keeps a pointer. A value that Fortran sets is kept at an address of its own, which C gets (MPI-5.0, section 19.3.7); Fortran gets
//! such a value back, the pointer itself of an attribute that C has set, and of a predefined one the value that the pointer leads to.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mpi_abi_sys::constants::{
    MPI_APPNUM, MPI_HOST, MPI_IO, MPI_LASTUSEDCODE, MPI_SUCCESS, MPI_TAG_UB, MPI_UNIVERSE_SIZE,
    MPI_WIN_CREATE_FLAVOR, MPI_WIN_DISP_UNIT, MPI_WIN_MODEL, MPI_WIN_SIZE, MPI_WTIME_IS_GLOBAL,
};

use crate::library::types;
use crate::{handle, logical};

/// Values that Fortran has set, each at one address for as long as the process lives, because any copy of an attribute may have it.
struct Values {
    addresses: BTreeMap<i64, usize>,
    values: BTreeMap<usize, i64>,
}

static VALUES: Mutex<Values> = Mutex::new(Values {
    addresses: BTreeMap::new(),
    values: BTreeMap::new(),
});

/// The pointer that C finds for an attribute that Fortran set to a value: the address of a copy (MPI-5.0, section 19.3.7).
pub(crate) fn to_c(value: i64) -> *mut c_void {
    let mut all = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    let Values { addresses, values } = &mut *all;
    let address = *addresses.entry(value).or_insert_with(|| {
        let address = Box::into_raw(Box::new(value)) as usize;
        values.insert(address, value);
        address
    });
    address as *mut c_void
}

/// The integer that Fortran finds for an attribute: the value that Fortran set, or the pointer that C set.
pub(crate) fn to_fortran(pointer: *mut c_void) -> i64 {
    let all = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    let value = all.values.get(&(pointer as usize));
    value.copied().unwrap_or(pointer as i64)
}

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
            _ => to_fortran(value),
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
                    call(object, *keyval, to_c(i64::from(*value)))
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
