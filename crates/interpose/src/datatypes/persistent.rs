// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent operations: what is sent is packed at each start.

use std::ffi::c_void;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::calls::{calls, entry};
use super::elements::Elements;
use super::instead::Instead;
use super::layer::NEXT;
use super::leaf;
use super::pending::{self, Operation, keep};
use crate::table::Functions;

/// The functions of this file that take requests, over the next ones.
pub(super) fn of_requests(next: Functions) -> Functions {
    Functions {
        MPI_Start,
        MPI_Startall,
        ..next
    }
}

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
        ..of_requests(next)
    }
}

calls! {
    (*const c_void; dest: i32, tag: i32, comm: MPI_Comm; request: *mut MPI_Request)
    |elements: Elements| elements.to_send(dest, comm) => |buffer, request, call| keep(Operation::sending(buffer).persistent(), request, call);
    MPI_Send_init MPI_Send_init_c, MPI_Ssend_init MPI_Ssend_init_c, MPI_Rsend_init MPI_Rsend_init_c, MPI_Bsend_init MPI_Bsend_init_c;

    (*mut c_void; source: i32, tag: i32, comm: MPI_Comm; request: *mut MPI_Request)
    |elements: Elements| elements.to_receive(source, comm) => |buffer, request, call| keep(Operation::receiving(buffer).persistent(), request, call);
    MPI_Recv_init MPI_Recv_init_c;
}

entry! {
    MPI_Start(request: *mut MPI_Request)
    if pending::is_none() || request.is_null(),
    else {
        match pack(std::slice::from_ref(&*request)) {
            mpi::MPI_SUCCESS => (NEXT.get().MPI_Start)(request),
            code => code,
        }
    }
}

entry! {
    MPI_Startall(count: i32, requests: *mut MPI_Request)
    if pending::is_none() || count <= 0 || requests.is_null(),
    else {
        match pack(std::slice::from_raw_parts(requests, count as usize)) {
            mpi::MPI_SUCCESS => (NEXT.get().MPI_Startall)(count, requests),
            code => code,
        }
    }
}

/// Packs what these requests send; the code of the call, which starts none of them if one cannot be packed.
unsafe fn pack(requests: &[MPI_Request]) -> i32 {
    for &request in requests {
        if let Some(mut operation) = pending::take(request) {
            // SAFETY: the program's buffers, which it lends from here on.
            let code = unsafe { operation.start() };
            pending::put(request, operation);
            if code != mpi::MPI_SUCCESS {
                return code;
            }
        }
    }
    mpi::MPI_SUCCESS
}
