// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nonblocking collectives whose parts differ in length, scatters, exclusive scans and reductions that leave each rank a part
//! (MPI-5.0, section 6.12), as futures that own their buffers like those of [`pending`](crate::pending).
//!
//! Nothing can travel before a nonblocking call returns, so the lengths of what arrives are arguments here.

use engine::Result;
use engine::call::CallName;
use engine::coll::{self, Sizes};

use crate::collective::{elements, reads, writes};
use crate::data::zeros;
use crate::threads::Threads;
use crate::varying::{sources, targets};
use crate::{Communicator, Datatype, Op, Pending};

fn rooms<V: Datatype>(lengths: &[usize]) -> Vec<Vec<V>> {
    lengths.iter().map(|&length| zeros(length)).collect()
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// Starts collecting data of all ranks, each as long as it likes, at the root (MPI_Igatherv); the others get `None`. Only
    /// the root's `lengths`, one for each rank, matter, and only the root gives any.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let lengths: Vec<usize> = (1..=world.size()).collect();
    /// let mine = vec![world.rank() as u8; world.rank() + 1];
    /// let found = world.igather_varying(mine, (world.rank() == 0).then_some(&lengths[..]), 0)?;
    /// if let Some(parts) = found.wait()? {
    ///     assert_eq!(parts.last().map(Vec::len), Some(world.size()));
    /// }
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `root`, or the root does not give one length for each rank; the vector is lost then.
    pub fn igather_varying<V: Datatype>(
        &self,
        data: Vec<V>,
        lengths: Option<&[usize]>,
        root: usize,
    ) -> Result<Pending<'_, 'u, Option<Vec<Vec<V>>>, T>> {
        const CALL: &str = "Communicator::igather_varying";
        self.run(CALL, |_| {
            let code = self.root(root)?;
            let mut all = match lengths.filter(|_| self.rank() == root) {
                Some(lengths) => {
                    self.check_parts("lengths", lengths.len())?;
                    Some(rooms::<V>(lengths))
                }
                None if self.rank() == root => {
                    self.check_parts("lengths", 0)?;
                    None
                }
                None => None,
            };
            let blocks = all.as_mut().map(|all| targets(all)).transpose()?;
            let (comm, send) = (self.shared().clone(), Some(reads(&data[..])?));
            let work = coll::gather(comm, send, blocks, code, Sizes::Varying);
            self.begin(const { CallName::of(CALL) }, data, all, work)
        })
    }

    /// Starts handing part `i` of the root's data to rank `i` (MPI_Iscatterv), which knows the `length` of its part. Only the
    /// root's `parts` matter, and only the root gives any.
    ///
    /// # Errors
    /// When there is no rank `root`, or the root does not give one part for each rank; the parts are lost then.
    pub fn iscatter_varying<V: Datatype>(
        &self,
        parts: Option<Vec<Vec<V>>>,
        length: usize,
        root: usize,
    ) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::iscatter_varying";
        self.run(CALL, |_| {
            let code = self.root(root)?;
            let parts = parts.filter(|_| self.rank() == root);
            if self.rank() == root {
                self.check_parts("parts", parts.as_ref().map_or(0, Vec::len))?;
            }
            let blocks = parts.as_deref().map(sources).transpose()?;
            let mut mine = zeros::<V>(length);
            let (comm, receive) = (self.shared().clone(), Some(writes(&mut mine[..])?));
            let work = coll::scatter(comm, blocks, receive, code, Sizes::Varying);
            self.begin(const { CallName::of(CALL) }, parts, mine, work)
        })
    }

    /// Starts handing equal parts of the root's data, `length` elements each, to all ranks (MPI_Iscatter). Only the root's
    /// `data` matter, and only the root gives any.
    ///
    /// # Errors
    /// When there is no rank `root`, or the root's data are not as long as all parts together; the vector is lost then.
    pub fn iscatter<V: Datatype>(
        &self,
        data: Option<Vec<V>>,
        length: usize,
        root: usize,
    ) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::iscatter";
        self.run(CALL, |_| {
            let code = self.root(root)?;
            let data = data.filter(|_| self.rank() == root);
            if self.rank() == root {
                let given = data.as_ref().map_or(0, Vec::len);
                self.check_counts(given, &vec![length; self.size()])?;
            }
            let whole = data.as_deref().map(reads).transpose()?;
            let blocks = whole.map(|whole| self.equal_blocks(&whole));
            let mut mine = zeros::<V>(length);
            let (comm, receive) = (self.shared().clone(), Some(writes(&mut mine[..])?));
            let work = coll::scatter(comm, blocks, receive, code, Sizes::Equal);
            self.begin(const { CallName::of(CALL) }, data, mine, work)
        })
    }

    /// Starts collecting data of all ranks at everyone; `lengths[i]` is the length of rank `i`'s, at all ranks
    /// (MPI_Iallgatherv).
    ///
    /// # Errors
    /// When there is not one length for each rank; the vector is lost then.
    pub fn iall_gather_varying<V: Datatype>(
        &self,
        data: Vec<V>,
        lengths: &[usize],
    ) -> Result<Pending<'_, 'u, Vec<Vec<V>>, T>> {
        const CALL: &str = "Communicator::iall_gather_varying";
        self.run(CALL, |_| {
            self.check_parts("lengths", lengths.len())?;
            let mut all = rooms::<V>(lengths);
            let (send, blocks) = (Some(reads(&data[..])?), targets(&mut all)?);
            let work = coll::allgather(self.shared().clone(), send, blocks);
            self.begin(const { CallName::of(CALL) }, data, all, work)
        })
    }

    /// Starts sending part `i` of this rank's data to rank `i`, and receiving `lengths[i]` elements from it
    /// (MPI_Ialltoallv).
    ///
    /// # Errors
    /// When there is not one part and one length for each rank; the parts are lost then.
    pub fn iall_to_all_varying<V: Datatype>(
        &self,
        parts: Vec<Vec<V>>,
        lengths: &[usize],
    ) -> Result<Pending<'_, 'u, Vec<Vec<V>>, T>> {
        const CALL: &str = "Communicator::iall_to_all_varying";
        self.run(CALL, |_| {
            self.check_parts("parts", parts.len())?;
            self.check_parts("lengths", lengths.len())?;
            let mut all = rooms::<V>(lengths);
            let (send, receive) = (Some(sources(&parts)?), targets(&mut all)?);
            let work = coll::alltoall(self.shared().clone(), send, receive, Sizes::Varying);
            self.begin(const { CallName::of(CALL) }, parts, all, work)
        })
    }

    /// Starts combining the data of all ranks below this one (MPI_Iexscan); rank 0 gets `None`.
    ///
    /// # Errors
    /// When no operation is free; the vector is lost then.
    pub fn iscan_exclusive<V: Datatype>(
        &self,
        data: Vec<V>,
        op: Op<V>,
    ) -> Result<Pending<'_, 'u, Option<Vec<V>>, T>> {
        const CALL: &str = "Communicator::iscan_exclusive";
        self.run(CALL, |_| {
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(data.len());
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = elements(result.as_mut_ptr(), data.len(), &datatype);
            let work = coll::exscan(self.shared().clone(), send, receive, reduction);
            // The first rank's room is kept until the end all the same.
            let (result, room) = match self.rank() {
                0 => (None, Some(result)),
                _ => (Some(result), None),
            };
            self.begin(
                const { CallName::of(CALL) },
                (data, room, datatype),
                result,
                work,
            )
        })
    }

    /// Starts combining all ranks' data element by element; rank `i` gets the next `counts[i]` elements of the result
    /// (MPI_Ireduce_scatter).
    ///
    /// # Errors
    /// When there is not one count for each rank, or they do not add up to the length of the data; the vector is lost then.
    pub fn ireduce_scatter<V: Datatype>(
        &self,
        data: Vec<V>,
        counts: &[usize],
        op: Op<V>,
    ) -> Result<Pending<'_, 'u, Vec<V>, T>> {
        const CALL: &str = "Communicator::ireduce_scatter";
        self.run(CALL, |_| {
            self.check_counts(data.len(), counts)?;
            let (reduction, datatype) = op.reduction()?;
            let mut result = zeros::<V>(counts[self.rank()]);
            let send = elements(data.as_ptr(), data.len(), &datatype);
            let receive = elements(result.as_mut_ptr(), result.len(), &datatype);
            let comm = self.shared().clone();
            let work = coll::reduce_scatter(comm, send, receive, counts.to_vec(), reduction);
            self.begin(const { CallName::of(CALL) }, (data, datatype), result, work)
        })
    }
}
