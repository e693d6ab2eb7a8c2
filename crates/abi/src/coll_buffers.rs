// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffers of collectives: what a rank gives and gets, where data may be in place (MPI-5.0, section 6.2.1), and that no
//! call gets memory twice (section 6.1).

use core::ffi::c_void;

use engine::coll::short::Run;
use engine::coll::{Block, Pieces};
use engine::comm::Comm;
use engine::p2p::{CHECKED, Memory};
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
    match plain_all(comm, buf, count, datatype) {
        Some(all) => Ok(Some(all)),
        None => general_all(comm, buf, count, datatype),
    }
}

#[inline(always)]
fn plain_all(comm: &Comm, buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<Run> {
    plain_run(buf, count, datatype)?.times(comm.partners())
}

#[inline(never)]
fn general_all(
    comm: &Comm,
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Option<Run>> {
    Ok(all_pieces(comm, buf, count, datatype)?.run())
}

/// The piece that a rank gives or gets as a run of bytes, checked; `None` inside if it is in place, and outside if it is no run.
#[inline(always)]
pub(crate) fn own_piece(
    allowed: bool,
    argument: &'static str,
    piece: Elements,
) -> Result<Option<Option<Run>>> {
    match plain_run(piece.0, piece.1, piece.2) {
        Some(run) => Ok(Some(Some(run))),
        None => general_piece(allowed, argument, piece),
    }
}

#[inline(never)]
fn general_piece(
    allowed: bool,
    argument: &'static str,
    piece: Elements,
) -> Result<Option<Option<Run>>> {
    if in_place_if(allowed, argument, piece.0)? {
        return Ok(Some(None));
    }
    Ok(general_run(piece.0, piece.1, piece.2)?.map(Some))
}

/// The own piece ([`own_piece`]), which may be in place, and one of each rank, which `all` describes with the elements of one; `None` if
/// they are not two runs of bytes. They lie apart. `own_first` says which comes first in the call.
#[inline(always)]
pub(crate) fn own_and_all(
    comm: &Comm,
    (argument, own): (&'static str, Elements),
    all: Elements,
    own_first: bool,
) -> Result<Option<(Option<Run>, Run)>> {
    let runs = (
        plain_run(own.0, own.1, own.2),
        plain_all(comm, all.0, all.1, all.2),
    );
    let (Some(one), Some(every)) = runs else {
        return general_own_and_all(comm, (argument, own), all, own_first);
    };
    match own_first {
        true => runs_apart(one, every)?,
        false => runs_apart(every, one)?,
    }
    Ok(Some((Some(one), every)))
}

#[inline(never)]
fn general_own_and_all(
    comm: &Comm,
    (argument, own): (&'static str, Elements),
    all: Elements,
    own_first: bool,
) -> Result<Option<(Option<Run>, Run)>> {
    let piece = general_piece(true, argument, own)?;
    let every = general_all(comm, all.0, all.1, all.2)?;
    if !in_place(own.0) {
        let all = (all.0, times(comm, all.1), all.2);
        match own_first {
            true => elements_apart(own, all)?,
            false => elements_apart(all, own)?,
        }
    }
    Ok(piece.zip(every))
}

/// A piece of each rank that is given, and one that is got, each described with the elements of one; `None` if they are not two runs of
/// bytes. They lie apart.
#[inline(always)]
pub(crate) fn all_and_all(
    comm: &Comm,
    from: Elements,
    into: Elements,
) -> Result<Option<(Run, Run)>> {
    let runs = (
        plain_all(comm, from.0, from.1, from.2),
        plain_all(comm, into.0, into.1, into.2),
    );
    let (Some(given), Some(got)) = runs else {
        return general_all_and_all(comm, from, into);
    };
    runs_apart(given, got)?;
    Ok(Some((given, got)))
}

#[inline(never)]
fn general_all_and_all(comm: &Comm, from: Elements, into: Elements) -> Result<Option<(Run, Run)>> {
    let given = general_all(comm, from.0, from.1, from.2)?;
    let got = general_all(comm, into.0, into.1, into.2)?;
    elements_apart(
        (from.0, times(comm, from.1), from.2),
        (into.0, times(comm, into.1), into.2),
    )?;
    Ok(given.zip(got))
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

/// As [`block`], of elements that are received.
pub(crate) fn target_block(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Block> {
    let found = block(buf, count, datatype)?;
    check_target(count as usize, datatype)?;
    Ok(found)
}

/// Refuses to receive so many elements of a type in which a byte occurs twice (MPI-5.0, section 5.1.11).
pub(crate) fn check_target(count: usize, datatype: MPI_Datatype) -> Result<()> {
    match CHECKED {
        true => DATATYPES.find(datatype, "datatype")?.check_target(count),
        false => Ok(()),
    }
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
fn times(comm: &Comm, count: i64) -> i64 {
    count.saturating_mul(i64::from(comm.size()))
}

/// A buffer, a count of elements and their type.
pub(crate) type Elements = (*const c_void, i64, MPI_Datatype);

/// As [`apart`], for what is not two runs.
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
