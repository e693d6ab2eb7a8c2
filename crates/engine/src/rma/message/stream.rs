// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests of a window on one VCI: what a member has started there and not awaited yet.
//!
//! A window has one stream, on its own communicator. With the hint `rankpoint_num_vcis` it has several: each is a communicator between equal
//! VCIs of all members, with a service at every member. Puts and gets of a thread go to the stream of the thread, its accumulates too if the
//! program says that they need no order; all else goes to the first one. A call that completes operations on a target does so on all
//! streams, one after the other; it gives back a lock or ends an epoch on the first one, last. It waits for a stream on the VCI of the
//! stream, because nothing tells a wait on another VCI of a request that a third thread completed.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use sys::sync::{AtomicBool, AtomicU32, Mutex, Ordering};

use super::channel::{
    Channel, Ending, Pending, finish_all, locked, poll_request, send_owned, withdraw,
};
use super::opened::Opened;
use super::wire::{
    ANSWER_BYTES, GATHERED_BYTES, Header, Kind, Number, REQUEST_BYTES, REQUEST_TAG, decode_answer,
};
use crate::comm::Comm;
use crate::completion;
use crate::datatype::Memory;
use crate::errors::{Error, Result};
use crate::p2p;
use crate::request::{RequestId, Status};
use crate::task::{self, Completion, block_on};

/// Messages of a target that are kept before complete ones are looked for.
const FEW_KEPT: usize = 64;

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
    /// Whether there were requests since the last one for an answer that nothing answers by itself. Set behind the request that it
    /// tells of.
    is_dirty: AtomicBool,
    /// Held by the call that awaits what was sent: another one goes on when that has come, too.
    concluding: Mutex<()>,
    /// How the network writes its memory.
    opened: Mutex<Opened>,
    /// Whether a put may have begun of which requests could overtake a part.
    has_parts: AtomicBool,
}

/// Requests that have not left, of all targets.
struct Gathered {
    /// Those of each target. Held while they are sent, so that all stay in order.
    to: Box<[Mutex<Vec<u8>>]>,
    /// Targets for which requests were gathered since these left last.
    targets: Mutex<Vec<u32>>,
    /// Whether a task sends them in the next round of progress.
    will_leave: AtomicBool,
    /// Errors of requests that the task could not send, by target.
    failures: Mutex<Vec<(u32, Error)>>,
}

impl Gathered {
    /// The error of requests to a target that the task could not send.
    fn failure(&self, rank: u32) -> Option<Error> {
        let mut failures = locked(&self.failures);
        let index = failures.iter().position(|(target, _)| *target == rank)?;
        Some(failures.swap_remove(index).1)
    }

    /// Sends what is gathered, and waits until it has left.
    async fn leave(self: Arc<Self>, comm: Arc<Comm>) -> Result<Status> {
        let mut is_first = true;
        poll_fn(|_| match std::mem::take(&mut is_first) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
        // PAIRS: rma.will_leave
        self.will_leave.store(false, Ordering::Release);
        let mut sent = Vec::new();
        // Not held below: who gathers a request holds that of its target first.
        let targets = std::mem::take(&mut *locked(&self.targets));
        for rank in targets {
            let mut gathered = locked(&self.to[rank as usize]);
            if gathered.is_empty() {
                continue;
            }
            match send_owned(&comm, std::mem::take(&mut *gathered), rank, REQUEST_TAG) {
                Ok(pending) => sent.extend(pending.map(|one| (rank, one))),
                Err(error) => locked(&self.failures).push((rank, error)),
            }
        }
        for (rank, pending) in sent {
            if let Err(error) = finish_all(&comm, vec![pending]).await {
                locked(&self.failures).push((rank, error));
            }
        }
        Ok(Status::EMPTY)
    }
}

/// A request that is to be answered.
pub(super) struct Asked {
    rank: u32,
    pub(super) request: RequestId,
    pub(super) answer: Vec<u8>,
}

impl Asked {
    /// The bytes of the answer that a message has filled.
    pub(super) fn bytes(&self, status: &Status) -> usize {
        self.answer.len().min(status.bytes as usize)
    }
}

/// A member's end of the requests on one VCI.
pub(super) struct Stream {
    /// All members, on that VCI.
    pub(super) comm: Arc<Comm>,
    /// Requests so far.
    count: AtomicU32,
    to: Box<[Outgoing]>,
    gathered: Arc<Gathered>,
    /// The request that the service completes.
    pub(super) service: Mutex<RequestId>,
}

impl Stream {
    /// That of a communicator of the members.
    pub(super) fn new(comm: Arc<Comm>) -> Self {
        let members = comm.size() as usize;
        Self {
            comm,
            count: AtomicU32::new(0),
            to: (0..members).map(|_| Outgoing::default()).collect(),
            gathered: Arc::new(Gathered {
                to: (0..members).map(|_| Mutex::default()).collect(),
                targets: Mutex::default(),
                will_leave: AtomicBool::new(false),
                failures: Mutex::default(),
            }),
            service: Mutex::new(RequestId::SENT),
        }
    }

    /// Ends the service, if it was started; all members have done with the window.
    ///
    /// # Errors
    /// Those of the messages.
    pub(super) async fn stop(&self) -> Result<()> {
        for rank in 0..self.to.len() as u32 {
            self.forget_opened(rank);
        }
        let own = self.comm.rank() as u32;
        let request = std::mem::replace(&mut *locked(&self.service), RequestId::SENT);
        if request == RequestId::SENT {
            return Ok(());
        }
        self.send(own, Kind::Stop)?;
        let outcome = Completion::new(self.comm.vci(), request).await;
        self.comm.vci().count_service(false);
        self.settled(own).await.and(outcome).map(|_| ())
    }

    pub(super) fn number(&self) -> Number {
        Number::of(self.count.fetch_add(1, Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Keeps messages to a target until a call awaits them.
    pub(super) fn keep(&self, rank: u32, pending: Vec<Pending>) {
        if pending.is_empty() {
            return;
        }
        let mut kept = locked(&self.to[rank as usize].kept);
        kept.pending.extend(pending);
        if kept.pending.len() <= kept.limit.max(FEW_KEPT) {
            return;
        }
        for Pending { request, then } in std::mem::take(&mut kept.pending) {
            match poll_request(&self.comm, request) {
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

    /// Sends a request behind those that were gathered, in one message if they fit. A short one that `may_wait` is gathered itself, until
    /// another request to the target or the next round of progress.
    pub(super) fn post(
        &self,
        rank: u32,
        message: Vec<u8>,
        may_wait: bool,
    ) -> Result<Option<Pending>> {
        let mut gathered = locked(&self.gathered.to[rank as usize]);
        if gathered.len() + message.len() > REQUEST_BYTES {
            let full = std::mem::take(&mut *gathered);
            let sent = send_owned(&self.comm, full, rank, REQUEST_TAG)?;
            self.keep(rank, sent.into_iter().collect());
        }
        let may_wait = may_wait && message.len() <= GATHERED_BYTES;
        let is_first = gathered.is_empty();
        if is_first {
            *gathered = message;
        } else {
            gathered.extend_from_slice(&message);
        }
        if may_wait && (!is_first || self.will_leave(rank)) {
            return Ok(None);
        }
        let whole = std::mem::take(&mut *gathered);
        send_owned(&self.comm, whole, rank, REQUEST_TAG)
    }

    /// Sees to it that the requests gathered for a target leave in the next round of progress; not when no operation is free.
    fn will_leave(&self, rank: u32) -> bool {
        let gathered = &self.gathered;
        locked(&gathered.targets).push(rank);
        // PAIRS: rma.will_leave
        if gathered.will_leave.swap(true, Ordering::AcqRel) {
            return true;
        }
        let sends = gathered.clone().leave(self.comm.clone());
        let Ok(mut request) = task::spawn(&self.comm, sends) else {
            gathered.will_leave.store(false, Ordering::Relaxed);
            return false;
        };
        // The request lives, and nobody else knows it.
        let _ = completion::let_go(self.comm.vci(), &mut request);
        true
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

    /// How the network writes the memory of a target, as far as it is known.
    pub(super) fn opened(&self, rank: u32) -> &Mutex<Opened> {
        &self.to[rank as usize].opened
    }

    /// Notes that requests to a target may overtake parts of a put that has begun.
    pub(super) fn note_parts(&self, rank: u32) {
        // PAIRS: rma.parts
        self.to[rank as usize]
            .has_parts
            .store(true, Ordering::Release);
    }

    /// Counts the operations with requests of a target.
    pub(super) fn requests(&self, rank: u32) -> &Arc<AtomicU32> {
        &self.to[rank as usize].requests
    }

    /// Sends a request without data.
    pub(super) fn send(&self, rank: u32, kind: Kind) -> Result<()> {
        let message = Header::new(kind, self.number()).encode(&[], 0);
        let pending = self.post(rank, message, false)?;
        self.keep(rank, pending.into_iter().collect());
        Ok(())
    }

    /// Sends a request that the target answers.
    #[expect(
        unsafe_code,
        reason = "the answer is received into memory that is kept"
    )]
    pub(super) fn ask(&self, channel: &Channel, rank: u32, kind: Kind) -> Result<Asked> {
        let comm = &self.comm;
        channel.tell_moment(rank)?;
        let number = self.number();
        let clock_bytes = channel.clock_bytes();
        let mut answer = vec![0; ANSWER_BYTES + clock_bytes];
        let memory = Memory::contiguous(answer.as_mut_ptr(), answer.len());
        // SAFETY: the memory is the vector's, which is kept with the request.
        let request = unsafe { p2p::irecv(comm, memory, rank as i32, number.answer_tag()) }?;
        let header = Header {
            is_answered: true,
            ..Header::new(kind, number)
        };
        let message = header.encode(&[], 0);
        match self.post(rank, message, false) {
            Ok(pending) => self.keep(rank, pending.into_iter().collect()),
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
    pub(super) fn lock(
        &self,
        channel: &Channel,
        rank: u32,
        kind: Kind,
        call: &'static str,
    ) -> Result<()> {
        let asked = self.ask(channel, rank, kind)?;
        block_on(self.comm.vci(), call, self.answered(channel, asked))
    }

    /// Waits for an answer.
    async fn answered(&self, channel: &Channel, asked: Asked) -> Result<()> {
        let status = Completion::new(self.comm.vci(), asked.request).await?;
        let bytes = asked.bytes(&status);
        let (outcome, clock) = decode_answer(&asked.answer[..bytes], asked.rank);
        channel.hear_answer(clock);
        outcome
    }

    /// Waits until the messages to a target need the origin's memory no more, and all data have come.
    async fn settled(&self, rank: u32) -> Result<()> {
        let kept = std::mem::take(&mut *locked(&self.to[rank as usize].kept));
        let outcome = finish_all(&self.comm, kept.pending).await;
        let failure = kept.failure.or_else(|| self.gathered.failure(rank));
        failure.map_or(outcome, Err)
    }

    fn wait_for_requests(&self, rank: u32, call: &'static str) -> Result<()> {
        let requests = &self.to[rank as usize].requests;
        // PAIRS: rma.requests
        let are_done = || requests.load(Ordering::Acquire) == 0;
        if are_done() {
            return Ok(());
        }
        self.comm.vci().wait_until(call, |_| are_done())
    }

    /// Completes all operations on a target here.
    ///
    /// # Errors
    /// Those of the messages.
    pub(super) fn settle(&self, rank: u32, call: &'static str) -> Result<()> {
        let _concluding = locked(&self.to[rank as usize].concluding);
        let outcome = block_on(self.comm.vci(), call, self.settled(rank));
        if outcome.is_err() {
            // The next answer tells why.
            self.touch(rank);
        }
        self.wait_for_requests(rank, call)?;
        outcome
    }

    /// As [`Channel::conclude`], for the operations on this stream.
    ///
    /// # Errors
    /// As there.
    pub(super) fn conclude(
        &self,
        channel: &Channel,
        targets: &[(u32, Ending)],
        call: &'static str,
    ) -> Result<()> {
        let vci = self.comm.vci();
        let mut outcome = Ok(());
        // Targets are in the order of their ranks, so two calls never wait for each other.
        let all = |(rank, _): &(u32, Ending)| locked(&self.to[*rank as usize].concluding);
        let _concluding: Vec<_> = targets.iter().map(all).collect();
        for &(rank, _) in targets {
            // PAIRS: rma.parts
            if self.to[rank as usize]
                .has_parts
                .swap(false, Ordering::Acquire)
            {
                outcome = outcome.and(block_on(vci, call, self.settled(rank)));
                outcome = outcome.and(self.wait_for_requests(rank, call));
            }
        }
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
                    outcome = outcome.and(self.send(rank, Kind::Complete));
                    continue;
                }
                Ending::Flush | Ending::Settle => continue,
            };
            match self.ask(channel, rank, kind) {
                Ok(one) => asked.push(one),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        let mut failed = Vec::new();
        let settled = block_on(vci, call, async {
            let mut outcome = Ok(());
            for &(rank, _) in targets {
                let ended = self.settled(rank).await;
                if ended.is_err() && asked.iter().all(|one| one.rank != rank) {
                    failed.push(rank);
                }
                outcome = outcome.and(ended);
            }
            outcome
        });
        for rank in failed {
            match self.ask(channel, rank, Kind::Flush) {
                Ok(one) => asked.push(one),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        for &(rank, _) in targets {
            outcome = outcome.and(self.wait_for_requests(rank, call));
        }
        // An answer tells why, what was expected in vain does not.
        let answers = block_on(vci, call, async {
            let mut outcome = Ok(());
            for one in asked {
                outcome = outcome.and(self.answered(channel, one).await);
            }
            outcome
        });
        outcome.and(answers).and(settled)
    }
}
