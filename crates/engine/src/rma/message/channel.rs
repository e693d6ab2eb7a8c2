// SPDX-License-Identifier: MIT OR Apache-2.0
//! A member's end of the messages of a window: what it has started and not awaited yet, and what its service has counted.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use layout::SharedLayout;
use sys::sync::{AtomicU32, Mutex};

use super::knowledge::Checked;
use super::service;
use super::stream::Stream;
use super::thread::thread_number;
use super::wire::Kind;
use crate::coll::RawMut;
use crate::comm::Comm;
use crate::completion;
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};
use crate::p2p::{self, Mode};
use crate::request::{RequestId, Status};
use crate::rma::hints::WindowHints;
use crate::rma::window::{Flavor, Window};
use crate::task::{self, Completion, block_on};

/// A message of an operation, and what is to be done when it is complete.
///
/// It owns memory that the message uses, so it is kept until the message is complete.
pub(super) struct Pending {
    pub(super) request: RequestId,
    pub(super) then: Then,
}

/// What follows the completion of a message.
pub(super) enum Then {
    /// Nothing but to give back the memory that it came from.
    Sent { _kept: Vec<u8> },
    /// As many bytes came from this rank, or it refused.
    Received { bytes: usize, rank: u32 },
    /// The same, to be stored from a packed position of the origin's memory on.
    Unpack {
        packed: Vec<u8>,
        rank: u32,
        base: RawMut,
        layout: SharedLayout,
        start: usize,
    },
}

impl Then {
    /// Goes on with the status of the message.
    #[expect(unsafe_code, reason = "the origin's memory is an address")]
    pub(super) fn go_on(self, status: &Status) -> Result<()> {
        let (bytes, rank) = match &self {
            Self::Sent { .. } => return Ok(()),
            Self::Received { bytes, rank } => (*bytes, *rank),
            Self::Unpack { packed, rank, .. } => (packed.len(), *rank),
        };
        if status.bytes != bytes as u64 {
            let text = format!("rank {rank} refused to send {bytes} bytes of its memory");
            return Err(Error::new(ErrorClass::ERR_RMA_RANGE, text));
        }
        if let Self::Unpack {
            packed,
            base,
            layout,
            start,
            ..
        } = self
        {
            // SAFETY: the program leaves the origin to the operation until it is complete (put, get), and the packed bytes are as many.
            unsafe { layout.unpack(base.0, start..start + bytes, packed.as_ptr()) };
        }
        Ok(())
    }
}

/// Waits for messages; the first error, when all are complete.
pub(super) async fn finish_all(comm: &Comm, pending: Vec<Pending>) -> Result<()> {
    let mut outcome = Ok(());
    for Pending { request, then } in pending {
        let ended = Completion::new(comm.vci(), request).await;
        let ended = ended.and_then(|status| then.go_on(&status));
        outcome = outcome.and(ended);
    }
    outcome
}

/// The status of a request if it is complete.
pub(super) fn poll_request(comm: &Comm, request: RequestId) -> Poll<Result<Status>> {
    let completion = pin!(Completion::new(comm.vci(), request));
    completion.poll(&mut Context::from_waker(Waker::noop()))
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How [`Channel::conclude`] ends what was sent to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rma) enum Ending {
    /// It is complete at the target.
    Flush,
    /// The same, and the lock is given back.
    Unlock,
    /// The same, and the access epoch of MPI_Win_start is over.
    Complete,
    /// The same before a fence (for checks).
    Fence,
    /// It is complete here (for checks).
    Settle,
}

/// One member's end.
pub(in crate::rma) struct Channel {
    /// The first one is that of the window's own communicator.
    streams: Box<[Stream]>,
    /// By rank: exposure epochs that the member has opened to this one.
    pub(in crate::rma) posts: Box<[AtomicU32]>,
    /// Access epochs to this member that have been closed.
    pub(in crate::rma) completes: AtomicU32,
    /// Whether accumulates of this member need no order (the hint `accumulate_ordering`, as the window was made).
    is_unordered: bool,
    /// Held while an accumulate is combined with this member's memory: other members may send theirs to several services.
    combining: Mutex<()>,
    /// What this member refused, by the rank of the origin.
    refused: Mutex<Vec<(u32, Error)>>,
    /// Accesses to this member's memory, and what it knows of those to others, if they are checked: then there is one stream.
    pub(super) checked: Option<Checked>,
}

impl Channel {
    /// The channel of a window on a communicator and on others of the same members, for puts and gets.
    pub(in crate::rma) fn new(
        comm: &Arc<Comm>,
        others: Vec<Arc<Comm>>,
        flavor: Flavor,
        hints: &WindowHints,
    ) -> Self {
        let members = comm.size() as usize;
        let comms = std::iter::once(comm.clone()).chain(others);
        Self {
            streams: comms.map(Stream::new).collect(),
            posts: (0..members).map(|_| AtomicU32::new(0)).collect(),
            completes: AtomicU32::new(0),
            is_unordered: hints.get("accumulate_ordering").as_deref() == Some("none"),
            combining: Mutex::default(),
            refused: Mutex::default(),
            checked: Self::checked_of(comm, flavor, hints),
        }
    }

    /// The stream of synchronisation, and of accumulates that are in order.
    pub(super) fn first(&self) -> &Stream {
        &self.streams[0]
    }

    /// The stream of accumulates of the calling thread.
    pub(super) fn of_accumulates(&self) -> &Stream {
        match self.is_unordered {
            true => self.of_thread(),
            false => self.first(),
        }
    }

    /// Keeps other accumulates off this member's memory.
    pub(super) fn exclude_others(&self) -> Option<MutexGuard<'_, ()>> {
        (self.streams.len() > 1).then(|| locked(&self.combining))
    }

    /// The stream of puts and gets of the calling thread.
    pub(super) fn of_thread(&self) -> &Stream {
        match self.streams.len() {
            1 => self.first(),
            count => &self.streams[thread_number() as usize % count],
        }
    }

    /// Starts the services of a window, if it has a channel.
    ///
    /// # Errors
    /// When no request is free.
    pub(in crate::rma) fn start(window: &Arc<Window>) -> Result<()> {
        let streams = window.channel.iter().flat_map(|it| &it.streams);
        for (index, stream) in streams.enumerate() {
            let comm = &stream.comm;
            let service = service::serve(window.clone(), comm.clone(), index == 0);
            let request = task::spawn(comm, service)?;
            comm.vci().count_service(true);
            *locked(&stream.service) = request;
        }
        Ok(())
    }

    /// Ends the services that were started; all members have done with the window.
    ///
    /// # Errors
    /// Those of the messages.
    pub(in crate::rma) async fn stop(&self) -> Result<()> {
        let mut outcome = Ok(());
        for stream in &self.streams {
            outcome = outcome.and(stream.stop().await);
        }
        outcome
    }

    /// The same of all services but that on the VCI of the window.
    ///
    /// # Errors
    /// As there.
    pub(in crate::rma) fn stop_others(&self, call: &'static str) -> Result<()> {
        let stop = |stream: &Stream| block_on(stream.comm.vci(), call, stream.stop());
        self.streams[1..].iter().try_for_each(stop)
    }

    /// Makes progress on all VCIs of the window.
    pub(in crate::rma) fn poll(&self) {
        for stream in &self.streams {
            stream.comm.vci().poll();
        }
    }

    /// Requests that this member has sent on each stream.
    #[cfg(test)]
    pub(in crate::rma) fn counts(&self) -> Vec<u32> {
        self.streams.iter().map(Stream::count).collect()
    }

    /// Bytes of the clock behind an answer.
    pub(super) fn clock_bytes(&self) -> usize {
        self.checked.as_ref().map_or(0, |_| 4 * self.posts.len())
    }

    /// Whether a target was sent something that nothing has completed there.
    pub(super) fn is_dirty(&self, rank: u32) -> bool {
        self.first().is_dirty(rank)
    }

    /// Notes an error for the call that completes the operations on a target.
    pub(super) fn fail(&self, rank: u32, error: Error) {
        self.first().fail(rank, error);
    }

    /// Sends a request without data.
    pub(in crate::rma) fn send(&self, rank: u32, kind: Kind) -> Result<()> {
        self.first().send(rank, kind)
    }

    /// Takes the lock of a target.
    pub(in crate::rma) fn lock(
        &self,
        window: &Window,
        rank: u32,
        kind: Kind,
        call: &'static str,
    ) -> Result<()> {
        let taken = self.first().lock(self, rank, kind, call);
        taken.map_err(|error| window.annotate(error))
    }

    /// Completes all operations on a target here.
    ///
    /// # Errors
    /// Those of the messages.
    pub(in crate::rma) fn settle(
        &self,
        window: &Window,
        rank: u32,
        call: &'static str,
    ) -> Result<()> {
        let mut outcome = Ok(());
        for stream in &self.streams {
            outcome = outcome.and(stream.settle(rank, call));
        }
        outcome.map_err(|error| window.annotate(error))
    }

    /// Completes all operations on some targets, here and there.
    ///
    /// # Errors
    /// What the targets refused; those of the messages.
    pub(in crate::rma) fn conclude(
        &self,
        window: &Window,
        targets: &[(u32, Ending)],
        call: &'static str,
    ) -> Result<()> {
        let mut outcome = Ok(());
        if self.streams.len() > 1 {
            let flushes: Vec<_> = targets
                .iter()
                .map(|&(rank, _)| (rank, Ending::Flush))
                .collect();
            for stream in &self.streams[1..] {
                outcome = outcome.and(stream.conclude(self, &flushes, call));
            }
        }
        // The last, because it may give back the lock, or end the epoch.
        let outcome = outcome.and(self.first().conclude(self, targets, call));
        self.note_concluded(window, targets);
        outcome.map_err(|error| window.annotate(error))
    }

    /// Completes all operations on all targets, here and there.
    ///
    /// # Errors
    /// As for [`Self::conclude`].
    pub(in crate::rma) fn flush_all(&self, window: &Window, call: &'static str) -> Result<()> {
        let all: Vec<_> = (0..self.posts.len() as u32)
            .map(|rank| (rank, Ending::Flush))
            .collect();
        self.conclude(window, &all, call)
    }

    /// Notes that this member refused something to an origin; the first refusal is told.
    pub(super) fn refuse(&self, origin: u32, error: Error) {
        let mut refused = locked(&self.refused);
        if refused.iter().all(|(known, _)| *known != origin) {
            refused.push((origin, error));
        }
    }

    /// What this member refused to an origin.
    pub(super) fn take_refusal(&self, origin: u32) -> Option<Error> {
        let mut refused = locked(&self.refused);
        let index = refused.iter().position(|(known, _)| *known == origin)?;
        Some(refused.swap_remove(index).1)
    }
}

/// Takes back a receive of what will not come.
#[cold]
pub(super) fn withdraw(comm: &Comm, mut request: RequestId) {
    // The request lives, so neither fails.
    let _ = completion::cancel_receive(comm.vci(), request);
    let _ = completion::let_go(comm.vci(), &mut request);
}

/// Sends bytes that the message keeps; `None` when it needs them no more.
#[expect(unsafe_code, reason = "a message is an address")]
pub(super) fn send_owned(
    comm: &Comm,
    bytes: Vec<u8>,
    rank: u32,
    tag: i32,
) -> Result<Option<Pending>> {
    let memory = Memory::contiguous(bytes.as_ptr().cast_mut(), bytes.len());
    // SAFETY: the bytes are kept with the request.
    let request = unsafe { p2p::isend(comm, memory, rank as i32, tag, Mode::Standard) }?;
    let then = Then::Sent { _kept: bytes };
    Ok((request != RequestId::SENT).then_some(Pending { request, then }))
}
