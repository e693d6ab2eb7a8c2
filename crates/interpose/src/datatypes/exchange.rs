// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that send and receive.
//!
//! MPI_Isendrecv packs what it sends. What it receives is the library's, and so is MPI_Isendrecv_replace: the status of such a request
//! does not say in all libraries how much has arrived.

use std::ffi::c_void;

use mpi_abi_sys::types::*;

use super::blocking::received;
use super::calls::entry;
use super::elements::Elements;
use super::instead::Instead;
use super::layer::NEXT;
use super::leaf;
use super::pending::{Operation, keep};
use crate::table::Functions;

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    Functions {
        MPI_Sendrecv,
        MPI_Sendrecv_c,
        MPI_Sendrecv_replace,
        MPI_Sendrecv_replace_c,
        MPI_Isendrecv,
        MPI_Isendrecv_c,
        ..next
    }
}

/// One direction: the elements, a rank and a tag.
type Side = (Elements, i32, i32);

/// The buffer of a side that is packed here, if it is; the call ends with an error that was raised.
macro_rules! here {
    ($buffer:expr) => {
        match $buffer {
            Ok(buffer) => Some(buffer),
            Err(Instead::Library) => None,
            Err(Instead::Error(code)) => return code,
        }
    };
}

/// Calls in either width: `int` counts where the call has those and they suffice.
macro_rules! either {
    ($is_large:expr, [$($count:expr),*], $small:expr, $large:expr) => {
        match (!$is_large).then(|| Some([$(i32::try_from($count).ok()?),*])).flatten() {
            Some(counts) => $small(counts),
            None => $large,
        }
    };
}

/// Both directions.
unsafe fn sendrecv(
    (outgoing, dest, sendtag): Side,
    (incoming, source, recvtag): Side,
    comm: MPI_Comm,
    status: *mut MPI_Status,
    is_large: bool,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: the program's arguments; packed data have as many bytes as are passed.
    unsafe {
        let sent = here!(outgoing.packed(dest, comm));
        let arriving = here!(incoming.to_receive(source, comm));
        let (from, from_count, from_type) = outgoing.part(sent.as_ref());
        let (to, to_count, to_type) = incoming.part(arriving.as_ref());
        let call = |status| {
            either!(
                is_large,
                [from_count, to_count],
                |[from_count, to_count]: [i32; 2]| (next.MPI_Sendrecv)(
                    from, from_count, from_type, dest, sendtag, to, to_count, to_type, source,
                    recvtag, comm, status,
                ),
                (next.MPI_Sendrecv_c)(
                    from, from_count, from_type, dest, sendtag, to, to_count, to_type, source,
                    recvtag, comm, status,
                )
            )
        };
        match arriving {
            Some(buffer) => received(buffer, status, call),
            None => call(status),
        }
    }
}

/// Both directions, as a request.
unsafe fn isendrecv(
    (outgoing, dest, sendtag): Side,
    (incoming, source, recvtag): Side,
    comm: MPI_Comm,
    request: *mut MPI_Request,
    is_large: bool,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: as above.
    unsafe {
        let sent = here!(outgoing.packed(dest, comm));
        let (from, from_count, from_type) = outgoing.part(sent.as_ref());
        let (to, to_count, to_type) = incoming.part(None);
        let call = |request| {
            either!(
                is_large,
                [from_count, to_count],
                |[from_count, to_count]: [i32; 2]| (next.MPI_Isendrecv)(
                    from, from_count, from_type, dest, sendtag, to, to_count, to_type, source,
                    recvtag, comm, request,
                ),
                (next.MPI_Isendrecv_c)(
                    from, from_count, from_type, dest, sendtag, to, to_count, to_type, source,
                    recvtag, comm, request,
                )
            )
        };
        match sent {
            Some(buffer) => keep(Operation::sending(buffer), request, call),
            None => call(request),
        }
    }
}

/// Both directions in one buffer.
unsafe fn sendrecv_replace(
    (elements, dest, sendtag): Side,
    (source, recvtag): (i32, i32),
    comm: MPI_Comm,
    status: *mut MPI_Status,
    is_large: bool,
) -> i32 {
    let next = NEXT.get();
    // SAFETY: as above.
    unsafe {
        let buffer = here!(elements.replaced(comm));
        let (data, count, datatype) = elements.part(buffer.as_ref());
        let call = |status| {
            either!(
                is_large,
                [count],
                |[count]: [i32; 1]| (next.MPI_Sendrecv_replace)(
                    data, count, datatype, dest, sendtag, source, recvtag, comm, status,
                ),
                (next.MPI_Sendrecv_replace_c)(
                    data, count, datatype, dest, sendtag, source, recvtag, comm, status,
                )
            )
        };
        match buffer {
            Some(buffer) => received(buffer, status, call),
            None => call(status),
        }
    }
}

/// Defines calls that send and receive, in a width; data of predefined types pass.
macro_rules! entries {
    ($($both:ident $count:ty, $is_large:literal $body:ident $last:ident: $kind:ty;)*) => {$(
        entry! {
            $both(
                sendbuf: *const c_void, sendcount: $count, sendtype: MPI_Datatype, dest: i32, sendtag: i32, recvbuf: *mut c_void,
                recvcount: $count, recvtype: MPI_Datatype, source: i32, recvtag: i32, comm: MPI_Comm, $last: $kind
            )
            if leaf::passes(sendtype) && leaf::passes(recvtype),
            else {
                let outgoing = (Elements::new(sendbuf, sendcount, sendtype), dest, sendtag);
                let incoming = (Elements::new(recvbuf, recvcount, recvtype), source, recvtag);
                $body(outgoing, incoming, comm, $last, $is_large)
            }
        }
    )*};
}

entries! {
    MPI_Sendrecv i32, false sendrecv status: *mut MPI_Status;
    MPI_Sendrecv_c MPI_Count, true sendrecv status: *mut MPI_Status;
    MPI_Isendrecv i32, false isendrecv request: *mut MPI_Request;
    MPI_Isendrecv_c MPI_Count, true isendrecv request: *mut MPI_Request;
}

/// Defines calls that send and receive in one buffer, in a width; data of predefined types pass.
macro_rules! replace_entries {
    ($($replace:ident $count:ty, $is_large:literal;)*) => {$(
        entry! {
            $replace(
                buf: *mut c_void, count: $count, datatype: MPI_Datatype, dest: i32, sendtag: i32, source: i32, recvtag: i32,
                comm: MPI_Comm, status: *mut MPI_Status
            )
            if leaf::passes(datatype),
            else {
                let outgoing = (Elements::new(buf, count, datatype), dest, sendtag);
                sendrecv_replace(outgoing, (source, recvtag), comm, status, $is_large)
            }
        }
    )*};
}

replace_entries! {
    MPI_Sendrecv_replace i32, false;
    MPI_Sendrecv_replace_c MPI_Count, true;
}
