// SPDX-License-Identifier: MIT OR Apache-2.0
//! Predefined callbacks: procedures that a program passes, which are recognised by their addresses and do the same if called.

use core::ffi::c_void;

use mpi_abi_sys::constants::{MPI_ERR_CONVERSION, MPI_SUCCESS};

use crate::logical;

macro_rules! attribute_callbacks {
    ($($null:ident $copy:ident $delete:ident $value:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $null(
                _: *mut i32,
                _: *mut i32,
                _: *mut $value,
                _: *mut $value,
                _: *mut $value,
                flag: *mut i32,
                ierror: *mut i32,
            ) {
                // SAFETY: the caller passes what a copy callback gets.
                unsafe {
                    *flag = logical::taken(0);
                    *ierror = MPI_SUCCESS;
                }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $copy(
                _: *mut i32,
                _: *mut i32,
                _: *mut $value,
                from: *mut $value,
                to: *mut $value,
                flag: *mut i32,
                ierror: *mut i32,
            ) {
                // SAFETY: as above.
                unsafe {
                    *to = *from;
                    *flag = logical::taken(1);
                    *ierror = MPI_SUCCESS;
                }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $delete(
                _: *mut i32,
                _: *mut i32,
                _: *mut $value,
                _: *mut $value,
                ierror: *mut i32,
            ) {
                // SAFETY: as above, of a delete callback.
                unsafe { *ierror = MPI_SUCCESS };
            }
        )*

        /// C's constant for a procedure that is a predefined callback for attributes.
        pub(crate) fn attribute_constant(procedure: usize) -> Option<usize> {
            $(
                if procedure == $null as *const () as usize || procedure == $delete as *const () as usize {
                    return Some(0);
                }
                if procedure == $copy as *const () as usize {
                    return Some(1);
                }
            )*
            None
        }
    };
}

attribute_callbacks! {
    mpi_null_copy_fn_ mpi_dup_fn_ mpi_null_delete_fn_ i32;
    mpi_comm_null_copy_fn_ mpi_comm_dup_fn_ mpi_comm_null_delete_fn_ i64;
    mpi_type_null_copy_fn_ mpi_type_dup_fn_ mpi_type_null_delete_fn_ i64;
    mpi_win_null_copy_fn_ mpi_win_dup_fn_ mpi_win_null_delete_fn_ i64;
}

macro_rules! conversions {
    ($($name:ident $count:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                _: *mut c_void,
                _: *mut i32,
                _: *mut $count,
                _: *mut c_void,
                _: *mut i64,
                _: *mut i64,
                ierror: *mut i32,
            ) {
                // SAFETY: the caller passes what a conversion callback gets.
                unsafe { *ierror = MPI_ERR_CONVERSION };
            }
        )*

        /// Whether a procedure stands for no conversion.
        pub(crate) fn is_no_conversion(procedure: usize) -> bool {
            [$($name as *const () as usize),*].contains(&procedure)
        }
    };
}

conversions! {
    mpi_conversion_fn_null_ i32;
    mpi_conversion_fn_null_c_ i64;
}
