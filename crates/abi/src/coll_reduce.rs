// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions (MPI-5.0, chapter 6).

use core::ffi::c_void;

use engine::Result;
use engine::coll;
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};

use crate::coll::{Ending, block, check_root, finish, in_place, intra};
use crate::error::run;
use crate::op::bind;

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
