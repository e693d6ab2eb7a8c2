// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffers of collectives: what a rank gives and gets, where data may be in place (MPI-5.0, section 6.2.1), and that no
//! call gets memory twice (section 6.1).

use core::ffi::c_void;

use engine::coll::{Block, Pieces};
use engine::comm::Comm;
use engine::p2p::Memory;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_IN_PLACE;
use mpi_abi_sys::types::MPI_Datatype;

use crate::datatype::host_memory as memory;
use crate::handle::DATATYPES;

/// Whether the data are in the other buffer.
pub(crate) fn in_place(buf: *const c_void) -> bool {
    buf as usize == MPI_IN_PLACE
}

/// As [`in_place`], where only some callers may say so.
///
/// # Errors
/// MPI_ERR_BUFFER when this one may not.
#[inline(always)]
pub(crate) fn in_place_if(
    allowed: bool,
    argument: &'static str,
    buf: *const c_void,
) -> Result<bool> {
    match in_place(buf) {
        true if !allowed => Err(misplaced(argument)),
        found => Ok(found),
    }
}

/// MPI_IN_PLACE where it has no meaning.
#[cold]
#[inline(never)]
pub(crate) fn misplaced(argument: &'static str) -> Error {
    let expected = "a buffer: this argument of this rank cannot be in place";
    Error::argument(ErrorClass::ERR_BUFFER, argument, "MPI_IN_PLACE", expected)
}

/// Whether a communicator has one group: data of two groups are never in place.
pub(crate) fn one_group(comm: &Comm) -> bool {
    comm.remote_size().is_none()
}

/// The piece that a rank gives or gets; `None` when it is in place.
pub(crate) fn own_piece(
    allowed: bool,
    argument: &'static str,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Option<Memory<'static>>> {
    if in_place_if(allowed, argument, buf)? {
        return Ok(None);
    }
    memory(buf, count, datatype).map(Some)
}

/// A piece of each rank of an intracommunicator, one after the other.
pub(crate) fn all_pieces(
    comm: &Comm,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    memory(buf, count, datatype)?;
    memory(buf, count.saturating_mul(i64::from(comm.size())), datatype)
}

/// Elements that a collective may keep.
pub(crate) fn block(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Result<Block> {
    memory(buf, count, datatype)?;
    let datatype = DATATYPES.find(datatype, "datatype")?;
    // SAFETY: a program leaves the buffers of a collective alone until it is complete (crate head).
    Ok(unsafe { Block::of(buf.cast_mut().cast(), count as usize, datatype) })
}

/// Whether all of the memory is one run of bytes, or there is none.
pub(crate) fn is_dense(memory: Option<Memory<'_>>) -> bool {
    memory.is_none_or(|memory| memory.layout.is_none())
}

/// Refuses memory that is given and received into by the same call.
///
/// # Errors
/// MPI_ERR_BUFFER.
#[inline(always)]
pub(crate) fn apart(from: &Memory<'_>, into: &Memory<'_>) -> Result<()> {
    if from.overlaps(into) {
        return Err(aliased(["sendbuf", "recvbuf"], from, into));
    }
    Ok(())
}

/// As [`apart`], if both are there.
#[inline(always)]
pub(crate) fn both_apart(from: Option<&Memory<'_>>, into: Option<&Memory<'_>>) -> Result<()> {
    match (from, into) {
        (Some(from), Some(into)) => apart(from, into),
        _ => Ok(()),
    }
}

/// As [`apart`], for what a rank of one group sends to itself and receives from itself.
pub(crate) fn own_apart(comm: &Comm, from: &Block, into: &Pieces) -> Result<()> {
    match into.0.get(comm.rank() as usize) {
        Some(into) if one_group(comm) => apart(&from.memory(), &into.memory()),
        _ => Ok(()),
    }
}

/// The error of memory that is there twice.
#[cold]
#[inline(never)]
pub(crate) fn aliased(names: [&'static str; 2], from: &Memory<'_>, into: &Memory<'_>) -> Error {
    let [(a, a_bytes), (b, b_bytes)] = [from, into].map(|found| (found.first_byte(), found.bytes));
    let value = format!(
        "{a:#x} ({a_bytes} bytes), the same memory as '{}' at {b:#x} ({b_bytes} bytes)",
        names[1]
    );
    let expected = "buffers that do not overlap, or MPI_IN_PLACE where the call allows it";
    Error::argument(ErrorClass::ERR_BUFFER, names[0], value, expected)
}
