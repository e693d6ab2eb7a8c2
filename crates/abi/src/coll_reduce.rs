// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions (MPI-5.0, chapter 6).

use core::ffi::c_void;

use engine::{Error, ErrorClass, Result, coll};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request};

use crate::coll::{Ending, block, check_root, finish, in_place, intra};
use crate::error::run;
use crate::op::bind;
use crate::type_create::{Address, array};

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

/// Combines vectors whose parts have these lengths; each rank gets its part.
#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn reduce_parts(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    counts: Vec<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<()> {
    let comm = intra(comm)?;
    let bound = bind(op, datatype)?;
    let mut total = 0i64;
    for (rank, &count) in counts.iter().enumerate() {
        total = total
            .checked_add(count)
            .filter(|_| count >= 0)
            .ok_or_else(|| {
                let value = format!("{count} at index {rank}");
                Error::argument(
                    ErrorClass::ERR_COUNT,
                    "recvcounts",
                    value,
                    "0 or more elements",
                )
            })?;
    }
    let whole = if in_place(sendbuf) { recvbuf } else { sendbuf };
    let send = block(whole, total, datatype)?;
    let receive = block(recvbuf, counts[comm.rank() as usize], datatype)?;
    let counts = counts.iter().map(|&count| count as usize).collect();
    finish(
        call,
        &comm.clone(),
        ending,
        coll::reduce_scatter(comm, send, receive, counts, bound),
    )
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn reduce_scatter(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<()> {
    let size = i64::from(intra(comm)?.size());
    // SAFETY: the array has one entry per rank (crate head).
    unsafe {
        let counts = array("recvcounts", size, recvcounts, Address::to_i64)?;
        reduce_parts(call, ending, sendbuf, recvbuf, counts, datatype, op, comm)
    }
}

pub(crate) unsafe fn MPI_Reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> i32 {
    let call = "MPI_Reduce_scatter";
    // SAFETY: passed on.
    run(call, comm, || unsafe {
        reduce_scatter(call, None, sendbuf, recvbuf, recvcounts, datatype, op, comm)
    })
}

pub(crate) unsafe fn MPI_Ireduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const impl Address,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let (call, ending) = ("MPI_Ireduce_scatter", Some(request));
    // SAFETY: passed on.
    run(call, comm, || unsafe {
        reduce_scatter(
            call, ending, sendbuf, recvbuf, recvcounts, datatype, op, comm,
        )
    })
}

#[expect(clippy::too_many_arguments, reason = "the standard's signature")]
unsafe fn reduce_scatter_block(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<()> {
    let counts = vec![recvcount.into(); intra(comm)?.size() as usize];
    // SAFETY: passed on.
    unsafe { reduce_parts(call, ending, sendbuf, recvbuf, counts, datatype, op, comm) }
}

pub(crate) unsafe fn MPI_Reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> i32 {
    let call = "MPI_Reduce_scatter_block";
    // SAFETY: passed on.
    run(call, comm, || unsafe {
        reduce_scatter_block(call, None, sendbuf, recvbuf, recvcount, datatype, op, comm)
    })
}

pub(crate) unsafe fn MPI_Ireduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: impl Into<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> i32 {
    let (call, ending) = ("MPI_Ireduce_scatter_block", Some(request));
    // SAFETY: passed on.
    run(call, comm, || unsafe {
        reduce_scatter_block(
            call, ending, sendbuf, recvbuf, recvcount, datatype, op, comm,
        )
    })
}
