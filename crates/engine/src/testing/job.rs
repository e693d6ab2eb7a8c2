// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs whose processes are threads: engines over the segments of their nodes, or over a simulated network.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use fabric::nodes::{NodePlan, create_on_node_with};
use fabric::observe::NodeFile;
use fabric::segment::{self, SegmentPlan};
use fabric::sim::SimNet;
use sys::cores;
use sys::sync::{AtomicU32, Mutex, Ordering};

use crate::comm::{Process, ThreadLevel};
use crate::identity::MOST_VCIS;
use crate::settings::{self, Assigned, Settings};
use crate::vci::cell::PAYLOAD_RULES;

/// Memory of a node's segment.
const HEAP_BYTES: u64 = 1 << 30;
/// Processes that a job has room for beside its ranks, so that no test relies on the one being the other.
const RESERVE: u32 = 3;

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
    let job = Job::new(size, settings::test_nodes().unwrap_or(1), 0);
    job.run(settings, level, &|process, _| body(process))
}

/// Runs `body` on every rank of a job of `size` ranks on one node, and on `more` processes that a rank adds ([`Job::add`]); returns what
/// they return, by the numbers of the processes. Each added process is a world of its own.
pub(crate) fn on_ranks_and_added<R: Send>(
    settings: &Settings,
    (size, more): (u32, u32),
    body: impl Fn(&'static Process, &Job) -> R + Sync,
) -> Vec<R> {
    let job = Job::new(size, 1, more);
    job.run(settings, ThreadLevel::Single, &body)
}

/// A job, as its launcher sees it.
pub(crate) struct Job {
    size: u32,
    nodes: Nodes,
    net: Option<Arc<SimNet>>,
    /// What threads wait for that become added processes; closed at the end.
    absent: Mutex<VecDeque<Sender<Assigned>>>,
    assignments: Mutex<Vec<Receiver<Assigned>>>,
}

impl Job {
    fn new(size: u32, nodes: u32, more: u32) -> Self {
        let (absent, assignments) = (0..more).map(|_| channel()).unzip();
        Self {
            size,
            nodes: Nodes::new(size, nodes),
            net: settings::simulated_network().map(|simulated| {
                let room = (size, RESERVE);
                SimNet::with_room(room, MOST_VCIS as u8, simulated, PAYLOAD_RULES).unwrap()
            }),
            absent: Mutex::new(absent),
            assignments: Mutex::new(assignments),
        }
    }

    /// Adds a process, which a thread that has waited becomes; returns its number.
    pub(crate) fn add(&self) -> u32 {
        let first = self.nodes.files[0].add_processes(&[0]).unwrap();
        if let Some(net) = &self.net {
            net.add_rank(first).unwrap();
        }
        let place = self.absent.lock().unwrap().pop_front().unwrap();
        let assigned = Assigned {
            file: self.nodes.file_of(0),
            rank: 0,
            size: 1,
            first,
        };
        place.send(assigned).unwrap();
        first
    }

    fn run<R: Send>(
        &self,
        settings: &Settings,
        level: ThreadLevel,
        body: &(impl Fn(&'static Process, &Self) -> R + Sync),
    ) -> Vec<R> {
        let mut settings = settings.clone();
        if settings.network.interface.is_empty() {
            "lo".clone_into(&mut settings.network.interface);
        }
        let settings = &settings;
        std::thread::scope(|scope| {
            let end = EndOnDrop(&self.nodes);
            scope.spawn(|| self.nodes.exchange_cards());
            let start = |assigned| self.process(assigned, settings, level, body);
            let ranks: Vec<_> = (0..self.size)
                .map(|rank| Assigned {
                    file: self.nodes.file_of(rank),
                    rank,
                    size: self.size,
                    first: 0,
                })
                .map(|assigned| scope.spawn(move || start(assigned)))
                .collect();
            let assignments = std::mem::take(&mut *self.assignments.lock().unwrap());
            let added: Vec<_> = assignments
                .into_iter()
                .map(|place| scope.spawn(move || place.recv().ok().map(start)))
                .collect();
            let outcomes: Vec<_> = ranks.into_iter().map(|rank| rank.join()).collect();
            self.absent.lock().unwrap().clear();
            let added: Vec<_> = added.into_iter().map(|place| place.join()).collect();
            drop(end);
            let results = outcomes.into_iter().map(Result::unwrap);
            let results = results.chain(added.into_iter().filter_map(Result::unwrap));
            results.map(dismantle).collect()
        })
    }

    /// The life of one process.
    fn process<R>(
        &self,
        assigned: Assigned,
        settings: &Settings,
        level: ThreadLevel,
        body: &impl Fn(&'static Process, &Self) -> R,
    ) -> (R, &'static Process) {
        let rank = assigned.first + assigned.rank;
        // Also a rank that fails leaves the network, because the others wait for it.
        let leave = self.net.as_ref().map(|net| net.leave_on_drop(rank));
        let port = self.net.as_ref().map(|net| net.port(rank).unwrap());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let process = Process::attach_in_test(assigned, settings.clone(), level, port);
            let result = body(process, self);
            crate::coll::finish(process).unwrap();
            (result, process)
        }));
        drop(leave);
        outcome.unwrap_or_else(|panic| {
            self.nodes.announce_death(rank);
            resume_unwind(panic)
        })
    }
}

/// Gives back what a process holds for ever, when the threads of its job have ended.
fn dismantle<R>((result, process): (R, &'static Process)) -> R {
    for vci in process.vcis().iter() {
        let state = vci.enter();
        // SAFETY: the threads of the job have ended, and processes are never dropped.
        unsafe { state.transport.close() };
        // SAFETY: as above.
        unsafe { state.slab.memory.abandon() };
    }
    // SAFETY: as above.
    unsafe { process.node().abandon() };
    result
}

/// Ends the exchange of cards, also where ranks could not be started, for which the others would wait.
struct EndOnDrop<'n>(&'n Nodes);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.has_ended.store(1, Ordering::Relaxed);
        if std::thread::panicking() {
            self.0.announce_death(0);
        }
    }
}

/// The nodes of a job, each with its segment.
struct Nodes {
    node_of: Vec<u32>,
    files: Vec<NodeFile>,
    has_ended: AtomicU32,
}

impl Nodes {
    fn new(size: u32, count: u32) -> Self {
        let count = count.clamp(1, size);
        let node_of: Vec<u32> = (0..size).map(|rank| rank * count / size).collect();
        let hosts: Vec<_> = (0..count).map(|node| format!("node{node}")).collect();
        let file = |node: u32| {
            let here = node_of.iter().filter(|&&other| other == node);
            let plan = SegmentPlan {
                local_ranks: here.count() as u32,
                job_ranks: size,
                reserve: RESERVE,
                cores: cores::usable_cores(),
                launcher_pid: 0,
            };
            let nodes = NodePlan {
                node,
                node_of: &node_of,
                hosts: &hosts,
                secret: [5, 6],
            };
            let file = match count {
                1 => segment::create_with(&plan, HEAP_BYTES),
                _ => create_on_node_with(&plan, &nodes, HEAP_BYTES),
            };
            NodeFile::new(file.unwrap()).unwrap()
        };
        let files = (0..count).map(file).collect();
        Self {
            node_of,
            files,
            has_ended: AtomicU32::new(0),
        }
    }

    fn file_of(&self, rank: u32) -> OwnedFd {
        let file = &self.files[self.node_of[rank as usize] as usize];
        sys::memory::duplicate(file.descriptor()).unwrap()
    }

    /// Carries cards between the nodes, as a launcher does.
    fn exchange_cards(&self) {
        if self.files.len() == 1 {
            return;
        }
        let published = || {
            let counts = self
                .files
                .iter()
                .map(|file| file.cards_published().unwrap());
            counts.sum::<u32>() as usize
        };
        while published() < self.node_of.len() {
            if self.has_ended.load(Ordering::Relaxed) != 0 {
                return;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        for (rank, &node) in (0..).zip(&self.node_of) {
            let card = self.files[node as usize].card(rank).unwrap();
            for (other, file) in (0..).zip(&self.files) {
                if other != node {
                    file.put_card(rank, &card).unwrap();
                }
            }
        }
        for file in &self.files {
            file.announce_cards().unwrap();
        }
    }

    fn announce_death(&self, rank: u32) {
        for file in &self.files {
            file.set_death(rank).unwrap();
        }
    }
}
