// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonblocking collectives: futures that own their buffers (MPI-5.0, section 6.12).
//!
//! The buffers lie on the heap and belong to a task of the engine until the collective is complete, whatever becomes of the
//! [`Pending`] that waits for it: dropped or forgotten, the task goes on and frees them at its end.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use engine::call::CallName;
use engine::coll::{self, Sizes};
use engine::request::RequestId;
use engine::{Error, ErrorClass, Result, completion, task};

use crate::collective::{elements, end_if_unsettled, reads, writes, wrong_length};
use crate::data::zeros;
use crate::p2p::complete;
use crate::threads::{OneThread, Threads};
use crate::{Communicator, Datatype, Op};

impl<'u, T: Threads> Communicator<'u, T> {
    /// Starts a collective as a task that owns what it works on.
    pub(crate) fn begin<'c, K: 'static, R: 'static>(
        &'c self,
        call: CallName,
        kept: K,
        result: R,
        work: impl Future<Output = Result<()>> + 'static,
    ) -> Result<Pending<'c, 'u, R, T>> {
        let _entered = self
            .comm()
            .enter_collective(call.name().unwrap_or("a collective"))?;
        let result_place = Arc::new(Mutex::new(None));
        let place = result_place.clone();
        let id = task::spawn_collective(self.comm(), call, async move {
            let outcome = work.await;
            end_if_unsettled(&outcome);
            drop(kept);
            outcome?;
            if let Ok(mut place) = place.lock() {
                *place = Some(result);
            }
            Ok(())
        })?;
        Ok(Pending {
            comm: self,
            id,
            result: result_place,
            outcome: None,
        })
    }

    /// Starts a barrier (MPI_Ibarrier).
    ///
    /// # Errors
    /// When no operation is free.
    pub fn ibarrier(&self) -> Result<Pending<'_, 'u, (), T>> {
        const CALL: &str = "Communicator::ibarrier";
        self.run(CALL, |_| {
            self.begin(
                const { CallName::of(CALL) },
                (),
                (),
                coll::barrier(self.shared().clone()),
            )
        })
    }

    /// Starts copying the root's vector to all ranks, whose vectors are as long (MPI_Ibcast).
    ///
    /// # Errors
    /// When there is no rank `root`; the vector is lost then.
    pub fn ibroadcast<V: Datatype>(
        &self,
        mut data: Vec<V>,
        root: usize,
    ) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::ibroadcast";
        self.run(CALL, |_| {
            let root = self.root(root)?;
            let work = coll::bcast(self.shared().clone(), writes(&mut data[..])?, root);
            self.begin(const { CallName::of(CALL) }, (), data, work)
        })
    }

    /// Starts combining all ranks' data element by element; everyone gets the result (MPI_Iallreduce).
    ///
    /// ```
    /// # use rankpoint::Op;
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let sum = world.iall_reduce(vec![1u32, 2], Op::SUM)?;
    /// let largest = world.iall_reduce(vec![world.rank()], Op::MAX)?;
    /// let (sum, largest) = world.block_on(async { Ok((sum.await?, largest.await?)) })?;
    /// assert_eq!(sum[1], 2 * sum[0]);
    /// assert_eq!(largest, [world.size() - 1]);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no operation is free; the vector is lost then.
    pub fn iall_reduce<V: Datatype>(
        &self,
        mut data: Vec<V>,
        op: Op<V>,
    ) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::iall_reduce";
        self.run(CALL, |_| {
            let (reduction, datatype) = op.reduction()?;
            let block = elements(data.as_mut_ptr(), data.len(), &datatype);
            let comm = self.shared().clone();
            let work = coll::allreduce(comm, block.clone(), block, reduction);
            self.begin(const { CallName::of(CALL) }, datatype, data, work)
        })
    }

    /// Starts combining all ranks' data element by element, at the root (MPI_Ireduce); the others get `None`.
    ///
    /// # Errors
    /// When there is no rank `root`; the vector is lost then.
    pub fn ireduce<V: Datatype>(
        &self,
        data: Vec<V>,
        op: Op<V>,
        root: usize,
    ) -> Result<Pending<'_, 'u, Option<Vec<V>>, T>> {
        const CALL: &str = "Communicator::ireduce";
        self.run(CALL, |_| {
            let root = self.root(root)?;
            let (reduction, datatype) = op.reduction()?;
            let mut result = (self.rank() == root as usize).then(|| zeros::<V>(data.len()));
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = result
                .as_mut()
                .map(|result| elements(result.as_mut_ptr(), data.len(), &datatype));
            let work = coll::reduce(self.shared().clone(), send, receive, reduction, root);
            self.begin(const { CallName::of(CALL) }, (data, datatype), result, work)
        })
    }

    /// Starts collecting equally long data of all ranks at the root (MPI_Igather); the others get `None`.
    ///
    /// # Errors
    /// When there is no rank `root`; the vector is lost then.
    pub fn igather<V: Datatype>(
        &self,
        data: Vec<V>,
        root: usize,
    ) -> Result<Pending<'_, 'u, Option<Vec<V>>, T>> {
        const CALL: &str = "Communicator::igather";
        self.run(CALL, |_| {
            let root = self.root(root)?;
            let length = data.len() * self.size();
            let mut all = (self.rank() == root as usize).then(|| zeros::<V>(length));
            let room = all.as_mut().map(|all| writes(&mut all[..])).transpose()?;
            let blocks = room.map(|room| self.equal_blocks(&room));
            let (comm, send) = (self.shared().clone(), Some(reads(&data[..])?));
            let work = coll::gather(comm, send, blocks, root, Sizes::Equal);
            self.begin(const { CallName::of(CALL) }, data, all, work)
        })
    }

    /// Starts collecting equally long data of all ranks at everyone (MPI_Iallgather).
    ///
    /// # Errors
    /// When no operation is free; the vector is lost then.
    pub fn iall_gather<V: Datatype>(&self, data: Vec<V>) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::iall_gather";
        self.run(CALL, |_| {
            let mut all = zeros::<V>(data.len() * self.size());
            let blocks = self.equal_blocks(&writes(&mut all[..])?);
            let (comm, send) = (self.shared().clone(), Some(reads(&data[..])?));
            self.begin(
                const { CallName::of(CALL) },
                data,
                all,
                coll::allgather(comm, send, blocks),
            )
        })
    }

    /// Starts sending part `i` of this rank's data to rank `i` (MPI_Ialltoall).
    ///
    /// # Errors
    /// When the data cannot be cut into equal parts; the vector is lost then.
    pub fn iall_to_all<V: Datatype>(&self, data: Vec<V>) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::iall_to_all";
        self.run(CALL, |_| {
            if !data.len().is_multiple_of(self.size()) {
                let expected = format!("a multiple of the {} ranks", self.size());
                return Err(wrong_length("data", data.len(), expected));
            }
            let mut result = zeros::<V>(data.len());
            let send = self.equal_blocks(&reads(&data[..])?);
            let receive = self.equal_blocks(&writes(&mut result[..])?);
            let comm = self.shared().clone();
            let work = coll::alltoall(comm, Some(send), receive, Sizes::Equal);
            self.begin(const { CallName::of(CALL) }, data, result, work)
        })
    }

    /// Starts combining the data of all ranks up to this one (MPI_Iscan).
    ///
    /// # Errors
    /// When no operation is free; the vector is lost then.
    pub fn iscan<V: Datatype>(
        &self,
        data: Vec<V>,
        op: Op<V>,
    ) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::iscan";
        self.run(CALL, |_| {
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(data.len());
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = elements(result.as_mut_ptr(), data.len(), &datatype);
            let work = coll::scan(self.shared().clone(), send, receive, reduction);
            self.begin(const { CallName::of(CALL) }, (data, datatype), result, work)
        })
    }
}

/// A collective in flight, and what it will give. It is a future, for [`Communicator::block_on`]. Dropping it leaves the
/// collective to itself, which the other ranks count on.
#[must_use = "wait for it to get the result"]
pub struct Pending<'c, 'u, R, T: Threads = OneThread> {
    comm: &'c Communicator<'u, T>,
    id: RequestId,
    result: Arc<Mutex<Option<R>>>,
    /// How the collective ended, once [`Self::is_complete`] found that it had.
    outcome: Option<Result<()>>,
}

impl<R, T: Threads> Pending<'_, '_, R, T> {
    /// Waits for the collective and gives its result (MPI_Wait).
    ///
    /// # Errors
    /// The collective's error; its buffers are lost then.
    pub fn wait(mut self) -> Result<R> {
        let outcome = match self.outcome.take() {
            Some(outcome) => outcome,
            None => {
                let (comm, id) = (self.comm, &mut self.id);
                comm.run("Pending::wait", |comm| {
                    complete(comm.comm(), id, "Pending::wait").map(drop)
                })
            }
        };
        outcome.and_then(|()| self.take())
    }

    /// Whether [`Self::wait`] would return at once (MPI_Test).
    pub fn is_complete(&mut self) -> bool {
        if self.outcome.is_none() && self.id != RequestId::NULL {
            let (comm, id) = (self.comm, &mut self.id);
            let found = comm.run("Pending::is_complete", |comm| {
                completion::test(comm.vci(), id)
            });
            self.outcome = found.map(|status| status.map(drop)).transpose();
        }
        self.outcome.is_some() || self.id == RequestId::NULL
    }

    fn take(&self) -> Result<R> {
        let taken = self.result.lock().ok().and_then(|mut result| result.take());
        taken.ok_or_else(|| {
            Error::new(
                ErrorClass::ERR_REQUEST,
                "the result of the collective was taken before",
            )
        })
    }
}

impl<R, T: Threads> Future for Pending<'_, '_, R, T> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_complete() {
            return Poll::Pending;
        }
        let outcome = self.outcome.take().unwrap_or(Ok(()));
        Poll::Ready(outcome.and_then(|()| self.take()))
    }
}

impl<R, T: Threads> Drop for Pending<'_, '_, R, T> {
    fn drop(&mut self) {
        if self.id != RequestId::NULL {
            // A live request can be let go of; its task owns the buffers.
            let _ = completion::let_go(self.comm.vci(), &mut self.id);
        }
    }
}

impl<R, T: Threads> fmt::Debug for Pending<'_, '_, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pending({:#x})", self.id.0)
    }
}

/// Waits for all of several futures at once; their results in order, or the first error.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let rounds = (0..4u64).map(|round| world.iall_gather(vec![round])).collect::<Result<Vec<_>, _>>()?;
/// let results = world.block_on(rankpoint::join_all(rounds))?;
/// assert_eq!(results[3], vec![3; world.size()]);
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// # Errors
/// The first one in order, when all have ended.
pub async fn join_all<R>(
    futures: impl IntoIterator<Item = impl Future<Output = Result<R>>>,
) -> Result<Vec<R>> {
    let mut waiting: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        let mut all = true;
        for (future, outcome) in &mut waiting {
            if outcome.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(found) => *outcome = Some(found),
                    Poll::Pending => all = false,
                }
            }
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    waiting
        .into_iter()
        .filter_map(|(_, outcome)| outcome)
        .collect()
}
