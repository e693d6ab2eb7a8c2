// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives on the program's own buffers, one for each rank: of any length and layout, without copies between.

use engine::Result;
use engine::coll::{self, Blocks, Sizes};

use crate::collective::{reads, writes, wrong_length};
use crate::threads::Threads;
use crate::{Buffer, BufferMut, Communicator};

pub(crate) fn blocks_read<S: Buffer>(parts: &[S]) -> Result<Blocks> {
    let blocks: Result<_> = parts.iter().map(reads).collect();
    blocks.map(Blocks)
}

pub(crate) fn blocks_written<R: BufferMut>(parts: &mut [R]) -> Result<Blocks> {
    let blocks: Result<_> = parts.iter_mut().map(writes).collect();
    blocks.map(Blocks)
}

impl<T: Threads> Communicator<'_, T> {
    /// Collects the data of all ranks in buffers of the root's (MPI_Gatherv): `parts[i]` is as long as rank `i`'s data. Only
    /// the root's `parts` matter, and only the root gives any.
    ///
    /// ```
    /// use rankpoint::SectionMut;
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// // Each rank has a column of a matrix that the root stores by rows.
    /// let (rows, columns) = (3, world.size());
    /// let mut matrix = vec![0u8; rows * columns];
    /// let mut parts = SectionMut::new(&mut matrix, [rows, columns])?.cut(1, columns)?;
    /// let parts = (world.rank() == 0).then_some(&mut parts[..]);
    /// world.gather_into(&[1u8, 2, 3], parts, 0)?;
    /// assert!(world.rank() > 0 || matrix[columns] == 2);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `root`, the root does not give one part for each rank, or data are longer than their part.
    pub fn gather_into<S: Buffer + ?Sized, R: BufferMut>(
        &self,
        data: &S,
        parts: Option<&mut [R]>,
        root: usize,
    ) -> Result<()> {
        let call = "Communicator::gather_into";
        self.run(call, |this| {
            let at_root = this.rank() == root;
            let (root, send) = (this.root(root)?, Some(reads(data)?));
            let parts = parts.filter(|_| at_root);
            if at_root {
                this.check_parts("parts", parts.as_ref().map_or(0, |parts| parts.len()))?;
            }
            let blocks = parts.map(blocks_written).transpose()?;
            let comm = this.shared().clone();
            this.collect(call, coll::gather(comm, send, blocks, root, Sizes::Varying))
        })
    }

    /// Hands buffers of the root's to the ranks (MPI_Scatterv): `parts[i]` goes to rank `i`. Only the root's `parts` matter,
    /// and only the root gives any.
    ///
    /// # Errors
    /// When there is no rank `root`, the root does not give one part for each rank, or a part is longer than its target.
    pub fn scatter_from<S: Buffer, R: BufferMut + ?Sized>(
        &self,
        parts: Option<&[S]>,
        into: &mut R,
        root: usize,
    ) -> Result<()> {
        let call = "Communicator::scatter_from";
        self.run(call, |this| {
            let at_root = this.rank() == root;
            let (root, receive) = (this.root(root)?, Some(writes(into)?));
            let parts = parts.filter(|_| at_root);
            if at_root {
                this.check_parts("parts", parts.map_or(0, <[S]>::len))?;
            }
            let blocks = parts.map(blocks_read).transpose()?;
            let comm = this.shared().clone();
            let work = coll::scatter(comm, blocks, receive, root, Sizes::Varying);
            this.collect(call, work)
        })
    }

    /// Collects the data of all ranks in buffers of everyone's (MPI_Allgatherv): `parts[i]` is as long as rank `i`'s data, at
    /// all ranks.
    ///
    /// # Errors
    /// When there is not one part for each rank, or data are longer than their part.
    pub fn all_gather_into<S: Buffer + ?Sized, R: BufferMut>(
        &self,
        data: &S,
        parts: &mut [R],
    ) -> Result<()> {
        let call = "Communicator::all_gather_into";
        self.run(call, |this| {
            this.check_parts("parts", parts.len())?;
            let (send, blocks) = (Some(reads(data)?), blocks_written(parts)?);
            this.collect(call, coll::allgather(this.shared().clone(), send, blocks))
        })
    }

    /// Sends `send[i]` to rank `i`, and receives what rank `i` has for this one into `receive[i]`, which is as long
    /// (MPI_Alltoallw).
    ///
    /// ```
    /// use rankpoint::{Section, SectionMut};
    ///
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// // A square matrix of which each rank has a row: transposed, each rank has a row again.
    /// let size = world.size();
    /// let row: Vec<usize> = (0..size).map(|column| 100 * world.rank() + column).collect();
    /// let mut column = vec![0; size];
    /// let send = Section::new(&row, [size])?.cut(0, size)?;
    /// let mut receive = SectionMut::new(&mut column, [size])?.cut(0, size)?;
    /// world.all_to_all_into(&send, &mut receive)?;
    /// assert_eq!(column[0], world.rank());
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one buffer for each rank, or data are longer than their part.
    pub fn all_to_all_into<S: Buffer, R: BufferMut>(
        &self,
        send: &[S],
        receive: &mut [R],
    ) -> Result<()> {
        let call = "Communicator::all_to_all_into";
        self.run(call, |this| {
            this.check_parts("send", send.len())?;
            this.check_parts("receive", receive.len())?;
            let (send, receive) = (Some(blocks_read(send)?), blocks_written(receive)?);
            let comm = this.shared().clone();
            this.collect(call, coll::alltoall(comm, send, receive, Sizes::Varying))
        })
    }

    pub(crate) fn check_parts(&self, argument: &'static str, length: usize) -> Result<()> {
        if length == self.size() {
            return Ok(());
        }
        let expected = format!("{}: a part for each rank", self.size());
        Err(wrong_length(argument, length, expected))
    }
}
