// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions (MPI-5.0, chapter 6).

use core::ffi::c_void;
use std::sync::Arc;

use engine::coll::fast::Span;
use engine::coll::{self, Block, FastPlan, Root};
use engine::comm::Comm;
use engine::op::Reduction;
use engine::{Error, ErrorClass, Result};
use mpi_abi_sys::constants::{MPI_BOR, MPI_BYTE};
use mpi_abi_sys::types::{MPI_Comm, MPI_Datatype, MPI_Op};

use super::buffers::{
    COMBINED, Elements, OPERAND, RECEIVED_PART, RECEIVED_VECTOR, SENT_PARTS, SENT_VECTOR, aliased,
    apart, block, check_target, elements_apart, in_place, in_place_if, no_block, one_group,
    span_of, span_of_all, spans_apart, target_block,
};
use super::ending::{Ending, attempt, finish, forms, rest};
use super::rooted::{is_member, is_root, root_of, updated_if};
use crate::comm::intra;
use crate::datatype::contiguous_alike;
use crate::datatype::create::{Address, array};
use crate::error::run;
use crate::exposed;
use crate::handle::COMMS;
use crate::naming::{Number, named};
use crate::op::{bind, bind_into};

#[inline(always)]
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
    let found = COMMS.find(comm, "comm")?;
    let root = root_of(found, root)?;
    // A rank that takes no part may name any type and operation.
    let (count, datatype, op) = match root {
        Root::Elsewhere => (0, MPI_BYTE, MPI_BOR),
        _ => (count.into(), datatype, op),
    };
    let mut own = None;
    let bound = bind_into(op, datatype, &mut own)?;
    let mut fast = None;
    if let (None, Root::Rank(rank)) = (found.remote_group(), root) {
        let elements = count as usize;
        if is_root(found, root) {
            let vectors = Vectors {
                sendbuf,
                recvbuf,
                count,
                datatype,
            };
            if let Some((from, into)) = vectors.runs()? {
                fast = attempt!(call, found, ending, reduce(from, Some(into), elements; bound, Some(rank)));
            }
        } else if let Some(from) = span_of(Elements::new(&SENT_VECTOR, sendbuf, count, datatype))? {
            fast = attempt!(call, found, ending, reduce(from, None, elements; bound, Some(rank)));
        }
    }
    rest(move || {
        let bound = bound.clone();
        let comm = COMMS.share(comm, "comm")?;
        let receive = if is_root(&comm, root) {
            Some(target_block(Elements::new(
                &RECEIVED_VECTOR,
                recvbuf,
                count,
                datatype,
            ))?)
        } else {
            None
        };
        let send = match &receive {
            Some(receive)
                if !is_member(root) || in_place_if(one_group(&comm), "sendbuf", sendbuf)? =>
            {
                receive.clone().updated()
            }
            None if !is_member(root) => no_block()?,
            _ => block(Elements::new(&SENT_VECTOR, sendbuf, count, datatype))?,
        };
        finish(
            call,
            comm,
            ending,
            fast,
            (send, receive, bound, root),
            |comm, (send, receive, bound, root)| coll::reduce(comm, send, receive, bound, root),
        )
    })
}

forms! {
    reduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: impl crate::naming::Number, datatype: MPI_Datatype, op: MPI_Op, root: i32);
    MPI_Reduce MPI_Ireduce MPI_Reduce_init;
}

/// The buffers of a reduction at every rank: the operand and the result.
#[derive(Clone, Copy)]
struct Vectors {
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
}

impl Vectors {
    #[inline(always)]
    const fn given(&self) -> Elements {
        Elements::new(&SENT_VECTOR, self.sendbuf, self.count, self.datatype)
    }

    #[inline(always)]
    const fn got(&self) -> Elements {
        Elements::new(&RECEIVED_VECTOR, self.recvbuf, self.count, self.datatype)
    }

    /// Both as the fast path takes them, checked; `None` if they are no runs of bytes.
    #[inline(always)]
    fn runs(&self) -> Result<Option<(Span, Span)>> {
        let Some(into) = self.got().contiguous() else {
            return (*self).general_spans();
        };
        let Some(from) = contiguous_alike(self.sendbuf, into) else {
            return (*self).general_spans();
        };
        spans_apart(from, into)?;
        Ok(Some((from, into)))
    }

    #[inline(never)]
    fn general_spans(self) -> Result<Option<(Span, Span)>> {
        let into = span_of(self.got())?;
        if in_place(self.sendbuf) {
            return Ok(into.map(|into| (into, into)));
        }
        let from = span_of(self.given())?;
        elements_apart(self.given(), self.got())?;
        Ok(from.zip(into))
    }

    /// Both as messages take them.
    fn blocks(&self) -> Result<(Block, Block)> {
        let receive = target_block(self.got())?;
        if in_place(self.sendbuf) {
            return Ok((receive.clone().updated(), receive));
        }
        let send = block(self.given())?;
        apart(&send.memory(), &receive.memory())?;
        Ok((send, receive))
    }
}

#[inline(always)]
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
    let found = COMMS.find(comm, "comm")?;
    let (count, mut own) = (count.into(), None);
    let bound = bind_into(op, datatype, &mut own)?;
    let vectors = Vectors {
        sendbuf,
        recvbuf,
        count,
        datatype,
    };
    let mut fast = None;
    if found.remote_group().is_none()
        && let Some((from, into)) = vectors.runs()?
    {
        let count = count as usize;
        fast = attempt!(call, found, ending, reduce(from, Some(into), count; bound, None));
    }
    rest(move || {
        let bound = bound.clone();
        let comm = COMMS.share(comm, "comm")?;
        in_place_if(one_group(&comm), "sendbuf", sendbuf)?;
        let (send, receive) = vectors.blocks()?;
        finish(
            call,
            comm,
            ending,
            fast,
            (send, receive, bound),
            |comm, (send, receive, bound)| coll::allreduce(comm, send, receive, bound),
        )
    })
}

forms! {
    allreduce(sendbuf: *const c_void, recvbuf: *mut c_void, count: impl crate::naming::Number, datatype: MPI_Datatype, op: MPI_Op);
    MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init;
}

/// A scan, with the own vector or without it; `work` does the same with messages.
#[inline(always)]
fn prefix<W: Future<Output = Result<()>> + 'static>(
    (call, ending): (&'static str, Ending),
    vectors: Vectors,
    op: MPI_Op,
    comm: MPI_Comm,
    inclusive: bool,
    work: impl Fn(Arc<Comm>, Block, Block, Reduction) -> W + 'static,
) -> Result<()> {
    let mut own = None;
    let bound = bind_into(op, vectors.datatype, &mut own)?;
    let found = COMMS.find(comm, "comm")?;
    let mut fast = None;
    if found.remote_group().is_none()
        && let Some((from, into)) = vectors.runs()?
    {
        let count = vectors.count as usize;
        fast = attempt!(call, found, ending, prefix(from, into, count; bound, inclusive));
    }
    rest(move || {
        let bound = bound.clone();
        let comm = intra(comm, "comm")?;
        let (send, receive) = vectors.blocks()?;
        // The first member of an exclusive one gets nothing.
        let receive = updated_if(!inclusive, receive);
        finish(
            call,
            comm,
            ending,
            fast,
            (send, receive, bound),
            move |comm, (send, receive, bound)| work(comm, send, receive, bound),
        )
    })
}

#[inline(always)]
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
    let vectors = Vectors {
        sendbuf,
        recvbuf,
        count: count.into(),
        datatype,
    };
    prefix((call, ending), vectors, op, comm, true, coll::scan)
}

forms! {
    scan(sendbuf: *const c_void, recvbuf: *mut c_void, count: impl crate::naming::Number, datatype: MPI_Datatype, op: MPI_Op);
    MPI_Scan MPI_Iscan MPI_Scan_init;
}

#[inline(always)]
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
    let vectors = Vectors {
        sendbuf,
        recvbuf,
        count: count.into(),
        datatype,
    };
    prefix((call, ending), vectors, op, comm, false, coll::exscan)
}

forms! {
    exscan(sendbuf: *const c_void, recvbuf: *mut c_void, count: impl crate::naming::Number, datatype: MPI_Datatype, op: MPI_Op);
    MPI_Exscan MPI_Iexscan MPI_Exscan_init;
}

/// The elements that a rank gives to a reduction whose result is spread.
#[inline(always)]
fn whole_vector(
    sendbuf: *const c_void,
    recvbuf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Elements {
    match in_place(sendbuf) {
        true => Elements::new(&RECEIVED_PART, recvbuf, count, datatype),
        false => Elements::new(&SENT_PARTS, sendbuf, count, datatype),
    }
}

/// Combines vectors whose parts have these lengths; each rank gets its part.
unsafe fn reduce_parts(
    call: &'static str,
    ending: Ending,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    counts: Vec<i64>,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    fast: Option<FastPlan>,
) -> Result<()> {
    let comm = COMMS.share(comm, "comm")?;
    let bound = bind(op, datatype)?;
    let mut total = 0i64;
    for (rank, &count) in counts.iter().enumerate() {
        total = total
            .checked_add(count)
            .filter(|_| count >= 0)
            .ok_or_else(|| {
                let (class, expected) = (ErrorClass::ERR_COUNT, "0 or more elements");
                // The program gave one count for all.
                if call.contains("scatter_block") {
                    return Error::argument(class, "recvcount", count, expected);
                }
                Error::argument(class, "recvcounts", count, expected).at_index(rank)
            })?;
    }
    let is_in_place = in_place_if(one_group(&comm), "sendbuf", sendbuf)?;
    let send = block(whole_vector(sendbuf, recvbuf, total, datatype))?;
    let own = counts[comm.rank() as usize];
    let receive = target_block(Elements::new(&RECEIVED_PART, recvbuf, own, datatype))?;
    if !is_in_place {
        apart(&send.memory(), &receive.memory())?;
    }
    let counts = counts.iter().map(|&count| count as usize).collect();
    finish(
        call,
        comm,
        ending,
        fast,
        (send, receive, counts, bound),
        |comm, (send, receive, counts, bound)| {
            coll::reduce_scatter(comm, send, receive, counts, bound)
        },
    )
}

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
    let size = i64::from(COMMS.share(comm, "comm")?.size());
    // SAFETY: the array has one entry per rank (crate head).
    unsafe {
        let counts = array("recvcounts", size, recvcounts, Address::to_i64)?;
        reduce_parts(
            call, ending, sendbuf, recvbuf, counts, datatype, op, comm, None,
        )
    }
}

forms! {
    reduce_scatter(sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const (impl Address + crate::naming::Wide), datatype: MPI_Datatype, op: MPI_Op);
    MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init;
}

#[inline(always)]
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
    let found = COMMS.find(comm, "comm")?;
    let recvcount = recvcount.into();
    let mut fast = None;
    if found.remote_group().is_none() {
        let mut own = None;
        let bound = bind_into(op, datatype, &mut own)?;
        let part = whole_vector(sendbuf, recvbuf, recvcount, datatype);
        let from = span_of_all(found, part)?;
        let into = span_of(Elements::new(&RECEIVED_PART, recvbuf, recvcount, datatype))?;
        if let (Some(from), Some(into)) = (from, into) {
            if !in_place(sendbuf) {
                spans_apart(from, into)?;
            }
            let count = recvcount as usize;
            fast = attempt!(call, found, ending, reduce_scatter(from, into, count; bound));
        }
    }
    rest(move || {
        let counts = vec![recvcount; found.size() as usize];
        // SAFETY: passed on.
        unsafe {
            reduce_parts(
                call, ending, sendbuf, recvbuf, counts, datatype, op, comm, fast,
            )
        }
    })
}

forms! {
    reduce_scatter_block(sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: impl crate::naming::Number, datatype: MPI_Datatype, op: MPI_Op);
    MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init;
}

pub(crate) unsafe fn MPI_Reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: impl Number,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> i32 {
    run(named!("MPI_Reduce_local", count), 0, || {
        let count = count.into();
        in_place_if(false, "inbuf", inbuf)?;
        in_place_if(false, "inoutbuf", inoutbuf)?;
        let into = Elements::new(&COMBINED, inoutbuf, count, datatype);
        let given = Elements::new(&OPERAND, inbuf, count, datatype);
        let (from, from_device) = given.located()?;
        check_target(into)?;
        let (found, into_device) = into.located()?;
        exposed::forget_local();
        if from.overlaps(&found) {
            return Err(aliased(["inbuf", "inoutbuf"], &from, &found));
        }
        let reduction = bind(op, datatype)?;
        if from_device.is_some() || into_device.is_some() {
            return coll::reduce_on_device(block(given)?, target_block(into)?, reduction);
        }
        // SAFETY: both buffers hold `count` elements (crate head; checked as far as C allows).
        unsafe { reduction.apply(inbuf.cast(), inoutbuf.cast(), count as usize) };
        Ok(())
    })
}
