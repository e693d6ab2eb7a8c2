// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the lock of a context protects: its endpoint, its peers, polls, and the end.
#![expect(unsafe_code, reason = "frames are memory of the library")]

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sys::memory;

use super::Network;
use super::book::Book;
use super::contact::{ContactPlan, Contacts};
use super::control::Wanted;
use super::fault::Fault;
use super::frame::{CELL_BYTES, FRAME_BYTES, HEADER_BYTES};
use super::peer::{Doorway, Peer, PeerKey, RemoteProcess};
use super::put::{PUTS, Puts};
use crate::identity::{PeerIndex, VciIndex};
use crate::ofi::{Chosen, Completion, Endpoint, Library, Next, queue_bytes, receive_bytes};
use crate::ring::{Feedback, PayloadRule, RingReceiver, RingSender, mirrored_sender};

/// Cells of a ring to another node.
pub(super) const RING_CELLS: u32 = 256;
/// Bytes of the payload area of a ring to another node.
pub(super) const RING_PAYLOAD_BYTES: u32 = 256 << 10;
/// Sends of a context under way at once.
pub(super) const SENDS: u32 = 128;
/// Bytes of the buffer of a send: its header, its cells, and small payload.
pub(super) const SLOT_BYTES: usize = 2048;
/// Memory of a peer that messages go to and come from: both rings.
const PEER_BYTES: usize = 2 * (RING_CELLS as usize * CELL_BYTES + RING_PAYLOAD_BYTES as usize);
/// Memory for a rank with one context that talks to this many peers on other nodes, beside libfabric's: it is bounded whatever the size of
/// the job.
const FEW_PEERS: usize = 8;
const _: () = assert!(
    receive_bytes(FRAME_BYTES)
        + queue_bytes(HEADER_BYTES, SENDS + PUTS)
        + SENDS as usize * SLOT_BYTES
        + FEW_PEERS * PEER_BYTES
        <= 7 << 20,
    "a rank with few peers takes little memory"
);

/// Time after which an address is requested again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Endpoint and state of a context.
pub(super) struct Net {
    pub(super) endpoint: Endpoint,
    pub(super) state: State,
}

/// All but the endpoint.
pub(super) struct State {
    pub(super) book: Arc<Book>,
    /// The number of the context.
    pub(super) index: u8,
    /// Its address.
    pub(super) address: Vec<u8>,
    /// The network that this state belongs to, for entrances of links.
    pub(super) network: *const Network,
    pub(super) payload_rules: &'static [PayloadRule],
    pub(super) peers: Vec<Peer>,
    known: HashMap<PeerKey, usize>,
    /// Numbers of the contexts of processes in the address vector.
    routes: HashMap<(PeerIndex, u8), u64>,
    /// Peers to whom something is to be sent.
    pub(super) pending: Vec<usize>,
    /// Peers the address of whose contexts has not come.
    pub(super) unresolved: Vec<usize>,
    /// [`Book::news`] when they were last checked.
    seen: u32,
    /// When their addresses were last requested.
    asked: Instant,
    /// Requests for addresses of this process that [`Network`] has to answer; only at context 0.
    pub(super) wanted: Vec<Wanted>,
    /// Peers that were not heard of yet.
    pub(super) contacts: Contacts,
    /// Rings from new peers, for [`Net::accept`].
    pub(super) accepted: Vec<(PeerKey, RingReceiver)>,
    /// Buffers of sends: where they lie, which are free, and whose the others are.
    pub(super) slots: NonNull<u8>,
    pub(super) slots_desc: *mut std::ffi::c_void,
    pub(super) free: Vec<u32>,
    pub(super) owners: Vec<Owner>,
    /// The VCIs and tokens of payload in the memory of the program that they send.
    pub(super) zero_copies: Vec<Option<(VciIndex, u64)>>,
    pub(super) puts: Puts,
    /// The VCI that polls.
    pub(super) polling: Option<VciIndex>,
    /// The peer whose payload is lent to its ring.
    pub(super) lent: Option<usize>,
    /// Frames of processes that do not belong to the job, until a VCI counts them.
    pub(super) outsiders: u64,
    /// When this rank began to say farewell.
    leaving: bool,
}

/// Whom a send under way goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// There is none.
    Nobody,
    /// A peer, by its number.
    Peer(usize),
    /// Context 0 of a process.
    Process(PeerIndex),
}

// SAFETY: the slots belong to the state; everything is used under the lock of the context.
unsafe impl Send for State {}

impl Net {
    /// Opens a context.
    ///
    /// # Errors
    /// When the provider offers too little, and the library's errors, with the call.
    pub(super) fn open(
        library: &'static Library,
        chosen: &Chosen<'_>,
        book: Arc<Book>,
        index: u8,
        payload_rules: &'static [PayloadRule],
        contacts: &ContactPlan,
    ) -> io::Result<Self> {
        let mut endpoint =
            Endpoint::open(library, chosen, HEADER_BYTES..=FRAME_BYTES, SENDS + PUTS)?;
        if endpoint.most_parts() < 2 {
            return Err(io::Error::other(format!(
                "provider {} takes messages of one part only",
                chosen.offer.provider
            )));
        }
        let bytes = SENDS as usize * SLOT_BYTES;
        let slots = memory::map_private(bytes)?;
        let slots_desc = endpoint.register(slots, bytes)?;
        let address = endpoint.address()?;
        let contacts = Contacts::new(contacts, &address);
        Ok(Self {
            endpoint,
            state: State {
                book,
                index,
                address,
                network: std::ptr::null(),
                payload_rules,
                peers: Vec::new(),
                known: HashMap::new(),
                routes: HashMap::new(),
                pending: Vec::new(),
                unresolved: Vec::new(),
                seen: 0,
                asked: Instant::now(),
                wanted: Vec::new(),
                contacts,
                accepted: Vec::new(),
                slots,
                slots_desc,
                free: (0..SENDS).collect(),
                owners: vec![Owner::Nobody; SENDS as usize],
                zero_copies: vec![None; SENDS as usize],
                puts: Puts::new()?,
                polling: None,
                lent: None,
                outsiders: 0,
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
        if self.state.peers[peer].sequence_in == 0 {
            self.state.contacts.expect(peer, Instant::now());
        }
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

    /// Reads what arrived and sends what waits; returns the number of events. That a peer cannot be reached or breaks the protocol, and the
    /// library's errors, are noted as failures.
    ///
    /// Payload that arrives for `vci`, the VCI whose lock the thread holds, may be lent to its ring until [`Self::take_back`].
    pub(super) fn poll(&mut self, vci: Option<VciIndex>) -> usize {
        self.take_back();
        self.state.polling = vci;
        self.try_poll().unwrap_or_else(|error| {
            self.state.book.fail(Fault::of(&error));
            0
        })
    }

    /// The VCI to which payload is lent. Only its threads may poll: another one would take back what they read.
    pub(super) fn borrower(&self) -> Option<VciIndex> {
        let lent = self.state.lent?;
        Some(self.state.peers[lent].key.here)
    }

    /// Ends the loan of payload.
    pub(super) fn take_back(&mut self) {
        let Self { endpoint, state } = self;
        let Some(peer) = state.lent.take() else {
            return;
        };
        if let Some(into) = &state.peers[peer].into {
            into.take_back();
        }
        if let Err(error) = endpoint.give_back() {
            state.book.fail(Fault::of(&error));
        }
    }

    fn try_poll(&mut self) -> io::Result<usize> {
        let Self { endpoint, state } = self;
        // The cards prove who sends. Until they are here, nothing has been sent from here, and what arrives stays with the library.
        if !state.book.segment.cards_are_ready() {
            return Ok(0);
        }
        let events = endpoint.poll(|endpoint, completion| match completion {
            Completion::Sent(number) if number < SENDS => {
                state.release(number);
                Ok(Next::GoOn)
            }
            Completion::Sent(number) => {
                state.ended_put(endpoint, (number - SENDS) as usize)?;
                Ok(Next::GoOn)
            }
            Completion::Failed(number, error) => {
                let reason = endpoint.reason(error);
                state.failed(number, &reason)?;
                Ok(Next::GoOn)
            }
            Completion::Arrived(arrived) => {
                // SAFETY: the endpoint says that the message has these bytes, which stay until the closure returns, and until the loan of
                // one ends (`Next::Keep`).
                let frame =
                    unsafe { std::slice::from_raw_parts(arrived.start.as_ptr(), arrived.bytes) };
                state.arrived(endpoint, frame)?;
                Ok(match state.lent {
                    Some(_) => Next::Keep,
                    None => Next::GoOn,
                })
            }
        })?;
        state.resolve(endpoint);
        if state.contacts.are_due() {
            state.check_contacts();
        }
        if state.index == 0 {
            state.send_controls(endpoint);
        }
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
    /// Until then it has to be polled and called again; then [`Self::rest`].
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
        is_finished &= state.index != 0 || !state.book.has_controls();
        is_finished &= state.free.len() == SENDS as usize && state.puts.are_none();
        is_finished
    }

    /// All contexts have said farewell; the next cells begin anew.
    pub(super) fn rest(&mut self) {
        self.state.leaving = false;
        for peer in &mut self.state.peers {
            (peer.is_leaving, peer.is_active) = (false, false);
        }
    }
}

impl State {
    /// The number of a peer, made known where it is not yet.
    pub(super) fn peer(&mut self, endpoint: &mut Endpoint, key: PeerKey) -> io::Result<usize> {
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let process = self.book.process(key.process)?;
        let context = process.context_of(key.there);
        let to = self.route(endpoint, key.process, &process, context)?;
        let index = self.peers.len();
        if to.is_none() {
            self.unresolved.push(index);
            self.ask(key.process, context);
            self.asked = Instant::now();
        }
        self.peers.push(Peer {
            key,
            process,
            to,
            out: None,
            out_desc: std::ptr::null_mut(),
            zero_copy: VecDeque::new(),
            into: None,
            put_bytes: 0,
            sequence_out: 0,
            sequence_in: 0,
            ahead: HashMap::new(),
            told: Feedback::default(),
            is_pending: false,
            owes_feedback: false,
            is_active: false,
            farewells_out: 0,
            farewells_in: 0,
            is_leaving: false,
            owes_farewell: false,
            is_gone: false,
            doorway: Box::new(Doorway::new(self.network, self.index, index)),
        });
        self.known.insert(key, index);
        Ok(index)
    }

    /// The number of a known peer.
    pub(super) fn known(&self, key: PeerKey) -> Option<usize> {
        self.known.get(&key).copied()
    }

    /// The number of a context of a process in the address vector; `None` while its address is not known.
    pub(super) fn route(
        &mut self,
        endpoint: &mut Endpoint,
        rank: PeerIndex,
        process: &RemoteProcess,
        context: u8,
    ) -> io::Result<Option<u64>> {
        let Some(address) = self.book.address(rank, process, context) else {
            return Ok(None);
        };
        // Context 0 may stand in for others; it is one endpoint all the same.
        let is_first = address == process.card.address;
        let route = (rank, if is_first { 0 } else { context });
        if let Some(&number) = self.routes.get(&route) {
            return Ok(Some(number));
        }
        let number = endpoint.insert(&address)?;
        self.routes.insert(route, number);
        Ok(Some(number))
    }

    /// Sends what has waited for addresses that have come. What waits for a lost process is dropped.
    fn resolve(&mut self, endpoint: &mut Endpoint) {
        if self.unresolved.is_empty() {
            return;
        }
        // A network tells of a lost process only when something is sent there. The answer to a request that comes twice is the same.
        if self.asked.elapsed() > ASK_AGAIN {
            self.asked = Instant::now();
            for &peer in &self.unresolved {
                let Peer { key, process, .. } = &self.peers[peer];
                self.ask(key.process, process.context_of(key.there));
            }
        }
        let news = self.book.news();
        if news == self.seen {
            return;
        }
        self.seen = news;
        for peer in std::mem::take(&mut self.unresolved) {
            let known = &self.peers[peer];
            let (rank, process) = (known.key.process, known.process.clone());
            let context = process.context_of(known.key.there);
            match self.route(endpoint, rank, &process, context) {
                Ok(Some(to)) => {
                    self.peers[peer].to = Some(to);
                    self.push(endpoint, peer);
                }
                Ok(None) if self.book.is_lost(rank) => self.peers[peer].is_gone = true,
                Ok(None) => self.unresolved.push(peer),
                Err(error) => {
                    self.peers[peer].is_gone = true;
                    let host = &process.host;
                    let text = format!(
                        "context {context} of rank {rank} on host {host} cannot be reached: {error}"
                    );
                    let is_loss = false;
                    self.book.fail(Fault { text, is_loss });
                }
            }
        }
    }

    /// A send has left its buffer.
    pub(super) fn release(&mut self, slot: u32) {
        self.owners[slot as usize] = Owner::Nobody;
        if let Some(ended) = self.zero_copies[slot as usize].take() {
            self.puts.ended.push(ended);
        }
        self.free.push(slot);
    }

    /// A send or put has failed.
    pub(super) fn failed(&mut self, number: u32, reason: &str) -> io::Result<()> {
        let owner = match number.checked_sub(SENDS) {
            Some(slot) => self
                .failed_put(slot as usize)
                .map_or(Owner::Nobody, Owner::Peer),
            None => {
                let owner = self.owners[number as usize];
                self.release(number);
                owner
            }
        };
        let rank = match owner {
            Owner::Nobody => return Ok(()),
            Owner::Peer(peer) => {
                self.peers[peer].is_gone = true;
                self.peers[peer].key.process
            }
            Owner::Process(rank) => {
                self.book.lose(rank);
                rank
            }
        };
        if self.leaving {
            return Ok(());
        }
        let host = self.book.host(rank);
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
