// SPDX-License-Identifier: MIT OR Apache-2.0
//! The windows with the blocks of nodes.
//!
//! Worker i of a node gets share i of each block and nothing else. So a window for each worker, or a worker that is a rank, holds shares
//! only, and no value is there twice.

use std::ops::Range;

use rankpoint::{Communicator, LockAllGuard, Result, Threads, Window};

use super::problem::Problem;

/// What a rank has in a window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Holding {
    /// The node's whole block of each band, for all workers.
    Block,
    /// A worker's share of it.
    Share,
}

/// Whose values are where.
#[derive(Clone, Copy)]
pub(super) struct Map {
    pub(super) holding: Holding,
    /// Ranks of the window in each node; worker i uses the ranks of number i.
    pub(super) ranks_of_node: usize,
}

/// A window with values of all bands.
pub(super) struct Stock<'u, T: Threads> {
    window: Window<'u, u64, T>,
    map: Map,
}

/// An epoch in which a worker gets values.
pub(super) struct Source<'w, T: Threads> {
    stock: &'w Stock<'w, T>,
    epoch: LockAllGuard<'w, u64, T>,
}

impl Map {
    /// The values of each band that a rank has for a worker.
    fn range(self, problem: &Problem, node: usize, worker: usize) -> Range<usize> {
        match self.holding {
            Holding::Block => problem.block(node),
            Holding::Share => problem.share(node, worker),
        }
    }

    /// The rank that has a worker's share, and the index of the share's first value there.
    fn spot(self, problem: &Problem, node: usize, worker: usize, band: usize) -> (usize, usize) {
        let range = self.range(problem, node, worker);
        let share = problem.share(node, worker);
        let rank = node * self.ranks_of_node + worker % self.ranks_of_node;
        (rank, band * range.len() + share.start - range.start)
    }
}

impl<'u, T: Threads> Stock<'u, T> {
    /// Called by all ranks: the values of a node for a worker.
    pub(super) fn new(
        comm: &Communicator<'u, T>,
        problem: &Problem,
        map: Map,
        (node, worker): (usize, usize),
    ) -> Result<Self> {
        let range = map.range(problem, node, worker);
        let window = comm.window::<u64>(problem.bands * range.len())?;
        let bands = 0..problem.bands;
        let all = bands.flat_map(|band| range.clone().map(move |at| (band, at)));
        for (index, (band, at)) in all.enumerate() {
            window.local().store(index, problem.value(band, at));
        }
        // Others get values only when they are there.
        comm.barrier()?;
        Ok(Self { window, map })
    }

    pub(super) fn source(&self) -> Result<Source<'_, T>> {
        let epoch = self.window.lock_all()?;
        Ok(Source { stock: self, epoch })
    }

    pub(super) fn free(self) -> Result<()> {
        self.window.free()
    }
}

impl<T: Threads> Source<'_, T> {
    /// Copies a worker's share of its own node's block.
    pub(super) fn copy(
        &self,
        problem: &Problem,
        (node, worker): (usize, usize),
        band: usize,
        into: &mut [u64],
    ) {
        let (_, index) = self.stock.map.spot(problem, node, worker, band);
        let local = self.stock.window.local();
        for (at, value) in into.iter_mut().enumerate() {
            *value = local.load(index + at);
        }
    }

    /// Gets a worker's share of another node's block.
    pub(super) fn get(
        &self,
        problem: &Problem,
        (node, worker): (usize, usize),
        band: usize,
        into: &mut [u64],
    ) -> Result<()> {
        let (rank, index) = self.stock.map.spot(problem, node, worker, band);
        self.epoch.get(into, rank, index)
    }

    /// Completes the gets of a worker from another node.
    pub(super) fn flush(&self, problem: &Problem, (node, worker): (usize, usize)) -> Result<()> {
        let (rank, _) = self.stock.map.spot(problem, node, worker, 0);
        self.epoch.flush(rank)
    }
}
