// SPDX-License-Identifier: MIT OR Apache-2.0
//! Persistent collectives on borrowed buffers (MPI-5.0, section 6.13). Started once they are nonblocking collectives on
//! borrowed buffers.
//!
//! All ranks describe the same collectives in the same order, and start them in the same order.
//!
//! # Safety
//! As in [`persistent`](crate::persistent): the scope borrows the memory for its whole life and waits for what was started.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::sync::Arc;

use engine::coll::{self, Block, Blocks, Sizes, neighbour};
use engine::comm::Comm;
use engine::op::Reduction;
use engine::{Error, ErrorClass, Result};

use crate::buffer::{Incoming, Outgoing, Region};
use crate::collective::{elements, end_if_unsettled};
use crate::graph::check_degrees;
use crate::persistent::Persistent;
use crate::threads::Threads;
use crate::{Datatype, Op, Scope};

/// A persistent request of a collective, of which there is nothing to tell when it is complete.
pub type PersistentCollective<'scope, B> = Persistent<'scope, B, ()>;

/// Memory that is borrowed for a scope, as collectives take it.
pub(crate) fn block(region: Result<Region>) -> Result<Block> {
    // SAFETY: callers pass memory that is borrowed for a scope, which outlasts the collective (file head).
    region.map(|region| unsafe { region.into_block() })
}

/// Memory that is borrowed until a collective is complete.
pub(crate) fn lent<'a>(parts: &[impl Outgoing<'a>]) -> Result<Blocks> {
    let blocks: Result<_> = parts.iter().map(|part| block(part.outgoing())).collect();
    blocks.map(Blocks)
}

/// Memory that is borrowed exclusively until a collective is complete.
pub(crate) fn lent_mut<'a>(parts: &mut [impl Incoming<'a>]) -> Result<Blocks> {
    let blocks: Result<_> = parts
        .iter_mut()
        .map(|part| block(part.incoming()))
        .collect();
    blocks.map(Blocks)
}

impl<'scope, T: Threads> Scope<'scope, '_, T> {
    /// A request of a collective whose blocks are `arguments`, of which each start takes a copy.
    pub(crate) fn plan<B, A: Clone + 'static, W: Future<Output = Result<()>> + 'static>(
        &'scope self,
        call: &'static str,
        buffer: B,
        arguments: Result<A>,
        work: impl Fn(Arc<Comm>, A) -> W + 'static,
    ) -> Result<PersistentCollective<'scope, B>> {
        let comm = self.comm.shared();
        let planned = one_group(comm).and(arguments).and_then(|arguments| {
            engine::create::plan(call, comm, None, move |comm| {
                let work = work(comm, arguments.clone());
                async move {
                    let outcome = work.await;
                    end_if_unsettled(&outcome);
                    outcome
                }
            })
        });
        self.keep_planned(call, planned, buffer)
    }

    /// Describes a barrier (MPI_Barrier_init).
    ///
    /// # Errors
    /// When no operation is free.
    pub fn barrier_init(&'scope self) -> Result<PersistentCollective<'scope, ()>> {
        let work = |comm, ()| coll::barrier(comm);
        self.plan("Scope::barrier_init", (), Ok(()), work)
    }

    /// Describes a copy of the root's buffer to all ranks (MPI_Bcast_init).
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let (mut step, mut total) = ([0u64], [0u64; 2]);
    /// world.scope(|scope| {
    ///     let mut announce = scope.broadcast_init(&mut step, 0)?;
    ///     let mut sum = scope.all_reduce_init(&mut total, rankpoint::Op::SUM)?;
    ///     for round in 0..3 {
    ///         announce.buffer()?[0] = if world.rank() == 0 { round } else { 0 };
    ///         announce.start()?.wait()?;
    ///         sum.buffer()?.copy_from_slice(&[1, round]);
    ///         sum.start()?.wait()?;
    ///         let size = world.size() as u64;
    ///         assert_eq!(announce.buffer()?[..], [round]);
    ///         assert_eq!(sum.buffer()?[..], [size, round * size]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `root`.
    pub fn broadcast_init<B: Incoming<'scope>>(
        &'scope self,
        mut data: B,
        root: usize,
    ) -> Result<PersistentCollective<'scope, B>> {
        let arguments = self.root_and(root, block(data.incoming()));
        let work = |comm, (root, block): (u32, _)| coll::bcast(comm, block, root);
        self.plan("Scope::broadcast_init", data, arguments, work)
    }

    /// Describes collecting the data of all ranks in buffers of the root's, one for each rank (MPI_Gatherv_init). Only the
    /// root's `parts` matter, the others give none.
    ///
    /// # Errors
    /// When there is no rank `root`, or the root does not give one part for each rank.
    pub fn gather_init<S: Outgoing<'scope>, R: Incoming<'scope>>(
        &'scope self,
        data: S,
        mut parts: Vec<R>,
        root: usize,
    ) -> Result<PersistentCollective<'scope, (S, Vec<R>)>> {
        let arguments = block(data.outgoing()).and_then(|send| {
            let blocks = if self.is_root(root, parts.len())? {
                Some(lent_mut(&mut parts)?)
            } else {
                None
            };
            Ok((send, blocks))
        });
        let arguments = self.root_and(root, arguments);
        let work = |comm, (root, (send, blocks)): (u32, (Block, Option<Blocks>))| {
            coll::gather(comm, Some(send), blocks, root, Sizes::Varying)
        };
        self.plan("Scope::gather_init", (data, parts), arguments, work)
    }

    /// Describes handing buffers of the root's, one for each rank, to the ranks (MPI_Scatterv_init). Only the root's `parts`
    /// matter, the others give none.
    ///
    /// # Errors
    /// When there is no rank `root`, or the root does not give one part for each rank.
    pub fn scatter_init<S: Outgoing<'scope>, R: Incoming<'scope>>(
        &'scope self,
        parts: Vec<S>,
        mut into: R,
        root: usize,
    ) -> Result<PersistentCollective<'scope, (Vec<S>, R)>> {
        let arguments = block(into.incoming()).and_then(|receive| {
            let blocks = if self.is_root(root, parts.len())? {
                Some(lent(&parts)?)
            } else {
                None
            };
            Ok((blocks, receive))
        });
        let arguments = self.root_and(root, arguments);
        let work = |comm, (root, (blocks, receive)): (u32, (Option<Blocks>, Block))| {
            coll::scatter(comm, blocks, Some(receive), root, Sizes::Varying)
        };
        self.plan("Scope::scatter_init", (parts, into), arguments, work)
    }

    /// Describes collecting the data of all ranks in buffers of everyone's, one for each rank (MPI_Allgatherv_init).
    ///
    /// # Errors
    /// When there is not one part for each rank.
    pub fn all_gather_init<S: Outgoing<'scope>, R: Incoming<'scope>>(
        &'scope self,
        data: S,
        mut parts: Vec<R>,
    ) -> Result<PersistentCollective<'scope, (S, Vec<R>)>> {
        let arguments = self.comm.check_parts("parts", parts.len());
        let arguments =
            arguments.and_then(|()| Ok((block(data.outgoing())?, lent_mut(&mut parts)?)));
        let work = |comm, (send, blocks)| coll::allgather(comm, Some(send), blocks);
        self.plan("Scope::all_gather_init", (data, parts), arguments, work)
    }

    /// Describes sending `send[i]` to rank `i` and receiving `receive[i]` from it (MPI_Alltoallw_init).
    ///
    /// # Errors
    /// When there is not one buffer for each rank.
    pub fn all_to_all_init<S: Outgoing<'scope>, R: Incoming<'scope>>(
        &'scope self,
        send: Vec<S>,
        mut receive: Vec<R>,
    ) -> Result<PersistentCollective<'scope, (Vec<S>, Vec<R>)>> {
        let checked = self.comm.check_parts("send", send.len());
        let checked = checked.and(self.comm.check_parts("receive", receive.len()));
        let arguments = checked.and_then(|()| Ok((lent(&send)?, lent_mut(&mut receive)?)));
        let work =
            |comm, (send, receive)| coll::alltoall(comm, Some(send), receive, Sizes::Varying);
        self.plan("Scope::all_to_all_init", (send, receive), arguments, work)
    }

    /// Describes sending `send[i]` to the `i`-th neighbour in a graph or grid, and receiving `receive[i]` from the `i`-th
    /// (MPI_Neighbor_alltoallw_init). A grid has two neighbours in each dimension; where it ends buffers are left alone.
    ///
    /// # Errors
    /// When the communicator is no graph or grid, or there is not one buffer for each neighbour.
    pub fn neighbour_exchange_init<S: Outgoing<'scope>, R: Incoming<'scope>>(
        &'scope self,
        send: Vec<S>,
        mut receive: Vec<R>,
    ) -> Result<PersistentCollective<'scope, (Vec<S>, Vec<R>)>> {
        let checked = check_degrees(self.comm.comm(), send.len(), receive.len());
        let arguments = checked.and_then(|()| Ok((lent(&send)?, lent_mut(&mut receive)?)));
        let work = |comm, (send, receive)| neighbour::exchange(comm, send, receive);
        let call = "Scope::neighbour_exchange_init";
        self.plan(call, (send, receive), arguments, work)
    }

    /// Describes combining all ranks' data element by element, in place at the root (MPI_Reduce_init).
    ///
    /// # Errors
    /// When there is no rank `root`.
    pub fn reduce_init<V: Datatype>(
        &'scope self,
        data: &'scope mut [V],
        op: Op<V>,
        root: usize,
    ) -> Result<PersistentCollective<'scope, &'scope mut [V]>> {
        let at_root = self.comm.rank() == root;
        let arguments = self.root_and(root, combined(data, &op));
        let work = move |comm, (root, (block, reduction)): (u32, (Block, _))| {
            let receive = at_root.then(|| block.clone());
            coll::reduce(comm, block, receive, reduction, root)
        };
        self.plan("Scope::reduce_init", data, arguments, work)
    }

    /// Describes combining all ranks' data element by element, in place at everyone (MPI_Allreduce_init).
    ///
    /// # Errors
    /// When no operation is free.
    pub fn all_reduce_init<V: Datatype>(
        &'scope self,
        data: &'scope mut [V],
        op: Op<V>,
    ) -> Result<PersistentCollective<'scope, &'scope mut [V]>> {
        self.combine_init("Scope::all_reduce_init", data, op, coll::allreduce)
    }

    /// Describes combining the data of all ranks up to each one, in place (MPI_Scan_init).
    ///
    /// # Errors
    /// When no operation is free.
    pub fn scan_init<V: Datatype>(
        &'scope self,
        data: &'scope mut [V],
        op: Op<V>,
    ) -> Result<PersistentCollective<'scope, &'scope mut [V]>> {
        self.combine_init("Scope::scan_init", data, op, coll::scan)
    }

    /// A combination in place, of the same data at all ranks.
    fn combine_init<V: Datatype, W: Future<Output = Result<()>> + 'static>(
        &'scope self,
        call: &'static str,
        data: &'scope mut [V],
        op: Op<V>,
        combine: impl Fn(Arc<Comm>, Block, Block, Reduction) -> W + 'static,
    ) -> Result<PersistentCollective<'scope, &'scope mut [V]>> {
        let arguments = combined(data, &op);
        self.plan(call, data, arguments, move |comm, (block, reduction)| {
            combine(comm, block.clone(), block, reduction)
        })
    }

    fn root_and<A>(&self, root: usize, arguments: Result<A>) -> Result<(u32, A)> {
        Ok((self.comm.root(root)?, arguments?))
    }

    /// Whether this rank is the root, which has to give a part for each rank.
    fn is_root(&self, root: usize, parts: usize) -> Result<bool> {
        if self.comm.rank() != root {
            return Ok(false);
        }
        self.comm.check_parts("parts", parts).map(|()| true)
    }
}

/// Collectives of two groups have other arguments.
fn one_group(comm: &Comm) -> Result<()> {
    if comm.remote_size().is_none() {
        return Ok(());
    }
    let (value, expected) = ("of two groups", "a communicator of one group");
    Err(Error::argument(
        ErrorClass::ERR_COMM,
        "scope",
        value,
        expected,
    ))
}

/// The elements of a reduction in place, and the operation on them.
fn combined<V: Datatype>(data: &mut [V], op: &Op<V>) -> Result<(Block, engine::op::Reduction)> {
    let (reduction, datatype) = op.reduction()?;
    Ok((
        elements(data.as_mut_ptr(), data.len(), &datatype),
        reduction,
    ))
}
