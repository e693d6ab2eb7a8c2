// SPDX-License-Identifier: MIT OR Apache-2.0
//! The procedures, as the linker sees them. Other manglings of a name are jumps to the first.

/// A symbol that jumps to an entry point, whatever its arguments are.
macro_rules! jump {
    ($symbol:literal $entry:ident) => {
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = $symbol)]
            extern "C" fn other_name() {
                #[cfg(target_arch = "x86_64")]
        core::arch::naked_asm!("jmp {}", sym $entry);
                #[cfg(target_arch = "aarch64")]
        core::arch::naked_asm!("b {}", sym $entry);
            }
        };
    };
}

/// `==` and `/=` of handles, which are INTEGERs in a type.
macro_rules! handle_comparisons {
    ($($equal:ident $differ:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $equal(a: *const i32, b: *const i32) -> i32 {
                // SAFETY: the compiler passes two handles.
                unsafe { logical::taken(i32::from(*a == *b)) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $differ(a: *const i32, b: *const i32) -> i32 {
                // SAFETY: as above.
                unsafe { logical::taken(i32::from(*a != *b)) }
            }
        )*
    };
}

macro_rules! procedures {
    ($module:ident, $file:literal, $doc:literal) => {
        #[doc = $doc]
        #[allow(
            unused_imports,
            unreachable_pub,
            clippy::allow_attributes,
            reason = "generated"
        )]
        #[allow(
            clippy::too_many_arguments,
            clippy::too_many_lines,
            clippy::useless_conversion,
            clippy::unnecessary_cast,
            clippy::missing_safety_doc,
            clippy::allow_attributes,
            reason = "generated"
        )]
        mod $module {
            use core::ffi::c_void;

            use mpi_abi_sys::types::*;

            use crate::library::$module as api;
            use crate::{handle, logical, section, sentinel, status, text, topology};

            include!(concat!(env!("OUT_DIR"), $file));
        }
    };
}

procedures! { program, "/program.rs", "`mpi_x_`." }
procedures! { profiling, "/profiling.rs", "`pmpi_x_`." }

/// MPI_F_SYNC_REG: that the compiler passes the buffer is all there is to it.
#[unsafe(export_name = "mpi_f_sync_reg_")]
extern "C" fn f_sync_reg(_: *mut core::ffi::c_void) {}
