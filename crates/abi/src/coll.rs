// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6): decode, then run the engine's future to its end, or spawn it.

use core::ffi::c_void;
use std::future::Future;
use std::sync::Arc;

use engine::coll::{self, Block, Pieces};
use engine::comm::Comm;
use engine::request::Status;
use engine::{Error, ErrorClass, Result, task};
use mpi_abi_sys::constants::MPI_IN_PLACE;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};

use crate::datatype::memory;
use crate::error::run;
use crate::handle::{COMMS, DATATYPES};
use crate::op::bind;
use crate::type_create::Address;

/// How a call ends: at once (`None`) or with a request.
type Ending = Option<*mut MPI_Request>;

/// Runs a collective to its end, or spawns it and stores the request.
fn finish(
    call: &'static str,
    comm: &Arc<Comm>,
    ending: Ending,
    work: impl Future<Output = Result<()>> + 'static,
) -> Result<()> {
    match ending {
        None => task::block_on(comm.process().vci(), call, work),
        Some(request) => {
            let id = task::spawn(comm, async move { work.await.map(|()| Status::EMPTY) })?;
            // SAFETY: the result is writable (crate head).
            unsafe { *request = id.0 as usize };
            Ok(())
        }
    }
}

/// An intracommunicator.
fn intra(comm: MPI_Comm) -> Result<Arc<Comm>> {
    let object = COMMS.share(comm, "comm")?;
    if object.remote_group().is_some() {
        let text = "collectives on intercommunicators are not implemented yet";
        return Err(Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text));
    }
    Ok(object)
}

fn block(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Result<Block> {
    memory(buf, count, datatype)?;
    Ok(Block::new(
        buf.cast_mut().cast(),
        count as usize,
        DATATYPES.find(datatype, "datatype")?.layout().clone(),
    ))
}

fn check_root(comm: &Comm, root: i32) -> Result<u32> {
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

fn in_place(buf: *const c_void) -> bool {
    buf as usize == MPI_IN_PLACE
}

/// One block per rank from C arrays of counts and displacements in elements.
unsafe fn varying(
    comm: &Comm,
    buf: *const c_void,
    counts: *const impl Address,
    displacements: *const impl Address,
    datatype: MPI_Datatype,
) -> Result<Pieces> {
    let base = Block::new(
        buf.cast_mut().cast(),
        0,
        DATATYPES.find(datatype, "datatype")?.layout().clone(),
    );
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

/// Pieces to send, and the copy they lie in when the call works in place.
struct Kept {
    pieces: Pieces,
    copy: Vec<Vec<u8>>,
}

impl Kept {
    const fn borrowed(pieces: Pieces) -> Self {
        Self {
            pieces,
            copy: Vec::new(),
        }
    }

    /// A future over the pieces that keeps their copy alive.
    fn keep<F: Future<Output = Result<()>>>(
        self,
        work: impl FnOnce(Pieces) -> F,
    ) -> impl Future<Output = Result<()>> {
        let (work, copy) = (work(self.pieces), self.copy);
        async move {
            let outcome = work.await;
            drop(copy);
            outcome
        }
    }
}

/// Copies of pieces as packed bytes.
trait Copied {
    fn copied(&self) -> Kept;
}

impl Copied for Pieces {
    fn copied(&self) -> Kept {
        let mut copy: Vec<Vec<u8>> = self.0.iter().map(Block::to_bytes).collect();
        let byte = Arc::new(layout::Layout::named(1, 1));
        let pieces = copy
            .iter_mut()
            .map(|bytes| Block::new(bytes.as_mut_ptr(), bytes.len(), byte.clone()))
            .collect();
        Kept {
            pieces: Pieces(pieces),
            copy,
        }
    }
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
        coll::gather(comm, send, receive, root),
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
        coll::gather(comm, send, receive, root),
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
        coll::scatter(comm, send, receive, root),
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
        coll::scatter(comm, send, receive, root),
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

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
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
    let comm = intra(comm)?;
    let send = if in_place(sendbuf) {
        None
    } else {
        Some(block(sendbuf, sendcount.into(), sendtype)?)
    };
    let count = recvcount.into();
    let pieces = Pieces::equal(
        &block(recvbuf, count, recvtype)?,
        count as usize,
        comm.size() as u32,
    );
    finish(
        call,
        &comm.clone(),
        ending,
        coll::allgather(comm, send, pieces),
    )
}

pub(crate) unsafe fn MPI_Allgather(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Allgather", comm, || unsafe {
        allgather(
            "MPI_Allgather",
            None,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Iallgather(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iallgather", comm, || unsafe {
        allgather(
            "MPI_Iallgather",
            Some(request),
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            comm,
        )
    })
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
    let comm = intra(comm)?;
    let send = if in_place(sendbuf) {
        None
    } else {
        Some(block(sendbuf, sendcount.into(), sendtype)?)
    };
    // SAFETY: passed on.
    let pieces = unsafe { varying(&comm, recvbuf, recvcounts, displs, recvtype) }?;
    finish(
        call,
        &comm.clone(),
        ending,
        coll::allgather(comm, send, pieces),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Allgatherv(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    displs: *const impl Address,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Allgatherv", comm, || unsafe {
        allgatherv(
            "MPI_Allgatherv",
            None,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcounts,
            displs,
            recvtype,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Iallgatherv(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    displs: *const impl Address,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iallgatherv", comm, || unsafe {
        allgatherv(
            "MPI_Iallgatherv",
            Some(request),
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcounts,
            displs,
            recvtype,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
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
    let comm = intra(comm)?;
    let count = recvcount.into();
    let size = comm.size() as u32;
    let receive = Pieces::equal(&block(recvbuf, count, recvtype)?, count as usize, size);
    let send = if in_place(sendbuf) {
        receive.copied()
    } else {
        let count = sendcount.into();
        Kept::borrowed(Pieces::equal(
            &block(sendbuf, count, sendtype)?,
            count as usize,
            size,
        ))
    };
    finish(
        call,
        &comm.clone(),
        ending,
        send.keep(|pieces| coll::alltoall(comm, pieces, receive)),
    )
}

pub(crate) unsafe fn MPI_Alltoall(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Alltoall", comm, || unsafe {
        alltoall(
            "MPI_Alltoall",
            None,
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Ialltoall(
    sendbuf: *const c_void,
    sendcount: impl Into<i64>,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Ialltoall", comm, || unsafe {
        alltoall(
            "MPI_Ialltoall",
            Some(request),
            sendbuf,
            sendcount,
            sendtype,
            recvbuf,
            recvcount,
            recvtype,
            comm,
        )
    })
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
    let comm = intra(comm)?;
    // SAFETY: passed on.
    let receive = unsafe { varying(&comm, recvbuf, recvcounts, rdispls, recvtype) }?;
    let send = if in_place(sendbuf) {
        receive.copied()
    } else {
        // SAFETY: passed on.
        Kept::borrowed(unsafe { varying(&comm, sendbuf, sendcounts, sdispls, sendtype) }?)
    };
    finish(
        call,
        &comm.clone(),
        ending,
        send.keep(|pieces| coll::alltoall(comm, pieces, receive)),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    sdispls: *const impl Address,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    rdispls: *const impl Address,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Alltoallv", comm, || unsafe {
        alltoallv(
            "MPI_Alltoallv",
            None,
            sendbuf,
            sendcounts,
            sdispls,
            sendtype,
            recvbuf,
            recvcounts,
            rdispls,
            recvtype,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Ialltoallv(
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    sdispls: *const impl Address,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    rdispls: *const impl Address,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Ialltoallv", comm, || unsafe {
        alltoallv(
            "MPI_Ialltoallv",
            Some(request),
            sendbuf,
            sendcounts,
            sdispls,
            sendtype,
            recvbuf,
            recvcounts,
            rdispls,
            recvtype,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn reduce(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: i32,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = intra(comm)?;
    let root = check_root(&comm, root)?;
    let (count, bound) = (count.into(), bind(op, datatype)?);
    let receive = if comm.rank() as u32 == root {
        Some(block(recvbuf, count, datatype)?)
    } else {
        None
    };
    let send = match &receive {
        Some(receive) if in_place(sendbuf) => receive.clone(),
        _ => block(sendbuf, count, datatype)?,
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::reduce(comm, send, receive, bound, root),
    )
}

pub(crate) unsafe fn MPI_Reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: i32,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Reduce", comm, || unsafe {
        reduce(
            "MPI_Reduce",
            None,
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Ireduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: i32,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Ireduce", comm, || unsafe {
        reduce(
            "MPI_Ireduce",
            Some(request),
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            root,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn allreduce(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = intra(comm)?;
    let (count, bound) = (count.into(), bind(op, datatype)?);
    let receive = block(recvbuf, count, datatype)?;
    let send = if in_place(sendbuf) {
        receive.clone()
    } else {
        block(sendbuf, count, datatype)?
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::allreduce(comm, send, receive, bound),
    )
}

pub(crate) unsafe fn MPI_Allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Allreduce", comm, || unsafe {
        allreduce(
            "MPI_Allreduce",
            None,
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            comm,
        )
    })
}

pub(crate) unsafe fn MPI_Iallreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iallreduce", comm, || unsafe {
        allreduce(
            "MPI_Iallreduce",
            Some(request),
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn scan(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = intra(comm)?;
    let (count, bound) = (count.into(), bind(op, datatype)?);
    let receive = block(recvbuf, count, datatype)?;
    let send = if in_place(sendbuf) {
        receive.clone()
    } else {
        block(sendbuf, count, datatype)?
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::scan(comm, send, receive, bound),
    )
}

pub(crate) unsafe fn MPI_Scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Scan", comm, || unsafe {
        scan(
            "MPI_Scan", None, sendbuf, recvbuf, count, datatype, op, comm,
        )
    })
}

pub(crate) unsafe fn MPI_Iscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iscan", comm, || unsafe {
        scan(
            "MPI_Iscan",
            Some(request),
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn exscan(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = intra(comm)?;
    let (count, bound) = (count.into(), bind(op, datatype)?);
    let receive = block(recvbuf, count, datatype)?;
    let send = if in_place(sendbuf) {
        receive.clone()
    } else {
        block(sendbuf, count, datatype)?
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::exscan(comm, send, receive, bound),
    )
}

pub(crate) unsafe fn MPI_Exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Exscan", comm, || unsafe {
        exscan(
            "MPI_Exscan",
            None,
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            comm,
        )
    })
}

pub(crate) unsafe fn MPI_Iexscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Iexscan", comm, || unsafe {
        exscan(
            "MPI_Iexscan",
            Some(request),
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            comm,
        )
    })
}
