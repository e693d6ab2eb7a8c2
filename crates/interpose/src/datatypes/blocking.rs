// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that return when the buffer may be used again.

use std::ffi::c_void;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffer::{Buffer, Elements};
use super::calls::calls;
use super::layer::NEXT;
use super::leaf;
use super::status::Unwritten as _;
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Send,
        MPI_Send_c,
        MPI_Ssend,
        MPI_Ssend_c,
        MPI_Rsend,
        MPI_Rsend_c,
        MPI_Bsend,
        MPI_Bsend_c,
        MPI_Recv,
        MPI_Recv_c,
        MPI_Mrecv,
        MPI_Mrecv_c,
        ..next
    }
}

calls! {
    MPI_Send MPI_Send_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm)
        |elements: Elements| elements.packed(dest) => |_, code| code;
    MPI_Ssend MPI_Ssend_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm)
        |elements: Elements| elements.packed(dest) => |_, code| code;
    MPI_Rsend MPI_Rsend_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm)
        |elements: Elements| elements.packed(dest) => |_, code| code;
    MPI_Bsend MPI_Bsend_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm)
        |elements: Elements| elements.packed(dest) => |_, code| code;
}

/// Receives into a buffer by a call that takes a status, and unpacks what has arrived.
pub(super) unsafe fn received(
    buffer: &Buffer,
    wanted: *mut MPI_Status,
    call: impl FnOnce(*mut MPI_Status) -> i32,
) -> i32 {
    let mut own = MPI_Status::unwritten();
    let code = call(&raw mut own);
    // SAFETY: the program's buffer and status.
    unsafe {
        if code == mpi::MPI_SUCCESS && own.is_written() {
            buffer.unpack_received(&own);
        }
        own.copy_to(wanted);
    }
    code
}

macro_rules! receives {
    ($($small:ident $large:ident($($name:ident: $kind:ty),*) $buffer:expr;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $small(
            base: *mut c_void, count: i32, datatype: MPI_Datatype, $($name: $kind,)* status: *mut MPI_Status,
        ) -> i32 {
            /// Out of line: what passes saves no registers.
            #[cold]
            unsafe extern "C" fn derived(
                base: *mut c_void, count: i32, datatype: MPI_Datatype, $($name: $kind,)* status: *mut MPI_Status,
            ) -> i32 {
                let next = NEXT.get();
                // SAFETY: the program's arguments; there is room for as many bytes as are passed.
                unsafe {
                    let Some(buffer) = $buffer(Elements::new(base, count, datatype)) else {
                        return (next.$small)(base, count, datatype, $($name,)* status);
                    };
                    received(&buffer, status, |status| match buffer.int() {
                        Some(bytes) => (next.$small)(buffer.address(), bytes, mpi::MPI_PACKED, $($name,)* status),
                        None => (next.$large)(buffer.address(), buffer.count(), mpi::MPI_PACKED, $($name,)* status),
                    })
                }
            }
            let function = if leaf::is_predefined(datatype) { NEXT.get().$small } else { derived };
            // SAFETY: the program's arguments.
            unsafe { function(base, count, datatype, $($name,)* status) }
        }
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $large(
            base: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, $($name: $kind,)* status: *mut MPI_Status,
        ) -> i32 {
            let next = NEXT.get();
            // SAFETY: as above.
            unsafe {
                if leaf::is_predefined(datatype) {
                    return (next.$large)(base, count, datatype, $($name,)* status);
                }
                let Some(buffer) = $buffer(Elements::new(base, count, datatype)) else {
                    return (next.$large)(base, count, datatype, $($name,)* status);
                };
                received(&buffer, status, |status| {
                    (next.$large)(buffer.address(), buffer.count(), mpi::MPI_PACKED, $($name,)* status)
                })
            }
        }
    )*};
}

receives! {
    MPI_Recv MPI_Recv_c(source: i32, tag: i32, comm: MPI_Comm)
        |elements: Elements| elements.to_receive(source);
    MPI_Mrecv MPI_Mrecv_c(message: *mut MPI_Message)
        |elements: Elements| elements.to_receive_message();
}
