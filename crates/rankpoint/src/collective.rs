// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6). All ranks of the communicator make the same calls in the same order.
//!
//! # Safety
//! Each call lends its buffers to the engine until the operation is complete, and is not left before.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use engine::coll::{self, Block, Pieces, Sizes};
use engine::datatype::Datatype as EngineDatatype;
use engine::{Error, ErrorClass, Result, task};

use crate::data::zeros;
use crate::p2p::give_up;
use crate::universe::Threads;
use crate::{Buffer, BufferMut, Communicator, Datatype, Op, Plain};

/// A buffer that a collective reads.
pub(crate) fn reads<B: Buffer + ?Sized>(data: &B) -> Result<Block> {
    // SAFETY: callers pass a borrowed buffer to a collective that ends before they do (file head).
    data.region().map(|region| unsafe { region.into_block() })
}

/// A buffer that a collective writes.
pub(crate) fn writes<B: BufferMut + ?Sized>(data: &mut B) -> Result<Block> {
    // SAFETY: as in `reads`.
    data.region_mut()
        .map(|region| unsafe { region.into_block() })
}

/// The elements of a reduction.
pub(crate) fn elements<V>(base: *const V, count: usize, datatype: &EngineDatatype) -> Block {
    // SAFETY: as in `reads`; the datatype is that of `V` (Op::reduction).
    unsafe { Block::new(base.cast_mut().cast(), count, datatype.layout().clone()) }
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
        let outcome = task::block_on(self.vci(), call, work);
        end_if_unsettled(&outcome);
        outcome
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
        self.run("Communicator::barrier", |this| {
            this.collect(
                "Communicator::barrier",
                coll::barrier(this.shared().clone()),
            )
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
            let (root, block) = (this.root(root)?, writes(data)?);
            this.collect(call, coll::bcast(this.shared().clone(), block, root))
        })
    }

    /// Combines all ranks' data element by element, at the root (MPI_Reduce); the others get `None`.
    ///
    /// # Errors
    /// When there is no rank `root`, or the lengths differ.
    pub fn reduce<V: Plain>(&self, data: &[V], op: Op<V>, root: usize) -> Result<Option<Vec<V>>> {
        let call = "Communicator::reduce";
        self.run(call, |this| {
            let root = this.root(root)?;
            let (reduction, datatype) = op.reduction()?;
            let mut result = (this.rank() == root as usize).then(|| zeros::<V>(data.len()));
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = result
                .as_mut()
                .map(|result| elements(result.as_mut_ptr(), data.len(), &datatype));
            let comm = this.shared().clone();
            this.collect(call, coll::reduce(comm, send, receive, reduction, root))?;
            Ok(result)
        })
    }

    /// Combines all ranks' data element by element; everyone gets the result (MPI_Allreduce).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn all_reduce<V: Plain>(&self, data: &[V], op: Op<V>) -> Result<Vec<V>> {
        let mut result = data.to_vec();
        self.all_reduce_in_place(&mut result, op)?;
        Ok(result)
    }

    /// As [`Self::all_reduce`], in place.
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn all_reduce_in_place<V: Plain>(&self, data: &mut [V], op: Op<V>) -> Result<()> {
        let call = "Communicator::all_reduce";
        self.run(call, |this| {
            let (reduction, datatype) = op.reduction()?;
            let block = elements(data.as_mut_ptr(), data.len(), &datatype);
            let comm = this.shared().clone();
            this.collect(call, coll::allreduce(comm, block.clone(), block, reduction))
        })
    }

    /// Combines one value of each rank.
    ///
    /// # Errors
    /// Those of the messages.
    pub fn all_reduce_value<V: Plain>(&self, value: V, op: Op<V>) -> Result<V> {
        let mut value = [value];
        self.all_reduce_in_place(&mut value, op)?;
        Ok(value[0])
    }

    /// Combines the data of all ranks up to this one (MPI_Scan).
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn scan<V: Plain>(&self, data: &[V], op: Op<V>) -> Result<Vec<V>> {
        let call = "Communicator::scan";
        self.run(call, |this| {
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(data.len());
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = elements(result.as_mut_ptr(), data.len(), &datatype);
            this.collect(
                call,
                coll::scan(this.shared().clone(), send, receive, reduction),
            )?;
            Ok(result)
        })
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
            let room = all.as_mut().map(|all| writes(&mut all[..])).transpose()?;
            let pieces = room.map(|room| this.equal_pieces(&room));
            let send = Some(reads(data)?);
            let comm = this.shared().clone();
            this.collect(call, coll::gather(comm, send, pieces, root, Sizes::Equal))?;
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
            let whole = data.map(reads).transpose()?;
            let pieces = whole.map(|whole| this.equal_pieces(&whole));
            let receive = Some(writes(part)?);
            let comm = this.shared().clone();
            this.collect(
                call,
                coll::scatter(comm, pieces, receive, root, Sizes::Equal),
            )
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
            let pieces = this.equal_pieces(&writes(&mut all[..])?);
            let comm = this.shared().clone();
            this.collect(call, coll::allgather(comm, Some(reads(data)?), pieces))?;
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
            let pieces = Pieces(rooms?);
            let comm = this.shared().clone();
            this.collect(call, coll::allgather(comm, Some(reads(data)?), pieces))?;
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
            let send = this.equal_pieces(&reads(data)?);
            let receive = this.equal_pieces(&writes(&mut result[..])?);
            let comm = this.shared().clone();
            this.collect(
                call,
                coll::alltoall(comm, Some(send), receive, Sizes::Equal),
            )?;
            Ok(result)
        })
    }

    pub(crate) fn equal_pieces(&self, block: &Block) -> Pieces {
        Pieces::equal(block, block.count / self.size(), self.size() as u32)
    }
}
