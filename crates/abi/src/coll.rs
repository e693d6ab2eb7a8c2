// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6): decode, then run the engine's future to its end, or spawn it.

use core::ffi::c_void;
use std::future::Future;
use std::sync::Arc;

use engine::coll::{self, Block, Pieces, Sizes};
use engine::comm::Comm;
use engine::{Error, ErrorClass, Result, task};
use mpi_abi_sys::constants::MPI_IN_PLACE;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use crate::datatype::memory;
use crate::error::run;
use crate::handle::{COMMS, DATATYPES};
use crate::type_create::Address;

/// How a call ends: at once (`None`) or with a request.
pub(crate) type Ending = Option<*mut MPI_Request>;

/// Runs a collective to its end, or spawns it and stores the request.
pub(crate) fn finish(
    call: &'static str,
    comm: &Arc<Comm>,
    ending: Ending,
    work: impl Future<Output = Result<()>> + 'static,
) -> Result<()> {
    match ending {
        None => task::block_on(comm.process().vci(), call, work),
        Some(request) => {
            let id = task::spawn_collective(comm, work)?;
            // SAFETY: the result is writable (crate head).
            unsafe { *request = id.0 as usize };
            Ok(())
        }
    }
}

/// An intracommunicator.
pub(crate) fn intra(comm: MPI_Comm) -> Result<Arc<Comm>> {
    let object = COMMS.share(comm, "comm")?;
    if object.remote_group().is_some() {
        let text = "collectives on intercommunicators are not implemented yet";
        return Err(Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text));
    }
    Ok(object)
}

pub(crate) fn block(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Result<Block> {
    memory(buf, count, datatype)?;
    let layout = DATATYPES.find(datatype, "datatype")?.layout().clone();
    // SAFETY: a program leaves the buffers of a collective alone until it is complete (crate head).
    Ok(unsafe { Block::new(buf.cast_mut().cast(), count as usize, layout) })
}

pub(crate) fn check_root(comm: &Comm, root: i32) -> Result<u32> {
    if (0..comm.size()).contains(&root) {
        return Ok(root as u32);
    }
    Err(Error::argument(
        ErrorClass::ERR_ROOT,
        "root",
        root,
        format!("0..{}", comm.size() - 1),
    ))
}

pub(crate) fn in_place(buf: *const c_void) -> bool {
    buf as usize == MPI_IN_PLACE
}

/// One block per rank from C arrays of counts and displacements in elements.
pub(crate) unsafe fn varying(
    comm: &Comm,
    buf: *const c_void,
    counts: *const impl Address,
    displacements: *const impl Address,
    datatype: MPI_Datatype,
) -> Result<Pieces> {
    let base = block(buf, 0, datatype)?;
    let mut pieces = Vec::new();
    for rank in 0..comm.size() as usize {
        // SAFETY: the arrays have one entry per rank (crate head).
        let (count, at) = unsafe {
            (
                (*counts.add(rank)).to_i64(),
                (*displacements.add(rank)).to_i64(),
            )
        };
        let count = usize::try_from(count).map_err(|_| {
            Error::argument(
                ErrorClass::ERR_COUNT,
                "counts",
                format!("{count} at index {rank}"),
                "0 or more elements",
            )
        })?;
        pieces.push(base.part(at, count));
    }
    Ok(Pieces(pieces))
}

unsafe fn barrier(call: &'static str, ending: Ending, comm: MPI_Comm) -> Result<()> {
    let comm = intra(comm)?;
    finish(call, &comm.clone(), ending, coll::barrier(comm))
}

pub(crate) unsafe fn MPI_Barrier(comm: MPI_Comm) -> i32 {
    // SAFETY: passed on.
    run("MPI_Barrier", comm, || unsafe {
        barrier("MPI_Barrier", None, comm)
    })
}

pub(crate) unsafe fn MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) -> i32 {
    // SAFETY: passed on.
    run("MPI_Ibarrier", comm, || unsafe {
        barrier("MPI_Ibarrier", Some(request), comm)
    })
}

unsafe fn bcast(
    call: &'static str,
    ending: Ending,
    buffer: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = intra(comm)?;
    let root = check_root(&comm, root)?;
    let block = block(buffer, count.into(), datatype)?;
    finish(call, &comm.clone(), ending, coll::bcast(comm, block, root))
}

pub(crate) unsafe fn MPI_Bcast(
    buffer: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Bcast", comm, || unsafe {
        bcast("MPI_Bcast", None, buffer, count, datatype, root, comm)
    })
}

pub(crate) unsafe fn MPI_Ibcast(
    buffer: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Ibcast", comm, || unsafe {
        bcast(
            "MPI_Ibcast",
            Some(request),
            buffer,
            count,
            datatype,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
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
    let comm = intra(comm)?;
    let root = check_root(&comm, root)?;
    let send = if in_place(sendbuf) {
        None
    } else {
        Some(block(sendbuf, sendcount.into(), sendtype)?)
    };
    let count = recvcount.into();
    let receive = if comm.rank() as u32 == root {
        Some(Pieces::equal(
            &block(recvbuf, count, recvtype)?,
            count as usize,
            comm.size() as u32,
        ))
    } else {
        None
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::gather(comm, send, receive, root, Sizes::Equal),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Gather(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Gather", comm, || unsafe {
        gather(
            "MPI_Gather",
            None,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Igather(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Igather", comm, || unsafe {
        gather(
            "MPI_Igather",
            Some(request),
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
            comm,
        )
    })
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
    let comm = intra(comm)?;
    let root = check_root(&comm, root)?;
    let send = if in_place(sendbuf) {
        None
    } else {
        Some(block(sendbuf, sendcount.into(), sendtype)?)
    };
    let receive = if comm.rank() as u32 == root {
        // SAFETY: passed on.
        Some(unsafe { varying(&comm, recvbuf, recvcounts, displs, recvtype) }?)
    } else {
        None
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::gather(comm, send, receive, root, Sizes::Varying),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Gatherv(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    displs: *const impl Address,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Gatherv", comm, || unsafe {
        gatherv(
            "MPI_Gatherv",
            None,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcounts,
            displs,
            recvtype,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Igatherv(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    displs: *const impl Address,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Igatherv", comm, || unsafe {
        gatherv(
            "MPI_Igatherv",
            Some(request),
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcounts,
            displs,
            recvtype,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
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
    let comm = intra(comm)?;
    let root = check_root(&comm, root)?;
    let receive = if in_place(recvbuf) {
        None
    } else {
        Some(block(recvbuf, recvcount.into(), recvtype)?)
    };
    let count = sendcount.into();
    let send = if comm.rank() as u32 == root {
        Some(Pieces::equal(
            &block(sendbuf, count, sendtype)?,
            count as usize,
            comm.size() as u32,
        ))
    } else {
        None
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::scatter(comm, send, receive, root, Sizes::Equal),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Scatter(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Scatter", comm, || unsafe {
        scatter(
            "MPI_Scatter",
            None,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Iscatter(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iscatter", comm, || unsafe {
        scatter(
            "MPI_Iscatter",
            Some(request),
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
            comm,
        )
    })
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
    let comm = intra(comm)?;
    let root = check_root(&comm, root)?;
    let receive = if in_place(recvbuf) {
        None
    } else {
        Some(block(recvbuf, recvcount.into(), recvtype)?)
    };
    let send = if comm.rank() as u32 == root {
        // SAFETY: passed on.
        Some(unsafe { varying(&comm, sendbuf, sendcounts, displs, sendtype) }?)
    } else {
        None
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::scatter(comm, send, receive, root, Sizes::Varying),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Scatterv(
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    displs: *const impl Address,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Scatterv", comm, || unsafe {
        scatterv(
            "MPI_Scatterv",
            None,
            sendbuf,
            sendcounts,
            displs,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Iscatterv(
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    displs: *const impl Address,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    root: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iscatterv", comm, || unsafe {
        scatterv(
            "MPI_Iscatterv",
            Some(request),
            sendbuf,
            sendcounts,
            displs,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            root,
            comm,
        )
    })
}
