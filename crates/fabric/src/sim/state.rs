// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state that the baton protects: wires, ranks, virtual time, and the rank that runs next.
//!
//! A rank that polls *in vain* (it has sent nothing since its turn began) is idle until something
//! is delivered. Only ranks that are not idle get the baton. When all are idle, time moves to the
//! next event; when there is none, the round is *quiet* and all ranks get another turn, because
//! they may wait for words of shared memory.

use std::collections::VecDeque;

use super::schedule::{Chooser, Generator};
use super::trace::Trace;
use super::wire::{Station, Wire};
use super::{Death, SimError, SimSettings};
use crate::ring::{PayloadRule, RingReceiver, RingSender};

/// Deliveries that wake only their receivers before all ranks get a turn.
const DELIVERIES_A_ROUND: u32 = 64;

/// The state of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankState {
    /// It has not been added to the job: nobody reaches it, and it gets no turns.
    Absent,
    /// It has not taken its port yet, but gets turns.
    Expected,
    Alive,
    /// Its time has come, and it does not know yet or is on its way out.
    Dying,
    Gone,
}

struct RankEntry {
    state: RankState,
    is_idle: bool,
    /// Rings that others have made to each of its VCIs.
    announced: Vec<VecDeque<(Station, RingReceiver)>>,
}

impl RankEntry {
    /// Whether the baton may come to it.
    fn takes_turns(&self) -> bool {
        !matches!(self.state, RankState::Absent | RankState::Gone)
    }
}

/// The next event, as an option of an enumeration.
#[derive(Clone, Copy)]
enum Next {
    Turn(u32),
    Delivery(usize),
    Death(Death),
}

/// The whole network.
pub(super) struct State {
    settings: SimSettings,
    payload_rules: &'static [PayloadRule],
    pub(super) now_ns: u64,
    ranks: Vec<RankEntry>,
    wires: Vec<Wire>,
    /// The rank that runs; `None` when all have left.
    pub(super) baton: Option<u32>,
    chooser: Chooser,
    jitter: Generator,
    death: Option<Death>,
    /// Cells taken over so far.
    order: u64,
    deliveries: u32,
    pub(super) quiet_rounds: u64,
    pub(super) fault: Option<SimError>,
    pub(super) trace: Trace,
}

impl State {
    pub(super) fn new(
        (ranks, reserve, vcis): (u32, u32, u8),
        settings: SimSettings,
        payload_rules: &'static [PayloadRule],
    ) -> Self {
        let entry = |rank| RankEntry {
            state: match rank < ranks {
                true => RankState::Expected,
                false => RankState::Absent,
            },
            is_idle: false,
            announced: (0..vcis).map(|_| VecDeque::new()).collect(),
        };
        Self {
            now_ns: 0,
            ranks: (0..ranks + reserve).map(entry).collect(),
            wires: Vec::new(),
            baton: (ranks != 0).then_some(0),
            chooser: Chooser::new(&settings.schedule, settings.seed),
            jitter: Generator::new(!settings.seed),
            death: settings.death,
            order: 0,
            deliveries: 0,
            quiet_rounds: 0,
            fault: None,
            trace: Trace::default(),
            settings,
            payload_rules,
        }
    }

    /// How many options each choice had so far.
    pub(super) fn options(&self) -> &[u32] {
        self.chooser.options()
    }

    pub(super) fn rank_state(&self, rank: u32) -> RankState {
        self.ranks
            .get(rank as usize)
            .map_or(RankState::Gone, |entry| entry.state)
    }

    /// Adds a rank that was absent; false if there is no room for it, or it was added before.
    pub(super) fn add(&mut self, rank: u32) -> bool {
        let entry = self.ranks.get_mut(rank as usize);
        let Some(entry) = entry.filter(|entry| entry.state == RankState::Absent) else {
            return false;
        };
        entry.state = RankState::Expected;
        true
    }

    /// Notes that an expected rank has its port.
    pub(super) fn attach(&mut self, rank: u32) {
        if let Some(entry) = self.ranks.get_mut(rank as usize)
            && entry.state == RankState::Expected
        {
            entry.state = RankState::Alive;
        }
    }

    /// Makes the wire from one station to another, which exists.
    pub(super) fn connect(
        &mut self,
        source: Station,
        target: Station,
    ) -> Result<RingSender, SimError> {
        let is_same = |wire: &Wire| (wire.source, wire.target) == (source, target);
        if self.wires.iter().any(is_same) {
            return Err(SimError::AlreadyConnected {
                source: source.rank,
                target: target.rank,
            });
        }
        let (mut wire, sender, receiver) = Wire::new(source, target, &self.settings)?;
        if self.rank_state(target.rank) == RankState::Gone {
            wire.lose_target();
        }
        if matches!(
            self.rank_state(source.rank),
            RankState::Dying | RankState::Gone
        ) {
            wire.lose_source();
        }
        self.wires.push(wire);
        self.ranks[target.rank as usize].announced[usize::from(target.vci.get())]
            .push_back((source, receiver));
        Ok(sender)
    }

    /// The next ring that was announced to a station.
    pub(super) fn accept(&mut self, station: Station) -> Option<(Station, RingReceiver)> {
        let entry = self.ranks.get_mut(station.rank as usize)?;
        entry
            .announced
            .get_mut(usize::from(station.vci.get()))?
            .pop_front()
    }

    /// Ends the turn of a rank and chooses the next one; time may move.
    pub(super) fn end_turn(&mut self, rank: u32) {
        match self.collect(rank) {
            Ok(has_sent) => self.ranks[rank as usize].is_idle = !has_sent,
            Err(fault) => {
                self.fault = Some(fault);
                return;
            }
        }
        self.choose_next(rank);
    }

    /// Notes that a rank has left, and passes the baton on if the rank has it.
    pub(super) fn leave(&mut self, rank: u32) {
        let state = self.rank_state(rank);
        if matches!(state, RankState::Absent | RankState::Gone) {
            return;
        }
        if let Err(fault) = self.collect(rank) {
            self.fault = Some(fault);
        }
        let entry = &mut self.ranks[rank as usize];
        entry.state = RankState::Gone;
        entry.announced.iter_mut().for_each(VecDeque::clear);
        let towards = self
            .wires
            .iter_mut()
            .filter(|wire| wire.target.rank == rank);
        towards.for_each(Wire::lose_target);
        self.trace.left(self.now_ns, rank);
        self.wake_all();
        self.quiet_rounds = 0;
        if self.baton == Some(rank) {
            self.choose_next(rank);
        }
    }

    /// Takes over all that the wires have room for; whether some of it comes from `rank`.
    fn collect(&mut self, rank: u32) -> Result<bool, SimError> {
        let mut has_sent = false;
        for wire in &mut self.wires {
            wire.note_feedback(self.now_ns, &self.settings);
            loop {
                let (jitter, most_ns) = (&mut self.jitter, self.settings.latency_ns);
                let reorders = self.settings.reorder_pairs && !self.chooser.enumerates();
                let jitter_ns = || {
                    if reorders {
                        jitter.below(1 + most_ns)
                    } else {
                        0
                    }
                };
                let (now_ns, settings) = (self.now_ns, &self.settings);
                let moved =
                    wire.collect(now_ns, self.order, settings, self.payload_rules, jitter_ns)?;
                let Some(moved) = moved else { break };
                self.order += 1;
                self.quiet_rounds = 0;
                has_sent |= wire.source.rank == rank;
                self.trace.cell(self.now_ns, false, wire, &moved);
            }
        }
        Ok(has_sent)
    }

    /// Chooses the rank that runs after `last`.
    fn choose_next(&mut self, last: u32) {
        let has_ranks = self.ranks.iter().any(RankEntry::takes_turns);
        if !has_ranks || self.fault.is_some() {
            self.baton = None;
            return;
        }
        let next = if self.chooser.enumerates() {
            self.next_of_list(last)
        } else {
            self.next_of_seed(last)
        };
        self.baton = Some(next);
        self.trace.turn(self.now_ns, next);
    }

    /// The ranks that may run, in cyclic order behind `last`.
    fn candidates(&self, last: u32) -> Vec<u32> {
        let ranks = self.ranks.len() as u32;
        let may_run = |&rank: &u32| {
            let entry = &self.ranks[rank as usize];
            entry.takes_turns() && !entry.is_idle
        };
        let cyclic = (1..=ranks).map(|step| (last + step) % ranks);
        cyclic.filter(may_run).collect()
    }

    /// The seeded schedule: deliveries at their time, ranks at random.
    fn next_of_seed(&mut self, last: u32) -> u32 {
        let mut is_early = self.chooser.happens(self.settings.early_percent);
        loop {
            self.let_die();
            self.pass_feedback();
            self.deliver_due();
            let candidates = self.candidates(last);
            if !candidates.is_empty() && !is_early {
                return candidates[self.chooser.choose(candidates.len())];
            }
            is_early = false;
            match self.next_event() {
                Some(at_ns) => self.now_ns = at_ns,
                None => self.end_round(&candidates),
            }
        }
    }

    /// Delivers all cells whose time has come, in the order of their times.
    fn deliver_due(&mut self) {
        let mut is_blocked = vec![false; self.wires.len()];
        loop {
            let due = |index: &usize| {
                let due = self.wires[*index].next_due()?;
                (due.0 <= self.now_ns && !is_blocked[*index]).then_some(due)
            };
            let first = (0..self.wires.len()).filter_map(|index| Some((due(&index)?, index)));
            let Some((_, index)) = first.min() else {
                return;
            };
            is_blocked[index] = !self.deliver(index);
        }
    }

    /// Delivers the next cell of a wire; false when the target has no credit.
    fn deliver(&mut self, index: usize) -> bool {
        let wire = &mut self.wires[index];
        let Some(moved) = wire.deliver() else {
            return false;
        };
        let wire = &self.wires[index];
        self.trace.cell(self.now_ns, true, wire, &moved);
        let target = wire.target.rank as usize;
        self.quiet_rounds = 0;
        self.deliveries += 1;
        if self.settings.wake_all || self.deliveries.is_multiple_of(DELIVERIES_A_ROUND) {
            self.wake_all();
        }
        self.ranks[target].is_idle = false;
        true
    }

    /// When the next event behind now happens, if there is one.
    fn next_event(&self) -> Option<u64> {
        let cells = self
            .wires
            .iter()
            .filter_map(|wire| Some(wire.next_due()?.0));
        let feedback = self.wires.iter().filter_map(Wire::feedback_due);
        let death = self.death.map(|death| death.at_ns);
        // A cell whose time has come and that is still here waits for a credit.
        let later = cells.chain(feedback).chain(death);
        later.filter(|&at_ns| at_ns > self.now_ns).min()
    }

    /// The schedule of an enumeration: each delivery is a choice, too.
    fn next_of_list(&mut self, last: u32) -> u32 {
        let mut is_blocked = vec![false; self.wires.len()];
        loop {
            self.pass_feedback();
            let mut options: Vec<_> = self.candidates(last).into_iter().map(Next::Turn).collect();
            options.extend(self.deliveries(&is_blocked));
            if options.is_empty() {
                let feedback = self.wires.iter().filter_map(Wire::feedback_due).min();
                match feedback {
                    Some(at_ns) => self.now_ns = self.now_ns.max(at_ns),
                    None => self.end_round(&[]),
                }
                continue;
            }
            match options[self.chooser.choose(options.len())] {
                Next::Turn(rank) => return rank,
                Next::Delivery(index) => {
                    let due_ns = self.wires[index].next_due().map_or(0, |(due, _)| due);
                    self.now_ns = self.now_ns.max(due_ns);
                    is_blocked[index] = !self.deliver(index);
                }
                Next::Death(death) => {
                    self.now_ns = self.now_ns.max(death.at_ns);
                    self.let_die();
                }
            }
        }
    }

    /// Deliveries, and a death, that may come next: the earliest, or the first one of each pair.
    fn deliveries(&mut self, is_blocked: &[bool]) -> Vec<Next> {
        let wires = self.wires.iter_mut().enumerate();
        let cells = wires.filter_map(|(index, wire)| {
            let due = wire.next_due()?;
            let is_possible = !is_blocked[index] && wire.has_credit();
            is_possible.then_some((due, Next::Delivery(index)))
        });
        let death = self
            .death
            .map(|death| ((death.at_ns, 0), Next::Death(death)));
        let mut events: Vec<_> = cells.chain(death).collect();
        events.sort_by_key(|&(due, _)| due);
        if !self.settings.reorder_pairs {
            events.truncate(1);
        }
        events.into_iter().map(|(_, event)| event).collect()
    }

    /// Lets all ranks run again; counts a quiet round if nothing is under way.
    fn end_round(&mut self, candidates: &[u32]) {
        if candidates.is_empty() {
            if self.wires.iter().all(Wire::is_idle) && self.death.is_none() {
                self.quiet_rounds += 1;
            }
            self.wake_all();
        }
    }

    fn wake_all(&mut self) {
        for entry in &mut self.ranks {
            entry.is_idle = false;
        }
    }

    fn pass_feedback(&mut self) {
        for wire in &mut self.wires {
            if wire.pass_feedback(self.now_ns) {
                self.ranks[wire.source.rank as usize].is_idle = false;
                self.quiet_rounds = 0;
            }
        }
    }

    /// Kills the rank that is to die, if its time has come.
    fn let_die(&mut self) {
        let Some(death) = self.death.take_if(|death| death.at_ns <= self.now_ns) else {
            return;
        };
        let entry = &mut self.ranks[death.rank as usize];
        if entry.state == RankState::Gone {
            return;
        }
        entry.state = RankState::Dying;
        for wire in &mut self.wires {
            if wire.source.rank == death.rank {
                wire.lose_source();
            }
            if wire.target.rank == death.rank {
                wire.lose_target();
            }
        }
        self.trace.died(self.now_ns, death.rank);
        self.quiet_rounds = 0;
        self.wake_all();
    }
}
