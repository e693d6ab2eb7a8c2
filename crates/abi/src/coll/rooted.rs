// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barrier, and collectives with a root that move data (MPI-5.0, sections 6.3 to 6.6).

use core::ffi::c_void;
use std::slice;

use engine::coll::{self, Block, Blocks, Root, Sizes};
use engine::comm::Comm;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_ROOT};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype};

use super::buffers::{
    Elements, Names, ONLY, RECEIVED, RECEIVED_BLOCKS, SENT, SENT_BLOCKS, block, blocks_apart,
    check_target, in_place, in_place_if, locate_blocks, misplaced, no_block, one_group,
    own_and_all, own_block, span_of, target_block,
};
use super::ending::{Ending, attempt, finish, forms, rest};
use crate::datatype::arguments::{LAST_CONSTANT, constant_name};
use crate::datatype::create::Address;
use crate::handle::COMMS;

/// Number of ranks that data come from or go to: of the group, or of the remote group.
pub(crate) fn partners(comm: &Comm) -> u32 {
    comm.partners()
}

/// The root that an argument names.
#[inline(always)]
pub(crate) fn root_of(comm: &Comm, root: i32) -> Result<Root> {
    if (root as u32) < comm.partners() {
        return Ok(Root::Rank(root as u32));
    }
    root_beyond(comm, root)
}

#[cold]
#[inline(never)]
fn root_beyond(comm: &Comm, root: i32) -> Result<Root> {
    let between = comm.remote_size().is_some();
    match root {
        MPI_ROOT if between => Ok(Root::Here),
        MPI_PROC_NULL if between => Ok(Root::Elsewhere),
        rank => {
            let last = partners(comm) - 1;
            let expected = if between {
                format!("0..{last} of the remote group, MPI_ROOT or MPI_PROC_NULL")
            } else {
                format!("0..{last}")
            };
            let value = match rank {
                MPI_ANY_SOURCE => "MPI_ANY_SOURCE".to_owned(),
                MPI_PROC_NULL => "MPI_PROC_NULL".to_owned(),
                MPI_ROOT => "MPI_ROOT".to_owned(),
                _ => rank.to_string(),
            };
            Err(Error::argument(
                ErrorClass::ERR_ROOT,
                "root",
                value,
                expected,
            ))
        }
    }
}

/// Whether the arguments of the root are significant here.
#[inline(always)]
pub(crate) fn is_root(comm: &Comm, root: Root) -> bool {
    match root {
        Root::Rank(rank) => comm.remote_size().is_none() && rank == comm.rank() as u32,
        Root::Here => true,
        Root::Elsewhere => false,
    }
}

/// Whether the arguments of all ranks but the root are significant here: of all ranks of one group, the root's too.
pub(crate) fn is_member(root: Root) -> bool {
    matches!(root, Root::Rank(_))
}

/// The block that a rank sends or receives unless it belongs to the root's group only ([`is_member`]); `None` if there is none,
/// or if the root's is in place.
fn members_block(
    comm: &Comm,
    root: Root,
    elements: Elements,
    make: fn(Elements) -> Result<Block>,
) -> Result<Option<Block>> {
    let may_be_in_place = one_group(comm) && is_root(comm, root);
    let (argument, buf) = (elements.names.buf(), elements.buf);
    if !is_member(root) || in_place_if(may_be_in_place, argument, buf)? {
        return Ok(None);
    }
    make(elements).map(Some)
}

/// A block that is received, of which a part is in place already if `is_in_place`.
pub(crate) fn updated_if(is_in_place: bool, block: Block) -> Block {
    match is_in_place {
        true => block.updated(),
        false => block,
    }
}

/// As [`updated_if`], for the blocks of all ranks.
pub(crate) fn all_updated_if(is_in_place: bool, blocks: Blocks) -> Blocks {
    match is_in_place {
        true => blocks.updated(),
        false => blocks,
    }
}

/// As [`varying`], of elements that are received.
pub(crate) unsafe fn varying_target(
    ranks: usize,
    names: &'static Names,
    buf: *const c_void,
    counts: *const impl Address,
    displacements: *const impl Address,
    datatype: MPI_Datatype,
) -> Result<Blocks> {
    // SAFETY: passed on.
    let blocks = unsafe { varying(ranks, names, buf, counts, displacements, datatype) }?;
    // SAFETY: the array has one entry per rank (crate head), which are counts (checked).
    let most = (0..ranks).map(|rank| unsafe { (*counts.add(rank)).to_i64() });
    check_target(Elements::new(names, buf, most.max().unwrap_or(0), datatype))?;
    Ok(blocks)
}

/// One block for each of so many ranks from C arrays of counts and displacements in elements.
pub(crate) unsafe fn varying(
    ranks: usize,
    names: &'static Names,
    buf: *const c_void,
    counts: *const impl Address,
    displacements: *const impl Address,
    datatype: MPI_Datatype,
) -> Result<Blocks> {
    let base = block(Elements::new(names, buf, 0, datatype))?;
    refuse_null_arrays(
        ranks,
        names,
        &[
            ("counts", counts.is_null()),
            ("displacements", displacements.is_null()),
        ],
    )?;
    let mut blocks = Vec::new();
    for rank in 0..ranks {
        // SAFETY: the arrays have one entry per rank (crate head).
        let (count, at) = unsafe {
            (
                (*counts.add(rank)).to_i64(),
                (*displacements.add(rank)).to_i64(),
            )
        };
        let count = usize::try_from(count).map_err(|_| {
            let expected = "0 or more elements";
            let error = Error::argument(ErrorClass::ERR_COUNT, "count", count, expected);
            names.blame_entry(error, rank)
        })?;
        let block = base.part(at, count);
        refuse_no_memory(names, buf, rank, &block)?;
        blocks.push(block);
    }
    Ok(Blocks(locate_blocks(names, buf, blocks)?))
}

/// No object lies below this address.
const FIRST_PAGE: usize = 4096;

/// Refuses data of a rank where the program has no memory: constants such as MPI_IN_PLACE, and null if the displacement does not lead
/// away from it, as it does where MPI_BOTTOM is meant.
pub(crate) fn refuse_no_memory(
    names: &'static Names,
    buf: *const c_void,
    rank: usize,
    block: &Block,
) -> Result<()> {
    if buf as usize > LAST_CONSTANT || block.bytes() == 0 {
        return Ok(());
    }
    if let Some(constant) = constant_name(buf) {
        return Err(misplaced(names.buf(), constant));
    }
    let first = block.memory().first_byte();
    if first >= FIRST_PAGE {
        return Ok(());
    }
    let value = format!("null, and the data of index {rank} are {first} bytes behind it");
    let expected = "an address, or MPI_BOTTOM with displacements that are addresses";
    Err(Error::argument(
        ErrorClass::ERR_BUFFER,
        names.buf(),
        value,
        expected,
    ))
}

/// Arrays of one entry per rank that are null.
pub(crate) fn refuse_null_arrays(
    ranks: usize,
    names: &'static Names,
    arrays: &[(&'static str, bool)],
) -> Result<()> {
    match arrays.iter().find(|(_, is_null)| *is_null) {
        Some((name, _)) if ranks > 0 => {
            let expected = format!("an array of {ranks} entries");
            let error = Error::argument(ErrorClass::ERR_ARG, name, "null", expected);
            Err(names.blame(error))
        }
        _ => Ok(()),
    }
}

#[inline(always)]
unsafe fn barrier(call: &'static str, ending: Ending, comm: MPI_Comm) -> Result<()> {
    let found = COMMS.find(comm, "comm")?;
    let fast = attempt!(call, found, ending, barrier());
    rest(move || {
        let comm = COMMS.share(comm, "comm")?;
        finish(call, comm, ending, fast, (), |comm, ()| coll::barrier(comm))
    })
}

forms! {
    barrier();
    MPI_Barrier MPI_Ibarrier MPI_Barrier_init;
}

#[inline(always)]
unsafe fn bcast(
    call: &'static str,
    ending: Ending,
    buffer: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let found = COMMS.find(comm, "comm")?;
    let (root, count) = (root_of(found, root)?, count.into());
    let mut fast = None;
    if let (None, Root::Rank(root)) = (found.remote_group(), root)
        && let Some(data) = span_of(Elements::new(&ONLY, buffer, count, datatype))?
    {
        fast = attempt!(call, found, ending, bcast(data, root));
    }
    rest(move || {
        let comm = COMMS.share(comm, "comm")?;
        let elements = Elements::new(&ONLY, buffer, count, datatype);
        let block = match root {
            Root::Elsewhere => no_block()?,
            _ if is_root(&comm, root) => block(elements)?,
            _ => target_block(elements)?,
        };
        finish(
            call,
            comm,
            ending,
            fast,
            (block, root),
            |comm, (block, root)| coll::bcast(comm, block, root),
        )
    })
}

forms! {
    bcast(buffer: *mut c_void, count: impl crate::naming::Number, datatype: MPI_Datatype, root: i32);
    MPI_Bcast MPI_Ibcast MPI_Bcast_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
#[inline(always)]
unsafe fn gather(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let found = COMMS.find(comm, "comm")?;
    let root = root_of(found, root)?;
    let (sendcount, count) = (sendcount.into(), recvcount.into());
    let mut fast = None;
    if let (None, Root::Rank(rank)) = (found.remote_group(), root) {
        let is_root = is_root(found, root);
        let own = Elements::new(&SENT, sendbuf, sendcount, sendtype);
        let runs = if is_root {
            let all = Elements::new(&RECEIVED, recvbuf, count, recvtype);
            own_and_all(found, own, all, true)?.map(|(own, all)| (own, Some(all)))
        } else {
            own_block(false, own)?.map(|own| (own, None))
        };
        if let Some((from, into)) = runs {
            fast = attempt!(call, found, ending, gather(from, into, Some(rank)));
        }
    }
    rest(move || {
        let comm = COMMS.share(comm, "comm")?;
        let own = Elements::new(&SENT, sendbuf, sendcount, sendtype);
        let send = members_block(&comm, root, own, block)?;
        let receive = is_root(&comm, root)
            .then(|| target_block(Elements::new(&RECEIVED, recvbuf, count, recvtype)))
            .transpose()?
            .map(|block| updated_if(in_place(sendbuf), block))
            .map(|block| Blocks::equal(&block, count as usize, partners(&comm)));
        finish(
            call,
            comm,
            ending,
            fast,
            (send, receive, root, Sizes::Equal),
            |comm, (send, receive, root, sizes)| coll::gather(comm, send, receive, root, sizes),
        )
    })
}

forms! {
    gather(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype, root: i32);
    MPI_Gather MPI_Igather MPI_Gather_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn gatherv(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    displs: *const impl Address,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = COMMS.share(comm, "comm")?;
    let ranks = partners(&comm) as usize;
    let root = root_of(&comm, root)?;
    let own = Elements::new(&SENT, sendbuf, sendcount.into(), sendtype);
    let send = members_block(&comm, root, own, block)?;
    let receive = if is_root(&comm, root) {
        // SAFETY: passed on.
        Some(unsafe {
            let names = &RECEIVED_BLOCKS;
            let blocks = varying_target(ranks, names, recvbuf, recvcounts, displs, recvtype)?;
            all_updated_if(in_place(sendbuf), blocks)
        })
    } else {
        None
    };
    if let (Some(send), Some(receive)) = (&send, &receive) {
        blocks_apart(slice::from_ref(send), &receive.0)?;
    }
    finish(
        call,
        comm,
        ending,
        None,
        (send, receive, root, Sizes::Varying),
        |comm, (send, receive, root, sizes)| coll::gather(comm, send, receive, root, sizes),
    )
}

forms! {
    gatherv(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), displs: *const (impl Address + crate::naming::Wide), recvtype: MPI_Datatype, root: i32);
    MPI_Gatherv MPI_Igatherv MPI_Gatherv_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
#[inline(always)]
unsafe fn scatter(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let found = COMMS.find(comm, "comm")?;
    let root = root_of(found, root)?;
    let (count, recvcount) = (sendcount.into(), recvcount.into());
    let mut fast = None;
    if let (None, Root::Rank(rank)) = (found.remote_group(), root) {
        let is_root = is_root(found, root);
        let own = Elements::new(&RECEIVED, recvbuf, recvcount, recvtype);
        let runs = if is_root {
            let all = Elements::new(&SENT, sendbuf, count, sendtype);
            own_and_all(found, own, all, false)?.map(|(own, all)| (own, Some(all)))
        } else {
            own_block(false, own)?.map(|own| (own, None))
        };
        if let Some((into, from)) = runs {
            fast = attempt!(call, found, ending, scatter(from, into, rank));
        }
    }
    rest(move || {
        let comm = COMMS.share(comm, "comm")?;
        let own = Elements::new(&RECEIVED, recvbuf, recvcount, recvtype);
        let receive = members_block(&comm, root, own, target_block)?;
        let send = is_root(&comm, root)
            .then(|| block(Elements::new(&SENT, sendbuf, count, sendtype)))
            .transpose()?
            .map(|block| Blocks::equal(&block, count as usize, partners(&comm)));
        finish(
            call,
            comm,
            ending,
            fast,
            (send, receive, root, Sizes::Equal),
            |comm, (send, receive, root, sizes)| coll::scatter(comm, send, receive, root, sizes),
        )
    })
}

forms! {
    scatter(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype, root: i32);
    MPI_Scatter MPI_Iscatter MPI_Scatter_init;
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn scatterv(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    displs: *const impl Address,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = COMMS.share(comm, "comm")?;
    let ranks = partners(&comm) as usize;
    let root = root_of(&comm, root)?;
    let own = Elements::new(&RECEIVED, recvbuf, recvcount.into(), recvtype);
    let receive = members_block(&comm, root, own, target_block)?;
    let send = if is_root(&comm, root) {
        // SAFETY: passed on.
        Some(unsafe { varying(ranks, &SENT_BLOCKS, sendbuf, sendcounts, displs, sendtype) }?)
    } else {
        None
    };
    if let (Some(send), Some(receive)) = (&send, &receive) {
        blocks_apart(&send.0, slice::from_ref(receive))?;
    }
    finish(
        call,
        comm,
        ending,
        None,
        (send, receive, root, Sizes::Varying),
        |comm, (send, receive, root, sizes)| coll::scatter(comm, send, receive, root, sizes),
    )
}

forms! {
    scatterv(sendbuf: *const c_void, sendcounts: *const (impl Address + crate::naming::Wide), displs: *const (impl Address + crate::naming::Wide), sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype, root: i32);
    MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init;
}
