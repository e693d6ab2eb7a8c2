// SPDX-License-Identifier: MIT OR Apache-2.0
//! The service of a member: it receives requests of all members and handles them, those of one origin in order.
//!
//! A request whose data follow opens a *lane*: later requests of its origin queue there until the data have come. So does one that ends
//! an epoch while answers are still read out of the window.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use fabric::lock::Hold;
use fabric::transport::Opening;
use sys::sync::Ordering;

use super::answers::Answers;
use super::channel::{Channel, Pending, poll_request, send_owned};
use super::locks::{LockQueue, Wanting};
use super::target::{self, Access, Handled};
use super::wire::{
    Header, Kind, Number, REQUEST_BYTES, REQUEST_TAG, Request, append_opening, encode_answer,
};
use crate::comm::Comm;
use crate::datatype::Memory;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::Rank;
use crate::p2p::{self, ANY_SOURCE_RANK};
use crate::request::{RequestId, Status};
use crate::rma::window::{Flavor, Window};
use crate::task::park;

/// A request whose data have not come yet; ends with what is to be sent back.
pub(super) type Work = Pin<Box<dyn Future<Output = Handled>>>;

/// What the requests of an origin wait for.
enum Waiting {
    /// Data that are on their way.
    Data(Work),
    /// Answers to the origin that are still read out of the window: until then nobody else may write there.
    Answers,
}

/// An origin whose requests wait.
struct Lane {
    source: u32,
    waiting: Waiting,
    queue: VecDeque<Request>,
}

struct Service {
    window: Arc<Window>,
    /// The communicator of its stream.
    comm: Arc<Comm>,
    /// Whether its stream is that of all requests, and not of operations only.
    is_first: bool,
    buffer: Box<[u8; REQUEST_BYTES]>,
    /// The receive of the next request.
    receive: Option<RequestId>,
    lanes: Vec<Lane>,
    answers: Answers<Pending>,
    locks: LockQueue,
    /// The number of the window's memory, while the network writes it, and how that is reached.
    opened: Option<(u32, Opening)>,
    is_stopping: bool,
}

/// Serves a stream of a window that has a channel, the first one or another, until its own process sends [`Kind::Stop`].
pub(super) async fn serve(window: Arc<Window>, comm: Arc<Comm>, is_first: bool) -> Result<Status> {
    let members = comm.partners() as usize;
    let mut service = Service {
        window,
        comm,
        is_first,
        buffer: Box::new([0; REQUEST_BYTES]),
        receive: None,
        lanes: Vec::new(),
        answers: Answers::new(members),
        locks: LockQueue::default(),
        opened: None,
        is_stopping: false,
    };
    poll_fn(|context| service.poll(context)).await
}

impl Service {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Status>> {
        loop {
            let has_received = self.take_request();
            self.drop_sent();
            let has_advanced = self.advance_lanes(context);
            if self.is_stopping && self.lanes.is_empty() && self.answers.is_empty() {
                self.close();
                return Poll::Ready(Ok(Status::EMPTY));
            }
            if !has_received && !has_advanced {
                if let Some(receive) = self.receive
                    && self.lanes.is_empty()
                    && self.answers.is_empty()
                {
                    park(receive);
                }
                return Poll::Pending;
            }
        }
    }

    fn channel(&self) -> Option<&Channel> {
        self.window.channel.as_ref()
    }

    /// Notes that a request of an origin is refused.
    fn refuse(&self, source: u32, error: Error) {
        if let Some(channel) = self.channel() {
            channel.refuse(source, error);
        }
    }

    /// Receives and handles the requests of one message, if one has come.
    #[expect(unsafe_code, reason = "the buffer is an address")]
    fn take_request(&mut self) -> bool {
        if self.is_stopping {
            return false;
        }
        let comm = &self.comm;
        let request = if let Some(request) = self.receive {
            request
        } else {
            let memory = Memory::contiguous(self.buffer.as_mut_ptr(), REQUEST_BYTES);
            // SAFETY: the buffer lives as long as the service, which ends when no receive is posted.
            let posted = unsafe { p2p::irecv(comm, memory, ANY_SOURCE_RANK, REQUEST_TAG) };
            let Ok(posted) = posted else {
                // No request is free; the next round of progress tries again.
                return false;
            };
            self.receive = Some(posted);
            posted
        };
        let Poll::Ready(ended) = poll_request(comm, request) else {
            return false;
        };
        self.receive = None;
        // A request that is too long to be one has no source that is told.
        let Ok(status) = ended else {
            return true;
        };
        let source = status.source as u32;
        if source >= comm.partners() {
            return true;
        }
        let mut left = &self.buffer[..status.bytes as usize];
        let (mut requests, mut outcome) = (Vec::new(), Ok(()));
        while outcome.is_ok() && (requests.is_empty() || !left.is_empty()) {
            outcome = Request::decode(&mut left).map(|request| requests.push(request));
        }
        for request in requests {
            self.take_up(source, request);
        }
        if let Err(error) = outcome {
            self.refuse(source, error);
        }
        true
    }

    /// Handles a request, or queues it behind an earlier one.
    fn take_up(&mut self, source: u32, request: Request) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.source == source) {
            lane.queue.push_back(request);
        } else if let Some(waiting) = self.begin(source, &request) {
            let queue = match waiting {
                Waiting::Data(_) => VecDeque::new(),
                Waiting::Answers => VecDeque::from([request]),
            };
            self.lanes.push(Lane {
                source,
                waiting,
                queue,
            });
        }
    }

    /// Handles a request, as far as it goes now.
    fn begin(&mut self, source: u32, request: &Request) -> Option<Waiting> {
        let ends_epoch = matches!(request.header.kind, Kind::Unlock | Kind::Complete);
        if ends_epoch && self.answers.has_any_for(source) {
            return Some(Waiting::Answers);
        }
        self.handle(source, request).map(Waiting::Data)
    }

    /// Goes on with the requests for which there is nothing to wait any more.
    fn advance_lanes(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_advanced = false;
        let mut index = 0;
        while let Some(source) = self.lanes.get(index).map(|lane| lane.source) {
            let is_sending = self.answers.has_any_for(source);
            let handled = match &mut self.lanes[index].waiting {
                Waiting::Data(work) => work.as_mut().poll(context).map(Some),
                Waiting::Answers if is_sending => Poll::Pending,
                Waiting::Answers => Poll::Ready(None),
            };
            let Poll::Ready(handled) = handled else {
                index += 1;
                continue;
            };
            has_advanced = true;
            let Lane { mut queue, .. } = self.lanes.swap_remove(index);
            if let Some(handled) = handled {
                self.conclude(source, handled);
            }
            while let Some(request) = queue.pop_front() {
                if let Some(waiting) = self.begin(source, &request) {
                    if matches!(waiting, Waiting::Answers) {
                        queue.push_front(request);
                    }
                    self.lanes.push(Lane {
                        source,
                        waiting,
                        queue,
                    });
                    break;
                }
            }
        }
        has_advanced
    }

    /// Sends the answer of a request.
    fn conclude(&mut self, source: u32, handled: Handled) {
        match handled {
            Handled::Done => {}
            Handled::Refused(error) => self.refuse(source, error),
            Handled::Sending(pending) => self.answers.push(source, pending),
            Handled::RefusedAnswer(number, error) => {
                self.refuse(source, error);
                self.answer(source, number, Vec::new());
            }
        }
    }

    fn answer(&mut self, source: u32, number: Number, bytes: Vec<u8>) {
        let sent = send_owned(&self.comm, bytes, source, number.answer_tag());
        match sent {
            Ok(Some(pending)) => self.answers.push(source, pending),
            Ok(None) => {}
            Err(error) => self.refuse(source, error),
        }
    }

    /// Forgets answers that are sent.
    fn drop_sent(&mut self) {
        let comm = &self.comm;
        // The receiver of an answer that failed sees that by its own request.
        self.answers
            .drop_sent(|pending| poll_request(comm, pending.request).is_ready());
    }

    /// Handles a request; the result is what is left to do when its data have come.
    fn handle(&mut self, source: u32, request: &Request) -> Option<Work> {
        let Header { number, kind, .. } = request.header;
        let is_for_first = matches!(
            kind,
            Kind::LockShared | Kind::LockExclusive | Kind::Unlock | Kind::Post | Kind::Complete
        );
        if !self.is_first && is_for_first {
            let text = format!("{kind:?} on another VCI than that of the window");
            self.refuse(source, Error::new(ErrorClass::ERR_INTERN, text));
            return None;
        }
        if let Some(channel) = self.channel() {
            channel.note_end(source, kind);
        }
        match kind {
            Kind::Put | Kind::Get | Kind::Accumulate | Kind::Fetch | Kind::Swap => {
                if let Some(channel) = self.channel() {
                    channel.note_request(source, request);
                }
                match target::access(&self.window, &self.comm, source, request) {
                    Access::Now(handled) => self.conclude(source, handled),
                    Access::Later(work) => return Some(work),
                }
            }
            Kind::Moment => {
                let heard = self.channel().map(|it| it.hear_moment(source, request));
                if let Some(Err(error)) = heard {
                    self.refuse(source, error);
                }
            }
            Kind::Flush | Kind::Fence | Kind::Settle => self.acknowledge(source, number),
            Kind::Open => self.tell_opening(source, number),
            Kind::LockShared => self.want(source, Hold::Shared, number),
            Kind::LockExclusive => self.want(source, Hold::Exclusive, number),
            Kind::Unlock => {
                match (self.locks.leave(source), self.channel()) {
                    (Ok(hold), Some(channel)) => channel.note_unlock(source, hold),
                    (Ok(_), None) => {}
                    (Err(error), _) => self.refuse(source, error),
                }
                self.acknowledge(source, number);
                self.admit();
            }
            Kind::Post => self.count(|channel| {
                // PAIRS: window.post
                channel.posts[source as usize].fetch_add(1, Ordering::Release);
            }),
            Kind::Complete => {
                // The answer comes first: it needs no progress of a target that stops waiting.
                if request.header.is_answered {
                    self.acknowledge(source, number);
                }
                self.count(|channel| {
                    layout::settle();
                    // PAIRS: window.complete
                    channel.completes.fetch_add(1, Ordering::Release);
                });
            }
            Kind::Stop if source == self.comm.rank() as u32 => self.is_stopping = true,
            Kind::Stop => {
                let text = format!("rank {source} wants to end the service of another rank");
                self.refuse(source, Error::new(ErrorClass::ERR_INTERN, text));
            }
        }
        None
    }

    /// Answers that all earlier requests of the origin are done.
    fn acknowledge(&mut self, source: u32, number: Number) {
        layout::settle();
        let refusal = self
            .channel()
            .and_then(|channel| channel.take_refusal(source));
        let mut answer = encode_answer(refusal);
        if let Some(channel) = self.channel() {
            channel.append_fetched(source, &mut answer);
        }
        self.answer(source, number, answer);
    }

    /// Answers how the network writes the window's memory, which is open from then on.
    fn tell_opening(&mut self, source: u32, number: Number) {
        let mut answer = encode_answer(None);
        if let Some((_, opening)) = self.opened.or_else(|| self.open(source)) {
            append_opening(&mut answer, opening);
        }
        self.answer(source, number, answer);
    }

    fn open(&mut self, source: u32) -> Option<(u32, Opening)> {
        // The network would need to know that it is the memory of a GPU.
        let base = self.window.base();
        let start = NonNull::new(base).filter(|_| self.window.device.is_none())?;
        let bytes = usize::try_from(self.window.bytes()).ok();
        let bytes = bytes.filter(|&bytes| bytes > 0 && self.window.flavor() != Flavor::Dynamic)?;
        let peer = self.comm.peer(Rank::new(source));
        let mut guard = self.comm.vci().enter();
        self.opened = guard.transport.open_memory(peer, start, bytes);
        self.opened
    }

    /// Closes the window's memory: all members have done with it.
    fn close(&mut self) {
        if let Some((number, _)) = self.opened.take() {
            self.comm.vci().enter().transport.close_memory(number);
        }
    }

    fn want(&mut self, source: u32, hold: Hold, number: Number) {
        self.locks.want(Wanting {
            source,
            hold,
            number,
        });
        self.admit();
    }

    /// Tells all that get the lock now. What was refused before is told by a call that completes operations: this one must not fail.
    fn admit(&mut self) {
        while let Some(admitted) = self.locks.admit() {
            layout::settle();
            let mut answer = encode_answer(None);
            if let Some(channel) = self.channel() {
                channel.append_of_holders(admitted.hold, &mut answer);
            }
            self.answer(admitted.source, admitted.number, answer);
        }
    }

    /// Counts something for which a call of this process may wait.
    fn count(&self, add: impl Fn(&Channel)) {
        if let Some(channel) = self.channel() {
            add(channel);
        }
        let vci = self.comm.vci();
        vci.enter().events += 1;
        if vci.is_threaded() {
            vci.ring_own_doorbell();
        }
    }
}
