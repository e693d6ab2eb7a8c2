// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of both ranks on one core, one after the other: what they read and write stays in that core's caches, so their time is that of their
//! own work alone, without any of the way between cores.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::distance::DistanceProbe;
use crate::mpi::Mpi;

/// Both ranks on the core of rank 0 while it lives.
pub(crate) struct OneCore {
    line: &'static DistanceProbe,
    /// Where this rank may run otherwise.
    usual: CpuSet,
    rank: i32,
}

impl OneCore {
    /// Moves this rank; called by ranks 0 and 1.
    ///
    /// # Errors
    /// When there is no line between the ranks, or the system does not move them.
    pub(crate) fn enter(mpi: &Mpi, line: Option<&'static DistanceProbe>) -> Result<Self, String> {
        let line = line.ok_or("ranks have no line between them: expected a page that both map")?;
        let mut core = sys::cores::current_processor().map_or(-1, i64::from);
        mpi.broadcast(&mut core);
        let core = usize::try_from(core).map_err(|_| "the system tells no core".to_owned())?;
        let told = |error| format!("cannot run both ranks on core {core}: {error}");
        let usual = sched_getaffinity(None).map_err(told)?;
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).map_err(told)?;
        let rank = mpi.rank;
        Ok(Self { line, usual, rank })
    }

    /// Waits until the other rank has passed the turn, rank 0 being the first, does something, and passes it back.
    pub(crate) fn take_turn<T>(&self, action: impl FnOnce() -> T) -> T {
        self.line.await_turn(self.rank);
        let result = action();
        self.line.pass_turn();
        result
    }

    /// Has the other rank take a turn in the middle of one.
    pub(crate) fn let_other(&self) {
        self.line.pass_turn();
        self.line.await_turn(self.rank);
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        // The set was this rank's own: a failure leaves it on its core, where it runs as well.
        let _ = sched_setaffinity(None, &self.usual);
    }
}
