// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the lock of a network protects: peers, polls, and the end.
#![expect(unsafe_code, reason = "frames are memory of the library")]

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sys::sync::Ordering;
use sys::{memory, random};

use super::Network;
use super::card::Card;
use super::fault::Fault;
use super::frame::{CELL_BYTES, FRAME_BYTES, HEADER_BYTES, token};
use super::peer::{Doorway, Peer, PeerKey, RemoteProcess};
use super::put::{PUTS, Puts};
use crate::identity::{PeerIndex, VciIndex};
use crate::ofi::{Choice, Completion, Endpoint, Library, RECEIVE_BYTES, choose, queue_bytes};
use crate::ring::{Feedback, PayloadRule, RingReceiver, RingSender, mirrored_sender};
use crate::segment::Segment;

/// Cells of a ring to another node.
pub(super) const RING_CELLS: u32 = 256;
/// Bytes of the payload area of a ring to another node.
pub(super) const RING_PAYLOAD_BYTES: u32 = 256 << 10;
/// Sends under way at once.
pub(super) const SENDS: u32 = 128;
/// Bytes of the buffer of a send: its header, its cells, and small payload.
pub(super) const SLOT_BYTES: usize = 2048;
/// Memory of a peer that messages go to and come from: both rings.
const PEER_BYTES: usize = 2 * (RING_CELLS as usize * CELL_BYTES + RING_PAYLOAD_BYTES as usize);
/// Memory for a rank that talks to this many peers on other nodes, beside libfabric's: it is bounded whatever the size of the job.
const FEW_PEERS: usize = 8;
const _: () = assert!(
    RECEIVE_BYTES
        + queue_bytes(HEADER_BYTES, SENDS + PUTS)
        + SENDS as usize * SLOT_BYTES
        + FEW_PEERS * PEER_BYTES
        <= 7 << 20,
    "a rank with few peers takes little memory"
);
/// Time for the cards of the other nodes to arrive.
const CARDS_LIMIT: Duration = Duration::from_secs(60);

/// The user's choice for a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetPlan<'a> {
    /// The library (`RANKPOINT_LIBFABRIC`).
    pub library: Option<&'a OsStr>,
    /// Provider and interface.
    pub choice: Choice<'a>,
    /// Which cells describe payload.
    pub payload_rules: &'static [PayloadRule],
}

/// Endpoint and state of a network.
pub(super) struct Net {
    pub(super) endpoint: Endpoint,
    pub(super) state: State,
}

/// All but the endpoint.
pub(super) struct State {
    pub(super) segment: Arc<Segment>,
    pub(super) me: PeerIndex,
    /// The network that this state belongs to, for entrances of links.
    pub(super) network: *const Network,
    nonce: u64,
    provider: String,
    pub(super) payload_rules: &'static [PayloadRule],
    pub(super) peers: Vec<Peer>,
    known: HashMap<PeerKey, usize>,
    processes: HashMap<PeerIndex, Arc<RemoteProcess>>,
    /// Peers to whom something is to be sent.
    pub(super) pending: Vec<usize>,
    /// Rings from new peers, for [`Net::accept`].
    pub(super) accepted: Vec<(PeerKey, RingReceiver)>,
    /// Buffers of sends: where they lie, which are free, and whose the others are.
    pub(super) slots: NonNull<u8>,
    pub(super) slots_desc: *mut std::ffi::c_void,
    pub(super) free: Vec<u32>,
    pub(super) owners: Vec<usize>,
    pub(super) puts: Puts,
    /// Frames of processes that do not belong to the job, until a VCI counts them.
    pub(super) outsiders: u64,
    /// Failures, each of which the next poll of each VCI tells.
    pub(super) faults: Vec<Fault>,
    /// When this rank began to say farewell.
    leaving: bool,
}

// SAFETY: the slots belong to the state; everything is used under the lock of the network.
unsafe impl Send for State {}

/// The library, opened once in a process.
fn library(path: Option<&OsStr>) -> io::Result<&'static Library> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| Library::open(path).map_err(|error| error.to_string()));
    opened
        .as_ref()
        .map_err(|error| io::Error::other(error.clone()))
}

impl Net {
    /// Opens the network of world rank `me` and publishes its card.
    ///
    /// # Errors
    /// When libfabric is not there or offers nothing that fits, and its own errors.
    pub(super) fn open(
        segment: Arc<Segment>,
        me: PeerIndex,
        plan: &NetPlan<'_>,
    ) -> io::Result<Self> {
        let library = library(plan.library)?;
        let chosen = choose(library, &plan.choice)?;
        let mut endpoint =
            Endpoint::open(library, &chosen, HEADER_BYTES..=FRAME_BYTES, SENDS + PUTS)?;
        if endpoint.most_parts() < 2 {
            return Err(io::Error::other(format!(
                "provider {} takes messages of one part only",
                chosen.offer.provider
            )));
        }
        let bytes = SENDS as usize * SLOT_BYTES;
        let slots = memory::map_private(bytes)?;
        let slots_desc = endpoint.register(slots, bytes)?;
        let card = Card {
            nonce: random::random_word()?,
            vcis: segment.board(me).vci_count.load(Ordering::Relaxed) as u16,
            provider: chosen.offer.provider.clone(),
            address: endpoint.address()?,
        };
        segment.publish_card(me, &card.to_bytes()?)?;
        Ok(Self {
            endpoint,
            state: State {
                segment,
                me,
                network: std::ptr::null(),
                nonce: card.nonce,
                provider: card.provider,
                payload_rules: plan.payload_rules,
                peers: Vec::new(),
                known: HashMap::new(),
                processes: HashMap::new(),
                pending: Vec::new(),
                accepted: Vec::new(),
                slots,
                slots_desc,
                free: (0..SENDS).collect(),
                owners: vec![usize::MAX; SENDS as usize],
                puts: Puts::new()?,
                outsiders: 0,
                faults: Vec::new(),
                leaving: false,
            },
        })
    }

    /// Makes the ring to a peer; returns its sending end and its entrance, which lives as long as the network.
    ///
    /// # Errors
    /// When the process's card does not come or does not fit, or there is no memory.
    pub(super) fn connect(&mut self, key: PeerKey) -> io::Result<(RingSender, NonNull<Doorway>)> {
        let peer = self.state.peer(&mut self.endpoint, key)?;
        let ring = mirrored_sender(RING_CELLS, RING_PAYLOAD_BYTES);
        let (sender, source) = ring.ok_or(io::ErrorKind::OutOfMemory)?;
        let (start, bytes) = source.memory();
        let desc = self.endpoint.register(start, bytes)?;
        let peer = &mut self.state.peers[peer];
        (peer.out, peer.out_desc) = (Some(source), desc);
        Ok((sender, NonNull::from(&*peer.doorway)))
    }

    /// Sends what the link to a peer has published.
    pub(super) fn push(&mut self, peer: usize) {
        self.state.push(&mut self.endpoint, peer);
    }

    /// The rings that peers of a VCI have made since the last call, and the peers.
    pub(super) fn accept(&mut self, vci: VciIndex) -> Vec<(PeerKey, RingReceiver)> {
        let accepted = &mut self.state.accepted;
        accepted
            .extract_if(.., |(key, _)| key.here == vci)
            .collect()
    }

    /// The failures that a VCI has not been told of, of which it knows `told`.
    pub(super) fn faults_after(&self, told: usize) -> &[Fault] {
        self.state.faults.get(told..).unwrap_or_default()
    }

    /// Reads what arrived and sends what waits; returns the number of events. That a peer cannot be reached or breaks the protocol, and the
    /// library's errors, are noted as failures.
    pub(super) fn poll(&mut self) -> usize {
        self.try_poll().unwrap_or_else(|error| {
            self.state.faults.push(Fault::of(&error));
            0
        })
    }

    fn try_poll(&mut self) -> io::Result<usize> {
        let Self { endpoint, state } = self;
        // The cards prove who sends. Until they are here, nothing has been sent from here, and what arrives stays with the library.
        if !state.segment.cards_are_ready() {
            return Ok(0);
        }
        let events = endpoint.poll(|endpoint, completion| match completion {
            Completion::Sent(number) if number < SENDS => {
                state.release(number);
                Ok(())
            }
            Completion::Sent(number) => state.ended_put(endpoint, (number - SENDS) as usize),
            Completion::Failed(number, error) => {
                let reason = endpoint.reason(error);
                state.failed(number, &reason)
            }
            Completion::Arrived(arrived) => {
                // SAFETY: the endpoint says that the message has these bytes, which stay until the closure returns.
                let frame =
                    unsafe { std::slice::from_raw_parts(arrived.start.as_ptr(), arrived.bytes) };
                state.arrived(endpoint, frame)
            }
        })?;
        for peer in std::mem::take(&mut state.pending) {
            state.peers[peer].is_pending = false;
            state.push(endpoint, peer);
        }
        state.start_puts(endpoint)?;
        Ok(events)
    }

    /// Tells a rank of room in the ring from it: with the next frame to it, or in the next poll. A rank that makes room a second time
    /// before that is told at once, so most of the ring is never withheld from it while this rank computes.
    pub(super) fn tell_of_room(&mut self, key: PeerKey) {
        let Self { endpoint, state } = self;
        let Some(&peer) = state.known.get(&key) else {
            return;
        };
        let known = &mut state.peers[peer];
        if std::mem::replace(&mut known.owes_feedback, true) {
            state.push(endpoint, peer);
        } else {
            state.defer(peer);
        }
    }

    /// Says farewell to all peers that it has exchanged cells with; true when nothing is under way any longer in either direction.
    /// Until then it has to be polled and called again.
    pub(super) fn is_finished(&mut self) -> bool {
        let Self { endpoint, state } = self;
        state.leaving = true;
        let mut is_finished = true;
        for peer in 0..state.peers.len() {
            let known = &mut state.peers[peer];
            if known.is_active && !known.is_leaving {
                (known.is_leaving, known.owes_farewell) = (true, true);
            }
            state.push(endpoint, peer);
            let known = &state.peers[peer];
            let is_quiet = known.out.as_ref().is_none_or(|out| out.peek().is_none());
            let is_even = known.farewells_in >= known.farewells_out && !known.owes_farewell;
            is_finished &= known.is_gone || (is_quiet && is_even);
        }
        is_finished &= state.free.len() == SENDS as usize && state.puts.are_none();
        if is_finished {
            state.leaving = false;
            for peer in &mut state.peers {
                (peer.is_leaving, peer.is_active) = (false, false);
            }
        }
        is_finished
    }
}

impl State {
    /// The number of a peer, made known where it is not yet.
    pub(super) fn peer(&mut self, endpoint: &mut Endpoint, key: PeerKey) -> io::Result<usize> {
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let process = self.process(endpoint, key.process)?.clone();
        let index = self.peers.len();
        self.peers.push(Peer {
            key,
            process,
            out: None,
            out_desc: std::ptr::null_mut(),
            into: None,
            sequence_out: 0,
            sequence_in: 0,
            told: Feedback::default(),
            is_pending: false,
            owes_feedback: false,
            is_active: false,
            farewells_out: 0,
            farewells_in: 0,
            is_leaving: false,
            owes_farewell: false,
            is_gone: false,
            doorway: Box::new(Doorway::new(self.network, index)),
        });
        self.known.insert(key, index);
        Ok(index)
    }

    /// The number of a known peer.
    pub(super) fn known(&self, key: PeerKey) -> Option<usize> {
        self.known.get(&key).copied()
    }

    /// A process on another node.
    pub(super) fn process(
        &mut self,
        endpoint: &mut Endpoint,
        rank: PeerIndex,
    ) -> io::Result<&Arc<RemoteProcess>> {
        if !self.processes.contains_key(&rank) {
            let card = self.card(rank)?;
            let (token_out, token_in) = self.tokens(rank, &card);
            let process = RemoteProcess {
                host: self.segment.host(self.segment.node_of(rank)),
                address: endpoint.insert(&card.address)?,
                token_out,
                token_in,
            };
            self.processes.insert(rank, Arc::new(process));
        }
        Ok(&self.processes[&rank])
    }

    /// A process on another node that is known.
    pub(super) fn process_of(&self, rank: PeerIndex) -> Option<&RemoteProcess> {
        self.processes.get(&rank).map(|process| &**process)
    }

    /// The tokens of frames to a rank and from it.
    pub(super) fn tokens(&self, rank: PeerIndex, card: &Card) -> (u64, u64) {
        let secret = self.segment.secret();
        let (here, there) = ((self.me.get(), self.nonce), (rank.get(), card.nonce));
        (token(secret, here, there), token(secret, there, here))
    }

    /// The card of a rank; waits until all cards are here.
    pub(super) fn card(&self, rank: PeerIndex) -> io::Result<Card> {
        let begin = Instant::now();
        loop {
            if let Some(card) = self.card_here(rank)? {
                return Ok(card);
            }
            if self.segment.header().death.load(Ordering::Relaxed) != 0 {
                return Err(self.refusal(rank, "another rank of the job died"));
            }
            if begin.elapsed() > CARDS_LIMIT {
                let why = "it has not called MPI_Init, or its card did not come";
                return Err(self.refusal(rank, why));
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// The card of a rank, if it is here.
    pub(super) fn card_here(&self, rank: PeerIndex) -> io::Result<Option<Card>> {
        if !self.segment.cards_are_ready() {
            return Ok(None);
        }
        let found = self.segment.find_card(rank);
        let bytes = found.map_err(|error| self.refusal(rank, &error.to_string()))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let card = Card::parse(&bytes).map_err(|why| self.refusal(rank, &why))?;
        if card.provider != self.provider {
            let (theirs, own) = (&card.provider, &self.provider);
            let why =
                format!("its network is {theirs}, this rank's is {own}; set RANKPOINT_PROVIDER");
            return Err(self.refusal(rank, &why));
        }
        Ok(Some(card))
    }

    fn refusal(&self, rank: PeerIndex, why: &str) -> io::Error {
        let host = self.segment.host(self.segment.node_of(rank));
        io::Error::other(format!(
            "rank {rank} on host {host} cannot be reached from rank {}: {why}",
            self.me
        ))
    }

    /// A send has left its buffer.
    pub(super) fn release(&mut self, slot: u32) {
        self.owners[slot as usize] = usize::MAX;
        self.free.push(slot);
    }

    /// A send or put has failed.
    pub(super) fn failed(&mut self, number: u32, reason: &str) -> io::Result<()> {
        let owner = match number.checked_sub(SENDS) {
            Some(slot) => self.failed_put(slot as usize),
            None => {
                let owner = self.owners[number as usize];
                self.release(number);
                Some(owner)
            }
        };
        let Some(peer) = owner.and_then(|owner| self.peers.get_mut(owner)) else {
            return Ok(());
        };
        peer.is_gone = true;
        if self.leaving {
            return Ok(());
        }
        let (rank, host) = (peer.key.process, &peer.process.host);
        let text = format!("rank {rank} on host {host} cannot be reached any longer: {reason}");
        Err(Fault::loss(text).into())
    }

    /// Puts a peer on the list of those to whom something is to be sent.
    pub(super) fn defer(&mut self, peer: usize) {
        if !std::mem::replace(&mut self.peers[peer].is_pending, true) {
            self.pending.push(peer);
        }
    }
}
