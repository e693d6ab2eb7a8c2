// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in which every rank gets everything or exchanges with all (MPI-5.0, chapter 6).

use core::ffi::c_void;
use std::slice;

use engine::coll::{self, Blocks, Sizes};
use engine::{ErrorClass, Result};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype};

use super::buffers::{
    ENTRY, Elements, Names, RECEIVED, RECEIVED_BLOCKS, SENT, all_and_all, block, blocks_apart,
    in_place, in_place_if, one_group, own_and_all, target_block,
};
use super::ending::{Ending, attempt, finish, forms, rest};
use super::rooted::{
    all_updated_if, partners, refuse_no_memory, refuse_null_arrays, updated_if, varying,
    varying_target,
};
use crate::datatype::create::Address;
use crate::handle::COMMS;

#[inline(always)]
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
    let found = COMMS.find(comm, "comm")?;
    let (sendcount, count) = (sendcount.into(), recvcount.into());
    let mut fast = None;
    if found.remote_group().is_none() {
        let own = Elements::new(&SENT, sendbuf, sendcount, sendtype);
        let all = Elements::new(&RECEIVED, recvbuf, count, recvtype);
        if let Some((own, all)) = own_and_all(found, own, all, true)? {
            fast = attempt!(call, found, ending, gather(own, Some(all), None));
        }
    }
    rest(move || {
        let comm = COMMS.share(comm, "comm")?;
        let send = if in_place_if(one_group(&comm), "sendbuf", sendbuf)? {
            None
        } else {
            Some(block(Elements::new(&SENT, sendbuf, sendcount, sendtype))?)
        };
        let block = target_block(Elements::new(&RECEIVED, recvbuf, count, recvtype))?;
        let block = updated_if(send.is_none(), block);
        let blocks = Blocks::equal(&block, count as usize, partners(&comm));
        if let Some(send) = &send {
            blocks_apart(slice::from_ref(send), &blocks.0)?;
        }
        finish(
            call,
            comm,
            ending,
            fast,
            (send, blocks),
            |comm, (send, blocks)| coll::allgather(comm, send, blocks),
        )
    })
}

forms! {
    allgather(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype);
    MPI_Allgather MPI_Iallgather MPI_Allgather_init;
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
    let comm = COMMS.share(comm, "comm")?;
    let ranks = partners(&comm) as usize;
    let send = if in_place_if(one_group(&comm), "sendbuf", sendbuf)? {
        None
    } else {
        let count = sendcount.into();
        Some(block(Elements::new(&SENT, sendbuf, count, sendtype))?)
    };
    // SAFETY: passed on.
    let blocks = unsafe {
        let names = &RECEIVED_BLOCKS;
        varying_target(ranks, names, recvbuf, recvcounts, displs, recvtype)?
    };
    let blocks = all_updated_if(send.is_none(), blocks);
    if let Some(send) = &send {
        blocks_apart(slice::from_ref(send), &blocks.0)?;
    }
    finish(
        call,
        comm,
        ending,
        None,
        (send, blocks),
        |comm, (send, blocks)| coll::allgather(comm, send, blocks),
    )
}

forms! {
    allgatherv(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), displs: *const (impl Address + crate::naming::Wide), recvtype: MPI_Datatype);
    MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init;
}

#[inline(always)]
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
    let found = COMMS.find(comm, "comm")?;
    let (sendcount, count) = (sendcount.into(), recvcount.into());
    let mut fast = None;
    if found.remote_group().is_none() && !in_place(sendbuf) {
        let (send, receive) = (
            Elements::new(&SENT, sendbuf, sendcount, sendtype),
            Elements::new(&RECEIVED, recvbuf, count, recvtype),
        );
        if let Some((from, into)) = all_and_all(found, send, receive)? {
            fast = attempt!(call, found, ending, alltoall(from, into));
        }
    }
    rest(move || {
        let comm = COMMS.share(comm, "comm")?;
        let size = partners(&comm);
        let received = target_block(Elements::new(&RECEIVED, recvbuf, count, recvtype))?;
        let received = updated_if(in_place(sendbuf), received);
        let receive = Blocks::equal(&received, count as usize, size);
        let send = if in_place_if(one_group(&comm), "sendbuf", sendbuf)? {
            None
        } else {
            Some(Blocks::equal(
                &block(Elements::new(&SENT, sendbuf, sendcount, sendtype))?,
                sendcount as usize,
                size,
            ))
        };
        if let Some(send) = &send {
            blocks_apart(&send.0, &receive.0)?;
        }
        finish(
            call,
            comm,
            ending,
            fast,
            (send, receive, Sizes::Equal),
            |comm, (send, receive, sizes)| coll::alltoall(comm, send, receive, sizes),
        )
    })
}

forms! {
    alltoall(sendbuf: *const c_void, sendcount: impl crate::naming::Number, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, recvtype: MPI_Datatype);
    MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init;
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
    let comm = COMMS.share(comm, "comm")?;
    let ranks = partners(&comm) as usize;
    // SAFETY: passed on.
    let receive =
        unsafe { varying_target(ranks, &RECEIVED, recvbuf, recvcounts, rdispls, recvtype) }?;
    let send = if in_place_if(one_group(&comm), "sendbuf", sendbuf)? {
        None
    } else {
        // SAFETY: passed on.
        Some(unsafe { varying(ranks, &SENT, sendbuf, sendcounts, sdispls, sendtype) }?)
    };
    let receive = all_updated_if(send.is_none(), receive);
    if let Some(send) = &send {
        blocks_apart(&send.0, &receive.0)?;
    }
    finish(
        call,
        comm,
        ending,
        None,
        (send, receive, Sizes::Varying),
        |comm, (send, receive, sizes)| coll::alltoall(comm, send, receive, sizes),
    )
}

forms! {
    alltoallv(sendbuf: *const c_void, sendcounts: *const (impl Address + crate::naming::Wide), sdispls: *const (impl Address + crate::naming::Wide), sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), rdispls: *const (impl Address + crate::naming::Wide), recvtype: MPI_Datatype);
    MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init;
}

/// One block, made by `block`, for each of so many ranks from C arrays of counts, displacements in bytes and datatypes.
pub(crate) unsafe fn mixed(
    ranks: usize,
    names: &'static Names,
    buf: *const c_void,
    counts: *const impl Address,
    displacements: *const impl Address,
    datatypes: *const MPI_Datatype,
) -> Result<Blocks> {
    refuse_null_arrays(
        ranks,
        names,
        &[
            ("counts", counts.is_null()),
            ("displacements", displacements.is_null()),
            ("datatypes", datatypes.is_null()),
        ],
    )?;
    let block = match names.are_received() {
        true => target_block,
        false => block,
    };
    let blocks = (0..ranks).map(|rank| {
        // SAFETY: the arrays have one entry per rank (crate head).
        let (count, at, datatype) = unsafe {
            (
                (*counts.add(rank)).to_i64(),
                (*displacements.add(rank)).to_i64(),
                *datatypes.add(rank),
            )
        };
        let first = buf.wrapping_byte_offset(at as isize);
        let block = block(Elements::new(&ENTRY, first, count, datatype));
        let block = block.map_err(|error| match error.class() {
            ErrorClass::ERR_BUFFER => names.blame(error),
            _ => names.blame_entry(error, rank),
        })?;
        refuse_no_memory(names, buf, rank, &block)?;
        Ok(block)
    });
    Ok(Blocks(blocks.collect::<Result<_>>()?))
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
    let comm = COMMS.share(comm, "comm")?;
    let ranks = partners(&comm) as usize;
    // SAFETY: passed on.
    let receive = unsafe { mixed(ranks, &RECEIVED, recvbuf, recvcounts, rdispls, recvtypes) }?;
    let send = if in_place_if(one_group(&comm), "sendbuf", sendbuf)? {
        None
    } else {
        // SAFETY: passed on.
        Some(unsafe { mixed(ranks, &SENT, sendbuf, sendcounts, sdispls, sendtypes) }?)
    };
    let receive = all_updated_if(send.is_none(), receive);
    if let Some(send) = &send {
        blocks_apart(&send.0, &receive.0)?;
    }
    finish(
        call,
        comm,
        ending,
        None,
        (send, receive, Sizes::Varying),
        |comm, (send, receive, sizes)| coll::alltoall(comm, send, receive, sizes),
    )
}

forms! {
    alltoallw(sendbuf: *const c_void, sendcounts: *const (impl Address + crate::naming::Wide), sdispls: *const (impl Address + crate::naming::Wide), sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), rdispls: *const (impl Address + crate::naming::Wide), recvtypes: *const MPI_Datatype);
    MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init;
}
