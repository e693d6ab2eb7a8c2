// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in which every rank gets everything or exchanges with all (MPI-5.0, chapter 6).

use core::ffi::c_void;

use engine::Result;
use engine::coll::{self, Pieces, Sizes};
use engine::comm::Comm;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Request};

use crate::coll::{Ending, block, finish, in_place, intra, varying};
use crate::error::run;
use crate::type_create::Address;

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
        None
    } else {
        let count = sendcount.into();
        Some(Pieces::equal(
            &block(sendbuf, count, sendtype)?,
            count as usize,
            size,
        ))
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::alltoall(comm, send, receive, Sizes::Equal),
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
        None
    } else {
        // SAFETY: passed on.
        Some(unsafe { varying(&comm, sendbuf, sendcounts, sdispls, sendtype) }?)
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::alltoall(comm, send, receive, Sizes::Varying),
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

/// One block per rank from C arrays of counts, displacements in bytes and datatypes.
unsafe fn mixed(
    comm: &Comm,
    buf: *const c_void,
    counts: *const impl Address,
    displacements: *const impl Address,
    datatypes: *const MPI_Datatype,
) -> Result<Pieces> {
    let pieces = (0..comm.size() as usize).map(|rank| {
        // SAFETY: the arrays have one entry per rank (crate head).
        let (count, at, datatype) = unsafe {
            (
                (*counts.add(rank)).to_i64(),
                (*displacements.add(rank)).to_i64(),
                *datatypes.add(rank),
            )
        };
        block(buf.wrapping_byte_offset(at as isize), count, datatype)
    });
    Ok(Pieces(pieces.collect::<Result<_>>()?))
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
    let comm = intra(comm)?;
    // SAFETY: passed on.
    let receive = unsafe { mixed(&comm, recvbuf, recvcounts, rdispls, recvtypes) }?;
    let send = if in_place(sendbuf) {
        None
    } else {
        // SAFETY: passed on.
        Some(unsafe { mixed(&comm, sendbuf, sendcounts, sdispls, sendtypes) }?)
    };
    finish(
        call,
        &comm.clone(),
        ending,
        coll::alltoall(comm, send, receive, Sizes::Varying),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Alltoallw(
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    sdispls: *const impl Address,
    sendtypes: *const MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    rdispls: *const impl Address,
    recvtypes: *const MPI_Datatype,
    comm: MPI_Comm,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Alltoallw", comm, || unsafe {
        alltoallw(
            "MPI_Alltoallw",
            None,
            sendbuf,
            sendcounts,
            sdispls,
            sendtypes,
            recvbuf,
            recvcounts,
            rdispls,
            recvtypes,
            comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
pub(crate) unsafe fn MPI_Ialltoallw(
    sendbuf: *const c_void,
    sendcounts: *const impl Address,
    sdispls: *const impl Address,
    sendtypes: *const MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    rdispls: *const impl Address,
    recvtypes: *const MPI_Datatype,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    // SAFETY: passed on.
    run("MPI_Ialltoallw", comm, || unsafe {
        alltoallw(
            "MPI_Ialltoallw",
            Some(request),
            sendbuf,
            sendcounts,
            sdispls,
            sendtypes,
            recvbuf,
            recvcounts,
            rdispls,
            recvtypes,
            comm,
        )
    })
}
