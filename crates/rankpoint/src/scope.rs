// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonblocking operations on borrowed buffers.
//!
//! # Safety
//! A scope keeps the ids of all operations started in it and is not left, neither by return nor by panic, while one of them
//! is incomplete. Buffers are borrowed for the whole scope, so that it does not matter what happens to the requests.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use engine::comm::Comm;
use engine::completion;
use engine::completion::Any;
use engine::p2p::{self, Mode, partitioned};
use engine::request::RequestId;
use engine::{Error, ErrorClass, Result};

use crate::abort::{give_up, may_go_on};
use crate::buffer::{Incoming, Outgoing};
use crate::envelope::rank_code;
use crate::errors::report;
use crate::p2p::complete;
use crate::threads::Threads;
use crate::{Communicator, Source, Status, Tag};

/// Where nonblocking operations live; see [`Communicator::scope`].
pub struct Scope<'scope, 'env: 'scope, T: Threads> {
    pub(crate) comm: &'env Communicator<'env, T>,
    pub(crate) started: Started<'env>,
    /// Every persistent request, null when freed.
    pub(crate) planned: RefCell<Vec<RequestId>>,
    /// Whether operations without requests were started.
    bulk: Cell<bool>,
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// Places of operations that a thread keeps between scopes.
const MOST_SPARE: usize = 1024;

thread_local! {
    /// The memory of the last scope's places, so that scopes in a loop allocate nothing.
    static SPARE: Cell<Vec<RequestId>> = const { Cell::new(Vec::new()) };
}

impl<T: Threads> Communicator<'_, T> {
    /// Runs `body`, in which operations on buffers of the surroundings can be started, and waits for all that `body` did not
    /// wait for.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let (left, right) = (world.rank(), world.rank());
    /// let (mine, mut theirs) = (vec![1.5; 100_000], vec![0.0; 100_000]);
    /// world.scope(|scope| {
    ///     scope.irecv(&mut theirs[..], left, 0)?;
    ///     scope.isend(&mine[..], right, 0)?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(mine, theirs);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// A buffer in use cannot be touched:
    ///
    /// ```compile_fail
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let mut buffer = [0u8; 4];
    /// world.scope(|scope| {
    ///     let request = scope.irecv(&mut buffer[..], 0, 0)?;
    ///     buffer[0] = 1;
    ///     request.wait()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// nor be gone before the scope is:
    ///
    /// ```compile_fail
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// world.scope(|scope| {
    ///     let mut buffer = [0u8; 4];
    ///     std::mem::forget(scope.irecv(&mut buffer[..], 0, 0)?);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `body`, or else the first one of the operations that `body` did not wait for. When `body` fails, receives that
    /// have no message yet are cancelled.
    pub fn scope<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, T>) -> Result<R>,
    ) -> Result<R> {
        let scope = Scope {
            comm: self,
            started: Started {
                comm: self.comm(),
                ids: RefCell::new(SPARE.try_with(Cell::take).unwrap_or_default()),
            },
            planned: RefCell::new(Vec::new()),
            bulk: Cell::new(false),
            scope: PhantomData,
        };
        let end = End { scope: &scope };
        let result = body(&scope);
        if let Err(error) = &result {
            scope.cancel_receives();
            scope.give_up_bulk(Some(error));
        }
        let sent = scope.send_partitions();
        let rest = sent.and(scope.finish()).and(scope.free_planned());
        drop(end);
        scope.leave_spare();
        let value = result?;
        rest.map_err(|error| report(self.comm(), "Communicator::scope", error))?;
        Ok(value)
    }
}

/// Sees to it that a panic does not leave a scope with operations in flight.
struct End<'a, 'scope, 'env, T: Threads> {
    scope: &'a Scope<'scope, 'env, T>,
}

impl<T: Threads> Drop for End<'_, '_, '_, T> {
    fn drop(&mut self) {
        self.scope.give_up_bulk(None);
        let (started, planned) = (&self.scope.started.ids, &self.scope.planned);
        let (mut started, mut planned) = (started.borrow_mut(), planned.borrow_mut());
        let mut rest = (started.iter_mut().chain(planned.iter_mut()))
            .filter(|id| is_open(**id))
            .peekable();
        if rest.peek().is_none() {
            return;
        }
        let vci = self.scope.comm.vci();
        for id in rest {
            // A request that cannot be cancelled may be complete. What cannot be completed at once would need the other
            // ranks, which may wait for this one.
            let _ = completion::cancel_receive(vci, *id);
            let is_complete = matches!(completion::test(vci, id), Ok(Some(_)));
            if !is_complete && may_go_on(self.scope.comm.comm()) {
                give_up(None);
            }
        }
        for id in planned.iter_mut().filter(|id| is_open(**id)) {
            // An inactive request can be freed.
            let _ = completion::let_go(vci, id);
        }
    }
}

/// Whether a place is that of an operation that may be incomplete.
fn is_open(id: RequestId) -> bool {
    id != RequestId::NULL && id != RELEASED
}

impl<'scope, T: Threads> Scope<'scope, '_, T> {
    /// Starts receiving into a buffer: an exclusive reference to one, or a view (MPI_Irecv).
    ///
    /// # Errors
    /// When there is no such rank, or the tag is negative.
    #[inline]
    pub fn irecv<B: Incoming<'scope>>(
        &'scope self,
        into: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Request<'scope, B>> {
        let (source, tag) = (source.into().code(), tag.into().code());
        self.promise().receive(into, source, tag)
    }

    /// Starts sending a buffer: a reference to one, or a view (MPI_Isend).
    ///
    /// # Errors
    /// When there is no rank `dest`, or the tag is negative.
    #[inline]
    pub fn isend<B: Outgoing<'scope>>(
        &'scope self,
        data: B,
        dest: usize,
        tag: i32,
    ) -> Result<Request<'scope, B>> {
        self.promise().send(data, dest, tag)
    }

    /// Starts sending a buffer; complete when the receive has started (MPI_Issend).
    ///
    /// # Errors
    /// As for [`Self::isend`].
    pub fn isend_synchronous<B: Outgoing<'scope>>(
        &'scope self,
        data: B,
        dest: usize,
        tag: i32,
    ) -> Result<Request<'scope, B>> {
        let (comm, dest) = (self.started.comm, rank_code(dest));
        let started = data.outgoing().and_then(|region| {
            // SAFETY: the memory is borrowed for the scope, which outlasts the operation.
            unsafe { p2p::isend(comm, region.memory(), dest, tag, Mode::Synchronous) }
        });
        match started {
            Ok(id) => self.started.keep(id, data),
            Err(error) => Err(report(comm, "Scope::isend_synchronous", error)),
        }
    }

    /// Notes that operations without requests are about to be started.
    #[inline(always)]
    pub(crate) fn note_bulk(&self) {
        self.bulk.set(true);
    }

    /// Waits for all operations without requests on the communicator.
    pub(crate) fn wait_bulk(&self, call: &'static str) -> Result<()> {
        self.comm
            .run(call, |this| completion::wait_bulk(this.comm(), call))
    }

    /// Ends the program if operations without requests are pending that cannot be taken back.
    fn give_up_bulk(&self, error: Option<&Error>) {
        if !self.bulk.get() {
            return;
        }
        let comm = self.comm.comm();
        if completion::pending_in_bulk(comm) != 0 && may_go_on(comm) {
            give_up(error);
        }
    }

    /// Waits for every operation started in this scope so far, but for those of persistent requests (MPI_Waitall).
    ///
    /// # Errors
    /// The first one of the operations that nobody waited for before.
    pub fn wait_all(&self) -> Result<()> {
        self.comm.run("Scope::wait_all", |_| self.finish())
    }

    fn finish(&self) -> Result<()> {
        let mut first = Ok(());
        if self.bulk.get() {
            first = completion::wait_bulk(self.comm.comm(), "Communicator::scope");
        }
        for id in self.started.ids.borrow_mut().iter_mut() {
            if is_open(*id) {
                first = first.and(self.comm.complete(id, "Communicator::scope").map(drop));
            }
        }
        first
    }

    /// Sends all partitions of started sends: before any wait, which may need them.
    fn send_partitions(&self) -> Result<()> {
        let mut first = Ok(());
        for &id in self.planned.borrow().iter() {
            first = first.and(make_rest_ready(self.comm.comm(), id));
        }
        first
    }

    /// Waits for what persistent requests started, and frees them.
    fn free_planned(&self) -> Result<()> {
        let mut first = Ok(());
        for id in self.planned.borrow_mut().iter_mut() {
            if *id != RequestId::NULL {
                let outcome = complete_planned(self.comm.comm(), *id, "Communicator::scope");
                first = first.and(outcome.map(drop));
                // An inactive request can be freed.
                let _ = completion::let_go(self.comm.vci(), id);
            }
        }
        first
    }

    /// Keeps the memory of places for the next scope; all operations are complete.
    fn leave_spare(&self) {
        let mut places = self.started.ids.take();
        if places.capacity() > MOST_SPARE {
            return;
        }
        places.clear();
        // A thread that ends keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(places));
    }

    fn cancel_receives(&self) {
        let vci = self.comm.vci();
        let (started, planned) = (self.started.ids.borrow(), self.planned.borrow());
        for &id in (started.iter().chain(planned.iter())).filter(|id| is_open(**id)) {
            // A request that cannot be cancelled is completed instead.
            let _ = completion::cancel_receive(vci, id);
        }
    }
}

/// The index of a send that was complete when its call returned.
const SENT: usize = usize::MAX;

/// In a place whose request is gone: no place holds a send that was complete when its call returned.
const RELEASED: RequestId = RequestId::SENT;

/// The operations of a scope that have requests.
pub(crate) struct Started<'env> {
    comm: &'env Comm,
    /// Each one, null when complete, [`RELEASED`] when nobody knows its place any more.
    ids: RefCell<Vec<RequestId>>,
}

impl Started<'_> {
    /// The scope's communicator.
    #[inline(always)]
    pub(crate) const fn comm(&self) -> &Comm {
        self.comm
    }

    /// The request of a send that is complete, which needs no place. A result, as [`Self::keep`] gives it: so that a call ends with it.
    #[inline(always)]
    pub(crate) const fn sent<B>(&self, buffer: B) -> Result<Request<'_, B>> {
        Ok(Request {
            started: self,
            index: SENT,
            buffer,
        })
    }

    /// Notes an operation.
    #[inline(always)]
    pub(crate) fn keep<B>(&self, id: RequestId, buffer: B) -> Result<Request<'_, B>> {
        let mut ids = self.ids.borrow_mut();
        if ids.len() == ids.capacity() {
            drop(ids);
            return self.keep_growing(id, buffer);
        }
        let index = ids.len();
        ids.push(id);
        Ok(Request {
            started: self,
            index,
            buffer,
        })
    }

    /// [`Self::keep`] where there is no room.
    #[cold]
    #[inline(never)]
    fn keep_growing<B>(&self, id: RequestId, buffer: B) -> Result<Request<'_, B>> {
        self.ids.borrow_mut().reserve(1);
        self.keep(id, buffer)
    }
}

/// An operation in flight, and its buffer. Dropping it leaves the operation to the end of its scope.
pub struct Request<'scope, B> {
    started: &'scope Started<'scope>,
    /// Where in `started`, or [`SENT`].
    index: usize,
    buffer: B,
}

impl<'scope, B> Request<'scope, B> {
    /// Waits for the operation and gives the buffer back (MPI_Wait).
    ///
    /// # Errors
    /// The operation's error, e.g. that the message was longer than the buffer.
    pub fn wait(self) -> Result<(Status, B)> {
        let call = "Request::wait";
        let status = self
            .with_id(|id| complete(self.started.comm, id, call))
            .map_err(|error| report(self.started.comm, call, error))?;
        self.release();
        Ok((status, self.buffer))
    }

    /// Gives status and buffer if the operation is complete, else the request back (MPI_Test).
    ///
    /// # Errors
    /// The operation's error.
    pub fn test(self) -> Result<std::result::Result<(Status, B), Self>> {
        let vci = self.started.comm.vci();
        let found = self
            .with_id(|id| completion::test(vci, id))
            .map_err(|error| report(self.started.comm, "Request::test", error))?;
        Ok(match found {
            Some(status) => {
                self.release();
                Ok((Status(status), self.buffer))
            }
            None => Err(self),
        })
    }

    /// Cancels a receive that has no message yet, or a send whose message nobody has received; it has to be waited for all the
    /// same, which ends in any case (MPI_Cancel).
    ///
    /// # Errors
    /// When the engine does not know the request any more.
    pub fn cancel(&self) -> Result<()> {
        completion::cancel(self.started.comm.vci(), self.id())
            .map_err(|error| report(self.started.comm, "Request::cancel", error))
    }

    /// The same without its buffer, so that requests of different buffers fit into one collection.
    pub fn without_buffer(self) -> Request<'scope, ()> {
        Request {
            started: self.started,
            index: self.index,
            buffer: (),
        }
    }

    fn id(&self) -> RequestId {
        self.with_id(|id| *id)
    }

    /// Gives the place of a complete operation back, for the caller drops the request. Places behind it may still be known.
    fn release(&self) {
        if self.index == SENT {
            return;
        }
        let mut ids = self.started.ids.borrow_mut();
        ids[self.index] = RELEASED;
        while ids.last() == Some(&RELEASED) {
            ids.pop();
        }
    }

    /// Calls `action` with the operation's id, which it may replace.
    #[inline(always)]
    fn with_id<R>(&self, action: impl FnOnce(&mut RequestId) -> R) -> R {
        match self.index {
            SENT => {
                let mut id = RequestId::SENT;
                action(&mut id)
            }
            index => action(&mut self.started.ids.borrow_mut()[index]),
        }
    }
}

impl<B> fmt::Debug for Request<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:#x})", self.id().0)
    }
}

/// Waits for all requests; their statuses in order (MPI_Waitall).
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// # for tag in 0..2 { world.send(&tag, world.rank(), tag)?; }
/// let (mut a, mut b) = (0i32, 0i32);
/// world.scope(|scope| {
///     let requests = [scope.irecv(&mut a, 0, 0)?, scope.irecv(&mut b, 0, 1)?];
///     let statuses = rankpoint::wait_all(requests)?;
///     assert_eq!(statuses[1].tag(), 1);
///     Ok(())
/// })?;
/// assert_eq!((a, b), (0, 1));
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// # Errors
/// The first one of the operations; the others are complete all the same.
pub fn wait_all<'scope, B>(
    requests: impl IntoIterator<Item = Request<'scope, B>>,
) -> Result<Vec<Status>> {
    let mut first = None;
    let mut statuses = Vec::new();
    for request in requests {
        match request.wait() {
            Ok((status, _)) => statuses.push(status),
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or(Ok(statuses), Err)
}

/// Waits for one of several requests and takes it out: its place, status and buffer; `None` when there are no requests
/// (MPI_Waitany).
///
/// # Errors
/// The operation's error; its request stays in the list, complete.
pub fn wait_any<'scope, B>(
    requests: &mut Vec<Request<'scope, B>>,
) -> Result<Option<(usize, Status, B)>> {
    let Some(comm) = requests.first().map(|request| request.started.comm) else {
        return Ok(None);
    };
    let mut ids: Vec<RequestId> = requests.iter().map(Request::id).collect();
    let found = completion::wait_any(comm.vci(), &mut ids, "wait_any");
    for (request, &id) in requests.iter().zip(&ids) {
        request.with_id(|place| *place = id);
    }
    match found.map_err(|error| report(comm, "wait_any", error))? {
        Any::Done(index, status) => {
            let request = requests.remove(index);
            request.release();
            Ok(Some((index, Status(status), request.buffer)))
        }
        Any::Failed(_, error) => Err(report(comm, "wait_any", error)),
        Any::NoneActive | Any::NotYet => Err(Error::new(
            ErrorClass::ERR_REQUEST,
            "all requests were waited for before",
        )
        .in_call("wait_any")),
    }
}

/// Waits for at least one of several requests, and takes out all that are complete: their statuses and buffers
/// (MPI_Waitsome).
///
/// # Errors
/// The first operation's error; requests that were not looked at stay in the list.
pub fn wait_some<'scope, B>(requests: &mut Vec<Request<'scope, B>>) -> Result<Vec<(Status, B)>> {
    let mut done = Vec::new();
    if let Some((_, status, buffer)) = wait_any(requests)? {
        done.push((status, buffer));
    }
    let mut rest = std::mem::take(requests).into_iter();
    while let Some(request) = rest.next() {
        match request.test() {
            Ok(Ok(complete)) => done.push(complete),
            Ok(Err(request)) => requests.push(request),
            Err(error) => {
                requests.extend(rest);
                return Err(error);
            }
        }
    }
    Ok(done)
}

/// Waits for the operation that a persistent request started. An error of the engine itself leaves the state of the operation
/// unknown and ends the program.
pub(crate) fn complete_planned(comm: &Comm, id: RequestId, call: &'static str) -> Result<Status> {
    let vci = comm.vci();
    let outcome = completion::wait(vci, &mut { id }, call);
    if let Err(error) = &outcome
        && !matches!(completion::test(vci, &mut { id }), Ok(Some(_)))
        && may_go_on(comm)
    {
        give_up(Some(error));
    }
    outcome.map(Status)
}

/// Makes the partitions of an active send ready that are not; does nothing for another request.
pub(crate) fn make_rest_ready(comm: &Comm, id: RequestId) -> Result<()> {
    match partitioned::not_ready(comm.vci(), id) {
        rest if rest.is_empty() => Ok(()),
        rest => {
            let rest: Vec<i32> = rest.into_iter().map(|(_, number)| number).collect();
            partitioned::ready_list(comm.vci(), id, &rest)
        }
    }
}
