// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buffers of collectives: the blocks that a rank sends and receives, where data may be in place (MPI-5.0, section 6.2.1),
//! and the check that no call gets memory twice (section 6.1).

use core::ffi::c_void;

use engine::coll::fast::Span;
use engine::coll::{Block, Use};
use engine::comm::Comm;
use engine::device::Device;
use engine::p2p::{CHECKED, Memory};
use engine::rma::BufferUse;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_BYTE, MPI_DATATYPE_NULL, MPI_IN_PLACE};
use mpi_abi_sys::types::MPI_Datatype;

use crate::datatype::arguments::device_of_block;
use crate::datatype::{contiguous_span, located_memory};
use crate::exposed;
use crate::handle::{DATATYPES, FIRST_DYNAMIC};

/// The names of the arguments that describe elements, in one call.
pub(crate) struct Names {
    buf: &'static str,
    count: &'static str,
    datatype: &'static str,
    /// Whether 0 elements may have MPI_DATATYPE_NULL for a type, as in Intel MPI.
    needs_no_type: bool,
    /// Names of the arrays with an entry for each rank.
    counts: &'static str,
    displacements: &'static str,
    datatypes: &'static str,
}

/// Names of the elements sent.
pub(crate) const SENT: Names = Names {
    buf: "sendbuf",
    count: "sendcount",
    datatype: "sendtype",
    needs_no_type: false,
    counts: "sendcounts",
    displacements: "sdispls",
    datatypes: "sendtypes",
};
/// Names of the elements received.
pub(crate) const RECEIVED: Names = Names {
    buf: "recvbuf",
    count: "recvcount",
    datatype: "recvtype",
    needs_no_type: false,
    counts: "recvcounts",
    displacements: "rdispls",
    datatypes: "recvtypes",
};
/// Names of the elements sent where only this side has a block for each rank.
pub(crate) const SENT_BLOCKS: Names = Names {
    displacements: "displs",
    ..SENT
};
/// Names of the elements received where only this side has a block for each rank.
pub(crate) const RECEIVED_BLOCKS: Names = Names {
    displacements: "displs",
    ..RECEIVED
};
/// Names of the operands of a reduction.
pub(crate) const SENT_VECTOR: Names = Names {
    count: "count",
    datatype: "datatype",
    ..SENT
};
/// Names of the results of a reduction.
pub(crate) const RECEIVED_VECTOR: Names = Names {
    count: "count",
    datatype: "datatype",
    ..RECEIVED
};
/// Names of an operand of which each rank receives one part.
pub(crate) const SENT_PARTS: Names = Names {
    count: "recvcount",
    ..SENT_VECTOR
};
/// Names of such a part.
pub(crate) const RECEIVED_PART: Names = Names {
    count: "recvcount",
    ..RECEIVED_VECTOR
};
/// Names of one entry of arrays; errors get the arrays' names ([`Names::blame_entry`]).
pub(crate) const ENTRY: Names = Names { buf: "buf", ..ONLY };
/// Names of the operand of MPI_Reduce_local.
pub(crate) const OPERAND: Names = Names {
    buf: "inbuf",
    ..SENT_VECTOR
};
/// Names of the result of MPI_Reduce_local.
pub(crate) const COMBINED: Names = Names {
    buf: "inoutbuf",
    ..SENT_VECTOR
};
/// Names of elements that are both sent and received.
pub(crate) const ONLY: Names = Names {
    buf: "buffer",
    needs_no_type: true,
    ..SENT_VECTOR
};

impl Names {
    /// The name of the buffer.
    pub(crate) const fn buf(&self) -> &'static str {
        self.buf
    }

    /// Whether the elements are written.
    pub(crate) fn are_received(&self) -> bool {
        self.buf == RECEIVED.buf
    }

    /// Gives the argument at fault its name in the call.
    #[cold]
    #[inline(never)]
    pub(crate) fn blame(&'static self, error: Error) -> Error {
        error.renamed(|found| match found {
            "buf" | "buffer" => self.buf,
            "count" => self.count,
            "datatype" => self.datatype,
            "counts" => self.counts,
            "displacements" => self.displacements,
            "datatypes" => self.datatypes,
            other => other,
        })
    }

    /// The same for the array entry of a rank.
    #[cold]
    #[inline(never)]
    pub(crate) fn blame_entry(&'static self, error: Error, rank: usize) -> Error {
        let error = error.renamed(|found| match found {
            "count" => "counts",
            "datatype" => "datatypes",
            other => other,
        });
        self.blame(error.at_index(rank))
    }
}

/// A buffer, a count of elements and their type.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) names: &'static Names,
    pub(crate) buf: *const c_void,
    pub(crate) count: i64,
    pub(crate) datatype: MPI_Datatype,
}

impl Elements {
    pub(crate) const fn new(
        names: &'static Names,
        buf: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
    ) -> Self {
        Self {
            names,
            buf,
            count,
            datatype,
        }
    }

    /// The span of the elements, if their type is predefined.
    #[inline(always)]
    pub(crate) fn contiguous(self) -> Option<Span> {
        contiguous_span(self.buf, self.count, self.datatype)
    }

    /// Their type: bytes if there are none and the call needs no type for that.
    fn type_of_some(&self) -> MPI_Datatype {
        let is_none = self.count == 0 && self.datatype == MPI_DATATYPE_NULL;
        if self.names.needs_no_type && is_none {
            MPI_BYTE
        } else {
            self.datatype
        }
    }

    /// Their memory, checked.
    pub(crate) fn memory(self) -> Result<Memory<'static>> {
        Ok(self.located()?.0)
    }

    /// Their memory, checked, and the GPU that it belongs to.
    pub(crate) fn located(self) -> Result<(Memory<'static>, Option<Device>)> {
        let found = located_memory(self.buf, self.count, self.type_of_some());
        let (found, device) = found.map_err(|error| self.names.blame(error))?;
        let used = match self.names.are_received() {
            true => BufferUse::Written,
            false => BufferUse::Read,
        };
        exposed::keep(&found, used);
        Ok((found, device))
    }

    /// As many for each rank of an intracommunicator.
    fn of_all(self, comm: &Comm) -> Self {
        let count = self.count.saturating_mul(i64::from(comm.size()));
        Self { count, ..self }
    }
}

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
        true if !allowed => Err(misplaced(argument, "MPI_IN_PLACE")),
        found => Ok(found),
    }
}

/// A constant where it has no meaning.
#[cold]
#[inline(never)]
pub(crate) fn misplaced(argument: &'static str, constant: &'static str) -> Error {
    let expected = "a buffer: this argument of this rank cannot be in place";
    Error::argument(ErrorClass::ERR_BUFFER, argument, constant, expected)
}

/// Whether a communicator has one group: data of two groups are never in place.
pub(crate) fn one_group(comm: &Comm) -> bool {
    comm.remote_size().is_none()
}

/// Checks a buffer; returns its bytes if they are contiguous.
#[inline(always)]
pub(crate) fn span_of(elements: Elements) -> Result<Option<Span>> {
    match elements.contiguous() {
        Some(span) => Ok(Some(span)),
        None => general_span(elements),
    }
}

#[inline(never)]
fn general_span(elements: Elements) -> Result<Option<Span>> {
    Ok(elements.memory()?.span())
}

/// As [`span_of`] for a block of each rank of an intracommunicator, one after the other.
#[inline(always)]
pub(crate) fn span_of_all(comm: &Comm, block: Elements) -> Result<Option<Span>> {
    match contiguous_all(comm, block) {
        Some(all) => Ok(Some(all)),
        None => general_all(comm, block),
    }
}

#[inline(always)]
fn contiguous_all(comm: &Comm, block: Elements) -> Option<Span> {
    block.contiguous()?.times(comm.partners())
}

#[inline(never)]
fn general_all(comm: &Comm, block: Elements) -> Result<Option<Span>> {
    block.memory()?;
    general_span(block.of_all(comm))
}

/// The block that a rank sends or receives as a span, checked; `None` inside if it is in place, and outside if it is not contiguous.
#[inline(always)]
pub(crate) fn own_block(allowed: bool, block: Elements) -> Result<Option<Option<Span>>> {
    match block.contiguous() {
        Some(span) => Ok(Some(Some(span))),
        None => general_block(allowed, block),
    }
}

#[inline(never)]
fn general_block(allowed: bool, block: Elements) -> Result<Option<Option<Span>>> {
    if in_place_if(allowed, block.names.buf, block.buf)? {
        return Ok(Some(None));
    }
    Ok(general_span(block)?.map(Some))
}

/// The own block ([`own_block`]), which may be in place, and one of each rank, which `all` describes with the elements of one; `None` if
/// they are not two runs of bytes. They lie apart. `own_first` says which comes first in the call.
#[inline(always)]
pub(crate) fn own_and_all(
    comm: &Comm,
    own: Elements,
    all: Elements,
    own_first: bool,
) -> Result<Option<(Option<Span>, Span)>> {
    let (Some(one), Some(every)) = (own.contiguous(), contiguous_all(comm, all)) else {
        return general_own_and_all(comm, own, all, own_first);
    };
    match own_first {
        true => spans_apart(one, every)?,
        false => spans_apart(every, one)?,
    }
    Ok(Some((Some(one), every)))
}

#[inline(never)]
fn general_own_and_all(
    comm: &Comm,
    own: Elements,
    all: Elements,
    own_first: bool,
) -> Result<Option<(Option<Span>, Span)>> {
    let block = general_block(true, own)?;
    let every = general_all(comm, all)?;
    if !in_place(own.buf) {
        let all = all.of_all(comm);
        match own_first {
            true => elements_apart(own, all)?,
            false => elements_apart(all, own)?,
        }
    }
    Ok(block.zip(every))
}

/// A block of each rank that is given, and one that is got, each described with the elements of one; `None` if they are not two runs of
/// bytes. They lie apart.
#[inline(always)]
pub(crate) fn all_and_all(
    comm: &Comm,
    from: Elements,
    into: Elements,
) -> Result<Option<(Span, Span)>> {
    let (Some(given), Some(got)) = (contiguous_all(comm, from), contiguous_all(comm, into)) else {
        return general_all_and_all(comm, from, into);
    };
    spans_apart(given, got)?;
    Ok(Some((given, got)))
}

#[inline(never)]
fn general_all_and_all(
    comm: &Comm,
    from: Elements,
    into: Elements,
) -> Result<Option<(Span, Span)>> {
    let given = general_all(comm, from)?;
    let got = general_all(comm, into)?;
    elements_apart(from.of_all(comm), into.of_all(comm))?;
    Ok(given.zip(got))
}

/// Elements that a collective may keep.
pub(crate) fn block(elements: Elements) -> Result<Block> {
    used_block(elements, Use::Read)
}

/// As [`block`], of elements that are received.
pub(crate) fn target_block(elements: Elements) -> Result<Block> {
    let found = used_block(elements, Use::Written)?;
    check_target(elements)?;
    Ok(found)
}

fn used_block(elements: Elements, used: Use) -> Result<Block> {
    let (_, device) = elements.located()?;
    let datatype = DATATYPES.find(elements.type_of_some(), elements.names.datatype)?;
    let (base, count) = (elements.buf.cast_mut().cast(), elements.count as usize);
    // SAFETY: a program leaves the buffers of a collective alone until it is complete (crate head).
    let block = unsafe { Block::of(base, count, datatype) };
    Ok(match device {
        Some(device) => block.on(device, used),
        None => block,
    })
}

/// Notes the GPU in whose memory the blocks of a buffer are. The first block with data decides where a buffer is; behind MPI_BOTTOM each block
/// has memory of its own.
pub(crate) fn locate_blocks(
    names: &'static Names,
    buf: *const c_void,
    blocks: Vec<Block>,
) -> Result<Vec<Block>> {
    let used = match names.are_received() {
        true => Use::Written,
        false => Use::Read,
    };
    let mut known: Option<Option<Device>> = None;
    let blocks = blocks.into_iter().map(|block| {
        if block.bytes() == 0 {
            return Ok(block);
        }
        let device = match known.filter(|_| !buf.is_null()) {
            Some(device) => device,
            None => device_of_block(&block).map_err(|error| names.blame(error))?,
        };
        known = Some(device);
        Ok(match device {
            Some(device) => block.on(device, used),
            None => block,
        })
    });
    blocks.collect()
}

/// As [`block`], without elements, for a rank that takes no part.
pub(crate) fn no_block() -> Result<Block> {
    block(Elements::new(&ONLY, core::ptr::null(), 0, MPI_BYTE))
}

/// Refuses to receive elements of a type in which a byte occurs twice (MPI-5.0, section 5.1.11), as none of a predefined one does.
pub(crate) fn check_target(elements: Elements) -> Result<()> {
    let Elements {
        names,
        count,
        datatype,
        ..
    } = elements;
    if !CHECKED || datatype < FIRST_DYNAMIC as usize {
        return Ok(());
    }
    DATATYPES
        .find(datatype, names.datatype)?
        .check_target(count as usize)
        .map_err(|error| names.blame(error))
}

/// Refuses a span that the same call sends and receives.
///
/// # Errors
/// MPI_ERR_BUFFER.
#[inline(always)]
pub(crate) fn spans_apart(from: Span, into: Span) -> Result<()> {
    if from.overlaps(into) {
        return Err(aliased(
            ["sendbuf", "recvbuf"],
            &from.memory(),
            &into.memory(),
        ));
    }
    Ok(())
}

/// As [`spans_apart`], for elements of any layout.
pub(crate) fn apart(from: &Memory<'_>, into: &Memory<'_>) -> Result<()> {
    if from.overlaps(into) {
        return Err(aliased(["sendbuf", "recvbuf"], from, into));
    }
    Ok(())
}

/// As [`apart`], for buffers of which at least one is not contiguous.
#[inline(never)]
pub(crate) fn elements_apart(from: Elements, into: Elements) -> Result<()> {
    apart(&from.memory()?, &into.memory()?)
}

/// As [`apart`], for blocks of several ranks.
pub(crate) fn blocks_apart(from: &[Block], into: &[Block]) -> Result<()> {
    // Most programs have one array for each.
    let reach = |blocks: &[Block]| {
        let reaches = blocks.iter().filter_map(Block::reach);
        reaches.fold((usize::MAX, 0), |all, one| {
            (all.0.min(one.0), all.1.max(one.1))
        })
    };
    let (given, got) = (reach(from), reach(into));
    if given.1 <= got.0 || got.1 <= given.0 {
        return Ok(());
    }
    blocks_apart_closely(from, into)
}

/// Looks at the blocks by their first bytes: one that begins within a dense block of the other side, or where one of these begins, shares
/// that byte.
#[inline(never)]
fn blocks_apart_closely(from: &[Block], into: &[Block]) -> Result<()> {
    let sides = [(0, from), (1, into)];
    let blocks = sides.iter().flat_map(|&(side, blocks)| {
        let starts = blocks
            .iter()
            .filter_map(|block| Some((block.reach()?.0, block)));
        starts.map(move |(start, block)| (start, side, block))
    });
    let mut blocks: Vec<(usize, usize, &Block)> = blocks.collect();
    blocks.sort_unstable_by_key(|&(start, side, _)| (start, side));
    // Of each side the end of the memory seen so far, and the block that ends there.
    let mut ends: [(usize, Option<&Block>); 2] = [(0, None); 2];
    for (start, side, block) in blocks {
        let (end, other) = ends[1 - side];
        if let Some(other) = other
            && end > start
        {
            let both = if side == 0 {
                [block, other]
            } else {
                [other, block]
            };
            let [from, into] = both.map(Block::memory);
            return Err(aliased(["sendbuf", "recvbuf"], &from, &into));
        }
        let memory = block.memory();
        let known = if memory.layout.is_none() {
            memory.bytes
        } else {
            1
        };
        if start + known > ends[side].0 {
            ends[side] = (start + known, Some(block));
        }
    }
    Ok(())
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
