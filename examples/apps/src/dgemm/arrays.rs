// SPDX-License-Identifier: MIT OR Apache-2.0
//! The window with the matrices.

use std::ops::Range;

use rankpoint::{Communicator, LockAllGuard, Result, Threads, Window};

use super::problem::Problem;

/// The rank that has the matrices.
const SERVER: usize = 0;

/// A window in which the first rank has all three matrices.
pub(super) struct Arrays<'u, T: Threads> {
    window: Window<'u, f64, T>,
}

/// An epoch in which a thread reads and writes them.
pub(super) struct Access<'w, T: Threads>(LockAllGuard<'w, f64, T>);

impl<'u, T: Threads> Arrays<'u, T> {
    /// Called by all ranks.
    pub(super) fn new(comm: &Communicator<'u, T>, problem: &Problem) -> Result<Self> {
        let is_server = comm.rank() == SERVER;
        let window = comm.window::<f64>(if is_server { problem.length() } else { 0 })?;
        if is_server {
            for index in 0..2 * problem.size() {
                window.local().store(index, problem.value(index));
            }
        }
        // Others get numbers only when they are there.
        comm.barrier()?;
        Ok(Self { window })
    }

    pub(super) fn access(&self) -> Result<Access<'_, T>> {
        self.window.lock_all().map(Access)
    }

    /// Numbers in the memory of the server, at the server, once all operations are complete.
    pub(super) fn numbers(&self, range: Range<usize>) -> Vec<f64> {
        let local = self.window.local();
        range.map(|index| local.load(index)).collect()
    }

    pub(super) fn free(self) -> Result<()> {
        self.window.free()
    }
}

impl<T: Threads> Access<'_, T> {
    /// Gets numbers from some index on.
    pub(super) fn get(&self, into: &mut [f64], index: usize) -> Result<()> {
        self.0.get(into, SERVER, index)
    }

    /// Puts numbers from some index on.
    pub(super) fn put(&self, numbers: &[f64], index: usize) -> Result<()> {
        self.0.put(numbers, SERVER, index)
    }

    /// Completes the operations of the rank.
    pub(super) fn flush(&self) -> Result<()> {
        self.0.flush(SERVER)
    }
}
