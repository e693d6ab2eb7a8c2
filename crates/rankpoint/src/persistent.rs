// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent requests: operations that are described once and started many times (MPI-5.0, section 3.9).
//!
//! # Safety
//! They belong to a [`Scope`], which borrows their memory for its whole life, waits at its end for what they started, and frees
//! them. While an operation is in flight its memory cannot be reached: [`Persistent`] lends it only after having waited, so
//! that it does not matter what becomes of a [`Started`].
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use engine::Result;
use engine::comm::Comm;
use engine::completion;
use engine::p2p::{Mode, persistent};
use engine::request;
use engine::request::RequestId;

use crate::buffer::{Incoming, Lend, Outgoing, Region};
use crate::envelope::rank_code;
use crate::errors::report;
use crate::scope::complete_planned;
use crate::threads::Threads;
use crate::{Scope, Source, Status, Tag};

/// The result of a complete operation: a [`Status`], or nothing for a collective.
pub trait Outcome: private::Sealed {
    #[doc(hidden)]
    fn told(status: Status) -> Self;
}

mod private {
    pub trait Sealed {}
    impl Sealed for crate::Status {}
    impl Sealed for () {}
}

impl Outcome for Status {
    fn told(status: Status) -> Self {
        status
    }
}

impl Outcome for () {
    fn told(_: Status) {}
}

impl<'scope, T: Threads> Scope<'scope, '_, T> {
    /// Describes a send that [`Persistent::start`] starts (MPI_Send_init).
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let (left, right) = (world.rank(), world.rank());
    /// let (mut edge, mut halo) = ([0u32; 100], [0u32; 100]);
    /// world.scope(|scope| {
    ///     let mut receive = scope.recv_init(&mut halo, left, 0)?;
    ///     let mut send = scope.send_init(&mut edge, right, 0)?;
    ///     for step in 1..=10 {
    ///         send.buffer()?.fill(step);
    ///         let (arrival, departure) = (receive.start()?, send.start()?);
    ///         // Work that needs neither goes here.
    ///         arrival.wait()?;
    ///         departure.wait()?;
    ///         assert_eq!(receive.buffer()?[99], step);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// While the operation is in flight its buffer cannot be touched:
    ///
    /// ```compile_fail
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let mut edge = [0u32; 100];
    /// world.scope(|scope| {
    ///     let mut send = scope.send_init(&mut edge, 0, 0)?;
    ///     let departure = send.start()?;
    ///     send.buffer()?.fill(1);
    ///     departure.wait()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `dest`, or the tag is negative.
    pub fn send_init<B: Outgoing<'scope>>(
        &'scope self,
        data: B,
        dest: usize,
        tag: i32,
    ) -> Result<Persistent<'scope, B>> {
        let region = data.outgoing();
        self.plan_send(
            ("Scope::send_init", Mode::Standard),
            data,
            region,
            dest,
            tag,
        )
    }

    /// As [`Self::send_init`], of sends that are complete when their receive has started (MPI_Ssend_init).
    ///
    /// # Errors
    /// As for [`Self::send_init`].
    pub fn send_synchronous_init<B: Outgoing<'scope>>(
        &'scope self,
        data: B,
        dest: usize,
        tag: i32,
    ) -> Result<Persistent<'scope, B>> {
        let (region, call) = (data.outgoing(), "Scope::send_synchronous_init");
        self.plan_send((call, Mode::Synchronous), data, region, dest, tag)
    }

    fn plan_send<B>(
        &'scope self,
        (call, mode): (&'static str, Mode),
        data: B,
        region: Result<Region>,
        dest: usize,
        tag: i32,
    ) -> Result<Persistent<'scope, B>> {
        let planned = region.and_then(|region| {
            let (comm, dest) = (self.comm.comm(), rank_code(dest));
            // SAFETY: callers pass memory that is borrowed for the scope, which outlasts the request (file head).
            unsafe { persistent::send_init(comm, region.memory(), dest, tag, mode) }
        });
        self.keep_planned(call, planned, data)
    }

    /// Describes a receive that [`Persistent::start`] starts (MPI_Recv_init).
    ///
    /// # Errors
    /// When there is no such rank, or the tag is negative.
    pub fn recv_init<B: Incoming<'scope>>(
        &'scope self,
        mut into: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Persistent<'scope, B>> {
        let (source, tag) = (source.into().code(), tag.into().code());
        let planned = into.incoming().and_then(|region| {
            let (source, tag) = self.comm.wanted(source, tag)?;
            // SAFETY: the memory is borrowed exclusively for the scope, which outlasts the request (file head).
            unsafe { persistent::recv_init(self.comm.comm(), region.memory(), source, tag) }
        });
        self.keep_planned("Scope::recv_init", planned, into)
    }

    pub(crate) fn keep_planned<B, O: Outcome>(
        &'scope self,
        call: &'static str,
        planned: Result<RequestId>,
        buffer: B,
    ) -> Result<Persistent<'scope, B, O>> {
        let id = self.comm.run(call, |_| planned)?;
        let mut ids = self.planned.borrow_mut();
        ids.push(id);
        Ok(Persistent {
            comm: self.comm.comm(),
            ids: &self.planned,
            index: ids.len() - 1,
            is_active: false,
            buffer,
            outcome: PhantomData,
        })
    }
}

/// An operation that is described, to be started again and again, and its buffer. It ends with its scope, or when it is
/// dropped.
pub struct Persistent<'scope, B, O: Outcome = Status> {
    comm: &'scope Comm,
    ids: &'scope RefCell<Vec<RequestId>>,
    index: usize,
    /// Whether it was started, and nobody has waited for it.
    is_active: bool,
    buffer: B,
    outcome: PhantomData<O>,
}

impl<'scope, B, O: Outcome> Persistent<'scope, B, O> {
    /// Starts the operation (MPI_Start). One that is still in flight, because its [`Started`] was dropped, is waited for
    /// before.
    ///
    /// # Errors
    /// When it cannot be started, or that of the operation that was waited for.
    pub fn start(&mut self) -> Result<Started<'_, 'scope, B, O>> {
        self.settle("Persistent::start")?;
        persistent::start(self.comm.vci(), self.id())
            .map_err(|error| report(self.comm, "Persistent::start", error))?;
        self.is_active = true;
        Ok(Started { request: self })
    }

    /// The buffer, between two operations. One that is still in flight, because its [`Started`] was dropped, is waited for
    /// before.
    ///
    /// # Errors
    /// The error of the operation that was waited for.
    pub fn buffer(&mut self) -> Result<B::View<'_>>
    where
        B: Lend,
    {
        self.settle("Persistent::buffer")?;
        Ok(self.buffer.lend())
    }

    fn settle(&mut self, call: &'static str) -> Result<Status> {
        if !self.is_active {
            return Ok(Status(request::Status::EMPTY));
        }
        // When this fails the operation is complete all the same.
        self.is_active = false;
        complete_planned(self.comm, self.id(), call).map_err(|error| report(self.comm, call, error))
    }

    fn id(&self) -> RequestId {
        self.ids.borrow()[self.index]
    }
}

impl<B, O: Outcome> Drop for Persistent<'_, B, O> {
    fn drop(&mut self) {
        if !self.is_active {
            // The scope frees what cannot be freed here.
            let _ = completion::let_go(self.comm.vci(), &mut self.ids.borrow_mut()[self.index]);
        }
    }
}

impl<B, O: Outcome> fmt::Debug for Persistent<'_, B, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Persistent({:#x})", self.id().0)
    }
}

/// An operation in flight that a [`Persistent`] request started. Dropping it leaves it to the request.
#[must_use = "wait for it to know that it is complete"]
pub struct Started<'p, 'scope, B, O: Outcome = Status> {
    request: &'p mut Persistent<'scope, B, O>,
}

impl<B, O: Outcome> Started<'_, '_, B, O> {
    /// Waits for the operation (MPI_Wait).
    ///
    /// # Errors
    /// The operation's error, e.g. that the message was longer than the buffer.
    pub fn wait(self) -> Result<O> {
        self.request.settle("Started::wait").map(O::told)
    }

    /// The result if the operation is complete, else the operation (MPI_Test).
    ///
    /// # Errors
    /// The operation's error.
    pub fn test(self) -> Result<std::result::Result<O, Self>> {
        let (comm, mut id) = (self.request.comm, self.request.id());
        let found = completion::test(comm.vci(), &mut id);
        if !matches!(found, Ok(None)) {
            self.request.is_active = false;
        }
        match found.map_err(|error| report(comm, "Started::test", error))? {
            Some(status) => Ok(Ok(O::told(Status(status)))),
            None => Ok(Err(self)),
        }
    }
}

impl<B> Started<'_, '_, B, Status> {
    /// Cancels a receive that has no message yet, or a send whose message nobody has received; it has to be waited for all the
    /// same, which ends in any case (MPI_Cancel). Collectives cannot be cancelled, and have no such function:
    ///
    /// ```compile_fail,E0599
    /// # let universe = rankpoint::Universe::init()?;
    /// universe.world().scope(|scope| {
    ///     let mut barrier = scope.barrier_init()?;
    ///     barrier.start()?.cancel()
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the engine does not know the request any more.
    pub fn cancel(&self) -> Result<()> {
        let comm = self.request.comm;
        completion::cancel(comm.vci(), self.request.id())
            .map_err(|error| report(comm, "Started::cancel", error))
    }
}

impl<B, O: Outcome> fmt::Debug for Started<'_, '_, B, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Started({:#x})", self.request.id().0)
    }
}

/// Starts all requests (MPI_Startall).
///
/// # Errors
/// The first one of [`Persistent::start`]; those before are in flight, and their requests wait for them.
pub fn start_all<'p, 'scope: 'p, B: 'p, O: Outcome + 'p>(
    requests: impl IntoIterator<Item = &'p mut Persistent<'scope, B, O>>,
) -> Result<Vec<Started<'p, 'scope, B, O>>> {
    requests.into_iter().map(Persistent::start).collect()
}
