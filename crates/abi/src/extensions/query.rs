// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program asks at run time: whether the library has a call, and where it is.

use core::ffi::{CStr, c_char};

use engine::{Error, ErrorClass, device};

use super::extension;
use crate::error::run_any_time;
use crate::state::is_active;

/// A function of any signature, which the header declares.
type Function = Option<unsafe extern "C" fn()>;

macro_rules! table {
    ($($name:ident)*) => {
        mod named {
            unsafe extern "C" {
                $(pub(super) fn $name();)*
            }
        }

        /// Names of the functions and their addresses.
        static FUNCTIONS: &[(&str, unsafe extern "C" fn())] = &[$((stringify!($name), named::$name)),*];
    };
}

table! {
    MPIX_Query_rankpoint
    MPIX_Comm_create_endpoints MPIX_Win_create_endpoints
    MPIX_Comm_dup_predefined MPIX_Comm_waitall
    MPIX_Isend_global MPIX_Isend_npn MPIX_Isend_noreq MPIX_Isend_nomatch MPIX_Isend_all_opts
    MPIX_Send_global MPIX_Send_npn MPIX_Send_nomatch MPIX_Send_all_opts
    MPIX_Irecv_global MPIX_Irecv_npn MPIX_Irecv_noreq MPIX_Irecv_nomatch MPIX_Irecv_all_opts
    MPIX_Put_global MPIX_Put_npn MPIX_Put_virtual_addr MPIX_Put_all_opts
    MPIX_Get_global MPIX_Get_npn MPIX_Get_virtual_addr MPIX_Get_all_opts
    MPIX_Accumulate_virtual_addr
    MPIX_Query_cuda_support MPIX_GPU_query_support
}

extension! {
    /// Stores the address of the function with a name, which `mpi_rankpoint.h` declares; null if the library has none. May be called at any
    /// time.
    ///
    /// # Safety
    /// `name` is NUL-terminated, and `function` is writable.
    MPIX_Query_rankpoint PMPIX_Query_rankpoint (name: *const c_char, function: *mut Function) {
        run_any_time("MPIX_Query_rankpoint", || {
            let null = [("name", name.is_null(), "a text"), ("function", function.is_null(), "the address of a pointer to a function")];
            if let Some((argument, _, expected)) = null.into_iter().find(|(_, is_null, _)| *is_null) {
                return Err(Error::argument(ErrorClass::ERR_ARG, argument, "null", expected));
            }
            // SAFETY: the text is NUL-terminated (caller).
            let wanted = unsafe { CStr::from_ptr(name) }.to_bytes();
            let found = FUNCTIONS.iter().find(|(name, _)| name.as_bytes() == wanted);
            // SAFETY: the result is writable (caller).
            unsafe { *function = found.map(|&(_, function)| function) };
            Ok(())
        })
    }
}

/// Kinds of GPUs, with the numbers that programs know from other libraries.
const CUDA: i32 = 0;
const LEVEL_ZERO: i32 = 1;
const HIP: i32 = 2;

extension! {
    /// Whether calls take memory of CUDA's GPUs: 1 if this process has used one or may still load the driver, else 0. May be called at any time;
    /// before MPI is initialised it is 0.
    ///
    /// # Safety
    /// None is needed.
    MPIX_Query_cuda_support PMPIX_Query_cuda_support () {
        i32::from(is_active() && device::may_come())
    }
}

extension! {
    /// Whether calls take memory of a kind of GPUs.
    ///
    /// # Safety
    /// `is_supported` is writable.
    MPIX_GPU_query_support PMPIX_GPU_query_support (gpu_type: i32, is_supported: *mut i32) {
        run_any_time("MPIX_GPU_query_support", || {
            if is_supported.is_null() {
                let expected = "the address of an integer";
                return Err(Error::argument(ErrorClass::ERR_ARG, "is_supported", "null", expected));
            }
            let answer = match gpu_type {
                CUDA => is_active() && device::may_come(),
                LEVEL_ZERO | HIP => false,
                _ => {
                    let expected = "MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_ZE or MPIX_GPU_SUPPORT_HIP";
                    return Err(Error::argument(ErrorClass::ERR_ARG, "gpu_type", gpu_type, expected));
                }
            };
            // SAFETY: the result is writable (caller).
            unsafe { *is_supported = i32::from(answer) };
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;

    const HEADER: &str = include_str!("../../../../xtask/src/install/mpi_rankpoint.h");

    #[test]
    fn the_header_declares_every_function_with_both_names() {
        for (name, _) in FUNCTIONS {
            for prefix in ["int ", "int P"] {
                assert!(
                    HEADER.contains(&format!("{prefix}{name}(")),
                    "{prefix}{name}"
                );
            }
        }
        assert_eq!(HEADER.matches("\nint MPIX_").count(), FUNCTIONS.len());
    }
}
