// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent operations: what is sent is packed at each start.

use std::ffi::c_void;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::buffer::{Buffer, Elements};
use super::calls::calls;
use super::layer::NEXT;
use super::leaf;
use super::pending::{self, Operation};
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Send_init,
        MPI_Send_init_c,
        MPI_Ssend_init,
        MPI_Ssend_init_c,
        MPI_Rsend_init,
        MPI_Rsend_init_c,
        MPI_Bsend_init,
        MPI_Bsend_init_c,
        MPI_Recv_init,
        MPI_Recv_init_c,
        MPI_Start: start,
        MPI_Startall: startall,
        ..next
    }
}

/// Keeps the buffers of an operation that a call has made with this code.
unsafe fn keep(
    sent: Option<Buffer>,
    received: Option<Buffer>,
    request: *const MPI_Request,
    code: i32,
) -> i32 {
    if code == mpi::MPI_SUCCESS {
        // SAFETY: the request that the call has written.
        unsafe { pending::started(*request, Operation::new(sent, received, true)) };
    }
    code
}

calls! {
    MPI_Send_init MPI_Send_init_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm, request: *mut MPI_Request)
        |elements: Elements| elements.to_send(dest, comm) => |buffer, code| keep(Some(buffer), None, request, code);
    MPI_Ssend_init MPI_Ssend_init_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm, request: *mut MPI_Request)
        |elements: Elements| elements.to_send(dest, comm) => |buffer, code| keep(Some(buffer), None, request, code);
    MPI_Rsend_init MPI_Rsend_init_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm, request: *mut MPI_Request)
        |elements: Elements| elements.to_send(dest, comm) => |buffer, code| keep(Some(buffer), None, request, code);
    MPI_Bsend_init MPI_Bsend_init_c(*const c_void; dest: i32, tag: i32, comm: MPI_Comm, request: *mut MPI_Request)
        |elements: Elements| elements.to_send(dest, comm) => |buffer, code| keep(Some(buffer), None, request, code);
    MPI_Recv_init MPI_Recv_init_c(*mut c_void; source: i32, tag: i32, comm: MPI_Comm, request: *mut MPI_Request)
        |elements: Elements| elements.to_receive(source, comm) => |buffer, code| keep(None, Some(buffer), request, code);
}

/// Packs what these requests send.
unsafe fn pack(requests: &[MPI_Request]) {
    let mark = pending::mark();
    for &request in requests {
        if let Some(operation) = pending::operation(request, mark) {
            // SAFETY: the program's buffers, which it lends from here on.
            unsafe { operation.start() };
        }
    }
}

unsafe extern "C" fn start(request: *mut MPI_Request) -> i32 {
    // SAFETY: the program's argument.
    unsafe {
        if !pending::is_none() && !request.is_null() {
            pack(std::slice::from_ref(&*request));
        }
        (NEXT.get().MPI_Start)(request)
    }
}

unsafe extern "C" fn startall(count: i32, requests: *mut MPI_Request) -> i32 {
    // SAFETY: the program's arguments.
    unsafe {
        if !pending::is_none() && count > 0 && !requests.is_null() {
            pack(std::slice::from_raw_parts(requests, count as usize));
        }
        (NEXT.get().MPI_Startall)(count, requests)
    }
}
