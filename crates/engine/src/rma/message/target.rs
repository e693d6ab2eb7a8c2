// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a service does with its member's memory. Requests are validated against the member's own window: an origin that is wrong about
//! it, or a message that is damaged, is refused.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use super::channel::{Pending, Then, send_owned};
use super::cut::MOST_BYTES;
use super::elements;
use super::runs::{LocalSpan, load, store, total};
use super::service::Work;
use super::wire::{Kind, Number, Request, Span};
use crate::allocate;
use crate::comm::Comm;
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};
use crate::p2p::{self, Mode};
use crate::request::RequestId;
use crate::rma::granule::Granule;
use crate::rma::window::{Flavor, Window};
use crate::task::Completion;

/// How a request ended.
pub(super) enum Handled {
    /// There is nothing to tell.
    Done,
    /// It was refused, which the next answer tells.
    Refused(Error),
    /// The answer is on its way.
    Sending(Pending),
    /// The same of one that was to be answered: the answer is empty.
    RefusedAnswer(Number, Error),
}

/// Whether a request is handled or waits for its data.
pub(super) enum Access {
    Now(Handled),
    Later(Work),
}

/// How this member's memory is accessed.
pub(super) fn granule(window: &Window) -> Granule {
    window.own().granule
}

/// A run's bytes in this process, of which `span` are accessed.
pub(super) fn run(window: &Window, run: &Span, span: u64) -> Result<LocalSpan> {
    let granule = granule(window);
    if !granule.divides(run.offset | span) {
        let text = format!(
            "{span} bytes from {} on are not whole words of {} bytes",
            run.offset, granule as u64
        );
        return Err(Error::new(ErrorClass::ERR_RMA_RANGE, text));
    }
    let end = run.offset.checked_add(span);
    let bytes = run.bytes as usize;
    if window.flavor() == Flavor::Dynamic {
        let (address, device) = window.attached_bytes(run.offset, span)?;
        return Ok(LocalSpan {
            address,
            bytes,
            device,
        });
    }
    if end.is_some_and(|end| end <= window.bytes()) {
        return Ok(LocalSpan {
            address: window.base().wrapping_add(run.offset as usize),
            bytes,
            device: window.device,
        });
    }
    let text = format!(
        "bytes {}..{} are outside its window of {} bytes",
        run.offset,
        run.offset.saturating_add(span),
        window.bytes()
    );
    Err(Error::new(ErrorClass::ERR_RMA_RANGE, text))
}

/// All runs of a request, which fit into a buffer.
fn runs(window: &Window, request: &Request) -> Result<Vec<LocalSpan>> {
    let total = request.bytes().filter(|&bytes| bytes <= MOST_BYTES);
    let needs_copy = request.runs.len() != 1 || granule(window) != Granule::Any;
    if total.is_none() && needs_copy {
        let text = "a request about more bytes than one may be";
        return Err(Error::new(ErrorClass::ERR_INTERN, text));
    }
    let find = |it: &Span| run(window, it, it.bytes);
    request.runs.iter().map(find).collect()
}

/// Receives data that follow a request, into memory that lives until they have come.
///
/// # Safety
/// The memory is writable until the future ends, which is polled to its end.
pub(super) async unsafe fn receive(
    comm: Arc<Comm>,
    source: u32,
    number: Number,
    memory: Memory<'static>,
) -> Result<()> {
    let expected = memory.bytes;
    // SAFETY: the caller's promise.
    let request = unsafe { p2p::irecv(&comm, memory, source as i32, number.data_tag()) }?;
    let status = Completion::new(comm.vci(), request).await?;
    if status.bytes != expected as u64 {
        let text = format!("{} bytes of data instead of {expected}", status.bytes);
        return Err(Error::new(ErrorClass::ERR_INTERN, text));
    }
    Ok(())
}

/// Takes data of a refused request out of the way.
pub(super) async fn discard(comm: Arc<Comm>, source: u32, number: Number, why: Handled) -> Handled {
    let nothing = Memory::contiguous(std::ptr::dangling_mut(), 0);
    // SAFETY: no byte is received; that the message is longer is expected.
    let _ = unsafe { receive(comm, source, number, nothing) }.await;
    why
}

fn handled(outcome: Result<()>) -> Handled {
    outcome.map_or_else(Handled::Refused, |()| Handled::Done)
}

fn put(window: &Window, comm: &Arc<Comm>, source: u32, request: &Request) -> Access {
    let (runs, granule) = (runs(window, request), granule(window));
    if !request.header.follows {
        let stored = runs.and_then(|runs| store(granule, &runs, &request.data));
        return Access::Now(handled(stored));
    }
    let (comm, number) = (comm.clone(), request.header.number);
    // In the memory of a GPU a run of any length needs a copy.
    let room = |runs: &[LocalSpan]| match single(runs, granule) {
        Some(_) => Ok(Vec::new()),
        None => allocate::zeroed(total(runs)),
    };
    let (runs, mut data) = match runs.and_then(|runs| Ok((room(&runs)?, runs))) {
        Ok((data, runs)) => (runs, data),
        Err(error) => {
            let why = Handled::Refused(error);
            return Access::Later(Box::pin(discard(comm, source, number, why)));
        }
    };
    if let Some(into) = single(&runs, granule) {
        // SAFETY: the run lies inside the window, which lives until its service ends, after this.
        let data = unsafe { receive(comm, source, number, into) };
        return Access::Later(Box::pin(async { handled(data.await) }));
    }
    Access::Later(Box::pin(async move {
        let into = Memory::contiguous(data.as_mut_ptr(), data.len());
        // SAFETY: the buffer outlives the future, which is polled to its end.
        let received = unsafe { receive(comm, source, number, into) };
        handled(received.await.and_then(|()| store(granule, &runs, &data)))
    }))
}

/// Memory that messages move from and to themselves: one run that the processor reaches in any way.
fn single(runs: &[LocalSpan], granule: Granule) -> Option<Memory<'static>> {
    match runs {
        [run] if granule == Granule::Any => run.memory(),
        _ => None,
    }
}

fn get(window: &Window, comm: &Comm, source: u32, request: &Request) -> Handled {
    let number = request.header.number;
    let runs = match runs(window, request) {
        Ok(runs) => runs,
        Err(error) => return Handled::RefusedAnswer(number, error),
    };
    let granule = granule(window);
    let in_place = single(&runs, granule);
    let sent = match in_place.filter(|memory| memory.bytes > MOST_COPIED) {
        Some(memory) => {
            let (rank, tag) = (source as i32, number.answer_tag());
            // SAFETY: the run lies inside the window, which lives until its service ends, after this send.
            let sent = unsafe { p2p::isend(comm, memory, rank, tag, Mode::Standard) };
            sent.map(|request| {
                let then = Then::Sent { _kept: Vec::new() };
                (request != RequestId::SENT).then_some(Pending { request, then })
            })
        }
        None => load(granule, &runs)
            .and_then(|packed| send_owned(comm, packed, source, number.answer_tag())),
    };
    answered(sent, number)
}

/// What became of an answer.
pub(super) fn answered(sent: Result<Option<Pending>>, number: Number) -> Handled {
    match sent {
        Ok(None) => Handled::Done,
        Ok(Some(pending)) => Handled::Sending(pending),
        Err(error) => Handled::RefusedAnswer(number, error),
    }
}

/// Shorter runs are copied, by single loads where they are words.
const MOST_COPIED: usize = 64;

/// Handles a request that is about memory, and that came on a communicator of the members.
pub(super) fn access(
    window: &Arc<Window>,
    comm: &Arc<Comm>,
    source: u32,
    request: &Request,
) -> Access {
    match request.header.kind {
        Kind::Put => put(window, comm, source, request),
        Kind::Get => Access::Now(get(window, comm, source, request)),
        Kind::Accumulate | Kind::Fetch => elements::accumulate(window, comm, source, request),
        Kind::Swap => Access::Now(elements::swap(window, comm, source, request)),
        kind => {
            let text = format!("{kind:?} accesses no memory");
            Access::Now(Handled::Refused(Error::new(ErrorClass::ERR_INTERN, text)))
        }
    }
}
