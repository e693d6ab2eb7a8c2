// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonblocking operations that own their buffer.
//!
//! # Safety
//! The buffer lies on the heap and belongs to the request; it is given back when the operation is complete. A request that
//! is dropped before hands it to a task that waits; one that is forgotten leaks it. Either way nothing else can touch it.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use engine::completion;
use engine::p2p::{self, Mode};
use engine::request::RequestId;
use engine::task::{self, Completion};
use engine::{Error, Result};

use crate::envelope::rank_code;
use crate::threads::{OneThread, Threads};
use crate::{Buffer, BufferMut, Communicator, Datatype, Source, Status, Tag};

impl<'u, T: Threads> Communicator<'u, T> {
    /// Starts sending a vector (or boxed slice); [`OwnedRequest::wait`] gives it back (MPI_Isend).
    ///
    /// # Errors
    /// When there is no rank `dest`, or the tag is negative; the vector is lost then.
    pub fn isend_owned<V: Datatype>(
        &self,
        data: impl Into<Vec<V>>,
        dest: usize,
        tag: i32,
    ) -> Result<OwnedRequest<'_, 'u, V, T>> {
        let data = data.into();
        self.run("Communicator::isend_owned", |this| {
            let (region, dest) = (data[..].region()?, rank_code(dest));
            // SAFETY: the request keeps the buffer until the operation is complete (file head).
            let id =
                unsafe { p2p::isend(this.comm(), region.memory(), dest, tag, Mode::Standard) }?;
            Ok(OwnedRequest {
                comm: self,
                id,
                buffer: Some(data),
                outcome: None,
            })
        })
    }

    /// Starts receiving into a vector (or boxed slice), whose length is the longest message that fits; a shorter message
    /// leaves the rest as it was (MPI_Irecv).
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let incoming = world.irecv_owned(vec![0u64; 2], world.rank(), 3)?;
    /// let outgoing = world.isend_owned(vec![8u64, 9], world.rank(), 3)?;
    /// assert_eq!(incoming.wait()?.0, outgoing.wait()?.0);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such rank, or the tag is negative; the vector is lost then.
    pub fn irecv_owned<V: Datatype>(
        &self,
        into: impl Into<Vec<V>>,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<OwnedRequest<'_, 'u, V, T>> {
        let mut buffer = into.into();
        let (source, tag) = (source.into().code(), tag.into().code());
        self.run("Communicator::irecv_owned", |this| {
            let (source, tag) = this.wanted(source, tag)?;
            let region = buffer[..].region_mut()?;
            // SAFETY: the request keeps the buffer until the operation is complete (file head).
            let id = unsafe { p2p::irecv(this.comm(), region.memory(), source, tag) }?;
            Ok(OwnedRequest {
                comm: self,
                id,
                buffer: Some(buffer),
                outcome: None,
            })
        })
    }

    /// Runs a future to its end, making progress meanwhile. It may wait for [`OwnedRequest`]s, which are futures, and for
    /// nothing else: nobody would wake it.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let echo = world.block_on(async {
    ///     world.isend_owned(vec![5i32], world.rank(), 0)?.await?;
    ///     world.irecv_owned(vec![0i32], world.rank(), 0)?.await
    /// })?;
    /// assert_eq!(echo.0, [5]);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// The future's error, or one of the engine.
    pub fn block_on<R>(&self, future: impl Future<Output = Result<R>>) -> Result<R> {
        task::block_on(self.vci(), "Communicator::block_on", future)
    }
}

/// An operation in flight that owns its buffer. It is also a future.
#[must_use = "wait for it to get the buffer back"]
pub struct OwnedRequest<'c, 'u, V: Datatype, T: Threads = OneThread> {
    comm: &'c Communicator<'u, T>,
    id: RequestId,
    buffer: Option<Vec<V>>,
    /// How the operation ended, once [`Self::is_complete`] found that it had.
    outcome: Option<std::result::Result<Status, Error>>,
}

impl<V: Datatype, T: Threads> OwnedRequest<'_, '_, V, T> {
    /// Waits for the operation and gives the buffer back (MPI_Wait).
    ///
    /// # Errors
    /// The operation's error; the buffer is lost then.
    pub fn wait(mut self) -> Result<(Vec<V>, Status)> {
        let outcome = match self.outcome.take() {
            Some(outcome) => outcome,
            None => {
                let (comm, id) = (self.comm, &mut self.id);
                comm.run("OwnedRequest::wait", |comm| {
                    comm.complete(id, "OwnedRequest::wait")
                })
            }
        };
        let buffer = self.buffer.take().unwrap_or_default();
        outcome.map(|status| (buffer, status))
    }

    /// Whether [`Self::wait`] would return at once (MPI_Test).
    pub fn is_complete(&mut self) -> bool {
        if self.outcome.is_some() {
            return true;
        }
        let (comm, id) = (self.comm, &mut self.id);
        let found = comm.run("OwnedRequest::is_complete", |comm| {
            completion::test(comm.vci(), id)
        });
        self.outcome = found.map(|status| status.map(Status)).transpose();
        self.outcome.is_some()
    }
}

// The buffer lies on the heap, wherever the request is.
impl<V: Datatype, T: Threads> Unpin for OwnedRequest<'_, '_, V, T> {}

impl<V: Datatype, T: Threads> Future for OwnedRequest<'_, '_, V, T> {
    type Output = Result<(Vec<V>, Status)>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_complete() {
            return Poll::Pending;
        }
        let buffer = self.buffer.take().unwrap_or_default();
        match self.outcome.take() {
            Some(outcome) => Poll::Ready(outcome.map(|status| (buffer, status))),
            None => Poll::Pending,
        }
    }
}

impl<V: Datatype, T: Threads> Drop for OwnedRequest<'_, '_, V, T> {
    fn drop(&mut self) {
        if self.id == RequestId::NULL {
            return;
        }
        let (vci, id) = (self.comm.vci(), self.id);
        // A receive that has no message yet need not get one; what cannot be cancelled completes.
        let _ = completion::cancel_receive(vci, id);
        let buffer = std::mem::ManuallyDrop::new(self.buffer.take());
        let waiting = task::spawn(self.comm.comm(), async move {
            let status = Completion::new(vci, id).await;
            drop(std::mem::ManuallyDrop::into_inner(buffer));
            status
        });
        if let Ok(mut task) = waiting {
            // A live request can be let go of.
            let _ = completion::let_go(vci, &mut task);
        }
    }
}

impl<V: Datatype, T: Threads> fmt::Debug for OwnedRequest<'_, '_, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnedRequest({:#x})", self.id.0)
    }
}
