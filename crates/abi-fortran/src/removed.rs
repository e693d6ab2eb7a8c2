// SPDX-License-Identifier: MIT OR Apache-2.0
//! Procedures that MPI-3.0 removed and old programs call: those of MPI-1 with INTEGERs in the place of addresses. They call what
//! took their places. `MPI_ADDRESS` is not among them, for no address fits an INTEGER.

use mpi_abi_sys::constants::{MPI_ERR_ARG, MPI_SUCCESS};

use crate::library::program as mpi;
use crate::{callback, handle, status};

/// An extent as an INTEGER, which it may not fit.
///
/// # Safety
/// `stored` is writable.
unsafe fn narrow(code: i32, wide: isize, stored: *mut i32) -> i32 {
    match i32::try_from(wide) {
        Ok(value) if code == MPI_SUCCESS => {
            // SAFETY: the caller's promise.
            unsafe { *stored = value };
            code
        }
        Err(_) if code == MPI_SUCCESS => MPI_ERR_ARG,
        _ => code,
    }
}

/// Displacements in bytes, of default size.
///
/// # Safety
/// `from` is readable for `count` integers.
unsafe fn widened(from: *const i32, count: i32) -> Vec<isize> {
    let count = handle::count(count.into());
    // SAFETY: the caller's promise.
    let all = (0..count).map(|index| unsafe { *from.add(index) } as isize);
    all.collect()
}

macro_rules! removed {
    ($($name:ident($($argument:ident),*) $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: *mut i32,)* ierror: *mut i32) {
                // SAFETY: the arguments are those of the Fortran procedure.
                unsafe {
                    let code = $body;
                    status::set(ierror, code);
                }
            }
        )*
    };
}

/// Makes a datatype.
///
/// # Safety
/// `newtype` is writable, and `call` makes a datatype.
unsafe fn make(newtype: *mut i32, call: impl FnOnce(&mut usize) -> i32) -> i32 {
    let mut made = handle::null::<handle::Datatype>();
    let code = call(&mut made);
    // SAFETY: the caller's promise.
    unsafe { *newtype = handle::made::<handle::Datatype>(code, made) };
    code
}

removed! {
    mpi_type_hvector_(count, length, stride, oldtype, newtype) {
        let oldtype = handle::find::<handle::Datatype>(*oldtype);
        let stride = *stride as isize;
        make(newtype, |made| mpi::MPI_Type_create_hvector(*count, *length, stride, oldtype, made))
    }

    mpi_type_hindexed_(count, lengths, displacements, oldtype, newtype) {
        let oldtype = handle::find::<handle::Datatype>(*oldtype);
        let displacements = widened(displacements, *count);
        make(newtype, |made| {
            mpi::MPI_Type_create_hindexed(*count, lengths, displacements.as_ptr(), oldtype, made)
        })
    }

    mpi_type_struct_(count, lengths, displacements, types, newtype) {
        let displacements = widened(displacements, *count);
        let entries = handle::count((*count).into());
        let mut types = handle::Array::<handle::Datatype>::given(types, entries);
        make(newtype, |made| {
            mpi::MPI_Type_create_struct(*count, lengths, displacements.as_ptr(), types.as_mut_ptr(), made)
        })
    }

    mpi_type_extent_(datatype, extent) {
        let (mut lower_bound, mut found) = (0, 0);
        let datatype = handle::find::<handle::Datatype>(*datatype);
        let code = mpi::MPI_Type_get_extent(datatype, &mut lower_bound, &mut found);
        narrow(code, found, extent)
    }

    mpi_type_lb_(datatype, displacement) {
        let (mut lower_bound, mut extent) = (0, 0);
        let datatype = handle::find::<handle::Datatype>(*datatype);
        let code = mpi::MPI_Type_get_extent(datatype, &mut lower_bound, &mut extent);
        narrow(code, lower_bound, displacement)
    }

    mpi_type_ub_(datatype, displacement) {
        let (mut lower_bound, mut extent) = (0, 0);
        let datatype = handle::find::<handle::Datatype>(*datatype);
        let code = mpi::MPI_Type_get_extent(datatype, &mut lower_bound, &mut extent);
        narrow(code, lower_bound + extent, displacement)
    }

    mpi_errhandler_get_(comm, errhandler) {
        let mut found = handle::null::<handle::Errhandler>();
        let code = mpi::MPI_Comm_get_errhandler(handle::find::<handle::Comm>(*comm), &mut found);
        *errhandler = handle::made::<handle::Errhandler>(code, found);
        code
    }

    mpi_errhandler_set_(comm, errhandler) {
        let errhandler = handle::find::<handle::Errhandler>(*errhandler);
        mpi::MPI_Comm_set_errhandler(handle::find::<handle::Comm>(*comm), errhandler)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mpi_errhandler_create_(
    procedure: usize,
    errhandler: *mut i32,
    ierror: *mut i32,
) {
    // SAFETY: the arguments are those of the Fortran procedure.
    unsafe {
        let create = mpi::MPI_Comm_create_errhandler;
        let code = callback::errhandler::comm_create_errhandler(create, procedure, errhandler);
        status::set(ierror, code);
    }
}
