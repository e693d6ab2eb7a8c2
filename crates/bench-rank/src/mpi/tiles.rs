// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tiles of numbers in windows, got and put by several threads at once.

use std::ffi::c_void;

use mpi_abi_sys::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, MPI_WIN_NULL};
use mpi_abi_sys::types::{MPI_Aint, MPI_Win};

use super::Mpi;
use super::call::{call, int};

/// A window of numbers over MPI_COMM_WORLD, in an epoch of shared locks from its making on. Ranks may have different lengths.
pub(crate) struct TileWindow<'a> {
    mpi: &'a Mpi,
    window: MPI_Win,
    base: *mut f64,
    length: usize,
}

// SAFETY: threads may use one window at once with MPI_THREAD_MULTIPLE, and only `own`, which takes the window for itself, reads its memory.
unsafe impl Sync for TileWindow<'_> {}

impl Mpi {
    /// Makes a window with these numbers at this rank; called by all ranks.
    pub(crate) fn tile_window(&self, numbers: &[f64]) -> TileWindow<'_> {
        let (mut window, mut base) = (MPI_WIN_NULL, std::ptr::null_mut::<f64>());
        let (start, unit) = ((&raw mut base).cast::<c_void>(), size_of::<f64>());
        call!(
            self,
            MPI_Win_allocate(
                size_of_val(numbers) as MPI_Aint,
                int(unit),
                MPI_INFO_NULL,
                MPI_COMM_WORLD,
                start,
                &raw mut window
            )
        );
        if !numbers.is_empty() {
            // SAFETY: memory that came with the window, as long as was asked for; no rank uses it before the barrier.
            unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), base, numbers.len()) };
        }
        call!(self, MPI_Win_lock_all(0, window));
        call!(self, MPI_Win_sync(window));
        self.barrier();
        TileWindow {
            mpi: self,
            window,
            base,
            length: numbers.len(),
        }
    }
}

impl TileWindow<'_> {
    /// Gets numbers from a place of a rank's window, and waits for them.
    pub(crate) fn get(&self, into: &mut [f64], rank: i32, place: usize) {
        let (bytes, place) = (int(size_of_val(into)), place as MPI_Aint);
        let start = into.as_mut_ptr().cast::<c_void>();
        call!(
            self.mpi,
            MPI_Get(
                start,
                bytes,
                MPI_BYTE,
                rank,
                place,
                bytes,
                MPI_BYTE,
                self.window
            )
        );
        call!(self.mpi, MPI_Win_flush(rank, self.window));
    }

    /// Puts numbers to a place of a rank's window, and waits until they are there.
    pub(crate) fn put(&self, from: &[f64], rank: i32, place: usize) {
        let (bytes, place) = (int(size_of_val(from)), place as MPI_Aint);
        let start = from.as_ptr().cast::<c_void>();
        call!(
            self.mpi,
            MPI_Put(
                start,
                bytes,
                MPI_BYTE,
                rank,
                place,
                bytes,
                MPI_BYTE,
                self.window
            )
        );
        call!(self.mpi, MPI_Win_flush(rank, self.window));
    }

    /// This rank's numbers, after a barrier behind all operations on them.
    pub(crate) fn own(&mut self) -> Vec<f64> {
        call!(self.mpi, MPI_Win_sync(self.window));
        if self.length == 0 {
            return Vec::new();
        }
        // SAFETY: the window's memory, as long as was asked for; callers have ended all operations on it.
        unsafe { std::slice::from_raw_parts(self.base, self.length) }.to_vec()
    }

    /// Ends the epoch and frees the window; called by all ranks.
    pub(crate) fn free(mut self) {
        call!(self.mpi, MPI_Win_unlock_all(self.window));
        call!(self.mpi, MPI_Win_free(&raw mut self.window));
    }
}
