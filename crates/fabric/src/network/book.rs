// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all contexts of a process know together: the processes on other nodes, the addresses of their contexts, and failures.
//!
//! Its lock is the innermost one: a thread that holds it takes no other. The atomics beside it only say that looking is worth while;
//! what they announce is read under the lock, so relaxed loads and stores suffice, and a thread that misses one sees it in its next poll.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sys::random;
use sys::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::card::Card;
use super::fault::Fault;
use super::frame::{Kind, token};
use super::peer::RemoteProcess;
use crate::identity::PeerIndex;
use crate::segment::Segment;

/// Time for the cards of the other nodes to arrive.
const CARDS_LIMIT: Duration = Duration::from_secs(60);

/// A frame from context 0 to context 0 of a process: one of [`Kind::Ask`] or [`Kind::Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) to: PeerIndex,
    pub(super) kind: Kind,
    /// As in [`Kind::Ask`] and [`Kind::Address`].
    pub(super) contexts: [u8; 2],
    pub(super) address: Vec<u8>,
}

/// What all contexts of a process know together.
pub(super) struct Book {
    pub(super) segment: Arc<Segment>,
    pub(super) me: PeerIndex,
    nonce: u64,
    provider: String,
    /// Whether the provider's addresses are those of the internet protocol.
    is_internet: bool,
    /// Contexts of this process: VCI `v` uses number `v` modulo this.
    pub(super) contexts: u8,
    /// One bit for each context that could not be opened: context 0 stands in for it, from its first use on and for ever.
    replaced: AtomicU64,
    /// Counts the addresses that have come, and the processes that were lost.
    news: AtomicU32,
    fault_count: AtomicUsize,
    has_controls: AtomicBool,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    processes: HashMap<PeerIndex, Arc<RemoteProcess>>,
    /// The addresses of contexts of processes; those of contexts 0 are on the cards.
    addresses: HashMap<(PeerIndex, u8), Vec<u8>>,
    /// Processes that do not answer.
    lost: HashSet<PeerIndex>,
    /// Frames that context 0 is to send.
    controls: VecDeque<Control>,
    /// Failures, each of which the next poll of each VCI tells.
    faults: Vec<Fault>,
}

impl Book {
    pub(super) fn new(
        segment: Arc<Segment>,
        me: PeerIndex,
        provider: &str,
        is_internet: bool,
        contexts: u8,
    ) -> io::Result<Self> {
        Ok(Self {
            segment,
            me,
            nonce: random::random_word()?,
            provider: provider.to_owned(),
            is_internet,
            contexts: contexts.max(1),
            replaced: AtomicU64::new(0),
            news: AtomicU32::new(0),
            fault_count: AtomicUsize::new(0),
            has_controls: AtomicBool::new(false),
            entries: Mutex::default(),
        })
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes how this process is reached.
    pub(super) fn publish(&self, address: Vec<u8>) -> io::Result<()> {
        let vcis = &self.segment.board(self.me).vci_count;
        let card = Card {
            nonce: self.nonce,
            vcis: vcis.load(Ordering::Relaxed) as u8,
            contexts: self.contexts,
            provider: self.provider.clone(),
            address,
        };
        self.segment.publish_card(self.me, &card.to_bytes()?)
    }

    /// Connections that may wait at a context of a rank at once: one of each VCI of the other nodes' ranks, and one to check it.
    pub(super) fn most_waiting(&self) -> u64 {
        let job = self.segment.job();
        let others = u64::from(job.job_ranks - job.local_ranks);
        let vcis = self
            .segment
            .board(self.me)
            .vci_count
            .load(Ordering::Relaxed);
        2 * others * u64::from(vcis.max(1))
    }

    /// Notes that context 0 stands in for another one.
    pub(super) fn replace(&self, context: u8) {
        self.replaced.fetch_or(1 << context, Ordering::Relaxed);
    }

    /// Whether frames for a VCI of this process come to a context.
    pub(super) fn serves(&self, context: u8, vci: u8) -> bool {
        let wanted = vci % self.contexts;
        wanted == context
            || context == 0 && self.replaced.load(Ordering::Relaxed) >> wanted & 1 != 0
    }

    /// A process on another node; waits until its card is here.
    pub(super) fn process(&self, rank: PeerIndex) -> io::Result<Arc<RemoteProcess>> {
        if let Some(known) = self.known(rank) {
            return Ok(known);
        }
        let card = self.card(rank)?;
        let (token_out, token_in) = self.tokens(rank, &card);
        let process = RemoteProcess {
            host: self.host(rank),
            card,
            token_out,
            token_in,
        };
        let mut entries = self.entries();
        let known = entries.processes.entry(rank);
        Ok(known.or_insert_with(|| Arc::new(process)).clone())
    }

    /// A process on another node that is known.
    pub(super) fn known(&self, rank: PeerIndex) -> Option<Arc<RemoteProcess>> {
        self.entries().processes.get(&rank).cloned()
    }

    /// Whether a token proves that a frame is of this rank. A rank that cannot be reached proves nothing.
    pub(super) fn is_member(&self, rank: PeerIndex, given: u64) -> bool {
        if rank.get() >= self.segment.processes() || self.segment.is_here(rank) {
            return false;
        }
        if let Some(process) = self.known(rank) {
            return process.token_in == given;
        }
        let card = self.card_here(rank);
        card.is_ok_and(|card| card.is_some_and(|card| self.tokens(rank, &card).1 == given))
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
        let host = self.host(rank);
        io::Error::other(format!(
            "rank {rank} on host {host} cannot be reached from rank {}: {why}",
            self.me
        ))
    }

    pub(super) fn host(&self, rank: PeerIndex) -> String {
        self.segment.host(self.segment.node_of(rank))
    }

    /// The address of a context of a process, if it is known.
    pub(super) fn address(
        &self,
        rank: PeerIndex,
        process: &RemoteProcess,
        context: u8,
    ) -> Option<Vec<u8>> {
        match context {
            0 => Some(process.card.address.clone()),
            _ => self.entries().addresses.get(&(rank, context)).cloned(),
        }
    }

    /// Takes in the address of a context that a member of the job has named; false when it cannot be the address of that context.
    #[must_use]
    pub(super) fn learn(
        &self,
        rank: PeerIndex,
        process: &RemoteProcess,
        context: u8,
        named: &[u8],
    ) -> bool {
        let card = &process.card;
        let address = card.address_of_context(named, self.is_internet);
        let Some(address) = address.filter(|_| context < card.contexts) else {
            return false;
        };
        if context == 0 {
            return address == card.address;
        }
        let mut entries = self.entries();
        // A context keeps its address as long as the process lives.
        let known = entries.addresses.entry((rank, context));
        let is_same = *known.or_insert_with(|| address.clone()) == address;
        drop(entries);
        self.news.fetch_add(1, Ordering::Relaxed);
        is_same
    }

    /// Notes that a process does not answer: what waits for addresses of it waits in vain.
    pub(super) fn lose(&self, rank: PeerIndex) {
        self.entries().lost.insert(rank);
        self.news.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_lost(&self, rank: PeerIndex) -> bool {
        self.entries().lost.contains(&rank)
    }

    /// Changes when an address has come, or a process was lost.
    pub(super) fn news(&self) -> u32 {
        self.news.load(Ordering::Relaxed)
    }

    /// Has context 0 send a frame, once.
    pub(super) fn send_by_first(&self, control: Control) {
        let mut entries = self.entries();
        if !entries.controls.contains(&control) {
            entries.controls.push_back(control);
        }
        self.has_controls.store(true, Ordering::Relaxed);
    }

    /// Whether context 0 has frames to send.
    pub(super) fn has_controls(&self) -> bool {
        self.has_controls.load(Ordering::Relaxed)
    }

    /// The frames that context 0 has to send.
    pub(super) fn take_controls(&self) -> VecDeque<Control> {
        let mut entries = self.entries();
        self.has_controls.store(false, Ordering::Relaxed);
        std::mem::take(&mut entries.controls)
    }

    /// Notes a failure.
    pub(super) fn fail(&self, fault: Fault) {
        let mut entries = self.entries();
        entries.faults.push(fault);
        self.fault_count
            .store(entries.faults.len(), Ordering::Relaxed);
    }

    /// The failures beyond the first `told`.
    pub(super) fn faults_after(&self, told: usize) -> Vec<Fault> {
        if self.fault_count.load(Ordering::Relaxed) <= told {
            return Vec::new();
        }
        let entries = self.entries();
        entries.faults.get(told..).unwrap_or_default().to_vec()
    }
}
