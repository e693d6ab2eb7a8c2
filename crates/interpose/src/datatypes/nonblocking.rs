// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that start an operation. The data that are sent are packed before they return, so messages keep their order.

use std::ffi::c_void;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::calls::{calls, entry};
use super::elements::Elements;
use super::instead::Instead;
use super::layer::NEXT;
use super::leaf;
use super::pending::{Operation, keep};
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Isend,
        MPI_Isend_c,
        MPI_Issend,
        MPI_Issend_c,
        MPI_Irsend,
        MPI_Irsend_c,
        MPI_Ibsend,
        MPI_Ibsend_c,
        MPI_Irecv,
        MPI_Irecv_c,
        MPI_Imrecv,
        MPI_Imrecv_c,
        ..next
    }
}

calls! {
    (*const c_void; dest: i32, tag: i32, comm: MPI_Comm; request: *mut MPI_Request)
    |elements: Elements| elements.packed(dest, comm) => |buffer, request, call| keep(Operation::sending(buffer), request, call);
    MPI_Isend MPI_Isend_c, MPI_Issend MPI_Issend_c, MPI_Irsend MPI_Irsend_c, MPI_Ibsend MPI_Ibsend_c;

    (*mut c_void; source: i32, tag: i32, comm: MPI_Comm; request: *mut MPI_Request)
    |elements: Elements| elements.to_receive(source, comm) => |buffer, request, call| keep(Operation::receiving(buffer), request, call);
    MPI_Irecv MPI_Irecv_c;

    (*mut c_void; message: *mut MPI_Message; request: *mut MPI_Request)
    |elements: Elements| elements.to_receive_message() => |buffer, request, call| keep(Operation::receiving(buffer), request, call);
    MPI_Imrecv MPI_Imrecv_c;
}
