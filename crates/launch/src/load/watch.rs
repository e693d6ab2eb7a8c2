// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends the binding of ranks, and tells them of external load.

use fabric::observe::NodeFile;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::balance::Balance;
use super::external::ExternalLoad;
use crate::binding::Places;
use crate::processes::{family, threads};
use crate::ranks::RankProcess;
use crate::topology;

/// Watches the cores of a job.
pub(crate) struct Load {
    ranks: u32,
    oversubscribed: bool,
    /// Whether ranks are bound and need not be.
    bound: bool,
    /// While oversubscribed ranks are bound.
    balance: Option<Balance>,
    /// While anything depends on it.
    external: Option<ExternalLoad>,
}

impl Load {
    pub(crate) fn new(places: &Places, ranks: u32) -> Self {
        let oversubscribed = ranks > places.cores;
        let watched = oversubscribed || places.automatic;
        let external =
            || ExternalLoad::new(&places.sets, &topology::usable_processors(), ranks, false);
        Self {
            ranks,
            oversubscribed,
            bound: places.automatic,
            balance: places.loose.then(|| Balance::new(&places.sets)),
            external: watched.then(external),
        }
    }

    /// Measures the load since the last call, if enough time has passed; the reason when it has ended the binding of ranks.
    pub(crate) fn poll(
        &mut self,
        node: &NodeFile,
        processes: &[RankProcess],
    ) -> Option<&'static str> {
        let external = self.external.as_mut()?;
        let living = |rank: &RankProcess| rank.exit.is_none().then_some(rank.pid);
        let pids: Vec<_> = processes.iter().map(living).collect();
        let uneven = self
            .balance
            .as_mut()
            .is_some_and(|balance| balance.poll(&pids));
        let spent = |rank: u32| {
            let process = processes.get(rank as usize)?;
            sys::cores::processor_time(process.mpi_process(&node.board(process.rank).ok()?)?)
        };
        for (rank, is_here) in external.poll(spent) {
            if let Some(process) = processes.get(rank as usize).filter(|_| self.oversubscribed) {
                // A rank that does not learn it waits as it did.
                let _ = node.set_external_load(process.rank, is_here);
            }
        }
        let why = match (uneven, external.persists()) {
            _ if !self.bound => return None,
            (true, _) => "the load is uneven",
            (_, true) => "other programs use their cores",
            _ => return None,
        };
        let processors = topology::usable_processors();
        release(&processors, &pids);
        self.bound = false;
        self.balance = None;
        let is_here = external.is_here();
        self.external = self
            .oversubscribed
            .then(|| ExternalLoad::new(&[], &processors, self.ranks, is_here));
        Some(why)
    }
}

/// Gives these processors to the ranks and to what they have started.
fn release(processors: &[u32], pids: &[Option<u32>]) {
    let mut set = CpuSet::new();
    for &processor in processors {
        set.set(processor as usize);
    }
    let processes = pids.iter().flatten().flat_map(|&pid| family(pid));
    for thread in processes.flat_map(threads) {
        // A thread that has ended meanwhile needs no processors.
        let _ = sched_setaffinity(Pid::from_raw(thread.cast_signed()), &set);
    }
}
