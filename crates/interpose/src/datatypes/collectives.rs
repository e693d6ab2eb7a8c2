// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives, on request: the library moves packed bytes.
//!
//! Libraries choose the algorithm of a collective by what they see of its data. So nothing here depends on what a single process
//! knows: with the setting, every process hands the library MPI_PACKED and as many bytes as its arguments have, by the call for large
//! counts, whatever its types are. The numbers of bytes between two processes are the same at both ends, as the standard has it of type
//! signatures. Data that are contiguous are not copied. Calls pass on intercommunicators, and where the library packs in another way,
//! which all members see alike.

use std::ffi::{CStr, c_void};

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::blocks::{Data, Side, Which};
use super::counts;
use super::group::{Group, Neighbours};
use super::layer::NEXT;
use crate::output::say;
use crate::raise::raise;
use crate::table::{Functions, lacking};

/// What the library is called by.
const NEEDED: &[&CStr] = &[
    c"MPI_Bcast_c",
    c"MPI_Gather_c",
    c"MPI_Gatherv_c",
    c"MPI_Scatter_c",
    c"MPI_Scatterv_c",
    c"MPI_Allgather_c",
    c"MPI_Allgatherv_c",
    c"MPI_Alltoall_c",
    c"MPI_Alltoallv_c",
    c"MPI_Alltoallw_c",
    c"MPI_Neighbor_allgather_c",
    c"MPI_Neighbor_allgatherv_c",
    c"MPI_Neighbor_alltoall_c",
    c"MPI_Neighbor_alltoallv_c",
    c"MPI_Neighbor_alltoallw_c",
];

/// The functions of this file over the next ones.
pub(super) fn over(next: Functions) -> Functions {
    if let Some(name) = lacking(NEEDED) {
        let name = name.to_string_lossy();
        say(&format!(
            "datatypes: the MPI library does not have {name}: collectives pass"
        ));
        return next;
    }
    Functions {
        MPI_Bcast,
        MPI_Bcast_c,
        MPI_Gather,
        MPI_Gather_c,
        MPI_Gatherv,
        MPI_Gatherv_c,
        MPI_Scatter,
        MPI_Scatter_c,
        MPI_Scatterv,
        MPI_Scatterv_c,
        MPI_Allgather,
        MPI_Allgather_c,
        MPI_Allgatherv,
        MPI_Allgatherv_c,
        MPI_Alltoall,
        MPI_Alltoall_c,
        MPI_Alltoallv,
        MPI_Alltoallv_c,
        MPI_Alltoallw,
        MPI_Alltoallw_c,
        MPI_Neighbor_allgather,
        MPI_Neighbor_allgather_c,
        MPI_Neighbor_allgatherv,
        MPI_Neighbor_allgatherv_c,
        MPI_Neighbor_alltoall,
        MPI_Neighbor_alltoall_c,
        MPI_Neighbor_alltoallv,
        MPI_Neighbor_alltoallv_c,
        MPI_Neighbor_alltoallw,
        MPI_Neighbor_alltoallw_c,
        ..next
    }
}

/// Packs what the sides have, calls the library, and unpacks what it has brought; the code.
unsafe fn exchange(comm: MPI_Comm, sides: &[&Side], call: impl FnOnce() -> i32) -> i32 {
    counts::add(&counts::COLLECTIVES, 1);
    let is_success = |code: &i32| *code == mpi::MPI_SUCCESS;
    // SAFETY: the program's buffers, and its communicator.
    unsafe {
        if sides.iter().any(|side| side.lacks_memory()) {
            let why = "datatypes: there is no memory for the packed data of a collective";
            raise(comm, mpi::MPI_ERR_NO_MEM, why);
            return mpi::MPI_ERR_NO_MEM;
        }
        let mut packed = sides.iter().map(|side| side.pack(comm));
        let code = packed.find(|code| !is_success(code)).unwrap_or_else(call);
        let mut unpacked = sides.iter().map(|side| side.unpack(comm));
        match is_success(&code) {
            true => unpacked.find(|code| !is_success(code)).unwrap_or(code),
            false => code,
        }
    }
}

/// A collective that sends and receives, as the program calls it. Its methods give the code of the call; `None` says that the call
/// passes.
struct Collective<'a> {
    send: Data,
    receive: Data,
    comm: MPI_Comm,
    /// The call of the library.
    call: &'a dyn Fn(&Side, &Side) -> i32,
}

impl Collective<'_> {
    /// Calls the library with these sides.
    unsafe fn run(&self, send: &Side, receive: &Side) -> Option<i32> {
        // SAFETY: the program's buffers.
        Some(unsafe { exchange(self.comm, &[send, receive], || (self.call)(send, receive)) })
    }

    /// Each sends a block to all, and may do so in place.
    unsafe fn collect(&self, group: &Group) -> Option<i32> {
        // SAFETY: the program's arguments.
        unsafe {
            let (send, before) = match self.send.is_in_place() {
                true => (Side::absent(self.send), Which::One(group.rank)),
                false => (Side::to_send(self.send, 1)?, Which::None),
            };
            let receive = Side::new(self.receive, group.size, before, Which::All)?;
            self.run(&send, &receive)
        }
    }

    unsafe fn gather(self, root: i32) -> Option<i32> {
        let group = Group::of(self.comm)?;
        // SAFETY: the program's arguments.
        unsafe {
            if group.is(root) {
                return self.collect(&group);
            }
            let send = Side::to_send(self.send, 1)?;
            self.run(&send, &Side::absent(self.receive))
        }
    }

    unsafe fn scatter(self, root: i32) -> Option<i32> {
        let group = Group::of(self.comm)?;
        // SAFETY: the program's arguments.
        unsafe {
            let send = match group.is(root) {
                true => Side::to_send(self.send, group.size)?,
                false => Side::absent(self.send),
            };
            let receive = match self.receive.is_in_place() {
                true => Side::absent(self.receive),
                false => Side::new(self.receive, 1, Which::None, Which::All)?,
            };
            self.run(&send, &receive)
        }
    }

    unsafe fn allgather(self) -> Option<i32> {
        let group = Group::of(self.comm)?;
        // SAFETY: the program's arguments.
        unsafe { self.collect(&group) }
    }

    unsafe fn alltoall(self) -> Option<i32> {
        let group = Group::of(self.comm)?;
        // SAFETY: the program's arguments.
        unsafe {
            let (send, before) = match self.send.is_in_place() {
                true => (Side::absent(self.send), Which::All),
                false => (Side::to_send(self.send, group.size)?, Which::None),
            };
            let receive = Side::new(self.receive, group.size, before, Which::All)?;
            self.run(&send, &receive)
        }
    }

    unsafe fn neighbor_allgather(self) -> Option<i32> {
        let Neighbours { sources, .. } = Neighbours::of(self.comm)?;
        // SAFETY: the program's arguments.
        unsafe {
            let send = Side::to_send(self.send, 1)?;
            let blocks = sources.len();
            let receive = Side::new(self.receive, blocks, Which::None, Which::Marked(sources))?;
            self.run(&send, &receive)
        }
    }

    unsafe fn neighbor_alltoall(self) -> Option<i32> {
        let Neighbours {
            sources,
            destinations,
        } = Neighbours::of(self.comm)?;
        // SAFETY: the program's arguments.
        unsafe {
            let blocks = destinations.len();
            let send = Side::new(self.send, blocks, Which::Marked(destinations), Which::None)?;
            let blocks = sources.len();
            let receive = Side::new(self.receive, blocks, Which::None, Which::Marked(sources))?;
            self.run(&send, &receive)
        }
    }
}

/// Defines `MPI_X MPI_X_c(what is sent, what is received, root) what it does;`, or without a root: the sides are `even`, `uneven` or
/// `mixed` [`Data`].
macro_rules! collectives {
    ($($small:ident $large:ident($send:ident, $receive:ident$(, $root:ident)?) $body:ident;)*) => {$(
        collectives! { @$send $receive $small $large [i32, i32] $body($($root)?) }
        collectives! { @$send $receive $large $large [MPI_Count, MPI_Aint] $body($($root)?) }
    )*};
    (@even even $function:ident $large:ident [$count:ty, $place:ty] $body:ident($($root:ident)?)) => {
        collectives! { @ $function $body($($root)?) (
            sendbuf: *const c_void, sendcount: $count, sendtype: MPI_Datatype,
            recvbuf: *mut c_void, recvcount: $count, recvtype: MPI_Datatype, $($root: i32,)? comm: MPI_Comm
        ) comm, Data::even(sendbuf, sendcount, sendtype), Data::even(recvbuf, recvcount, recvtype), |send: &Side, receive: &Side|
            // SAFETY: the program's arguments; the bytes of both sides.
            unsafe {
            let (from, to) = (send.address(), receive.address());
            (NEXT.get().$large)(from, send.count(), mpi::MPI_PACKED, to, receive.count(), mpi::MPI_PACKED, $($root,)? comm)
        } }
    };
    (@even uneven $function:ident $large:ident [$count:ty, $place:ty] $body:ident($($root:ident)?)) => {
        collectives! { @ $function $body($($root)?) (
            sendbuf: *const c_void, sendcount: $count, sendtype: MPI_Datatype,
            recvbuf: *mut c_void, recvcounts: *const $count, displs: *const $place, recvtype: MPI_Datatype, $($root: i32,)? comm: MPI_Comm
        ) comm, Data::even(sendbuf, sendcount, sendtype), Data::uneven(recvbuf, recvcounts, displs, recvtype), |send: &Side, receive: &Side|
            // SAFETY: the program's arguments; the bytes of both sides.
            unsafe {
            let (from, to, counts, places) = (send.address(), receive.address(), receive.counts(), receive.places());
            (NEXT.get().$large)(from, send.count(), mpi::MPI_PACKED, to, counts, places, mpi::MPI_PACKED, $($root,)? comm)
        } }
    };
    (@uneven even $function:ident $large:ident [$count:ty, $place:ty] $body:ident($($root:ident)?)) => {
        collectives! { @ $function $body($($root)?) (
            sendbuf: *const c_void, sendcounts: *const $count, displs: *const $place, sendtype: MPI_Datatype,
            recvbuf: *mut c_void, recvcount: $count, recvtype: MPI_Datatype, $($root: i32,)? comm: MPI_Comm
        ) comm, Data::uneven(sendbuf, sendcounts, displs, sendtype), Data::even(recvbuf, recvcount, recvtype), |send: &Side, receive: &Side|
            // SAFETY: the program's arguments; the bytes of both sides.
            unsafe {
            let (from, counts, places, to) = (send.address(), send.counts(), send.places(), receive.address());
            (NEXT.get().$large)(from, counts, places, mpi::MPI_PACKED, to, receive.count(), mpi::MPI_PACKED, $($root,)? comm)
        } }
    };
    (@uneven uneven $function:ident $large:ident [$count:ty, $place:ty] $body:ident($($root:ident)?)) => {
        collectives! { @ $function $body($($root)?) (
            sendbuf: *const c_void, sendcounts: *const $count, sdispls: *const $place, sendtype: MPI_Datatype,
            recvbuf: *mut c_void, recvcounts: *const $count, rdispls: *const $place, recvtype: MPI_Datatype, $($root: i32,)? comm: MPI_Comm
        ) comm, Data::uneven(sendbuf, sendcounts, sdispls, sendtype), Data::uneven(recvbuf, recvcounts, rdispls, recvtype),
        |send: &Side, receive: &Side|
            // SAFETY: the program's arguments; the bytes of both sides.
            unsafe {
            (NEXT.get().$large)(
                send.address(), send.counts(), send.places(), mpi::MPI_PACKED,
                receive.address(), receive.counts(), receive.places(), mpi::MPI_PACKED, $($root,)? comm
            )
        } }
    };
    (@mixed mixed $function:ident $large:ident [$count:ty, $place:ty] $body:ident($($root:ident)?)) => {
        collectives! { @ $function $body($($root)?) (
            sendbuf: *const c_void, sendcounts: *const $count, sdispls: *const $place, sendtypes: *const MPI_Datatype,
            recvbuf: *mut c_void, recvcounts: *const $count, rdispls: *const $place, recvtypes: *const MPI_Datatype, $($root: i32,)? comm: MPI_Comm
        ) comm, Data::mixed(sendbuf, sendcounts, sdispls, sendtypes), Data::mixed(recvbuf, recvcounts, rdispls, recvtypes),
        |send: &Side, receive: &Side|
            // SAFETY: the program's arguments; the bytes of both sides.
            unsafe {
            let (outgoing, incoming) = (send.types(), receive.types());
            (NEXT.get().$large)(
                send.address(), send.counts(), send.places(), outgoing.as_ptr(),
                receive.address(), receive.counts(), receive.places(), incoming.as_ptr(), $($root,)? comm
            )
        } }
    };
    (@ $function:ident $body:ident($($root:ident)?) ($($name:ident: $kind:ty),*) $comm:ident, $send:expr, $receive:expr, $call:expr) => {
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $function($($name: $kind),*) -> i32 {
            let collective = Collective { send: $send, receive: $receive, comm: $comm, call: &$call };
            // SAFETY: the program's arguments.
            unsafe { collective.$body($($root)?).unwrap_or_else(|| (NEXT.get().$function)($($name),*)) }
        }
    };
}

collectives! {
    MPI_Gather MPI_Gather_c(even, even, root) gather;
    MPI_Gatherv MPI_Gatherv_c(even, uneven, root) gather;
    MPI_Scatter MPI_Scatter_c(even, even, root) scatter;
    MPI_Scatterv MPI_Scatterv_c(uneven, even, root) scatter;
    MPI_Allgather MPI_Allgather_c(even, even) allgather;
    MPI_Allgatherv MPI_Allgatherv_c(even, uneven) allgather;
    MPI_Alltoall MPI_Alltoall_c(even, even) alltoall;
    MPI_Alltoallv MPI_Alltoallv_c(uneven, uneven) alltoall;
    MPI_Alltoallw MPI_Alltoallw_c(mixed, mixed) alltoall;
    MPI_Neighbor_allgather MPI_Neighbor_allgather_c(even, even) neighbor_allgather;
    MPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c(even, uneven) neighbor_allgather;
    MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c(even, even) neighbor_alltoall;
    MPI_Neighbor_alltoallv MPI_Neighbor_alltoallv_c(uneven, uneven) neighbor_alltoall;
}

// The small form has places of MPI_Aint, too.
collectives! { @mixed mixed MPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c [i32, MPI_Aint] neighbor_alltoall() }
collectives! { @mixed mixed MPI_Neighbor_alltoallw_c MPI_Neighbor_alltoallw_c [MPI_Count, MPI_Aint] neighbor_alltoall() }

/// From the root to all; `None`: the call passes.
unsafe fn bcast(data: Data, root: i32, comm: MPI_Comm) -> Option<i32> {
    // SAFETY: the program's arguments; the bytes of the side.
    unsafe {
        let side = match Group::of(comm)?.is(root) {
            true => Side::to_send(data, 1)?,
            false => Side::new(data, 1, Which::None, Which::All)?,
        };
        let call = || {
            let (address, count) = (side.address(), side.count());
            (NEXT.get().MPI_Bcast_c)(address, count, mpi::MPI_PACKED, root, comm)
        };
        Some(exchange(comm, &[&side], call))
    }
}

macro_rules! bcasts {
    ($($function:ident $count:ty;)*) => {$(
        #[expect(non_snake_case, reason = "names of the standard")]
        unsafe extern "C" fn $function(
            buffer: *mut c_void, count: $count, datatype: MPI_Datatype, root: i32, comm: MPI_Comm,
        ) -> i32 {
            // SAFETY: the program's arguments.
            unsafe {
                let done = bcast(Data::even(buffer, count, datatype), root, comm);
                done.unwrap_or_else(|| (NEXT.get().$function)(buffer, count, datatype, root, comm))
            }
        }
    )*};
}

bcasts! {
    MPI_Bcast i32;
    MPI_Bcast_c MPI_Count;
}
