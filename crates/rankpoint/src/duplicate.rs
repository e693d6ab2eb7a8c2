// SPDX-License-Identifier: MIT OR Apache-2.0
//! Duplicates that are made while the program goes on (MPI-5.0, section 7.4.2).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::comm::Comm;
use engine::create;
use engine::request::RequestId;
use engine::task::{self, Completion};
use engine::{Error, ErrorClass, Result, completion};

use crate::Communicator;
use crate::threads::{OneThread, Threads};

impl<'u, T: Threads> Communicator<'u, T> {
    /// Starts making a communicator of the same ranks with a context of its own (MPI_Comm_idup). Called by all ranks, in the
    /// order of their other collectives.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let copy = world.iduplicate()?;
    /// // Work that does not need it goes here.
    /// let copy = copy.wait()?;
    /// assert_eq!(copy.size(), world.size());
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no operation is free.
    pub fn iduplicate(&self) -> Result<Duplicating<'_, 'u, T>> {
        self.run("Communicator::iduplicate", |_| {
            let (made, id) = create::idup(self.shared())?;
            Ok(Duplicating {
                comm: self,
                id,
                made: Some(made),
            })
        })
    }
}

/// A duplicate that is being made. It is a future, for [`Communicator::block_on`]. Dropping it leaves the agreement to itself, which
/// the other ranks count on.
#[must_use = "wait for it to get the communicator"]
pub struct Duplicating<'c, 'u, T: Threads = OneThread> {
    comm: &'c Communicator<'u, T>,
    id: RequestId,
    /// Not used by anybody before the request is complete.
    made: Option<Arc<Comm>>,
}

impl<'u, T: Threads> Duplicating<'_, 'u, T> {
    /// Waits for the agreement and gives the communicator (MPI_Wait).
    ///
    /// # Errors
    /// When no context is free.
    pub fn wait(mut self) -> Result<Communicator<'u, T>> {
        let (comm, id) = (self.comm, &mut self.id);
        let call = "Duplicating::wait";
        comm.run(call, |comm| comm.complete(id, call).map(drop))?;
        self.take()
    }

    fn take(&mut self) -> Result<Communicator<'u, T>> {
        match self.made.take() {
            Some(made) => Ok(Communicator::owned(made).with_hints(self.comm.hints())),
            None => Err(Error::new(
                ErrorClass::ERR_REQUEST,
                "the duplicate was taken before",
            )),
        }
    }
}

impl<'u, T: Threads> Future for Duplicating<'_, 'u, T> {
    type Output = Result<Communicator<'u, T>>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let (comm, mut id) = (self.comm, self.id);
        let found = comm.run("Duplicating::poll", |comm| {
            completion::test(comm.vci(), &mut id)
        });
        self.id = id;
        match found {
            Ok(None) => Poll::Pending,
            Ok(Some(_)) => Poll::Ready(self.take()),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<T: Threads> Drop for Duplicating<'_, '_, T> {
    fn drop(&mut self) {
        let (vci, id) = (self.comm.vci(), self.id);
        let Some(made) = self.made.take().filter(|_| id != RequestId::NULL) else {
            return;
        };
        let waiting = task::spawn(self.comm.comm(), async move {
            let status = Completion::new(vci, id).await;
            made.free();
            status
        });
        if let Ok(mut task) = waiting {
            // A live request can be let go of.
            let _ = completion::let_go(vci, &mut task);
        }
    }
}

impl<T: Threads> fmt::Debug for Duplicating<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Duplicating({:#x})", self.id.0)
    }
}
