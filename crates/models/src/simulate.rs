// SPDX-License-Identifier: MIT OR Apache-2.0
//! The path of section "Windows, queues, credits" event by event: a core that posts and polls, a bus with credits, a NIC, a network.
//!
//! It agrees with [`crate::window`] where those formulas hold, and shows where they do not: completions that are signalled only
//! every few operations, queues smaller than that, posts that find the queue full. It also emits what an analyser on the bus
//! would see ([`crate::trace`]), so that the recipes that read traces can be tested against known components.

use std::collections::VecDeque;

use crate::trace::{Direction, Packet, Row};
use crate::window::Path;

/// How the core uses its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A slot is used again as soon as its completion was polled.
    Rolling,
    /// All slots are posted, then all completions polled.
    FillDrain,
}

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Times of the core and of completions.
    pub path: Path,
    /// Slots of the queue.
    pub depth: u32,
    /// How slots are used again.
    pub mode: Mode,
    /// Every how many operations a completion is signalled; it frees the slots of all of them.
    pub signal_every: u32,
    /// Nanoseconds of a post that finds the queue full; nothing if the core polls without trying.
    pub busy_post_ns: f64,
    /// Bus writes that may be outstanding, and nanoseconds until each is returned; nothing if there is no limit.
    pub credits: Option<(u32, f64)>,
    /// Nanoseconds from the end of a post until the NIC has it, for the trace.
    pub bus_ns: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Nanoseconds per message in the steady state.
    pub ns: f64,
    /// Posts that found the queue full.
    pub busy_posts: u64,
    /// Times that the core waited for a completion.
    pub waits: u64,
    /// What an analyser in front of the NIC sees of posts.
    pub rows: Vec<Row>,
}

/// Rows of the trace that are kept.
const MAX_ROWS: usize = 4096;

struct Core<'a> {
    setup: &'a Setup,
    now: f64,
    posted: u64,
    /// Operations in the queue.
    used: u32,
    /// When each signalled completion can be polled, and how many slots it frees.
    completions: VecDeque<(f64, u32)>,
    since_signal: u32,
    /// When each outstanding bus write is returned.
    writes: VecDeque<f64>,
    outcome: Outcome,
}

impl Setup {
    /// Runs `messages` messages or a few more; the first half warms up.
    #[must_use]
    pub fn run(&self, messages: u64) -> Outcome {
        // After so many messages the queue is in the same state again, so whole periods are timed.
        let period = u64::from(self.depth.max(1)) * u64::from(self.signal_every());
        let periods = (messages / 2).div_ceil(period).max(1);
        let mut core = Core::new(self);
        core.run_until(periods * period);
        let (posted, start) = (core.posted, core.now);
        core.run_until(2 * periods * period);
        core.outcome.ns = (core.now - start) / (core.posted - posted) as f64;
        core.outcome
    }

    /// Signalled completions need as many slots as they free.
    fn signal_every(&self) -> u32 {
        self.signal_every.clamp(1, self.depth.max(1))
    }
}

impl<'a> Core<'a> {
    const fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            now: 0.0,
            posted: 0,
            used: 0,
            completions: VecDeque::new(),
            since_signal: 0,
            writes: VecDeque::new(),
            outcome: Outcome {
                ns: 0.0,
                busy_posts: 0,
                waits: 0,
                rows: Vec::new(),
            },
        }
    }

    fn run_until(&mut self, posted: u64) {
        while self.posted < posted {
            match self.setup.mode {
                Mode::Rolling => self.roll(),
                Mode::FillDrain => self.fill_and_drain(),
            }
        }
    }

    /// One message of a rolling window: room first, then the post.
    fn roll(&mut self) {
        if self.used >= self.setup.depth.max(1) {
            if self.setup.busy_post_ns > 0.0 {
                self.now += self.setup.busy_post_ns;
                self.outcome.busy_posts += 1;
            }
            self.poll();
        }
        self.post();
    }

    fn fill_and_drain(&mut self) {
        for _ in 0..self.setup.depth.max(1) {
            self.post();
        }
        // The last operation of a round is signalled, or the round would never end.
        if self.since_signal > 0 {
            let freed = std::mem::take(&mut self.since_signal);
            self.completions
                .push_back((self.now + self.setup.path.completion_ns, freed));
        }
        while self.used > 0 {
            self.poll();
        }
    }

    /// Posts one operation: work of the core, a credit, and a completion in the future.
    fn post(&mut self) {
        let path = &self.setup.path;
        self.now += path.misc_ns + path.post_ns;
        if let Some((credits, return_ns)) = self.setup.credits {
            while self.writes.front().is_some_and(|&back| back <= self.now) {
                self.writes.pop_front();
            }
            if self.writes.len() >= credits.max(1) as usize
                && let Some(back) = self.writes.pop_front()
            {
                self.now = self.now.max(back);
            }
            self.writes.push_back(self.now + return_ns);
        }
        if self.outcome.rows.len() < MAX_ROWS {
            // Two buffers for doorbells alternate.
            let address = 0x1000 + 0x100 * (self.posted % 2);
            self.outcome.rows.push(Row {
                time_ns: self.now + self.setup.bus_ns,
                direction: Direction::Down,
                packet: Packet::MemoryWrite,
                bytes: 64,
                address,
            });
        }
        self.posted += 1;
        self.used += 1;
        self.since_signal += 1;
        if self.since_signal >= self.setup.signal_every() {
            let freed = std::mem::take(&mut self.since_signal);
            self.completions
                .push_back((self.now + path.completion_ns, freed));
        }
    }

    /// Polls one completion, waiting for it if need be. Its slots are free afterwards; progress is paid for each of them.
    fn poll(&mut self) {
        let Some((ready, freed)) = self.completions.pop_front() else {
            return;
        };
        if ready > self.now {
            self.now = ready;
            self.outcome.waits += 1;
        }
        self.now += self.setup.path.progress_ns * f64::from(freed);
        self.used -= freed;
    }
}

/// Credits that `cores` cores share: nanoseconds per message of all of them, event by event. Runs `messages` messages or a few more;
/// the first half warms up.
#[must_use]
pub fn shared_credits(cpu_ns: f64, cores: u32, credits: u32, return_ns: f64, messages: u64) -> f64 {
    // When each core is ready for its next write, a little apart at first.
    let cores = cores.max(1);
    let mut ready: Vec<f64> = (0..cores)
        .map(|core| cpu_ns * f64::from(core) / f64::from(cores))
        .collect();
    let mut writes = VecDeque::new();
    let (mut half, mut last) = (0.0, 0.0);
    // Rounds of all cores and credits end in the same state as they began in: whole ones are timed.
    let period = u64::from(cores) * u64::from(credits.max(1));
    let periods = (messages / 2).div_ceil(period).max(1);
    let (warm, all) = (periods * period, 2 * periods * period);
    for message in 0..=all {
        let Some(first) = ready.iter_mut().min_by(|a, b| a.total_cmp(b)) else {
            break;
        };
        let mut start = *first;
        if writes.len() >= credits.max(1) as usize
            && let Some(back) = writes.pop_front()
        {
            start = start.max(back);
        }
        writes.push_back(start + return_ns);
        *first = start + cpu_ns;
        last = start;
        if message == warm {
            half = last;
        }
    }
    (last - half) / (all - warm) as f64
}

/// Times of one ping-pong of the path, for [`Pingpong::rows`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pingpong {
    /// Bus, one way.
    pub pcie_ns: f64,
    /// NIC to NIC.
    pub wire_ns: f64,
    /// The switch between them; 0 without.
    pub switch_ns: f64,
    /// From the root complex to memory.
    pub rc_to_mem_ns: f64,
    /// Post of a ping.
    pub post_ns: f64,
    /// Poll of a pong.
    pub poll_ns: f64,
    /// Time of the other side from the arrival of a ping at its NIC until its pong leaves the NIC.
    pub other_ns: f64,
}

impl Pingpong {
    /// What an analyser in front of the first NIC sees of `count` round trips.
    #[must_use]
    pub fn rows(&self, count: u32) -> Vec<Row> {
        let mut rows = Vec::new();
        let network = self.wire_ns + self.switch_ns;
        let mut down = self.pcie_ns + self.post_ns;
        for _ in 0..count {
            let mut seen = |time_ns, direction, packet, bytes, address| {
                rows.push(Row {
                    time_ns,
                    direction,
                    packet,
                    bytes,
                    address,
                });
            };
            // The ping passes; its completion comes back when the other NIC has acknowledged it.
            seen(down, Direction::Down, Packet::MemoryWrite, 64, 0x1000);
            seen(down, Direction::Up, Packet::Ack, 0, 0);
            let completion = down + 2.0 * network;
            seen(
                completion,
                Direction::Up,
                Packet::MemoryWrite,
                64,
                COMPLETIONS,
            );
            seen(
                completion + 2.0 * self.pcie_ns,
                Direction::Down,
                Packet::Ack,
                0,
                0,
            );
            let pong = down + 2.0 * network + self.other_ns;
            seen(pong, Direction::Up, Packet::MemoryWrite, 8, 0x3000);
            seen(
                pong + 2.0 * self.pcie_ns,
                Direction::Down,
                Packet::Ack,
                0,
                0,
            );
            // The pong reaches memory, is polled, and the next ping is posted.
            down = pong + 2.0 * self.pcie_ns + self.rc_to_mem_ns + self.poll_ns + self.post_ns;
        }
        rows.sort_by(|a, b| a.time_ns.total_cmp(&b.time_ns));
        rows
    }
}

/// Where simulated completions are written.
pub const COMPLETIONS: u64 = 0x2000;
