// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs whose ranks are threads of a test: several engines over one node segment, or over a simulated network if
//! `RANKPOINT_TEST_SIM` is set.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fabric::segment::{self, SegmentPlan};
use fabric::sim::SimNet;
use sys::cores;
use sys::sync::Ordering;

use crate::comm::{Process, ThreadLevel};
use crate::protocol::PAYLOAD_RULES;
use crate::settings::{self, Assigned, Settings};

/// Whether ranks share memory in this run. Tests of doorbells, cross-memory attach or the shared collective area end at once where
/// they do not.
pub(crate) fn shares_memory() -> bool {
    settings::simulated_network().is_none()
}

/// Memory of a node's segment.
const HEAP_BYTES: u64 = 1 << 30;

/// Runs `body` on every rank of a job of `size` ranks and returns what they return, by rank. A rank's panic fails the test:
/// its death is announced, which ends the waits of the others after a grace time.
pub(crate) fn on_ranks<R: Send>(size: u32, body: impl Fn(&'static Process) -> R + Sync) -> Vec<R> {
    on_ranks_with(&Settings::from_environment().0, size, body)
}

/// The same with other settings.
pub(crate) fn on_ranks_with<R: Send>(
    settings: &Settings,
    size: u32,
    body: impl Fn(&'static Process) -> R + Sync,
) -> Vec<R> {
    on_ranks_at_level(settings, ThreadLevel::Single, size, body)
}

/// The same with a level of thread support.
pub(crate) fn on_ranks_at_level<R: Send>(
    settings: &Settings,
    level: ThreadLevel,
    size: u32,
    body: impl Fn(&'static Process) -> R + Sync,
) -> Vec<R> {
    let plan = SegmentPlan {
        local_ranks: size,
        job_ranks: size,
        cores: cores::usable_cores(),
        launcher_pid: 0,
    };
    let file = segment::create_with(&plan, HEAP_BYTES).unwrap();
    let net = settings::simulated_network()
        .map(|simulated| SimNet::new(size, simulated, PAYLOAD_RULES).unwrap());
    std::thread::scope(|scope| {
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let (file, body, net) = (file.try_clone().unwrap(), &body, net.clone());
                scope.spawn(move || {
                    // Also a rank that fails leaves the network, because the others wait for it.
                    let leave = net.as_ref().map(|net| net.leave_on_drop(rank));
                    let port = net.as_ref().map(|net| net.port(rank).unwrap());
                    let assigned = Assigned { file, rank, size };
                    let process = Process::attach_in_test(assigned, settings.clone(), level, port);
                    let outcome = catch_unwind(AssertUnwindSafe(|| {
                        let result = body(process);
                        crate::coll::finish(process).unwrap();
                        result
                    }));
                    drop(leave);
                    outcome.unwrap_or_else(|panic| {
                        let header = process.segment().header();
                        header.death.store(1 + rank, Ordering::Relaxed);
                        resume_unwind(panic)
                    })
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
