// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network of a process: its contexts of libfabric, each used under a lock of its own.
//!
//! VCI `v` uses context `v` modulo their number. While there are as many contexts as VCIs, only the threads that hold the lock of VCI `v`
//! use context `v`, so its lock is free; where there are fewer, VCIs that share a context take turns at it. There are two exceptions, which
//! leave a lock alone that is taken. Every VCI polls context 0 now and then, because the addresses of the other contexts are requested
//! there, and a process must answer whichever of its VCIs makes progress. It also polls a context that no VCI has polled lately: a thread
//! that has sent and left MPI may have left frames there that the library did not take. A thread that polls writes what arrived into the rings of all VCIs of the context; these read their rings
//! without its lock.
//!
//! Order of locks: that of a VCI, that of one context, that of the book. No thread takes a lock of a context, or opens one, while it
//! holds another context's: what contexts tell each other goes through the book.
//!
//! Long payload that a thread finds for its own VCI stays in the receive buffer, and the thread reads it there in the same round of progress.
//! Until it has said that it is done ([`Network::take_back`]), threads of other VCIs leave the context alone as if its lock were taken.
#![expect(unsafe_code, reason = "links lead back to their network")]

use std::ffi::OsStr;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use sys::limits;
use sys::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::book::{Book, Control};
use super::contact::ContactPlan;
use super::control::Wanted;
use super::fault::Fault;
use super::frame::Kind;
use super::net::Net;
use super::peer::{Doorway, PeerKey};
use super::put::PutBegun;
use crate::identity::{PeerIndex, VciIndex};
use crate::ofi::{Choice, Chosen, Library, Opening, Sharing, choose};
use crate::ring::{PayloadRule, RingReceiver, RingSender};
use crate::segment::Segment;

/// The user's choice for a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetPlan<'a> {
    /// The library (`RANKPOINT_LIBFABRIC`).
    pub library: Option<&'a OsStr>,
    /// Provider and interface.
    pub choice: Choice<'a>,
    /// How VCIs share contexts.
    pub sharing: Sharing,
    /// Which cells describe payload.
    pub payload_rules: &'static [PayloadRule],
    /// How long the first contact with a peer may take (`RANKPOINT_CONTACT_TIMEOUT`); `None` for ever.
    pub contact_limit: Option<Duration>,
}

/// The network of a process.
pub struct Network {
    /// Context 0.
    first: Context,
    /// The others by their numbers, from 1 on; context 0 stands in for one that is `None`.
    others: Box<[OnceLock<Option<Context>>]>,
    /// Opens those that are not open.
    opener: Mutex<Opener>,
    pub(super) book: Arc<Book>,
    can_put: bool,
    puts_unattended: bool,
    sends_zero_copy: bool,
    /// One bit for each context beyond the first that is open.
    open: AtomicU64,
    /// The one that a VCI of another context checked last. Threads that meet here check the same one.
    last_checked: AtomicU32,
}

/// A domain, an endpoint, a completion queue and an address vector.
struct Context {
    net: Mutex<Net>,
    address: Vec<u8>,
    /// Whether a VCI of its own has polled it since others checked. A hint: a thread that errs polls once too often, or later.
    is_attended: AtomicBool,
}

/// What opening another context needs.
struct Opener {
    library: &'static Library,
    chosen: Chosen<'static>,
    payload_rules: &'static [PayloadRule],
    contacts: ContactPlan,
    /// Why a context could not be opened.
    refusal: Option<String>,
}

/// The contexts of a process, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextsInUse {
    /// Contexts that its VCIs take round-robin.
    pub planned: u32,
    /// Those that were opened.
    pub opened: u32,
    /// Why another one could not be opened, if one was tried in vain.
    pub refusal: Option<String>,
}

/// What a poll has found for a VCI.
#[derive(Default)]
pub struct Found {
    /// Events of its context, also for other VCIs.
    pub events: usize,
    /// Whether payload is lent to a ring of the VCI, until [`Network::take_back`] or the next poll.
    pub is_lent: bool,
    /// The rings that peers have made, and the peers.
    pub accepted: Vec<(PeerKey, RingReceiver)>,
    /// The tokens of puts that have ended.
    pub ended_puts: Vec<u64>,
    /// Frames that were dropped because their sender did not prove that it belongs to the job.
    pub outsiders: u64,
    /// Failures.
    pub faults: Vec<Fault>,
}

/// The library, opened once in a process.
fn library(path: Option<&OsStr>) -> io::Result<&'static Library> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| Library::open(path).map_err(|error| error.to_string()));
    opened
        .as_ref()
        .map_err(|error| io::Error::other(error.clone()))
}

/// Whether a provider makes TCP connections.
fn uses_tcp(provider: &str) -> bool {
    matches!(provider, "tcp" | "net" | "tcp;ofi_rxm")
}

/// The lock, also where a thread that held it has panicked.
fn taken<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock, if no other thread has it.
fn taken_if_free<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
    }
}

impl Network {
    /// Opens context 0 of a process and publishes its card.
    ///
    /// # Errors
    /// When libfabric is not there or offers nothing that fits, and its own errors.
    pub fn open(segment: Arc<Segment>, me: PeerIndex, plan: &NetPlan<'_>) -> io::Result<Arc<Self>> {
        let library = library(plan.library)?;
        let chosen = choose(library, &plan.choice)?;
        let provider = &chosen.offer.provider;
        let others = segment.job().job_ranks - segment.job().local_ranks;
        let contexts = plan
            .sharing
            .contexts(provider, limits::open_files_limit(), others);
        let is_internet = chosen.offer.address.is_some();
        let book = Arc::new(Book::new(segment, me, provider, is_internet, contexts)?);
        let opener = Opener {
            library,
            contacts: ContactPlan {
                limit: plan.contact_limit.filter(|_| uses_tcp(provider)),
                interface: chosen.offer.interface.clone(),
                waiting: book.most_waiting(),
            },
            chosen,
            payload_rules: plan.payload_rules,
            refusal: None,
        };
        let first = opener.open(&book, 0)?;
        book.publish(first.address.clone())?;
        let (can_put, puts_unattended) = taken(&first.net).can_put();
        let sends_zero_copy = taken(&first.net).sends_zero_copy();
        let network = Arc::new(Self {
            first,
            others: (1..contexts).map(|_| OnceLock::new()).collect(),
            opener: Mutex::new(opener),
            book,
            can_put,
            puts_unattended,
            sends_zero_copy,
            open: AtomicU64::new(0),
            last_checked: AtomicU32::new(0),
        });
        network.lock(0).state.network = Arc::as_ptr(&network);
        Ok(network)
    }

    /// Closes the contexts.
    ///
    /// # Safety
    /// Nobody uses the network any more.
    pub(crate) unsafe fn close(&self) {
        for context in self.opened() {
            // SAFETY: the caller's promise.
            unsafe { taken(&context.net).endpoint.close() };
        }
    }

    /// The contexts that are open.
    fn opened(&self) -> impl Iterator<Item = &Context> {
        let others = self.others.iter().filter_map(OnceLock::get).flatten();
        std::iter::once(&self.first).chain(others)
    }

    /// The context with a number, opened if it is not yet; context 0 where that fails.
    fn context(&self, number: u8) -> &Context {
        let other = usize::from(number).checked_sub(1);
        match other.and_then(|other| self.others.get(other)) {
            None => &self.first,
            Some(cell) => match cell.get() {
                Some(Some(context)) => context,
                Some(None) => &self.first,
                None => self.open_context(number, cell),
            },
        }
    }

    /// Opens a context; whether that works is decided here, once, so that all messages of a VCI take the same.
    #[cold]
    #[inline(never)]
    fn open_context<'a>(&'a self, number: u8, cell: &'a OnceLock<Option<Context>>) -> &'a Context {
        let mut opener = taken(&self.opener);
        let context = cell.get_or_init(|| match opener.open(&self.book, number) {
            Ok(context) => {
                taken(&context.net).state.network = self;
                self.open.fetch_or(1 << number, Ordering::Relaxed);
                Some(context)
            }
            Err(error) => {
                opener.refusal = Some(error.to_string());
                self.book.replace(number);
                None
            }
        });
        context.as_ref().unwrap_or(&self.first)
    }

    /// The context of a VCI.
    fn context_of(&self, vci: VciIndex) -> &Context {
        self.context(vci.get() % self.book.contexts)
    }

    /// The lock of the context with a number.
    pub(super) fn lock(&self, number: u8) -> MutexGuard<'_, Net> {
        taken(&self.context(number).net)
    }

    fn lock_of(&self, vci: VciIndex) -> MutexGuard<'_, Net> {
        taken(&self.context_of(vci).net)
    }

    /// The contexts, for reports.
    pub fn contexts_in_use(&self) -> ContextsInUse {
        ContextsInUse {
            planned: self.book.contexts.into(),
            opened: self.opened().count() as u32,
            refusal: taken(&self.opener).refusal.clone(),
        }
    }

    /// Makes the ring to a peer; returns its sending end and its entrance, which lives as long as the network.
    ///
    /// # Errors
    /// When the process's card does not come or does not fit, or there is no memory.
    pub fn connect(&self, key: PeerKey) -> io::Result<(RingSender, NonNull<Doorway>)> {
        let connected = self.lock_of(key.here).connect(key);
        self.send_controls();
        connected
    }

    /// Sends what a link has published.
    ///
    /// # Safety
    /// The doorway came from [`Self::connect`] of a network that still exists.
    pub(crate) unsafe fn ring(doorway: NonNull<Doorway>) {
        // SAFETY: the caller's promise.
        let (network, doorway) = unsafe {
            let doorway = doorway.as_ref();
            (&*doorway.network(), doorway)
        };
        network.lock(doorway.context()).push(doorway.peer());
    }

    /// Reads what arrived at the context of a VCI and sends what waits, unless another thread does; the same at context 0 and at one that
    /// nobody attends to if `with_others`, and at context 0 if an address is due there. Returns what is there for the VCI, which has been
    /// told of so many failures.
    pub fn poll(&self, vci: VciIndex, told: usize, with_others: bool) -> Found {
        let context = self.context_of(vci);
        let is_first = std::ptr::eq(context, &raw const self.first);
        let mut found = Found::default();
        let mut with_first = with_others;
        context.is_attended.store(true, Ordering::Relaxed);
        if let Some(mut net) = taken_if_free(&context.net)
            && net.borrower().is_none_or(|borrower| borrower == vci)
        {
            found.events = net.poll(Some(vci));
            found.is_lent = net.borrower().is_some();
            found.accepted = net.accept(vci);
            found.ended_puts = net.ended_puts(vci);
            found.outsiders = std::mem::take(&mut net.state.outsiders);
            with_first |= !net.state.unresolved.is_empty();
            let wanted = std::mem::take(&mut net.state.wanted);
            drop(net);
            self.answer(&wanted);
        }
        if with_first && !is_first {
            self.poll_context(&self.first);
        }
        if with_others {
            self.poll_unattended();
        }
        found.faults = self.book.faults_after(told);
        found
    }

    /// Ends the loan of payload to a VCI ([`Found::is_lent`]), whose rings have been read.
    pub fn take_back(&self, vci: VciIndex) {
        let mut net = self.lock_of(vci);
        if net.borrower() == Some(vci) {
            net.take_back();
        }
    }

    /// Lets a context work, unless another thread does.
    fn poll_context(&self, context: &Context) {
        if let Some(mut net) = taken_if_free(&context.net)
            && net.borrower().is_none()
        {
            net.poll(None);
            let wanted = std::mem::take(&mut net.state.wanted);
            drop(net);
            self.answer(&wanted);
        }
    }

    /// Lets the next context work that is open, unless a VCI of its own has polled it since the last check.
    fn poll_unattended(&self) {
        let open = self.open.load(Ordering::Relaxed);
        let last = self.last_checked.load(Ordering::Relaxed);
        let beyond = open & u64::MAX.checked_shl(last + 1).unwrap_or(0);
        let next = if beyond != 0 { beyond } else { open }.trailing_zeros();
        if open == 0 {
            return;
        }
        self.last_checked.store(next, Ordering::Relaxed);
        let context = self.context(next as u8);
        if !context.is_attended.swap(false, Ordering::Relaxed) {
            self.poll_context(context);
        }
    }

    /// Lets all contexts work.
    #[cfg(test)]
    pub(super) fn poll_all(&self) {
        self.opened().for_each(|context| self.poll_context(context));
    }

    /// Opens no further contexts from now on: the library refuses.
    #[cfg(test)]
    pub(super) fn refuse_contexts(&self) {
        let mut opener = taken(&self.opener);
        opener.library = Box::leak(Box::new(opener.library.that_opens_nothing()));
    }

    /// Answers processes that ask for addresses of contexts.
    fn answer(&self, wanted: &[Wanted]) {
        for one in wanted {
            self.book.send_by_first(Control {
                to: one.rank,
                kind: Kind::Address,
                contexts: [one.context, one.asker],
                address: self.context(one.context).address.clone(),
            });
        }
        self.send_controls();
    }

    /// Has context 0 send what it is to send for others, unless another thread polls it, which then sends that.
    fn send_controls(&self) {
        if self.book.has_controls()
            && let Some(mut net) = taken_if_free(&self.first.net)
        {
            let Net { endpoint, state } = &mut *net;
            state.send_controls(endpoint);
        }
    }

    /// Tells a peer of room in the ring from it: with the next frame to it, or in the next poll. A peer that gets room a second time before
    /// that is told at once, so most of the ring is never withheld from it while this process computes.
    pub fn tell_of_room(&self, key: PeerKey) {
        self.lock_of(key.here).tell_of_room(key);
    }

    /// How many VCIs communicators of processes take round-robin at a process on another node.
    ///
    /// # Errors
    /// When its card does not come or does not fit.
    pub fn vcis_of(&self, process: PeerIndex) -> io::Result<u32> {
        Ok(self.book.card(process)?.vcis.into())
    }

    /// Whether long data may be put into the memory of peers.
    pub const fn can_put(&self) -> bool {
        self.can_put
    }

    /// Whether they get there without the processor of their process.
    pub const fn puts_unattended(&self) -> bool {
        self.puts_unattended
    }

    /// Whether payload may be sent out of the memory of programs ([`Self::send_zero_copy`]).
    pub const fn sends_zero_copy(&self) -> bool {
        self.sends_zero_copy
    }

    /// Has the payload at a location of the ring to a peer, whose cell is about to be published, sent out of this memory instead;
    /// [`Self::poll`] tells its end by `token`, as that of a put. Cells with such payload are published in the order of these calls.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end; [`Self::sends_zero_copy`].
    pub unsafe fn send_zero_copy(
        &self,
        key: PeerKey,
        location: u64,
        memory: (NonNull<u8>, usize),
        token: u64,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            self.lock_of(key.here)
                .send_zero_copy(key, location, memory, token)
        };
    }

    /// Opens memory for a put to a VCI; returns the number of the opening, for [`Self::close_memory`], and what the peer needs to know.
    /// `None` when too many are open, or the library registers no more memory.
    pub fn open_memory(
        &self,
        vci: VciIndex,
        start: NonNull<u8>,
        bytes: usize,
    ) -> Option<(u32, Opening)> {
        self.lock_of(vci).open_memory(start, bytes)
    }

    /// Closes an opening of a VCI.
    pub fn close_memory(&self, vci: VciIndex, number: u32) {
        self.lock_of(vci).close_memory(number);
    }

    /// Puts memory into the memory that a peer has opened. [`Self::poll`] tells its end by `token`; a message that is sent after that
    /// arrives after the data, too.
    ///
    /// # Errors
    /// When there is no such peer, and the library's.
    ///
    /// # Safety
    /// The memory is readable and stays unchanged until the end.
    pub unsafe fn put(
        &self,
        key: PeerKey,
        memory: (NonNull<u8>, usize),
        target: Opening,
        token: u64,
    ) -> io::Result<PutBegun> {
        // SAFETY: the caller's promise.
        unsafe { self.lock_of(key.here).put(key, memory, target, token) }
    }

    /// Whether the put of a VCI with a token has not ended.
    pub fn is_putting(&self, vci: VciIndex, token: u64) -> bool {
        self.lock_of(vci).is_putting(vci, token)
    }

    /// Lets all contexts work, and says farewell to all peers that cells were exchanged with; true when nothing is under way any longer in
    /// either direction. Until then it has to be called again.
    pub fn is_finished(&self) -> bool {
        // All at once: a peer that has other numbers of contexts would take leave of them in another order, and both would wait.
        let mut is_finished = true;
        for context in self.opened() {
            let mut net = taken(&context.net);
            net.poll(None);
            is_finished &= net.is_finished();
            let wanted = std::mem::take(&mut net.state.wanted);
            drop(net);
            is_finished &= wanted.is_empty();
            self.answer(&wanted);
        }
        if is_finished {
            self.opened().for_each(|context| taken(&context.net).rest());
        }
        is_finished
    }
}

impl Opener {
    fn open(&self, book: &Arc<Book>, number: u8) -> io::Result<Context> {
        let net = Net::open(
            self.library,
            &self.chosen,
            book.clone(),
            number,
            self.payload_rules,
            &self.contacts,
        )?;
        Ok(Context {
            address: net.state.address.clone(),
            net: Mutex::new(net),
            is_attended: AtomicBool::new(true),
        })
    }
}
