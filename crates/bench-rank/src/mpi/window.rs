// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows and one-sided operations.

use std::ffi::c_void;

use mpi_abi_sys::constants::{
    MPI_BYTE, MPI_COMM_WORLD, MPI_DATATYPE_NULL, MPI_GROUP_NULL, MPI_INFO_NULL, MPI_INT64_T,
    MPI_LOCK_EXCLUSIVE, MPI_SUM, MPI_WIN_NULL,
};
use mpi_abi_sys::types::{MPI_Aint, MPI_Datatype, MPI_Group, MPI_Win};

use super::Mpi;
use super::call::{call, exclusive, int, shared};

/// Whose memory a window has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WindowMemory {
    /// Memory that came with the window (MPI_Win_allocate).
    Allocated,
    /// Memory of the program (MPI_Win_create).
    Private,
}

/// A window of bytes over MPI_COMM_WORLD, as large at each rank. The operations need an open epoch.
pub(crate) struct RmaWindow<'a> {
    mpi: &'a Mpi,
    window: MPI_Win,
    base: *mut u8,
    bytes: usize,
    /// The program's memory.
    own: Vec<u8>,
    /// A type of strided blocks, if one is used.
    strided: MPI_Datatype,
}

/// The rows of [`RmaWindow::put_strided`]: bytes of a block, blocks, and distance of blocks.
pub(crate) const STRIDED: (usize, usize, usize) = (16, 256, 32);

impl<'a> RmaWindow<'a> {
    /// Makes a window; called by all ranks.
    pub(crate) fn new(mpi: &'a Mpi, memory: WindowMemory, bytes: usize) -> Self {
        let mut this = Self {
            mpi,
            window: MPI_WIN_NULL,
            base: std::ptr::null_mut(),
            bytes,
            own: Vec::new(),
            strided: MPI_DATATYPE_NULL,
        };
        let (size, window) = (bytes as MPI_Aint, &raw mut this.window);
        match memory {
            WindowMemory::Allocated => {
                let base = (&raw mut this.base).cast::<c_void>();
                call!(
                    mpi,
                    MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, window)
                );
            }
            WindowMemory::Private => {
                this.own = vec![0; bytes];
                this.base = this.own.as_mut_ptr();
                let base = this.base.cast::<c_void>();
                call!(
                    mpi,
                    MPI_Win_create(base, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, window)
                );
            }
        }
        this.local().fill(0);
        mpi.barrier();
        this
    }

    /// This rank's memory, which no other rank may use meanwhile.
    pub(crate) fn local(&mut self) -> &mut [u8] {
        // SAFETY: the window's memory, as long as it was asked for; callers have ended all operations on it.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.bytes) }
    }

    pub(crate) fn lock_all(&self) {
        call!(self.mpi, MPI_Win_lock_all(0, self.window));
    }

    pub(crate) fn unlock_all(&self) {
        call!(self.mpi, MPI_Win_unlock_all(self.window));
    }

    pub(crate) fn lock(&self, rank: i32) {
        call!(
            self.mpi,
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, self.window)
        );
    }

    pub(crate) fn unlock(&self, rank: i32) {
        call!(self.mpi, MPI_Win_unlock(rank, self.window));
    }

    pub(crate) fn flush(&self, rank: i32) {
        call!(self.mpi, MPI_Win_flush(rank, self.window));
    }

    pub(crate) fn fence(&self) {
        call!(self.mpi, MPI_Win_fence(0, self.window));
    }

    pub(crate) fn put(&self, data: &[u8], rank: i32) {
        let (start, count) = shared(data);
        call!(
            self.mpi,
            MPI_Put(
                start,
                count,
                MPI_BYTE,
                rank,
                0,
                count,
                MPI_BYTE,
                self.window
            )
        );
    }

    /// Only [`Self::flush`] makes `data` valid.
    pub(crate) fn get(&self, data: &mut [u8], rank: i32) {
        let (start, count) = exclusive(data);
        call!(
            self.mpi,
            MPI_Get(
                start,
                count,
                MPI_BYTE,
                rank,
                0,
                count,
                MPI_BYTE,
                self.window
            )
        );
    }

    /// Puts bytes into blocks with gaps: see [`STRIDED`].
    pub(crate) fn put_strided(&mut self, data: &[u8], rank: i32) {
        let (block, blocks, stride) = STRIDED;
        if self.strided == MPI_DATATYPE_NULL {
            let kind = &raw mut self.strided;
            call!(
                self.mpi,
                MPI_Type_vector(int(blocks), int(block), int(stride), MPI_BYTE, kind)
            );
            call!(self.mpi, MPI_Type_commit(kind));
        }
        let (start, count) = shared(data);
        let kind = self.strided;
        call!(
            self.mpi,
            MPI_Put(start, count, MPI_BYTE, rank, 0, 1, kind, self.window)
        );
    }

    /// Adds 64-bit integers.
    pub(crate) fn accumulate(&self, data: &[i64], rank: i32) {
        let (start, count) = (data.as_ptr().cast(), int(data.len()));
        let kind = MPI_INT64_T;
        call!(
            self.mpi,
            MPI_Accumulate(
                start,
                count,
                kind,
                rank,
                0,
                count,
                kind,
                MPI_SUM,
                self.window
            )
        );
    }

    pub(crate) fn fetch_and_add(&self, value: &i64, old: &mut i64, rank: i32) {
        let (value, old) = ((&raw const *value).cast(), (&raw mut *old).cast());
        call!(
            self.mpi,
            MPI_Fetch_and_op(value, old, MPI_INT64_T, rank, 0, MPI_SUM, self.window)
        );
    }

    pub(crate) fn compare_and_swap(&self, new: &i64, expected: &i64, old: &mut i64, rank: i32) {
        let (new, expected) = ((&raw const *new).cast(), (&raw const *expected).cast());
        let old = (&raw mut *old).cast();
        call!(
            self.mpi,
            MPI_Compare_and_swap(new, expected, old, MPI_INT64_T, rank, 0, self.window)
        );
    }

    /// An exposure epoch to one rank and an access epoch to it, with one put in between.
    pub(crate) fn exchange_posted(&self, data: &[u8], peer: &PeerGroup<'_>) {
        call!(self.mpi, MPI_Win_post(peer.group, 0, self.window));
        call!(self.mpi, MPI_Win_start(peer.group, 0, self.window));
        self.put(data, peer.rank);
        call!(self.mpi, MPI_Win_complete(self.window));
        call!(self.mpi, MPI_Win_wait(self.window));
    }

    /// Frees the window; called by all ranks.
    pub(crate) fn free(mut self) {
        if self.strided != MPI_DATATYPE_NULL {
            call!(self.mpi, MPI_Type_free(&raw mut self.strided));
        }
        call!(self.mpi, MPI_Win_free(&raw mut self.window));
    }
}

/// A group of one rank.
pub(crate) struct PeerGroup<'a> {
    mpi: &'a Mpi,
    group: MPI_Group,
    rank: i32,
}

impl<'a> PeerGroup<'a> {
    pub(crate) fn new(mpi: &'a Mpi, rank: i32) -> Self {
        let (mut all, mut group) = (MPI_GROUP_NULL, MPI_GROUP_NULL);
        call!(mpi, MPI_Comm_group(MPI_COMM_WORLD, &raw mut all));
        call!(mpi, MPI_Group_incl(all, 1, &raw const rank, &raw mut group));
        call!(mpi, MPI_Group_free(&raw mut all));
        Self { mpi, group, rank }
    }
}

impl Drop for PeerGroup<'_> {
    fn drop(&mut self) {
        call!(self.mpi, MPI_Group_free(&raw mut self.group));
    }
}
