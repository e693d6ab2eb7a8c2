// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that return when the buffer may be used again.

use std::ffi::c_void;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffer::Buffer;
use super::calls::{calls, entry};
use super::elements::Elements;
use super::instead::Instead;
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
    (*const c_void; dest: i32, tag: i32; comm: MPI_Comm)
    |elements: Elements| elements.packed(dest, comm) => sent;
    MPI_Send MPI_Send_c, MPI_Ssend MPI_Ssend_c, MPI_Rsend MPI_Rsend_c, MPI_Bsend MPI_Bsend_c;

    (*mut c_void; source: i32, tag: i32, comm: MPI_Comm; status: *mut MPI_Status)
    |elements: Elements| elements.to_receive(source, comm) => received;
    MPI_Recv MPI_Recv_c;

    (*mut c_void; message: *mut MPI_Message; status: *mut MPI_Status)
    |elements: Elements| elements.to_receive_message() => received;
    MPI_Mrecv MPI_Mrecv_c;
}

/// Sends what is packed, by a call that takes a communicator.
fn sent(_: Buffer, comm: MPI_Comm, call: impl FnOnce(MPI_Comm) -> i32) -> i32 {
    call(comm)
}

/// Receives into a buffer by a call that takes a status, and unpacks what has arrived.
pub(super) unsafe fn received(
    buffer: Buffer,
    wanted: *mut MPI_Status,
    call: impl FnOnce(*mut MPI_Status) -> i32,
) -> i32 {
    let mut own = MPI_Status::unwritten();
    let mut code = call(&raw mut own);
    // SAFETY: the program's buffer and status.
    unsafe {
        if code == mpi::MPI_SUCCESS && own.is_written() {
            code = buffer.unpack_received(&own);
        }
        own.copy_to(wanted);
    }
    code
}
