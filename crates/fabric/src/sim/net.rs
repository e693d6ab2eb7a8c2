// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network and its ports: a baton made of a mutex and one condition variable for each rank.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::state::{RankState, State};
use super::wire::Station;
use super::{SimError, SimSettings};
use crate::identity::{LinkIndex, PeerIndex, VciIndex};
use crate::peers::Peers;
use crate::ring::{PayloadRule, RingReceiver, RingSender};
use sys::sync::{AtomicU32, AtomicU64, Ordering};

/// The state of a rank after a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Fate {
    /// The rank lives on.
    Alive,
    /// The rank is dead: it has to leave without another message. It keeps the baton until its port
    /// is dropped or [`SimNet::leave`] is called.
    Dead,
}

/// A simulated network. See the [module](super).
pub struct SimNet {
    /// Ranks that there are and that can be added.
    capacity: u32,
    vcis: u8,
    state: Mutex<State>,
    /// One for each rank, which waits for the baton.
    turns: Vec<Condvar>,
    /// Copies of what is read often.
    now_ns: AtomicU64,
    accept_counts: Vec<Vec<AtomicU32>>,
}

impl SimNet {
    /// A network of `ranks` ranks with one VCI each. `payload_rules` says which kinds of cells describe payload.
    ///
    /// # Errors
    /// When the settings' sizes are impossible, or the rank that is to die does not exist.
    pub fn new(
        ranks: u32,
        settings: SimSettings,
        payload_rules: &'static [PayloadRule],
    ) -> Result<Arc<Self>, SimError> {
        Self::with_vcis(ranks, 1, settings, payload_rules)
    }

    /// The same, with `vcis` VCIs of each rank. A connection joins two VCIs; the baton is the rank's.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_vcis(
        ranks: u32,
        vcis: u8,
        settings: SimSettings,
        payload_rules: &'static [PayloadRule],
    ) -> Result<Arc<Self>, SimError> {
        Self::with_room((ranks, 0), vcis, settings, payload_rules)
    }

    /// As [`Self::with_vcis`], with room for so many ranks that are added later ([`Self::add_rank`]).
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_room(
        (ranks, reserve): (u32, u32),
        vcis: u8,
        settings: SimSettings,
        payload_rules: &'static [PayloadRule],
    ) -> Result<Arc<Self>, SimError> {
        settings.check(ranks)?;
        let capacity = ranks + reserve;
        let counts = |_| (0..vcis).map(|_| AtomicU32::new(0)).collect();
        Ok(Arc::new(Self {
            capacity,
            vcis,
            state: Mutex::new(State::new((ranks, reserve, vcis), settings, payload_rules)),
            turns: (0..capacity).map(|_| Condvar::new()).collect(),
            now_ns: AtomicU64::new(0),
            accept_counts: (0..capacity).map(counts).collect(),
        }))
    }

    /// Adds a rank while others run; it gets turns from now on, and has to ask for its port.
    ///
    /// # Errors
    /// When there is no room for the rank, or it was added before.
    pub fn add_rank(&self, rank: u32) -> Result<(), SimError> {
        match self.lock().add(rank) {
            true => Ok(()),
            false => Err(SimError::NoSuchRank {
                rank,
                ranks: self.capacity,
            }),
        }
    }

    /// The port of a rank. Waits for the rank's first turn; rank 0 has the first turn of all.
    ///
    /// # Errors
    /// When the rank does not exist, has its port, or has left.
    pub fn port(self: &Arc<Self>, rank: u32) -> Result<Port, SimError> {
        let mut state = self.lock();
        if rank >= self.capacity || state.rank_state(rank) == RankState::Absent {
            return Err(SimError::NoSuchRank {
                rank,
                ranks: self.capacity,
            });
        }
        if !matches!(
            state.rank_state(rank),
            RankState::Expected | RankState::Dying
        ) {
            return Err(SimError::NoPort { rank });
        }
        state.attach(rank);
        drop(self.wait_for_turn(state, rank)?);
        Ok(Port {
            net: self.clone(),
            station: Station {
                rank,
                vci: VciIndex::FIRST,
            },
        })
    }

    /// The port of another VCI than the first of a rank that has its port.
    ///
    /// # Errors
    /// When the rank or the VCI does not exist, or the rank has no port.
    pub fn port_of_vci(self: &Arc<Self>, rank: u32, vci: VciIndex) -> Result<Port, SimError> {
        if !(1..self.vcis).contains(&vci.get()) {
            return Err(SimError::NoPort { rank });
        }
        match self.lock().rank_state(rank) {
            RankState::Alive | RankState::Dying => Ok(Port {
                net: self.clone(),
                station: Station { rank, vci },
            }),
            RankState::Absent | RankState::Expected | RankState::Gone => {
                Err(SimError::NoPort { rank })
            }
        }
    }

    /// Takes a rank off the network for good, whether it has a port or not: it gets no more turns,
    /// what it has sent still arrives, and what is sent to it vanishes. A rank that ends without a
    /// call of this, or the drop of its port, keeps the others waiting for ever.
    pub fn leave(&self, rank: u32) {
        let mut state = self.lock();
        state.leave(rank);
        self.announce(&state);
    }

    /// Calls [`Self::leave`] when the result is dropped, also by a panic.
    pub fn leave_on_drop(self: &Arc<Self>, rank: u32) -> Leave {
        Leave {
            net: self.clone(),
            rank,
        }
    }

    /// The present virtual time.
    pub fn now_ns(&self) -> u64 {
        // Only the holder of the baton moves time, and passing the baton synchronises.
        self.now_ns.load(Ordering::Relaxed)
    }

    /// Whether all ranks have polled in vain since the last event and nothing is under way. Ranks
    /// that wait for words of shared memory may still go on.
    pub fn is_quiet(&self) -> bool {
        self.quiet_rounds() != 0
    }

    /// For how many rounds, in which each rank polled in vain, nothing has been under way.
    pub fn quiet_rounds(&self) -> u64 {
        self.lock().quiet_rounds
    }

    /// How many options each choice had so far, in an enumeration; choices that had only one are
    /// left out.
    pub fn options(&self) -> Vec<u32> {
        self.lock().options().to_vec()
    }

    /// A number that depends on all that has happened, and in which order: turns, and times, pairs,
    /// heads and lengths of cells, but not their data.
    pub fn trace_hash(&self) -> u64 {
        self.lock().trace.hash()
    }

    /// The last events as text, for the message of a failing test.
    pub fn trace_text(&self) -> String {
        self.lock().trace.to_string()
    }

    fn accept_count_of(&self, station: Station) -> Option<&AtomicU32> {
        let counts = self.accept_counts.get(station.rank as usize)?;
        counts.get(usize::from(station.vci.get()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in this file would be a defect; the state is whole between any two statements
        // that can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the others what has changed: the time, and the holder of the baton.
    fn announce(&self, state: &State) {
        self.now_ns.store(state.now_ns, Ordering::Relaxed);
        match state.baton {
            Some(rank) if state.fault.is_none() => self.turns[rank as usize].notify_all(),
            _ => self.turns.iter().for_each(Condvar::notify_all),
        }
    }

    fn wait_for_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        rank: u32,
    ) -> Result<MutexGuard<'a, State>, SimError> {
        loop {
            if let Some(fault) = &state.fault {
                return Err(fault.clone());
            }
            if state.rank_state(rank) == RankState::Gone {
                return Err(SimError::NoPort { rank });
            }
            if state.baton == Some(rank) {
                return Ok(state);
            }
            let turn = &self.turns[rank as usize];
            state = turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The connection of a VCI of one rank to its network. The drop of the first VCI's takes the rank off the network.
pub struct Port {
    net: Arc<SimNet>,
    station: Station,
}

impl Port {
    /// The network.
    pub const fn net(&self) -> &Arc<SimNet> {
        &self.net
    }

    /// How the VCI numbers its peers.
    fn peers(&self) -> Peers {
        Peers::new(self.net.capacity, self.station.vci)
    }

    /// The sending end of a new connection to `peer`, which may be the VCI itself.
    ///
    /// # Errors
    /// When the peer does not exist, is connected already, or there is no memory.
    pub fn connect(&self, peer: LinkIndex) -> Result<RingSender, SimError> {
        let (peers, ranks) = (self.peers(), self.net.capacity);
        if peer.get() >= peers.count() || peers.vci(peer).get() >= self.net.vcis {
            let rank = peer.get();
            return Err(SimError::NoSuchRank { rank, ranks });
        }
        let (rank, vci) = (peers.process(peer).get(), peers.vci(peer));
        let target = Station { rank, vci };
        let mut state = self.net.lock();
        if state.rank_state(rank) == RankState::Absent {
            return Err(SimError::NoSuchRank { rank, ranks });
        }
        let sender = state.connect(self.station, target)?;
        drop(state);
        if let Some(count) = self.net.accept_count_of(target) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(sender)
    }

    /// The next connection that a peer has made to this VCI: the peer and the receiving end.
    pub fn accept(&self) -> Option<(LinkIndex, RingReceiver)> {
        let (source, ring) = self.net.lock().accept(self.station)?;
        Some((
            self.peers().link(PeerIndex::new(source.rank), source.vci),
            ring,
        ))
    }

    /// How many connections peers have made to this VCI so far, whether accepted or not. Cheap.
    pub fn accept_count(&self) -> u32 {
        let count = self.net.accept_count_of(self.station);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Lets the network work and other ranks run, until this rank has its next turn.
    ///
    /// # Errors
    /// When a cell described payload outside its ring (all ranks get this error), or the rank has
    /// left.
    pub fn poll(&self) -> Result<Fate, SimError> {
        let (net, rank) = (&self.net, self.station.rank);
        let mut state = net.lock();
        if state.rank_state(rank) == RankState::Dying && state.baton == Some(rank) {
            return Ok(Fate::Dead);
        }
        // Another thread of this rank may have passed the baton on.
        if state.baton == Some(rank) && state.fault.is_none() {
            state.end_turn(rank);
            net.announce(&state);
        }
        let state = net.wait_for_turn(state, rank)?;
        Ok(match state.rank_state(rank) {
            RankState::Dying => Fate::Dead,
            _ => Fate::Alive,
        })
    }

    /// The present virtual time.
    pub fn now_ns(&self) -> u64 {
        self.net.now_ns()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if self.station.vci == VciIndex::FIRST {
            self.net.leave(self.station.rank);
        }
    }
}

/// Takes a rank off its network when dropped.
#[must_use = "the rank leaves at once if this is not kept"]
pub struct Leave {
    net: Arc<SimNet>,
    rank: u32,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.net.leave(self.rank);
    }
}
