// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arguments of a message, decoded.

// account: function-call

use core::ffi::c_void;
use std::sync::atomic::Ordering;

use engine::comm::Comm;
use engine::p2p::Memory;
use engine::{Error, Result};
use mpi_abi_sys::constants::MPI_DATATYPE_NULL;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype};

use crate::datatype::{Count, arguments, memory, target_memory};
use crate::handle::COMMS;

/// The result of [`decode`].
pub(super) type Decoded = Result<(&'static Comm, Memory<'static>)>;

/// The first half of every call: communicator and memory, or the error.
#[inline(always)]
pub(crate) fn decode(
    buf: *const c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(&'static Comm, Memory<'static>)> {
    let comm = COMMS.find(comm, "comm")?; // account: communicator
    Ok((comm, source(buf, count.into(), datatype)?)) // account: datatype
}

/// As [`decode`], of a buffer that is received into.
#[inline(always)]
pub(crate) fn decode_target(
    buf: *const c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(&'static Comm, Memory<'static>)> {
    let comm = COMMS.find(comm, "comm")?; // account: communicator
    Ok((comm, target(buf, count.into(), datatype)?)) // account: datatype
}

/// The memory of a message that is sent.
#[inline(always)]
fn source(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Result<Memory<'static>> {
    memory(buf, count, datatype).or_else(|error| no_elements(error, count, datatype))
}

/// The memory of a message that is received.
#[inline(always)]
pub(super) fn target(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    target_memory(buf, count, datatype).or_else(|error| no_elements(error, count, datatype))
}

/// A message without elements needs no datatype, as in MPICH; others fail with this error.
#[cold]
fn no_elements(error: Error, count: i64, datatype: MPI_Datatype) -> Result<Memory<'static>> {
    if count == 0 && datatype == MPI_DATATYPE_NULL {
        return Ok(Memory::contiguous(core::ptr::null_mut(), 0));
    }
    Err(error)
}

/// Rank and tag in one register: with them the calls that leave the fast path are jumps.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Envelope(u64);

impl Envelope {
    #[inline(always)]
    pub(crate) const fn new(rank: i32, tag: i32) -> Self {
        Self(rank as u32 as u64 | (tag as u32 as u64) << 32)
    }

    pub(super) const fn rank(self) -> i32 {
        self.0 as i32
    }

    pub(super) const fn tag(self) -> i32 {
        (self.0 >> 32) as i32
    }
}

/// [`decode`] for contiguous data of a predefined type.
// TIER: short
#[inline(always)]
pub(crate) fn decode_contiguous(
    buf: *const c_void,
    count: impl Count,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Option<(usize, &'static Comm)> {
    let bytes = arguments::contiguous_bytes(buf, count, datatype)?; // account: datatype
    Some((bytes, COMMS.get_trusted(comm)?)) // account: communicator
}

/// The handle of a communicator.
pub(super) fn handle_of(comm: &Comm) -> MPI_Comm {
    comm.handle.load(Ordering::Relaxed) as usize
}
