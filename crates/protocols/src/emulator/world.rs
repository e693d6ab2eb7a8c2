// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of an emulated job, and the steps that it can take next.

use std::collections::VecDeque;
use std::fmt;

use super::cells::{Back, Cell, Claim, Region};
use super::program::{Operation, Rank, Thread};
use super::timing::{Timing, Trace};
use crate::flaw::Flaw;
use crate::names::{Key, ReceiveId, SendId, Source};
use crate::receiver::{PostedReceive, ReceiveSide};
use crate::sender::{Kind, SendSide};
use crate::variant::Config;

/// What an emulated fabric does besides delivering.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Behaviour {
    /// A write takes a step of its own, and the receiver is told first where the fabric is ordered. Always so on a fabric that is not.
    pub writes_in_parts: bool,
    /// Writing into a peer is refused.
    pub refuses_writes: bool,
    /// A read takes a step of its own.
    pub slow_reads: bool,
    /// A receive that may not be offered when it is posted is not offered later, as in the library.
    pub offers_once: bool,
    /// So many cells of a sender are in its log; older ones are forgotten.
    pub log_cells: u64,
    /// Any rank may die before any step; at most one does.
    pub deaths: bool,
    /// Capacity above which a receive is long.
    pub eager_bytes: u64,
}

impl Behaviour {
    /// The published eager limit: the data of a cell.
    pub const EAGER_BYTES: u64 = 40;
    /// All at once, and no rank dies.
    pub const PLAIN: Self = Self {
        writes_in_parts: false,
        refuses_writes: false,
        slow_reads: false,
        offers_once: false,
        log_cells: u64::MAX,
        deaths: false,
        eager_bytes: Self::EAGER_BYTES,
    };
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// How far a send or a receive is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Progress {
    /// Not complete.
    Pending,
    /// Complete.
    Complete,
    /// Cancelled.
    Cancelled,
    /// Failed, because its peer died.
    Failed,
}

/// A send as its user sees it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct SendRecord {
    pub(super) key: Key,
    pub(super) bytes: u64,
    pub(super) kind: Kind,
    pub(super) progress: Progress,
}

/// A receive as its user sees it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Buffer {
    pub(super) posted: PostedReceive,
    pub(super) capacity: u64,
    pub(super) progress: Progress,
    /// The message that was copied here: link and send.
    pub(super) content: Option<(usize, SendId)>,
    /// The eager message that is about to be copied here.
    pub(super) incoming: Option<(usize, SendId)>,
    pub(super) claim: Option<(usize, Claim)>,
    /// The open memory, and how often it was opened.
    pub(super) region: Option<Region>,
    pub(super) opened: u8,
    /// The number of its RTR among those of its link, where a wrong rule asks.
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum ClaimState {
    Free,
    Offered,
    Claimed,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct ClaimWord {
    pub(super) generation: u32,
    pub(super) state: ClaimState,
}

/// A write on its way.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Write {
    pub(super) send: SendId,
    pub(super) receive: ReceiveId,
    pub(super) bytes: u64,
    pub(super) rts_sent: bool,
    pub(super) is_told: bool,
    /// The data go through the ring, from where the receiver copies them.
    pub(super) is_chunks: bool,
    pub(super) region: Option<Region>,
    pub(super) due_ns: u64,
}

/// A read on its way.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Read {
    pub(super) receive: ReceiveId,
    pub(super) link: usize,
    pub(super) send: SendId,
    pub(super) bytes: u64,
    pub(super) due_ns: u64,
}

/// A notification in the receiver's memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Notification {
    pub(super) receive: ReceiveId,
    pub(super) bytes: u64,
    pub(super) rts_sent: bool,
    pub(super) is_polled: bool,
}

/// From a sender to a receiver.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Link {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) side: SendSide,
    pub(super) sends: Vec<SendRecord>,
    pub(super) cells: VecDeque<(u64, Cell)>,
    pub(super) backs: VecDeque<(u64, Back)>,
    /// Own messages that may be unconsumed: sequence number, key, send.
    pub(super) log: Vec<(u64, Key, SendId)>,
    pub(super) published: u64,
    pub(super) consumed: u64,
    pub(super) writes: Vec<Write>,
    pub(super) claims: Vec<ClaimWord>,
    /// The claim words of the RTRs that the sender stores.
    pub(super) stored: Vec<(ReceiveId, Claim)>,
    /// The memory that receives have opened, as the sender knows it.
    pub(super) regions: Vec<(ReceiveId, Region)>,
    /// RTRs made and handled, where a wrong rule asks.
    pub(super) made: u64,
    pub(super) handled: u64,
    /// Whether the survivor knows of the other rank's death.
    pub(super) is_lost: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Receiver {
    pub(super) rank: Rank,
    pub(super) side: ReceiveSide,
    pub(super) posted: Vec<PostedReceive>,
    pub(super) unexpected: Vec<(usize, Cell)>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) notifications: Vec<Notification>,
    pub(super) reads: Vec<Read>,
}

/// The state of a job.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct World {
    pub(super) config: Config,
    pub(super) behaviour: Behaviour,
    pub(super) links: Vec<Link>,
    pub(super) receivers: Vec<Receiver>,
    /// Next operation of each thread.
    pub(super) next: Vec<usize>,
    pub(super) dead: Option<Rank>,
    pub(super) violation: Option<String>,
    pub(super) now_ns: u64,
    pub(super) timing: Option<Timing>,
    pub(super) trace: Option<Box<Trace>>,
}

/// A step.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Step {
    /// A thread does its next operation.
    Operate(usize),
    /// The oldest cell of a link arrives.
    Cell(usize),
    /// The oldest cell back arrives.
    Back(usize),
    /// The data of a write, and its notification, are at the receiver.
    Written(usize, usize),
    /// The sender of a write knows that its own part is done.
    Local(usize, usize),
    /// A read is done.
    Read(usize, usize),
    /// A receiver finds a notification.
    Poll(usize, ReceiveId),
    /// A rank dies.
    Die(Rank),
    /// The survivor of a link learns of it.
    Notice(usize),
}

impl World {
    /// A job before its first step.
    pub fn new(config: Config, behaviour: Behaviour, threads: &[Thread]) -> Self {
        let mut world = Self {
            config,
            behaviour,
            links: Vec::new(),
            receivers: Vec::new(),
            next: vec![0; threads.len()],
            dead: None,
            violation: None,
            now_ns: 0,
            timing: None,
            trace: None,
        };
        for thread in threads {
            for timed in &thread.operations {
                match timed.operation {
                    Operation::Send { to, .. } => drop(world.link(thread.rank, to)),
                    Operation::Receive { .. } => drop(world.receiver(thread.rank)),
                    Operation::Cancel { .. } => {}
                }
            }
        }
        world
    }

    /// The link between two ranks, made at first use.
    pub(super) fn link(&mut self, from: Rank, to: Rank) -> usize {
        let same = |link: &Link| link.from == from && link.to == to;
        if let Some(index) = self.links.iter().position(same) {
            return index;
        }
        self.receiver(to);
        let word = ClaimWord {
            generation: 0,
            state: ClaimState::Free,
        };
        let words = self.config.offers_per_peer.min(MOST_CLAIMS);
        self.links.push(Link {
            from,
            to,
            side: SendSide::new(self.config),
            sends: Vec::new(),
            cells: VecDeque::new(),
            backs: VecDeque::new(),
            log: Vec::new(),
            published: 0,
            consumed: 0,
            writes: Vec::new(),
            claims: vec![word; words],
            stored: Vec::new(),
            regions: Vec::new(),
            made: 0,
            handled: 0,
            is_lost: false,
        });
        self.links.len() - 1
    }

    pub(super) fn receiver(&mut self, rank: Rank) -> usize {
        if let Some(index) = self.receivers.iter().position(|one| one.rank == rank) {
            return index;
        }
        self.receivers.push(Receiver {
            rank,
            side: ReceiveSide::new(self.config),
            posted: Vec::new(),
            unexpected: Vec::new(),
            buffers: Vec::new(),
            notifications: Vec::new(),
            reads: Vec::new(),
        });
        self.receivers.len() - 1
    }

    /// The receiver at the end of a link.
    pub(super) fn end(&self, link: usize) -> usize {
        let to = self.links[link].to;
        let here = |one: &Receiver| one.rank == to;
        self.receivers.iter().position(here).unwrap_or_default()
    }

    /// What was wrong first, if anything.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    pub(super) fn violate(&mut self, text: impl FnOnce() -> String) {
        if self.violation.is_none() {
            self.violation = Some(text());
        }
    }

    /// The steps that are possible now, each with the time from which it is.
    pub fn steps(&self, threads: &[Thread], out: &mut Vec<(u64, Step)>) {
        out.clear();
        let is_dead = |rank: Rank| self.dead == Some(rank);
        for (index, thread) in threads.iter().enumerate() {
            if let Some(timed) = thread.operations.get(self.next[index])
                && !is_dead(thread.rank)
            {
                out.push((timed.at_ns, Step::Operate(index)));
            }
        }
        for (index, link) in self.links.iter().enumerate() {
            if let Some(&(due, _)) = link.cells.front()
                && !is_dead(link.to)
            {
                out.push((due, Step::Cell(index)));
            }
            if let Some(&(due, _)) = link.backs.front()
                && !is_dead(link.from)
            {
                out.push((due, Step::Back(index)));
            }
            let trusts = self.config.has(Flaw::LocalCompletionTrusted);
            for (at, write) in link.writes.iter().enumerate() {
                out.push((write.due_ns, Step::Written(index, at)));
                if trusts && !write.is_told && !write.is_chunks {
                    out.push((write.due_ns, Step::Local(index, at)));
                }
            }
            let touches = self.dead.is_some() && (is_dead(link.from) || is_dead(link.to));
            if touches && !link.is_lost {
                out.push((0, Step::Notice(index)));
            }
        }
        for (index, receiver) in self.receivers.iter().enumerate() {
            if is_dead(receiver.rank) {
                continue;
            }
            for (at, read) in receiver.reads.iter().enumerate() {
                out.push((read.due_ns, Step::Read(index, at)));
            }
            let unpolled = receiver.notifications.iter().filter(|one| !one.is_polled);
            out.extend(unpolled.map(|one| (0, Step::Poll(index, one.receive))));
        }
        // A rank that dies after all else changes nothing.
        if self.behaviour.deaths && self.dead.is_none() && !out.is_empty() {
            let mut ranks: Vec<Rank> = threads.iter().map(|thread| thread.rank).collect();
            ranks.sort_unstable();
            ranks.dedup();
            out.extend(ranks.into_iter().map(|rank| (0, Step::Die(rank))));
        }
    }

    /// Takes a step.
    pub fn take(&mut self, step: Step, threads: &[Thread]) {
        match step {
            Step::Operate(index) => {
                let thread = &threads[index];
                let operation = thread.operations[self.next[index]].operation;
                self.next[index] += 1;
                self.operate(thread.rank, operation);
            }
            Step::Cell(link) => {
                if let Some((_, cell)) = self.links[link].cells.pop_front() {
                    self.arrived(link, cell);
                }
            }
            Step::Back(link) => {
                if let Some((_, back)) = self.links[link].backs.pop_front() {
                    self.returned(link, back);
                }
            }
            Step::Written(link, at) => self.data_arrived(link, at),
            Step::Local(link, at) => {
                self.links[link].writes[at].is_told = true;
                let send = self.links[link].writes[at].send;
                self.send_event(link, crate::SendEvent::Written { send });
            }
            Step::Read(receiver, at) => self.read_done(receiver, at),
            Step::Poll(receiver, receive) => self.poll(receiver, receive),
            Step::Die(rank) => self.die(rank),
            Step::Notice(link) => self.notice(link),
        }
    }

    /// What a step is, for a schedule that people read; `self` is the state before it.
    pub fn describe(&self, step: Step, threads: &[Thread]) -> String {
        let pair = |link: usize| (self.links[link].from, self.links[link].to);
        match step {
            Step::Operate(index) => {
                let thread = &threads[index];
                let operation = thread.operations[self.next[index]].operation;
                format!("rank {} thread {index}: {operation}", thread.rank)
            }
            Step::Cell(link) => {
                let (from, to) = pair(link);
                let cell = self.links[link].cells.front();
                format!("{from} -> {to}: {:?}", Shown(cell.map(|one| one.1)))
            }
            Step::Back(link) => {
                let (from, to) = pair(link);
                let back = self.links[link].backs.front();
                format!("{to} -> {from}: {:?}", Shown(back.map(|one| one.1)))
            }
            Step::Written(link, at) | Step::Local(link, at) => {
                let (from, to) = pair(link);
                let Write { send, receive, .. } = self.links[link].writes[at];
                let what = match step {
                    Step::Local(..) => "counts as done",
                    _ => "lands",
                };
                format!(
                    "{from} -> {to}: write of send {} to receive {} {what}",
                    send.0, receive.0
                )
            }
            Step::Read(receiver, at) => {
                let Read { receive, send, .. } = self.receivers[receiver].reads[at];
                let rank = self.receivers[receiver].rank;
                format!(
                    "rank {rank}: read of send {} for receive {} ends",
                    send.0, receive.0
                )
            }
            Step::Poll(receiver, receive) => format!(
                "rank {}: finds the notification of receive {}",
                self.receivers[receiver].rank, receive.0
            ),
            Step::Die(rank) => format!("rank {rank} dies"),
            Step::Notice(link) => {
                let (from, to) = pair(link);
                format!("the death ends the link {from} -> {to}")
            }
        }
    }

    fn operate(&mut self, rank: Rank, operation: Operation) {
        match operation {
            Operation::Send {
                to,
                key,
                bytes,
                kind,
            } => {
                let link = self.link(rank, to);
                self.post_send(link, key, bytes, kind);
            }
            Operation::Receive {
                source,
                key,
                capacity,
            } => {
                let receiver = self.receiver(rank);
                self.post_receive(receiver, source, key, capacity);
            }
            Operation::Cancel { receive } => {
                let receiver = self.receiver(rank);
                self.cancel(receiver, ReceiveId(receive as u64));
            }
        }
    }

    fn die(&mut self, rank: Rank) {
        self.dead = Some(rank);
        for link in &mut self.links {
            if link.from == rank {
                link.writes.clear();
                link.backs.clear();
            }
            if link.to == rank {
                link.cells.clear();
            }
        }
    }

    /// The source that a link's sender is for its receiver.
    pub(super) fn source(&self, link: usize) -> Source {
        Source(self.links[link].from)
    }
}

/// Claim words of a link in the emulator at most.
const MOST_CLAIMS: usize = 16;

/// What a step moves, or nothing.
struct Shown<T>(Option<T>);

impl<T: fmt::Debug> fmt::Debug for Shown<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(one) => one.fmt(formatter),
            None => formatter.write_str("nothing"),
        }
    }
}
