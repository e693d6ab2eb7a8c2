// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations of an origin as messages.
#![expect(
    unsafe_code,
    reason = "origin and target are addresses that programs gave"
)]

use std::ops::Range;

use sys::sync::Ordering;

use super::accesses::Lives;
use super::channel::{Channel, Ending, Pending, Then, finish_all, send_owned, withdraw};
use super::cut::{cut, cut_elements};
use super::stream::Stream;
use super::wire::{During, Header, Kind, Span};
use crate::coll::RawMut;
use crate::comm::Comm;
use crate::datatype::{Memory, Predefined};
use crate::errors::Result;
use crate::op::Operator;
use crate::p2p::{self, Mode};
use crate::request::{RequestId, Status};
use crate::rma::target::{Path, Place};
use crate::rma::window::Window;
use crate::task;

/// An operation on a target by messages.
struct Operation<'a> {
    channel: &'a Channel,
    stream: &'a Stream,
    comm: &'a Comm,
    rank: u32,
    during: During,
    has_request: bool,
    /// Whether requests that nothing answers by itself may wait for others.
    may_wait: bool,
    pending: Vec<Pending>,
    /// Whether requests could overtake parts of what has begun.
    has_parts: bool,
}

/// Appends packed bytes of memory.
///
/// # Safety
/// The memory is readable.
unsafe fn append(message: &mut Vec<u8>, memory: &Memory<'_>, range: Range<usize>) {
    message.reserve_exact(range.len());
    let end = message.len() + range.len();
    // SAFETY: the memory is readable (caller), the message has room, and all bytes up to the new end are written.
    unsafe {
        let room = message.as_mut_ptr().add(message.len());
        match memory.layout {
            None => layout::copy_bytes(memory.base.add(range.start), room, range.len()),
            Some((layout, _)) => layout.pack(memory.base, range, room),
        }
        message.set_len(end);
    }
}

impl Operation<'_> {
    /// The header of the next request.
    fn header(&self, kind: Kind) -> Header {
        Header {
            during: self.during,
            has_request: self.has_request,
            ..Header::new(kind, self.stream.number())
        }
    }

    fn keep(&mut self, pending: Option<Pending>) {
        self.pending.extend(pending);
    }

    fn request(&mut self, message: Vec<u8>, may_wait: bool) -> Result<()> {
        let pending = self.stream.post(self.rank, message, may_wait)?;
        self.keep(pending);
        Ok(())
    }

    /// Sends a request with the bytes of the origin that it is about.
    ///
    /// # Safety
    /// The origin is readable until the operation is complete here.
    unsafe fn send(
        &mut self,
        mut header: Header,
        runs: &[Span],
        origin: &Memory<'_>,
        range: Range<usize>,
    ) -> Result<()> {
        if Header::has_room(runs.len(), range.len()) {
            let mut message = header.encode(runs, range.len());
            // SAFETY: the caller's promise.
            unsafe { append(&mut message, origin, range) };
            let may_wait = self.may_wait && matches!(header.kind, Kind::Put | Kind::Accumulate);
            return self.request(message, may_wait);
        }
        header.follows = true;
        self.request(header.encode(runs, 0), false)?;
        let (rank, tag) = (self.rank as i32, header.number.data_tag());
        let memory = match origin.layout {
            _ if range.len() == origin.bytes => origin.typed(None),
            None => Memory::contiguous(origin.base.wrapping_add(range.start), range.len()),
            Some(_) => {
                let mut packed = Vec::new();
                // SAFETY: the caller's promise.
                unsafe { append(&mut packed, origin, range) };
                let pending = send_owned(self.comm, packed, self.rank, tag)?;
                self.keep(pending);
                return Ok(());
            }
        };
        // SAFETY: the caller's promise.
        let request = unsafe { p2p::isend(self.comm, memory, rank, tag, Mode::Standard) }?;
        let then = Then::Sent { _kept: Vec::new() };
        self.keep((request != RequestId::SENT).then_some(Pending { request, then }));
        Ok(())
    }

    /// Starts to receive what the target sends back for a part of the memory.
    ///
    /// # Safety
    /// The memory is writable, and not touched otherwise, until the operation is complete here.
    unsafe fn receive(
        &mut self,
        header: &Header,
        into: &Memory<'_>,
        range: Range<usize>,
    ) -> Result<Pending> {
        let (rank, bytes) = (self.rank, range.len());
        let mut packed = Vec::new();
        let memory = match into.layout {
            _ if bytes == into.bytes => into.typed(None),
            None => Memory::contiguous(into.base.wrapping_add(range.start), bytes),
            Some(_) => {
                packed = vec![0; bytes];
                Memory::contiguous(packed.as_mut_ptr(), bytes)
            }
        };
        let tag = header.number.answer_tag();
        // SAFETY: the caller's promise; packed bytes are kept with the request.
        let request = unsafe { p2p::irecv(self.comm, memory, rank as i32, tag) }?;
        let then = match into.layout {
            Some((layout, _)) if bytes != into.bytes => Then::Unpack {
                packed,
                rank,
                base: RawMut(into.base),
                layout: layout.clone(),
                start: range.start,
            },
            _ => Then::Received { bytes, rank },
        };
        Ok(Pending { request, then })
    }

    /// Keeps the receive of an answer if its request was sent.
    fn expect(&mut self, receive: Pending, sent: Result<()>) -> Result<()> {
        match sent {
            Ok(()) => self.pending.push(receive),
            Err(_) => withdraw(self.comm, receive.request),
        }
        sent
    }
}

/// What an operation does with the memory of the origin; a place in the target's is that of [`Window::place`].
#[derive(Clone, Copy)]
pub(in crate::rma) enum Action<'a> {
    /// Copies it to the target.
    Put(&'a Memory<'a>),
    /// Fills it with the target's data.
    Get(&'a Memory<'a>),
    /// Combines elements of a basic type with the target's (`None` for MPI_NO_OP), and fills other memory with what these were.
    Accumulate {
        operator: Operator,
        basic: &'static Predefined,
        origin: Option<&'a Memory<'a>>,
        result: Option<&'a Memory<'a>>,
    },
    /// Compares an element of a basic type with the target's, and swaps it with a new one if they are equal.
    Swap {
        basic: &'static Predefined,
        origin: &'a Memory<'a>,
        compare: &'a Memory<'a>,
        result: &'a Memory<'a>,
    },
}

impl Action<'_> {
    /// Whether the target sends something back, which tells that it has done it.
    const fn is_answered(self) -> bool {
        match self {
            Self::Put(_) => false,
            Self::Get(_) | Self::Swap { .. } => true,
            Self::Accumulate { result, .. } => result.is_some(),
        }
    }

    /// The stream of an operation. One for all accumulates keeps them in order.
    fn stream(self, channel: &Channel) -> &Stream {
        match self {
            Self::Put(_) | Self::Get(_) => channel.of_thread(),
            Self::Accumulate { .. } | Self::Swap { .. } => channel.of_accumulates(),
        }
    }
}

/// Starts an operation.
///
/// # Safety
/// Memory that is read is readable, and memory that is written is writable and not touched otherwise, until the operation is complete
/// here; all are as long as the place.
unsafe fn start(
    operation: &mut Operation<'_>,
    place: &Place<'_>,
    action: Action<'_>,
) -> Result<()> {
    match action {
        Action::Put(origin) => {
            // SAFETY: the caller's promise.
            let begun = unsafe { operation.stream.put_into(operation.channel, place, origin) }?;
            if let Some(begun) = begun {
                operation.has_parts = begun.is_in_parts;
                operation.pending.push(begun.pending);
                return Ok(());
            }
            cut(place, |runs, range| {
                let header = operation.header(Kind::Put);
                // SAFETY: the caller's promise.
                unsafe { operation.send(header, runs, origin, range) }
            })
        }
        Action::Get(origin) => cut(place, |runs, range| {
            let header = operation.header(Kind::Get);
            // SAFETY: the caller's promise.
            let receive = unsafe { operation.receive(&header, origin, range) }?;
            let sent = operation.request(header.encode(runs, 0), false);
            operation.expect(receive, sent)
        }),
        Action::Accumulate {
            operator,
            basic,
            origin,
            result,
        } => cut_elements(place, basic.shape, |runs, range| {
            let kind = match result {
                Some(_) => Kind::Fetch,
                None => Kind::Accumulate,
            };
            let header = Header {
                operator: operator as u16,
                datatype: basic.code,
                ..operation.header(kind)
            };
            // SAFETY: the caller's promise.
            unsafe { operation.combine(header, runs, origin, result, range) }
        }),
        Action::Swap {
            basic,
            origin,
            compare,
            result,
        } => cut_elements(place, basic.shape, |runs, range| {
            let header = Header {
                datatype: basic.code,
                ..operation.header(Kind::Swap)
            };
            let bytes = range.len();
            let mut message = header.encode(runs, 2 * bytes);
            // SAFETY: the caller's promise.
            let receive = unsafe {
                append(&mut message, origin, range.clone());
                append(&mut message, compare, range.clone());
                operation.receive(&header, result, range)
            }?;
            let sent = operation.request(message, false);
            operation.expect(receive, sent)
        }),
    }
}

impl Operation<'_> {
    /// Sends one request of an accumulate.
    ///
    /// # Safety
    /// As for [`start`].
    unsafe fn combine(
        &mut self,
        header: Header,
        runs: &[Span],
        origin: Option<&Memory<'_>>,
        result: Option<&Memory<'_>>,
        range: Range<usize>,
    ) -> Result<()> {
        let receive = match result {
            // SAFETY: the caller's promise.
            Some(result) => Some(unsafe { self.receive(&header, result, range.clone()) }?),
            None => None,
        };
        let sent = match origin {
            // SAFETY: the caller's promise.
            Some(origin) => unsafe { self.send(header, runs, origin, range) },
            None => self.request(header.encode(runs, 0), false),
        };
        match receive {
            Some(receive) => self.expect(receive, sent),
            None => sent,
        }
    }
}

/// Starts an operation of a window that has a channel; [`Channel::settle`] and [`Channel::conclude`] wait for its end. An operation on a
/// part of a target whose other memory is reached without messages is complete when this returns.
///
/// # Errors
/// When no request is free.
///
/// # Safety
/// As for [`start`].
pub(in crate::rma) unsafe fn operate(
    window: &Window,
    channel: &Channel,
    place: &Place<'_>,
    action: Action<'_>,
) -> Result<()> {
    let (stream, rank) = (action.stream(channel), place.rank);
    let mut operation = Operation {
        channel,
        stream,
        comm: &stream.comm,
        rank,
        during: window.during(rank),
        has_request: false,
        may_wait: channel.checked.is_none(),
        pending: Vec::new(),
        has_parts: false,
    };
    channel.tell_moment(rank)?;
    channel.note_own(window, rank, &action, Lives::On);
    // SAFETY: the caller's promise.
    let started = unsafe { start(&mut operation, place, action) };
    let has_parts = operation.has_parts;
    stream.keep(rank, operation.pending);
    // Behind what it tells of: a call that sees it waits for that.
    if has_parts {
        stream.note_parts(rank);
    }
    if !action.is_answered() || channel.checked.is_some() {
        stream.touch(rank);
    }
    let started = started.map_err(|error| window.annotate(error));
    if place.target.path == Path::Message {
        return started;
    }
    // Synchronisation with this target uses boards, and knows nothing of messages.
    let concluded = channel.conclude(window, &[(rank, Ending::Flush)], "an operation on a window");
    started.and(concluded)
}

/// As [`operate`], with a request.
///
/// # Errors
/// As there.
///
/// # Safety
/// As there.
pub(in crate::rma) unsafe fn operate_with_request(
    window: &Window,
    channel: &Channel,
    place: &Place<'_>,
    action: Action<'_>,
) -> Result<RequestId> {
    let (stream, rank) = (action.stream(channel), place.rank);
    let comm = &stream.comm;
    let mut operation = Operation {
        channel,
        stream,
        comm,
        rank,
        during: window.during(rank),
        has_request: true,
        may_wait: false,
        pending: Vec::new(),
        has_parts: false,
    };
    channel.tell_moment(rank)?;
    channel.note_own(window, rank, &action, Lives::No);
    let own = task::new_request(comm, crate::call::CallName::UNKNOWN)?;
    // SAFETY: the caller's promise.
    let started = unsafe { start(&mut operation, place, action) };
    stream.touch(rank);
    channel.note_started(window);
    let pending = operation.pending;
    let (owner, requests) = (comm.clone(), stream.requests(rank).clone());
    requests.fetch_add(1, Ordering::Relaxed);
    if operation.has_parts {
        stream.note_parts(rank);
    }
    let future = async move {
        let outcome = finish_all(&owner, pending).await;
        // PAIRS: rma.requests
        requests.fetch_sub(1, Ordering::Release);
        started.and(outcome).map(|()| Status::EMPTY)
    };
    comm.vci().start_task(own, Box::pin(future));
    Ok(own)
}
