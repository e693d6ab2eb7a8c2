// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives whose parts differ in length, exclusive scans, and reductions that leave each rank a part.
//!
//! # Safety
//! Each call lends its buffers to the engine until the operation is complete, and is not left before.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use engine::Result;
use engine::coll::fast::now;
use engine::coll::{self, Blocks, Sizes};

use crate::collective::{elements, reads, writes, wrong_length};
use crate::data::zeros;
use crate::threads::Threads;
use crate::{Buffer, BufferMut, Communicator, Datatype, Op};

/// The blocks of vectors that are read.
pub(crate) fn sources<V: Datatype>(parts: &[Vec<V>]) -> Result<Blocks> {
    let blocks: Result<_> = parts.iter().map(|part| reads(&part[..])).collect();
    blocks.map(Blocks)
}

/// The blocks of vectors that are written.
pub(crate) fn targets<V: Datatype>(parts: &mut [Vec<V>]) -> Result<Blocks> {
    let blocks: Result<_> = parts.iter_mut().map(|part| writes(&mut part[..])).collect();
    blocks.map(Blocks)
}

pub(crate) fn rooms<V: Datatype>(lengths: &[u64]) -> Vec<Vec<V>> {
    let room = |&length: &u64| zeros(length as usize);
    lengths.iter().map(room).collect()
}

pub(crate) fn lengths<V>(parts: &[Vec<V>]) -> Vec<u64> {
    parts.iter().map(|part| part.len() as u64).collect()
}

impl<T: Threads> Communicator<'_, T> {
    /// Collects data of all ranks, each as long as it likes, at the root (MPI_Gatherv); the others get `None`. The lengths
    /// travel first.
    ///
    /// # Errors
    /// When there is no rank `root`.
    pub fn gather_varying<V: Datatype>(
        &self,
        data: &[V],
        root: usize,
    ) -> Result<Option<Vec<Vec<V>>>> {
        let call = "Communicator::gather_varying";
        let lengths = self.gather(&[data.len() as u64], root)?;
        self.run(call, |this| {
            let mut all = lengths.map(|lengths| rooms::<V>(&lengths));
            let blocks = all.as_mut().map(|all| targets(all)).transpose()?;
            let (comm, root) = (this.shared().clone(), this.root(root)?);
            let work = coll::gather(comm, Some(reads(data)?), blocks, root, Sizes::Varying);
            this.collect(call, work)?;
            Ok(all)
        })
    }

    /// Hands part `i` of the root's data to rank `i`, each as long as it likes (MPI_Scatterv). Only the root's `parts`
    /// matter, and only the root gives any. The lengths travel first.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let parts: Vec<Vec<f32>> = (0..world.size()).map(|rank| vec![0.5; rank + 1]).collect();
    /// let mine = world.scatter_varying((world.rank() == 0).then_some(&parts[..]), 0)?;
    /// assert_eq!(mine.len(), world.rank() + 1);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `root`, or the root does not give one part for each rank.
    pub fn scatter_varying<V: Datatype>(
        &self,
        parts: Option<&[Vec<V>]>,
        root: usize,
    ) -> Result<Vec<V>> {
        let call = "Communicator::scatter_varying";
        let parts = parts.filter(|_| self.rank() == root);
        let (expected, given) = (self.size(), parts.map_or(0, <[_]>::len));
        if self.rank() == root && given != expected {
            return self.run(call, |_| {
                let text = format!("{expected} at the root: a part for each rank");
                Err(wrong_length("parts", given, text))
            });
        }
        let mut length = [0u64];
        self.scatter(parts.map(lengths).as_deref(), &mut length, root)?;
        self.run(call, |this| {
            let mut mine = zeros::<V>(length[0] as usize);
            let (comm, root) = (this.shared().clone(), this.root(root)?);
            let receive = Some(writes(&mut mine[..])?);
            let work = coll::scatter(
                comm,
                parts.map(sources).transpose()?,
                receive,
                root,
                Sizes::Varying,
            );
            this.collect(call, work)?;
            Ok(mine)
        })
    }

    /// Part `i` of this rank's data goes to rank `i`, each as long as it likes; the result is what the others had for this
    /// rank (MPI_Alltoallv). The lengths travel first.
    ///
    /// # Errors
    /// When there is not one part for each rank.
    pub fn all_to_all_varying<V: Datatype>(&self, parts: &[Vec<V>]) -> Result<Vec<Vec<V>>> {
        let call = "Communicator::all_to_all_varying";
        if parts.len() != self.size() {
            return self.run(call, |this| {
                let text = format!("{}: a part for each rank", this.size());
                Err(wrong_length("parts", parts.len(), text))
            });
        }
        let lengths = self.all_to_all(&lengths(parts))?;
        self.run(call, |this| {
            let mut all = rooms::<V>(&lengths);
            let receive = targets(&mut all)?;
            let comm = this.shared().clone();
            let work = coll::alltoall(comm, Some(sources(parts)?), receive, Sizes::Varying);
            this.collect(call, work)?;
            Ok(all)
        })
    }

    /// Combines the data of all ranks below this one (MPI_Exscan); rank 0 gets `None`, because there are none.
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn scan_exclusive<V: Datatype>(&self, data: &[V], op: Op<V>) -> Result<Option<Vec<V>>> {
        let call = "Communicator::scan_exclusive";
        self.run(call, |this| {
            let result = this.prefix(call, data, op, false, coll::exscan)?;
            Ok((this.rank() > 0).then_some(result))
        })
    }

    /// Combines all ranks' data element by element; rank `i` gets the next `counts[i]` elements of the result
    /// (MPI_Reduce_scatter).
    ///
    /// # Errors
    /// When there is not one count for each rank, or they do not add up to the length of the data.
    pub fn reduce_scatter<V: Datatype>(
        &self,
        data: &[V],
        counts: &[usize],
        op: Op<V>,
    ) -> Result<Vec<V>> {
        let call = "Communicator::reduce_scatter";
        self.run(call, |this| {
            this.check_counts(data.len(), counts)?;
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(counts[this.rank()]);
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = elements(result.as_mut_ptr(), result.len(), &datatype);
            let comm = this.shared().clone();
            let work = coll::reduce_scatter(comm, send, receive, counts.to_vec(), reduction);
            this.collect(call, work)?;
            Ok(result)
        })
    }

    /// As [`Self::reduce_scatter`] with equal parts for all ranks (MPI_Reduce_scatter_block).
    ///
    /// # Errors
    /// When the data cannot be cut into equal parts, or the lengths differ.
    pub fn reduce_scatter_equal<V: Datatype>(&self, data: &[V], op: Op<V>) -> Result<Vec<V>> {
        let call = "Communicator::reduce_scatter_equal";
        self.run(call, |this| {
            let count = data.len() / this.size();
            let counts = || vec![count; this.size()];
            if count * this.size() != data.len() {
                this.check_counts(data.len(), &counts())?;
            }
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(count);
            let (from, into) = (data.region()?, result[..].region_mut()?);
            // SAFETY: both buffers are borrowed or owned until this returns.
            let tried = from
                .dense()
                .zip(into.dense())
                .and_then(|(from, into)| unsafe {
                    now::reduce_scatter(call, this.comm(), from, into, count, &reduction)
                });
            this.finish(call, tried, |comm| {
                let send = elements(data.as_ptr(), data.len(), &datatype);
                let receive = elements(result.as_mut_ptr(), count, &datatype);
                coll::reduce_scatter(comm, send, receive, counts(), reduction)
            })?;
            Ok(result)
        })
    }

    /// Whether there is a count for each rank, and they add up to the length of the data.
    pub(crate) fn check_counts(&self, length: usize, counts: &[usize]) -> Result<()> {
        self.check_parts("counts", counts.len())?;
        let sum = counts
            .iter()
            .try_fold(0usize, |sum, &count| sum.checked_add(count));
        if sum == Some(length) {
            return Ok(());
        }
        let text = format!("the sum of the counts {counts:?}");
        Err(wrong_length("data", length, text))
    }
}
