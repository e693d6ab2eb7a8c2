// SPDX-License-Identifier: MIT OR Apache-2.0
//! A member's end of the messages of a window: what it has started and not awaited yet, and what its service has counted.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use layout::SharedLayout;
use sys::sync::{AtomicBool, AtomicU32, Mutex, Ordering};

use super::knowledge::Checked;
use super::service;
use super::wire::{ANSWER_BYTES, Header, Kind, Number, REQUEST_TAG, decode_answer};
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

/// Messages of a target that are kept before complete ones are looked for.
const FEW_KEPT: usize = 64;

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
    fn go_on(self, status: &Status) -> Result<()> {
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

/// Messages of one target.
#[derive(Default)]
struct Kept {
    pending: Vec<Pending>,
    /// Errors of those that were found complete.
    failure: Option<Error>,
    /// Complete ones are looked for when there are so many.
    limit: usize,
}

/// A target's side of the channel.
#[derive(Default)]
struct Outgoing {
    kept: Mutex<Kept>,
    /// Operations with requests, which the program awaits.
    requests: Arc<AtomicU32>,
    /// Whether something was sent since the last request for an answer. Set behind the message that it tells of.
    is_dirty: AtomicBool,
    /// Held by the call that awaits what was sent: another one goes on when that has come, too.
    concluding: Mutex<()>,
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

/// A request that is to be answered.
struct Asked {
    rank: u32,
    request: RequestId,
    answer: Vec<u8>,
}

/// One member's end.
pub(in crate::rma) struct Channel {
    /// Requests so far.
    count: AtomicU32,
    to: Box<[Outgoing]>,
    /// By rank: exposure epochs that the member has opened to this one.
    pub(in crate::rma) posts: Box<[AtomicU32]>,
    /// Access epochs to this member that have been closed.
    pub(in crate::rma) completes: AtomicU32,
    /// What this member refused, by the rank of the origin.
    refused: Mutex<Vec<(u32, Error)>>,
    /// Accesses to this member's memory, and what it knows of those to others, if they are checked.
    pub(super) checked: Option<Checked>,
    /// The request that the service completes.
    service: Mutex<RequestId>,
}

impl Channel {
    /// The channel of a window on a communicator.
    pub(in crate::rma) fn new(comm: &Comm, flavor: Flavor, hints: &WindowHints) -> Self {
        let members = comm.size() as usize;
        Self {
            count: AtomicU32::new(0),
            to: (0..members).map(|_| Outgoing::default()).collect(),
            posts: (0..members).map(|_| AtomicU32::new(0)).collect(),
            completes: AtomicU32::new(0),
            refused: Mutex::default(),
            checked: Self::checked_of(comm, flavor, hints),
            service: Mutex::new(RequestId::SENT),
        }
    }

    /// Starts the service of a window, if it has a channel.
    ///
    /// # Errors
    /// When no request is free.
    pub(in crate::rma) fn start(window: &Arc<Window>) -> Result<()> {
        let Some(channel) = &window.channel else {
            return Ok(());
        };
        let request = task::spawn(&window.comm, service::serve(window.clone()))?;
        window.comm.vci().count_service(true);
        *locked(&channel.service) = request;
        Ok(())
    }

    /// Ends the service, if it was started; all members have done with the window.
    ///
    /// # Errors
    /// Those of the messages.
    pub(in crate::rma) async fn stop(&self, window: &Window) -> Result<()> {
        let comm = &window.comm;
        let own = comm.rank() as u32;
        let request = std::mem::replace(&mut *locked(&self.service), RequestId::SENT);
        if request == RequestId::SENT {
            return Ok(());
        }
        self.send(window, own, Kind::Stop)?;
        let outcome = Completion::new(comm.vci(), request).await;
        comm.vci().count_service(false);
        self.settled(comm, own).await.and(outcome).map(|_| ())
    }

    pub(super) fn number(&self) -> Number {
        Number::of(self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps messages to a target until a call awaits them.
    pub(super) fn keep(&self, comm: &Comm, rank: u32, pending: Vec<Pending>) {
        if pending.is_empty() {
            return;
        }
        let mut kept = locked(&self.to[rank as usize].kept);
        kept.pending.extend(pending);
        if kept.pending.len() <= kept.limit.max(FEW_KEPT) {
            return;
        }
        for Pending { request, then } in std::mem::take(&mut kept.pending) {
            match poll_request(comm, request) {
                Poll::Pending => kept.pending.push(Pending { request, then }),
                Poll::Ready(ended) => {
                    if let Err(error) = ended.and_then(|status| then.go_on(&status)) {
                        kept.failure.get_or_insert(error);
                    }
                }
            }
        }
        kept.limit = 2 * kept.pending.len();
    }

    /// Notes that a target has been sent something.
    pub(super) fn touch(&self, rank: u32) {
        // PAIRS: rma.dirty
        self.to[rank as usize]
            .is_dirty
            .store(true, Ordering::Release);
    }

    /// Whether a target was sent something that nothing has completed there.
    pub(super) fn is_dirty(&self, rank: u32) -> bool {
        // PAIRS: rma.dirty
        self.to[rank as usize].is_dirty.load(Ordering::Acquire)
    }

    /// Notes an error for the call that completes the operations on a target.
    pub(super) fn fail(&self, rank: u32, error: Error) {
        let mut kept = locked(&self.to[rank as usize].kept);
        kept.failure.get_or_insert(error);
    }

    /// Counts the operations with requests of a target.
    pub(super) fn requests(&self, rank: u32) -> &Arc<AtomicU32> {
        &self.to[rank as usize].requests
    }

    /// Sends a request without data.
    pub(in crate::rma) fn send(&self, window: &Window, rank: u32, kind: Kind) -> Result<()> {
        let message = Header::new(kind, self.number()).encode(&[], 0);
        let pending = send_owned(&window.comm, message, rank, REQUEST_TAG)?;
        self.keep(&window.comm, rank, pending.into_iter().collect());
        Ok(())
    }

    /// Sends a request that the target answers.
    #[expect(
        unsafe_code,
        reason = "the answer is received into memory that is kept"
    )]
    fn ask(&self, window: &Window, rank: u32, kind: Kind) -> Result<Asked> {
        let comm = &window.comm;
        self.tell_moment(comm, rank)?;
        let number = self.number();
        let clock_bytes = self.checked.as_ref().map_or(0, |_| 4 * self.to.len());
        let mut answer = vec![0; ANSWER_BYTES + clock_bytes];
        let memory = Memory::contiguous(answer.as_mut_ptr(), answer.len());
        // SAFETY: the memory is the vector's, which is kept with the request.
        let request = unsafe { p2p::irecv(comm, memory, rank as i32, number.answer_tag()) }?;
        let header = Header {
            is_answered: true,
            ..Header::new(kind, number)
        };
        let message = header.encode(&[], 0);
        match send_owned(comm, message, rank, REQUEST_TAG) {
            Ok(pending) => self.keep(comm, rank, pending.into_iter().collect()),
            Err(error) => {
                withdraw(comm, request);
                return Err(error);
            }
        }
        Ok(Asked {
            rank,
            request,
            answer,
        })
    }

    /// Takes the lock of a target.
    pub(in crate::rma) fn lock(
        &self,
        window: &Window,
        rank: u32,
        kind: Kind,
        call: &'static str,
    ) -> Result<()> {
        let asked = self.ask(window, rank, kind)?;
        let comm = &window.comm;
        block_on(comm.vci(), call, self.answered(comm, asked))
            .map_err(|error| window.annotate(error))
    }

    /// Waits for an answer.
    async fn answered(&self, comm: &Comm, asked: Asked) -> Result<()> {
        let status = Completion::new(comm.vci(), asked.request).await?;
        let bytes = asked.answer.len().min(status.bytes as usize);
        let (outcome, clock) = decode_answer(&asked.answer[..bytes], asked.rank);
        self.hear_answer(comm, clock);
        outcome
    }

    /// Waits until the messages to a target need the origin's memory no more, and all data have come.
    async fn settled(&self, comm: &Comm, rank: u32) -> Result<()> {
        let kept = std::mem::take(&mut *locked(&self.to[rank as usize].kept));
        let outcome = finish_all(comm, kept.pending).await;
        kept.failure.map_or(outcome, Err)
    }

    fn wait_for_requests(&self, window: &Window, rank: u32, call: &'static str) -> Result<()> {
        let requests = &self.to[rank as usize].requests;
        // PAIRS: rma.requests
        let are_done = || requests.load(Ordering::Acquire) == 0;
        if are_done() {
            return Ok(());
        }
        window.comm.vci().wait_until(call, |_| are_done())
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
        let _concluding = locked(&self.to[rank as usize].concluding);
        let comm = &window.comm;
        let outcome = block_on(comm.vci(), call, self.settled(comm, rank));
        self.wait_for_requests(window, rank, call)?;
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
        let comm = &window.comm;
        let mut outcome = Ok(());
        // Targets are in the order of their ranks, so two calls never wait for each other.
        let all = |(rank, _): &(u32, Ending)| locked(&self.to[*rank as usize].concluding);
        let _concluding: Vec<_> = targets.iter().map(all).collect();
        let mut asked = Vec::new();
        for &(rank, ending) in targets {
            let outgoing = &self.to[rank as usize];
            let was_dirty = match ending {
                Ending::Settle => self.is_dirty(rank),
                // PAIRS: rma.dirty
                _ => outgoing.is_dirty.swap(false, Ordering::Acquire),
            };
            let kind = match ending {
                Ending::Unlock => Kind::Unlock,
                Ending::Fence => Kind::Fence,
                Ending::Complete if was_dirty => Kind::Complete,
                Ending::Flush if was_dirty => Kind::Flush,
                Ending::Settle if was_dirty => Kind::Settle,
                Ending::Complete => {
                    outcome = outcome.and(self.send(window, rank, Kind::Complete));
                    continue;
                }
                Ending::Flush | Ending::Settle => continue,
            };
            match self.ask(window, rank, kind) {
                Ok(one) => asked.push(one),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        let settled = block_on(comm.vci(), call, async {
            let mut outcome = Ok(());
            for &(rank, _) in targets {
                outcome = outcome.and(self.settled(comm, rank).await);
            }
            outcome
        });
        for &(rank, _) in targets {
            outcome = outcome.and(self.wait_for_requests(window, rank, call));
        }
        // An answer tells why, what was expected in vain does not.
        let answers = block_on(comm.vci(), call, async {
            let mut outcome = Ok(());
            for one in asked {
                outcome = outcome.and(self.answered(comm, one).await);
            }
            outcome
        });
        self.note_concluded(window, targets);
        let outcome = outcome.and(answers).and(settled);
        outcome.map_err(|error| window.annotate(error))
    }

    /// Completes all operations on all targets, here and there.
    ///
    /// # Errors
    /// As for [`Self::conclude`].
    pub(in crate::rma) fn flush_all(&self, window: &Window, call: &'static str) -> Result<()> {
        let all: Vec<_> = (0..self.to.len() as u32)
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
