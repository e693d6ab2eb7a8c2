// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program's description of its Fortran compiler (MPI-5.0, section 20.4.1): sizes of types, which types there are, and what .TRUE. and
//! .FALSE. are.
//!
//! Bindings describe their compiler once, before or after MPI_Init, if it is unusual; those of `abi-fortran` never do. Until
//! then types have the sizes that compilers give them without options, all types exist, and booleans are C's.

use core::ffi::c_void;

use engine::datatype::fortran;
use engine::op::logical::{self, Literals};
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_INFO_NULL;
use mpi_abi_sys::types::MPI_Info;

use crate::datatype::define_fortran;
use crate::error::run_any_time;
use crate::fortran_compiler::{Compiler, with_compiler};
use crate::handle::INFOS;
use crate::info::of_pairs;
use crate::op::forget_known;
use crate::state::process;

/// Applies to the types the values that were set before MPI_Init.
pub(crate) fn define_types() {
    with_compiler(|known| {
        if let Some(known) = known {
            define_fortran(known.lacked());
        }
    });
}

pub(crate) fn MPI_Abi_set_fortran_info(info: MPI_Info) -> i32 {
    run_any_time("MPI_Abi_set_fortran_info", || {
        let given = INFOS.find(info, "info")?;
        let described = Compiler::described(|key| given.get(key));
        with_compiler(|known| {
            if known.is_some() {
                let text = "the Fortran compiler was described before, which \
                            MPI_Abi_get_fortran_info tells";
                return Err(Error::new(ErrorClass::ERR_ABI, text));
            }
            let described = described?;
            fortran::set_sizes(described.sizes)?;
            // Before MPI_Init there are no types yet.
            if process().is_some() {
                define_fortran(described.lacked());
                forget_known();
            }
            *known = Some(described);
            Ok(())
        })
    })
}

pub(crate) unsafe fn MPI_Abi_get_fortran_info(info: *mut MPI_Info) -> i32 {
    run_any_time("MPI_Abi_get_fortran_info", || {
        let pairs = with_compiler(|known| known.as_ref().map(Compiler::pairs));
        let handle = match pairs {
            Some(pairs) => {
                let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
                of_pairs(&pairs)?
            }
            None => MPI_INFO_NULL,
        };
        // SAFETY: the result is writable (crate head).
        unsafe { *info = handle };
        Ok(())
    })
}

/// Reads a boolean of so many bytes.
///
/// # Safety
/// `at` is readable for them.
unsafe fn read_logical(at: *const c_void, bytes: i32) -> Result<i128> {
    // SAFETY: the caller's promise.
    unsafe {
        Ok(match bytes {
            1 => at.cast::<i8>().read_unaligned().into(),
            2 => at.cast::<i16>().read_unaligned().into(),
            4 => at.cast::<i32>().read_unaligned().into(),
            8 => at.cast::<i64>().read_unaligned().into(),
            16 => at.cast::<i128>().read_unaligned(),
            _ => {
                let expected = "the size of a LOGICAL: 1, 2, 4, 8 or 16 bytes";
                return Err(Error::argument(
                    ErrorClass::ERR_ARG,
                    "logical_size",
                    bytes,
                    expected,
                ));
            }
        })
    }
}

pub(crate) unsafe fn MPI_Abi_set_fortran_booleans(
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> i32 {
    run_any_time("MPI_Abi_set_fortran_booleans", || {
        // SAFETY: both are readable for `logical_size` bytes (crate head).
        let (yes, no) = unsafe {
            (
                read_logical(logical_true, logical_size)?,
                read_logical(logical_false, logical_size)?,
            )
        };
        if yes == no {
            let value = format!("{yes}, as 'logical_false' is");
            let expected = "another value";
            return Err(Error::argument(
                ErrorClass::ERR_ARG,
                "logical_true",
                value,
                expected,
            ));
        }
        logical::tell(Literals { yes, no })?;
        forget_known();
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Abi_get_fortran_booleans(
    logical_size: i32,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut i32,
) -> i32 {
    run_any_time("MPI_Abi_get_fortran_booleans", || {
        let bytes = usize::try_from(logical_size).unwrap_or(0);
        // The low bytes of a number are the number in fewer bytes.
        let low = |value: i128| {
            let mut digits = [0; 16];
            let known = bytes.min(digits.len());
            digits[..known].copy_from_slice(&value.to_le_bytes()[..known]);
            digits
        };
        let literals = logical::told().unwrap_or(Literals { yes: 0, no: 0 });
        let (yes, no) = (low(literals.yes), low(literals.no));
        // SAFETY: both are of `logical_size` bytes, which is looked at here (crate head).
        unsafe { read_logical(yes.as_ptr().cast(), logical_size)? };
        // Those of another size may be equal in fewer bytes.
        let is_known = yes != no;
        if is_known {
            // SAFETY: the results are writable for `logical_size` bytes, of which there are at most 16 (above).
            unsafe {
                std::ptr::copy_nonoverlapping(yes.as_ptr(), logical_true.cast(), bytes);
                std::ptr::copy_nonoverlapping(no.as_ptr(), logical_false.cast(), bytes);
            }
        }
        // SAFETY: the result is writable (crate head).
        unsafe { *is_set = i32::from(is_known) };
        Ok(())
    })
}
