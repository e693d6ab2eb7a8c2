// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffers of collectives: what a rank gives and gets, where data may be in place (MPI-5.0, section 6.2.1), and that no
//! call gets memory twice (section 6.1).

use core::ffi::c_void;

use engine::coll::short::Run;
use engine::coll::{Block, Pieces};
use engine::comm::Comm;
use engine::p2p::Memory;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::MPI_IN_PLACE;
use mpi_abi_sys::types::MPI_Datatype;

use crate::datatype::{host_memory as memory, plain_run};
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

/// A buffer that was checked: the run of bytes that it is, if it is one.
#[inline(always)]
pub(crate) fn run_of(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Option<Run>> {
    match plain_run(buf, count, datatype) {
        Some(run) => Ok(Some(run)),
        None => general_run(buf, count, datatype),
    }
}

#[inline(never)]
fn general_run(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Result<Option<Run>> {
    Ok(memory(buf, count, datatype)?.run())
}

/// As [`run_of`] for a piece of each rank of an intracommunicator, one after the other.
#[inline(always)]
pub(crate) fn all_run(
    comm: &Comm,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Option<Run>> {
    let piece = plain_run(buf, count, datatype);
    match piece.and_then(|piece| piece.times(comm.partners())) {
        Some(all) => Ok(Some(all)),
        None => general_all_run(comm, buf, count, datatype),
    }
}

#[inline(never)]
fn general_all_run(
    comm: &Comm,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Option<Run>> {
    Ok(all_pieces(comm, buf, count, datatype)?.run())
}

/// What a rank gives or gets.
#[derive(Clone, Copy)]
pub(crate) enum Piece {
    /// It is in the other buffer.
    InPlace,
    /// One run of bytes.
    Run(Run),
    /// Something else.
    Scattered,
}

impl Piece {
    /// The run that it is, or nothing if it is in place; `None` if it is something else.
    #[inline(always)]
    pub(crate) const fn dense(self) -> Option<Option<Run>> {
        match self {
            Self::InPlace => Some(None),
            Self::Run(run) => Some(Some(run)),
            Self::Scattered => None,
        }
    }
}

/// The piece that a rank gives or gets.
#[inline(always)]
pub(crate) fn own_piece(
    allowed: bool,
    argument: &'static str,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Piece> {
    if let Some(run) = plain_run(buf, count, datatype) {
        return Ok(Piece::Run(run));
    }
    if in_place_if(allowed, argument, buf)? {
        return Ok(Piece::InPlace);
    }
    Ok(general_run(buf, count, datatype)?.map_or(Piece::Scattered, Piece::Run))
}

/// A piece of each rank of an intracommunicator, one after the other.
fn all_pieces(
    comm: &Comm,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    memory(buf, count, datatype)?;
    memory(buf, times(comm, count), datatype)
}

/// Elements that a collective may keep.
pub(crate) fn block(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Result<Block> {
    memory(buf, count, datatype)?;
    let datatype = DATATYPES.find(datatype, "datatype")?;
    // SAFETY: a program leaves the buffers of a collective alone until it is complete (crate head).
    Ok(unsafe { Block::of(buf.cast_mut().cast(), count as usize, datatype) })
}

/// Refuses memory that is given and received into by the same call, one run each.
///
/// # Errors
/// MPI_ERR_BUFFER.
#[inline(always)]
pub(crate) fn runs_apart(from: Run, into: Run) -> Result<()> {
    if from.overlaps(into) {
        return Err(aliased(
            ["sendbuf", "recvbuf"],
            &from.memory(),
            &into.memory(),
        ));
    }
    Ok(())
}

/// As [`runs_apart`], for elements of any layout.
pub(crate) fn apart(from: &Memory<'_>, into: &Memory<'_>) -> Result<()> {
    if from.overlaps(into) {
        return Err(aliased(["sendbuf", "recvbuf"], from, into));
    }
    Ok(())
}

/// As many elements for each rank of an intracommunicator.
pub(crate) fn times(comm: &Comm, count: i64) -> i64 {
    count.saturating_mul(i64::from(comm.size()))
}

/// A buffer, a count of elements and their type.
pub(crate) type Elements = (*const c_void, i64, MPI_Datatype);

/// As [`apart`], for what is not two runs.
#[cold]
#[inline(never)]
pub(crate) fn elements_apart(from: Elements, into: Elements) -> Result<()> {
    let (from, into) = (
        memory(from.0, from.1, from.2)?,
        memory(into.0, into.1, into.2)?,
    );
    apart(&from, &into)
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
