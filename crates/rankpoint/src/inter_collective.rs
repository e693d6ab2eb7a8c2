// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of two groups (MPI-5.0, section 6.2.3): data go from one group to the other.
//!
//! Where one rank is the root the ranks make different calls: the root the one with `_here`, those of the other group the one
//! that names the root, and the rest of the root's group the one with `_elsewhere`.

use engine::Result;
use engine::coll::{self, Block, Blocks, Root, Sizes};
use engine::{Error, ErrorClass};

use crate::blocks::{blocks_read, blocks_written};
use crate::collective::{elements, reads, writes, wrong_length};
use crate::data::zeros;
use crate::threads::Threads;
use crate::varying::{lengths, rooms, sources, targets};
use crate::{Buffer, BufferMut, Datatype, InterCommunicator, Op};

impl<T: Threads> InterCommunicator<'_, T> {
    fn remote(&self, root: usize) -> Result<Root> {
        if root < self.remote_size() {
            return Ok(Root::Rank(root as u32));
        }
        let expected = format!("a rank of the other group, 0..{}", self.remote_size() - 1);
        let class = ErrorClass::ERR_ROOT;
        Err(Error::argument(class, "root", root, expected))
    }

    fn check_parts(&self, argument: &'static str, length: usize) -> Result<()> {
        let expected = self.remote_size();
        if length == expected {
            return Ok(());
        }
        let expected = format!("{expected}: a part for each rank of the other group");
        Err(wrong_length(argument, length, expected))
    }

    /// Waits until all ranks of both groups have called it (MPI_Barrier).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn barrier(&self) -> Result<()> {
        let call = "InterCommunicator::barrier";
        self.inner().run(call, |comm| {
            comm.collect(call, coll::barrier(comm.shared().clone()))
        })
    }

    fn copy(&self, call: &'static str, block: Result<Block>, root: Result<Root>) -> Result<()> {
        self.inner().run(call, |comm| {
            comm.collect(call, coll::bcast(comm.shared().clone(), block?, root?))
        })
    }

    /// Copies this rank's buffer to all ranks of the other group, which call [`Self::broadcast`] (MPI_Bcast).
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # if world.size() > 1 {
    /// // Rank 1 of the world tells all even ranks.
    /// let bridge = world.split_in_two(world.rank() % 2 == 1)?;
    /// let mut word = 0u32;
    /// match world.rank() {
    ///     1 => bridge.broadcast_here(&42u32)?,
    ///     rank if rank % 2 == 1 => bridge.broadcast_elsewhere()?,
    ///     _ => bridge.broadcast(&mut word, 0)?,
    /// }
    /// assert_eq!(word, if world.rank() % 2 == 0 { 42 } else { 0 });
    /// # }
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the messages.
    pub fn broadcast_here<B: Buffer + ?Sized>(&self, data: &B) -> Result<()> {
        let call = "InterCommunicator::broadcast_here";
        self.copy(call, reads(data), Ok(Root::Here))
    }

    /// Receives the buffer of the other group's rank `root` (MPI_Bcast).
    ///
    /// # Errors
    /// When there is no rank `root`, or its buffer is longer.
    pub fn broadcast<B: BufferMut + ?Sized>(&self, into: &mut B, root: usize) -> Result<()> {
        let call = "InterCommunicator::broadcast";
        self.copy(call, writes(into), self.remote(root))
    }

    /// Another rank of this group is the root of a broadcast (MPI_Bcast).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn broadcast_elsewhere(&self) -> Result<()> {
        let call = "InterCommunicator::broadcast_elsewhere";
        self.copy(call, reads(&[0u8; 0]), Ok(Root::Elsewhere))
    }

    fn collected(
        &self,
        call: &'static str,
        send: Result<Option<Block>>,
        receive: Result<Option<Blocks>>,
        root: Result<Root>,
    ) -> Result<()> {
        self.inner().run(call, |comm| {
            let (shared, sizes) = (comm.shared().clone(), Sizes::Varying);
            comm.collect(call, coll::gather(shared, send?, receive?, root?, sizes))
        })
    }

    /// Collects the data of all ranks of the other group, which call [`Self::gather`], in buffers of this rank's
    /// (MPI_Gatherv): `parts[i]` is as long as rank `i`'s data.
    ///
    /// # Errors
    /// When there is not one part for each rank of the other group, or data are longer than their part.
    pub fn gather_here<R: BufferMut>(&self, parts: &mut [R]) -> Result<()> {
        let checked = self.check_parts("parts", parts.len());
        let blocks = checked.and_then(|()| blocks_written(parts)).map(Some);
        let call = "InterCommunicator::gather_here";
        self.collected(call, Ok(None), blocks, Ok(Root::Here))
    }

    /// Gives data to the other group's rank `root` (MPI_Gatherv).
    ///
    /// # Errors
    /// When there is no rank `root`.
    pub fn gather<S: Buffer + ?Sized>(&self, data: &S, root: usize) -> Result<()> {
        let (call, send) = ("InterCommunicator::gather", reads(data).map(Some));
        self.collected(call, send, Ok(None), self.remote(root))
    }

    /// Another rank of this group is the root of a gather (MPI_Gatherv).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn gather_elsewhere(&self) -> Result<()> {
        let call = "InterCommunicator::gather_elsewhere";
        self.collected(call, Ok(None), Ok(None), Ok(Root::Elsewhere))
    }

    fn handed(
        &self,
        call: &'static str,
        send: Result<Option<Blocks>>,
        receive: Result<Option<Block>>,
        root: Result<Root>,
    ) -> Result<()> {
        self.inner().run(call, |comm| {
            let (shared, sizes) = (comm.shared().clone(), Sizes::Varying);
            comm.collect(call, coll::scatter(shared, send?, receive?, root?, sizes))
        })
    }

    /// Hands buffers of this rank's to the ranks of the other group, which call [`Self::scatter`] (MPI_Scatterv).
    ///
    /// # Errors
    /// When there is not one part for each rank of the other group.
    pub fn scatter_here<S: Buffer>(&self, parts: &[S]) -> Result<()> {
        let checked = self.check_parts("parts", parts.len());
        let blocks = checked.and_then(|()| blocks_read(parts)).map(Some);
        let call = "InterCommunicator::scatter_here";
        self.handed(call, blocks, Ok(None), Ok(Root::Here))
    }

    /// Receives a part from the other group's rank `root` (MPI_Scatterv).
    ///
    /// # Errors
    /// When there is no rank `root`, or the part is longer than the buffer.
    pub fn scatter<R: BufferMut + ?Sized>(&self, into: &mut R, root: usize) -> Result<()> {
        let (call, receive) = ("InterCommunicator::scatter", writes(into).map(Some));
        self.handed(call, Ok(None), receive, self.remote(root))
    }

    /// Another rank of this group is the root of a scatter (MPI_Scatterv).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn scatter_elsewhere(&self) -> Result<()> {
        let call = "InterCommunicator::scatter_elsewhere";
        self.handed(call, Ok(None), Ok(None), Ok(Root::Elsewhere))
    }

    /// Sends this rank's data, as long as it likes, to all ranks of the other group; the result is what each of those sent
    /// (MPI_Allgatherv). The lengths travel first.
    ///
    /// # Errors
    /// Those of the messages.
    pub fn all_gather<V: Datatype>(&self, data: &[V]) -> Result<Vec<Vec<V>>> {
        let call = "InterCommunicator::all_gather";
        self.inner().run(call, |comm| {
            let mut theirs = vec![[0u64]; self.remote_size()];
            let (send, receive) = (reads(&(data.len() as u64))?, blocks_written(&mut theirs)?);
            comm.collect(
                call,
                coll::allgather(comm.shared().clone(), Some(send), receive),
            )?;
            let mut all = rooms::<V>(theirs.as_flattened());
            let (send, receive) = (reads(data)?, targets(&mut all)?);
            comm.collect(
                call,
                coll::allgather(comm.shared().clone(), Some(send), receive),
            )?;
            Ok(all)
        })
    }

    /// Part `i` of this rank's data goes to rank `i` of the other group, each as long as it likes; the result is what those
    /// had for this rank (MPI_Alltoallv). The lengths travel first.
    ///
    /// # Errors
    /// When there is not one part for each rank of the other group.
    pub fn all_to_all<V: Datatype>(&self, parts: &[Vec<V>]) -> Result<Vec<Vec<V>>> {
        let call = "InterCommunicator::all_to_all";
        self.inner().run(call, |comm| {
            self.check_parts("parts", parts.len())?;
            let sizes = Sizes::Varying;
            let (ours, mut theirs) = (lengths(parts), vec![0u64; parts.len()]);
            let (send, receive) = (blocks_read(&ours)?, blocks_written(&mut theirs)?);
            let shared = comm.shared().clone();
            comm.collect(call, coll::alltoall(shared, Some(send), receive, sizes))?;
            let mut all = rooms::<V>(&theirs);
            let (send, receive) = (sources(parts)?, targets(&mut all)?);
            let shared = comm.shared().clone();
            comm.collect(call, coll::alltoall(shared, Some(send), receive, sizes))?;
            Ok(all)
        })
    }

    /// Combines the data of the other group's ranks element by element; everyone gets the result for the group that it is not
    /// in (MPI_Allreduce).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn all_reduce<V: Datatype>(&self, data: &[V], op: Op<V>) -> Result<Vec<V>> {
        let call = "InterCommunicator::all_reduce";
        self.inner().run(call, |comm| {
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(data.len());
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = elements(result.as_mut_ptr(), data.len(), &datatype);
            let work = coll::allreduce(comm.shared().clone(), send, receive, reduction);
            comm.collect(call, work)?;
            Ok(result)
        })
    }

    /// The combination of `length` elements of all ranks of the other group, which call [`Self::reduce`] (MPI_Reduce).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn reduce_here<V: Datatype>(&self, length: usize, op: Op<V>) -> Result<Vec<V>> {
        let call = "InterCommunicator::reduce_here";
        self.inner().run(call, |comm| {
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(length);
            let receive = elements(result.as_mut_ptr(), length, &datatype);
            let (shared, send) = (comm.shared().clone(), receive.clone());
            let work = coll::reduce(shared, send, Some(receive), reduction, Root::Here);
            comm.collect(call, work)?;
            Ok(result)
        })
    }

    /// Gives data to a combination at the other group's rank `root` (MPI_Reduce).
    ///
    /// # Errors
    /// When there is no rank `root`, or the lengths differ.
    pub fn reduce<V: Datatype>(&self, data: &[V], op: Op<V>, root: usize) -> Result<()> {
        let call = "InterCommunicator::reduce";
        self.inner().run(call, |comm| {
            let (root, (reduction, datatype)) = (self.remote(root)?, op.reduction()?);
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let shared = comm.shared().clone();
            comm.collect(call, coll::reduce(shared, send, None, reduction, root))
        })
    }

    /// Another rank of this group is the root of a reduction (MPI_Reduce).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn reduce_elsewhere(&self) -> Result<()> {
        let call = "InterCommunicator::reduce_elsewhere";
        self.inner().run(call, |comm| {
            let (reduction, datatype) = Op::<u8>::OR.reduction()?;
            let nothing = elements::<u8>([].as_ptr(), 0, &datatype);
            let shared = comm.shared().clone();
            let work = coll::reduce(shared, nothing, None, reduction, Root::Elsewhere);
            comm.collect(call, work)
        })
    }
}
