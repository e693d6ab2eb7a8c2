// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives among neighbours in a topology (MPI-5.0, section 8.6).

use core::ffi::c_void;
use std::slice;
use std::sync::Arc;

use engine::Result;
use engine::coll::{Block, Blocks, neighbour};
use engine::comm::Comm;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype};

use super::all::mixed;
use super::buffers::{
    Elements, RECEIVED, RECEIVED_BLOCKS, SENT, block, blocks_apart, in_place_if, target_block,
};
use super::ending::{Ending, finish, forms};
use super::rooted::{varying, varying_target};
use crate::comm::intra;
use crate::datatype::create::Address;

/// A communicator with a topology, and its numbers of sources and destinations.
fn with_degrees(comm: MPI_Comm, buffers: [*const c_void; 2]) -> Result<(Arc<Comm>, usize, usize)> {
    let comm = intra(comm, "comm")?;
    let (sources, destinations) = neighbour::degrees(&comm)?;
    for (name, buffer) in ["sendbuf", "recvbuf"].into_iter().zip(buffers) {
        in_place_if(false, name, buffer)?;
    }
    Ok((comm, sources, destinations))
}

/// Elements for each of so many neighbours: without neighbours there are none, and the buffer may be null.
fn for_each(neighbours: usize, elements: Elements) -> Elements {
    match neighbours {
        0 => Elements {
            count: elements.count.min(0),
            ..elements
        },
        _ => elements,
    }
}

/// As many equal blocks, one after the other.
fn equal(blocks: usize, first: &Block, count: i64) -> Blocks {
    Blocks::equal(first, count as usize, blocks as u32)
}

fn spread(
    call: &'static str,
    ending: Ending,
    comm: Arc<Comm>,
    send: Block,
    receive: Blocks,
) -> Result<()> {
    blocks_apart(slice::from_ref(&send), &receive.0)?;
    // No data come from a neighbour that is MPI_PROC_NULL.
    let receive = receive.updated();
    finish(
        call,
        comm,
        ending,
        None,
        (send, receive),
        |comm, (send, receive)| neighbour::spread(comm, send, receive),
    )
}

unsafe fn allgather(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<()> {
    let (comm, sources, destinations) = with_degrees(comm, [sendbuf, recvbuf])?;
    let send = Elements::new(&SENT, sendbuf, sendcount.into(), sendtype);
    let send = block(for_each(destinations, send))?;
    let count = recvcount.into();
    let block = Elements::new(&RECEIVED, recvbuf, count, recvtype);
    let block = target_block(for_each(sources, block))?;
    let receive = equal(sources, &block, count);
    spread(call, ending, comm, send, receive)
}

forms! {
    allgather(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype);
    MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn allgatherv(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    displs: *const impl Address,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<()> {
    let (comm, sources, destinations) = with_degrees(comm, [sendbuf, recvbuf])?;
    let send = Elements::new(&SENT, sendbuf, sendcount.into(), sendtype);
    let send = block(for_each(destinations, send))?;
    // SAFETY: the arrays have one entry per source (crate head).
    let receive = unsafe {
        let names = &RECEIVED_BLOCKS;
        varying_target(sources, names, recvbuf, recvcounts, displs, recvtype)?
    };
    spread(call, ending, comm, send, receive)
}

forms! {
    allgatherv(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), displs: *const (impl Address + crate::naming::Wide), recvtype: MPI_Datatype);
    MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init;
}

fn exchange(
    call: &'static str,
    ending: Ending,
    comm: Arc<Comm>,
    send: Blocks,
    receive: Blocks,
) -> Result<()> {
    blocks_apart(&send.0, &receive.0)?;
    // As in `spread`.
    let receive = receive.updated();
    finish(
        call,
        comm,
        ending,
        None,
        (send, receive),
        |comm, (send, receive)| neighbour::exchange(comm, send, receive),
    )
}

unsafe fn alltoall(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<()> {
    let (comm, sources, destinations) = with_degrees(comm, [sendbuf, recvbuf])?;
    let count = sendcount.into();
    let elements = Elements::new(&SENT, sendbuf, count, sendtype);
    let block = block(for_each(destinations, elements))?;
    let send = equal(destinations, &block, count);
    let count = recvcount.into();
    let block = Elements::new(&RECEIVED, recvbuf, count, recvtype);
    let block = target_block(for_each(sources, block))?;
    let receive = equal(sources, &block, count);
    exchange(call, ending, comm, send, receive)
}

forms! {
    alltoall(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype);
    MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn alltoallv(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    sdispls: *const impl Address,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    rdispls: *const impl Address,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<()> {
    let (comm, sources, destinations) = with_degrees(comm, [sendbuf, recvbuf])?;
    // SAFETY: the arrays have one entry per neighbour (crate head).
    let (send, receive) = unsafe {
        (
            varying(destinations, &SENT, sendbuf, sendcounts, sdispls, sendtype)?,
            varying_target(sources, &RECEIVED, recvbuf, recvcounts, rdispls, recvtype)?,
        )
    };
    exchange(call, ending, comm, send, receive)
}

forms! {
    alltoallv(sendbuf: *const c_void, sendcounts: *const (impl Address + crate::naming::Wide), sdispls: *const (impl Address + crate::naming::Wide), sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), rdispls: *const (impl Address + crate::naming::Wide), recvtype: MPI_Datatype);
    MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn alltoallw(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    sdispls: *const impl Address,
    sendtypes: *const MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    rdispls: *const impl Address,
    recvtypes: *const MPI_Datatype,
    comm: MPI_Comm,
) -> Result<()> {
    let (comm, sources, destinations) = with_degrees(comm, [sendbuf, recvbuf])?;
    // SAFETY: the arrays have one entry per neighbour (crate head).
    let (send, receive) = unsafe {
        (
            mixed(destinations, &SENT, sendbuf, sendcounts, sdispls, sendtypes)?,
            mixed(sources, &RECEIVED, recvbuf, recvcounts, rdispls, recvtypes)?,
        )
    };
    exchange(call, ending, comm, send, receive)
}

forms! {
    alltoallw(sendbuf: *const c_void, sendcounts: *const (impl Address + crate::naming::Wide), sdispls: *const (impl Address + crate::naming::Wide), sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), rdispls: *const (impl Address + crate::naming::Wide), recvtypes: *const MPI_Datatype);
    MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init;
}
