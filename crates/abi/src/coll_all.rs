// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in which every rank gets everything or exchanges with all (MPI-5.0, chapter 6).

use core::ffi::c_void;
use std::future::Future;
use std::sync::Arc;

use engine::Result;
use engine::coll::{self, Block, Pieces};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use crate::coll::{Ending, block, finish, in_place, intra, varying};
use crate::error::run;
use crate::type_create::Address;

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
