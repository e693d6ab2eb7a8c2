// SPDX-License-Identifier: MIT OR Apache-2.0
//! The windows with the tiles of a process and the counter.

use rankpoint::{AccumulateOrder, Communicator, LockAllGuard, Result, Threads, Window};

use super::problem::{Matrix, Problem};

/// The factors. They are only read, so each thread may have windows with tiles of its own.
pub(super) struct Factors<'u, T: Threads> {
    a: Window<'u, f64, T>,
    b: Window<'u, f64, T>,
}

/// The product and the counter of units. Sums of several windows are not atomic, so all threads use the same window.
pub(super) struct Sums<'u, T: Threads> {
    c: Window<'u, f64, T>,
    counter: Window<'u, u64, T>,
}

/// Epochs at all targets.
pub(super) struct FactorEpochs<'w, T: Threads> {
    pub(super) a: LockAllGuard<'w, f64, T>,
    pub(super) b: LockAllGuard<'w, f64, T>,
}

/// Epochs at all targets.
pub(super) struct SumEpochs<'w, T: Threads> {
    pub(super) c: LockAllGuard<'w, f64, T>,
    pub(super) counter: LockAllGuard<'w, u64, T>,
}

impl<'u, T: Threads> Factors<'u, T> {
    /// Called by all ranks; `process` is the one whose tiles a rank has, if it has any.
    pub(super) fn new(
        comm: &Communicator<'u, T>,
        problem: &Problem,
        process: Option<usize>,
    ) -> Result<Self> {
        let window = |matrix| {
            let length = process.map_or(0, |_| problem.length(matrix));
            let window = comm.window::<f64>(length)?;
            for (i, j, index) in process.into_iter().flat_map(|it| problem.owned(matrix, it)) {
                for (at, value) in problem.tile(matrix, i, j).into_iter().enumerate() {
                    window.local().store(index + at, value);
                }
            }
            Ok::<_, rankpoint::Error>(window)
        };
        let (a, b) = (window(Matrix::A)?, window(Matrix::B)?);
        // Others get tiles only when they are there.
        comm.barrier()?;
        Ok(Self { a, b })
    }

    pub(super) fn lock_all(&self) -> Result<FactorEpochs<'_, T>> {
        let (a, b) = (self.a.lock_all()?, self.b.lock_all()?);
        Ok(FactorEpochs { a, b })
    }

    pub(super) fn free(self) -> Result<()> {
        self.a.free()?;
        self.b.free()
    }
}

impl<'u, T: Threads> Sums<'u, T> {
    /// As for [`Factors::new`]. The first rank has the counter.
    pub(super) fn new(
        comm: &Communicator<'u, T>,
        problem: &Problem,
        process: Option<usize>,
        order: AccumulateOrder,
    ) -> Result<Self> {
        let length = process.map_or(0, |_| problem.length(Matrix::C));
        let c = comm.window_ordered(length, order)?;
        let counter = comm.window_ordered(usize::from(comm.rank() == 0), order)?;
        Ok(Self { c, counter })
    }

    pub(super) fn lock_all(&self) -> Result<SumEpochs<'_, T>> {
        let (c, counter) = (self.c.lock_all()?, self.counter.lock_all()?);
        Ok(SumEpochs { c, counter })
    }

    pub(super) fn free(self) -> Result<()> {
        self.c.free()?;
        self.counter.free()
    }

    /// Tiles of a process that are not those of the serial product, once all operations are complete.
    pub(super) fn wrong_tiles(&self, problem: &Problem, process: usize) -> u64 {
        let found = self.c.local().to_vec();
        let is_wrong = |&(i, j, index): &(usize, usize, usize)| {
            found[index..index + problem.size()] != problem.expected(i, j)
        };
        problem.owned(Matrix::C, process).filter(is_wrong).count() as u64
    }

    /// The order of its accumulates.
    pub(super) fn order(&self) -> AccumulateOrder {
        self.c.accumulate_order()
    }

    /// The counter, on the rank that has it.
    pub(super) fn next(&self) -> u64 {
        match self.counter.is_empty() {
            true => 0,
            false => self.counter.local().load(0),
        }
    }
}
