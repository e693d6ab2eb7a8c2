// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6). All ranks of the communicator make the same calls in the same order.
//!
//! # Safety
//! Each call lends its buffers to the engine until the operation is complete, and is not left before.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::sync::Arc;

use engine::coll::fast::now;
use engine::coll::{self, Block, Blocks, Sizes};
use engine::comm::Comm;
use engine::datatype::Datatype as EngineDatatype;
use engine::op::Reduction;
use engine::{Error, ErrorClass, Result, task};

use crate::abort::give_up;
use crate::buffer::Region;
use crate::data::zeros;
use crate::threads::Threads;
use crate::{Buffer, BufferMut, Communicator, Datatype, Op};

/// The memory of a borrowed buffer.
fn block(region: Region) -> Block {
    // SAFETY: callers pass a borrowed buffer to a collective that ends before they do (file head).
    unsafe { region.into_block() }
}

/// A buffer that a collective reads.
pub(crate) fn reads<B: Buffer + ?Sized>(data: &B) -> Result<Block> {
    data.region().map(block)
}

/// A buffer that a collective writes.
pub(crate) fn writes<B: BufferMut + ?Sized>(data: &mut B) -> Result<Block> {
    data.region_mut().map(block)
}

/// The elements of a reduction.
pub(crate) fn elements<V>(base: *const V, count: usize, datatype: &EngineDatatype) -> Block {
    // SAFETY: as in `block`; the datatype is that of `V` (Op::reduction).
    unsafe { Block::of(base.cast_mut().cast(), count, datatype) }
}

#[cold]
pub(crate) fn wrong_length(argument: &'static str, length: usize, expected: String) -> Error {
    Error::argument(
        ErrorClass::ERR_COUNT,
        argument,
        format!("{length} elements long"),
        expected,
    )
}

/// Ends the program after an error of the engine itself, because other ranks' data might still arrive in the buffers.
pub(crate) fn end_if_unsettled(outcome: &Result<()>) {
    if let Err(error) = outcome
        && matches!(
            error.class(),
            ErrorClass::ERR_INTERN | ErrorClass::ERR_PROC_ABORTED
        )
    {
        give_up(Some(error));
    }
}

impl<T: Threads> Communicator<'_, T> {
    /// Runs a collective to its end.
    pub(crate) fn collect(
        &self,
        call: &'static str,
        work: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let _entered = self.comm().enter_collective(call)?;
        let outcome = task::block_on(self.vci(), call, work);
        end_if_unsettled(&outcome);
        outcome
    }

    /// Ends a collective that tried the fast path: the outcome of the fast path, or, if the fast path declined, that of the
    /// collective as a future.
    #[inline(always)]
    pub(crate) fn finish<W: Future<Output = Result<()>>>(
        &self,
        call: &'static str,
        tried: Option<Result<()>>,
        work: impl FnOnce(Arc<Comm>) -> W,
    ) -> Result<()> {
        match tried {
            Some(outcome) => {
                end_if_unsettled(&outcome);
                outcome
            }
            None => self.collect_long(call, work),
        }
    }

    /// Apart, so that a short collective does not make room for the future of a long one.
    #[inline(never)]
    fn collect_long<W: Future<Output = Result<()>>>(
        &self,
        call: &'static str,
        work: impl FnOnce(Arc<Comm>) -> W,
    ) -> Result<()> {
        self.collect(call, work(self.shared().clone()))
    }

    pub(crate) fn root(&self, root: usize) -> Result<u32> {
        if root < self.size() {
            return Ok(root as u32);
        }
        let expected = format!("a rank, 0..{}", self.size() - 1);
        Err(Error::argument(
            ErrorClass::ERR_ROOT,
            "root",
            root,
            expected,
        ))
    }

    /// Waits until all ranks have called it (MPI_Barrier).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn barrier(&self) -> Result<()> {
        let call = "Communicator::barrier";
        self.run(call, |this| {
            this.finish(call, now::barrier(call, this.comm()), coll::barrier)
        })
    }

    /// Copies the root's buffer to all ranks (MPI_Bcast). The buffers have the same length.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let mut answer = if world.rank() == 0 { 42 } else { 0 };
    /// world.broadcast(&mut answer, 0)?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `root`, or the root's buffer is longer.
    pub fn broadcast<B: BufferMut + ?Sized>(&self, data: &mut B, root: usize) -> Result<()> {
        let call = "Communicator::broadcast";
        self.run(call, |this| {
            let (root, region) = (this.root(root)?, data.region_mut()?);
            // SAFETY: the buffer is borrowed exclusively until this returns.
            let tried = region
                .dense()
                .and_then(|data| unsafe { now::bcast(call, this.comm(), data, root) });
            this.finish(call, tried, |comm| coll::bcast(comm, block(region), root))
        })
    }

    /// Combines all ranks' data element by element, at the root (MPI_Reduce); the others get `None`.
    ///
    /// # Errors
    /// When there is no rank `root`, or the lengths differ.
    pub fn reduce<V: Datatype>(
        &self,
        data: &[V],
        op: Op<V>,
        root: usize,
    ) -> Result<Option<Vec<V>>> {
        let call = "Communicator::reduce";
        self.run(call, |this| {
            let root = this.root(root)?;
            let (reduction, datatype) = op.reduction()?;
            let mut result = (this.rank() == root as usize).then(|| zeros::<V>(data.len()));
            let (from, count) = (data.region()?, data.len());
            let into = result.as_deref_mut().map(<[V]>::region_mut).transpose()?;
            let into = into.as_ref().and_then(Region::dense);
            // SAFETY: both buffers are borrowed or owned until this returns.
            let tried = from.dense().and_then(|from| unsafe {
                let comm = this.comm();
                now::reduce(call, comm, from, into, count, &reduction, Some(root))
            });
            this.finish(call, tried, |comm| {
                let send = elements(data.as_ptr(), count, &datatype);
                let receive = result
                    .as_mut()
                    .map(|result| elements(result.as_mut_ptr(), count, &datatype));
                coll::reduce(comm, send, receive, reduction, root)
            })?;
            Ok(result)
        })
    }

    /// Combines all ranks' data element by element; everyone gets the result (MPI_Allreduce).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn all_reduce<V: Datatype>(&self, data: &[V], op: Op<V>) -> Result<Vec<V>> {
        let mut result = data.to_vec();
        self.all_reduce_in_place(&mut result, op)?;
        Ok(result)
    }

    /// As [`Self::all_reduce`], in place.
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn all_reduce_in_place<V: Datatype>(&self, data: &mut [V], op: Op<V>) -> Result<()> {
        let call = "Communicator::all_reduce";
        self.run(call, |this| {
            let (reduction, datatype) = op.reduction()?;
            let (region, count) = (data.region_mut()?, data.len());
            // SAFETY: the buffer is borrowed exclusively until this returns.
            let tried = region.dense().and_then(|data| unsafe {
                let comm = this.comm();
                now::reduce(call, comm, data, Some(data), count, &reduction, None)
            });
            this.finish(call, tried, |comm| {
                let block = elements(data.as_mut_ptr(), count, &datatype);
                coll::allreduce(comm, block.clone(), block, reduction)
            })
        })
    }

    /// Combines one value of each rank.
    ///
    /// # Errors
    /// Those of the messages.
    pub fn all_reduce_value<V: Datatype>(&self, value: V, op: Op<V>) -> Result<V> {
        let mut value = [value];
        self.all_reduce_in_place(&mut value, op)?;
        Ok(value[0])
    }

    /// Combines the data of all ranks up to this one (MPI_Scan).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn scan<V: Datatype>(&self, data: &[V], op: Op<V>) -> Result<Vec<V>> {
        let call = "Communicator::scan";
        self.run(call, |this| this.prefix(call, data, op, true, coll::scan))
    }

    /// Combines the data of all ranks up to this one, or below it; `work` does the same if it takes messages.
    pub(crate) fn prefix<V: Datatype, W: Future<Output = Result<()>>>(
        &self,
        call: &'static str,
        data: &[V],
        op: Op<V>,
        inclusive: bool,
        work: impl FnOnce(Arc<Comm>, Block, Block, Reduction) -> W,
    ) -> Result<Vec<V>> {
        let (reduction, datatype) = op.reduction()?;
        let mut result = zeros::<V>(data.len());
        let (from, count) = (data.region()?, data.len());
        let into = result[..].region_mut()?;
        // SAFETY: both buffers are borrowed or owned until this returns.
        let tried = from
            .dense()
            .zip(into.dense())
            .and_then(|(from, into)| unsafe {
                let comm = self.comm();
                now::prefix(call, comm, from, into, count, &reduction, inclusive)
            });
        self.finish(call, tried, |comm| {
            let send = elements(data.as_ptr(), count, &datatype);
            let receive = elements(result.as_mut_ptr(), count, &datatype);
            work(comm, send, receive, reduction)
        })?;
        Ok(result)
    }

    /// Collects equally long data of all ranks at the root, in the order of the ranks (MPI_Gather); the others get `None`.
    ///
    /// # Errors
    /// When there is no rank `root`, or the lengths differ.
    pub fn gather<V: Datatype>(&self, data: &[V], root: usize) -> Result<Option<Vec<V>>> {
        let call = "Communicator::gather";
        self.run(call, |this| {
            let root = this.root(root)?;
            let mut all =
                (this.rank() == root as usize).then(|| zeros::<V>(data.len() * this.size()));
            let from = data.region()?;
            let into = all.as_mut().map(|all| all[..].region_mut()).transpose()?;
            let room = into.as_ref().and_then(Region::dense);
            // SAFETY: both buffers are borrowed or owned until this returns.
            let tried = from.dense().and_then(|from| unsafe {
                now::gather(call, this.comm(), Some(from), room, Some(root))
            });
            this.finish(call, tried, |comm| {
                let blocks = into.map(|into| this.equal_blocks(&block(into)));
                coll::gather(comm, Some(block(from)), blocks, root, Sizes::Equal)
            })?;
            Ok(all)
        })
    }

    /// Hands equal parts of the root's data to all ranks (MPI_Scatter). Only the root's `data` matters, and only the root
    /// gives any.
    ///
    /// # Errors
    /// When there is no rank `root`, or the root's data are not as long as all parts together.
    pub fn scatter<V: Datatype>(
        &self,
        data: Option<&[V]>,
        part: &mut [V],
        root: usize,
    ) -> Result<()> {
        let call = "Communicator::scatter";
        self.run(call, |this| {
            let root = this.root(root)?;
            let expected = part.len() * this.size();
            let data = data.filter(|_| this.rank() == root as usize);
            if this.rank() == root as usize && data.map(<[V]>::len) != Some(expected) {
                return Err(wrong_length(
                    "data",
                    data.map_or(0, <[V]>::len),
                    format!("{expected} at the root: {} for each rank", part.len()),
                ));
            }
            let (from, into) = (data.map(<[V]>::region).transpose()?, part.region_mut()?);
            let whole = from.as_ref().and_then(Region::dense);
            // SAFETY: both buffers are borrowed until this returns.
            let tried = into.dense().and_then(|into| unsafe {
                now::scatter(call, this.comm(), whole, Some(into), root)
            });
            this.finish(call, tried, |comm| {
                let blocks = from.map(|from| this.equal_blocks(&block(from)));
                coll::scatter(comm, blocks, Some(block(into)), root, Sizes::Equal)
            })
        })
    }

    /// Collects equally long data of all ranks at everyone, in the order of the ranks (MPI_Allgather).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn all_gather<V: Datatype>(&self, data: &[V]) -> Result<Vec<V>> {
        let call = "Communicator::all_gather";
        self.run(call, |this| {
            let mut all = zeros::<V>(data.len() * this.size());
            let (from, into) = (data.region()?, all[..].region_mut()?);
            // SAFETY: both buffers are borrowed or owned until this returns.
            let tried = from.dense().and_then(|from| unsafe {
                now::gather(call, this.comm(), Some(from), into.dense(), None)
            });
            this.finish(call, tried, |comm| {
                let blocks = this.equal_blocks(&block(into));
                coll::allgather(comm, Some(block(from)), blocks)
            })?;
            Ok(all)
        })
    }

    /// Collects data of all ranks, each as long as it likes, at everyone (MPI_Allgatherv).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn all_gather_varying<V: Datatype>(&self, data: &[V]) -> Result<Vec<Vec<V>>> {
        let lengths = self.all_gather(&[data.len() as u64])?;
        let call = "Communicator::all_gather_varying";
        self.run(call, |this| {
            let mut all: Vec<Vec<V>> = lengths
                .iter()
                .map(|&length| zeros(length as usize))
                .collect();
            let rooms: Result<_> = all.iter_mut().map(|one| writes(&mut one[..])).collect();
            let blocks = Blocks(rooms?);
            let comm = this.shared().clone();
            this.collect(call, coll::allgather(comm, Some(reads(data)?), blocks))?;
            Ok(all)
        })
    }

    /// Part `i` of this rank's data goes to rank `i`; the result is what the others had for this rank, in their order
    /// (MPI_Alltoall).
    ///
    /// # Errors
    /// When the data cannot be cut into equal parts, or the lengths differ.
    pub fn all_to_all<V: Datatype>(&self, data: &[V]) -> Result<Vec<V>> {
        let call = "Communicator::all_to_all";
        self.run(call, |this| {
            if !data.len().is_multiple_of(this.size()) {
                let expected = format!("a multiple of the {} ranks", this.size());
                return Err(wrong_length("data", data.len(), expected));
            }
            let mut result = zeros::<V>(data.len());
            let (from, into) = (data.region()?, result[..].region_mut()?);
            // SAFETY: both buffers are borrowed or owned until this returns.
            let tried = from
                .dense()
                .zip(into.dense())
                .and_then(|(from, into)| unsafe { now::alltoall(call, this.comm(), from, into) });
            this.finish(call, tried, |comm| {
                let send = this.equal_blocks(&block(from));
                let receive = this.equal_blocks(&block(into));
                coll::alltoall(comm, Some(send), receive, Sizes::Equal)
            })?;
            Ok(result)
        })
    }

    pub(crate) fn equal_blocks(&self, block: &Block) -> Blocks {
        Blocks::equal(block, block.count / self.size(), self.size() as u32)
    }
}
