// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a VCI: all that a send or a receive touches.

// account: request

use std::io;
use std::ptr::NonNull;

use fabric::node::NodeHandle;
use fabric::peers::Peers;
use fabric::transport::{Capabilities, Transport};
use sys::sync::{AtomicU64, Ordering};

use super::copy_mode::CopyModes;
use super::counts::Counts;
use super::link::{Backlog, Incoming, Links, Streams};
use super::matching::PostedQueue;
use super::offers::{Known, OfferGains, Stored};
use super::spare::Spare;
use super::trace::Trace;
use super::unexpected::UnexpectedQueue;
use crate::datatype::SentSignature;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{LinkIndex, PeerIndex, VciIndex};
use crate::request::{RequestId, RequestIndex, RequestSlab, Role, flag};
use crate::settings::{Rendezvous, Settings};
use fabric::board::kind;

/// The state of a VCI.
pub(crate) struct VciState {
    pub(crate) slab: RequestSlab,
    pub(crate) posted: PostedQueue,
    pub(crate) unexpected: UnexpectedQueue,
    /// One link for each VCI of each process that the job has room for, numbered by [`fabric::peers::Peers`].
    pub(crate) links: Links,
    pub(crate) incoming: Vec<Incoming>,
    /// The transport of its messages.
    pub(crate) transport: Transport,
    pub(crate) backlogs: Vec<Backlog>,
    /// Sends whose receivers answered CTS: they go in chunks.
    pub(crate) streaming: Vec<Streams>,
    /// Memory that peers have offered.
    pub(crate) known: Known,
    /// The same of peers on other nodes.
    pub(crate) stored: Stored,
    /// Sends that wait for their receivers.
    pub(crate) offered: u32,
    /// Bytes of chunks taken in since this rank last pushed its own, while it has some.
    pub(crate) taken_in: usize,
    /// Number of events so far.
    pub(crate) events: u64,
    /// Memory for messages that arrive before their receives.
    pub(crate) spare: Spare,
    /// Measured costs of the copy modes of long messages.
    pub(crate) copy_modes: CopyModes,
    /// Whether offers of receives pay.
    pub(crate) offer_gains: OfferGains,
    /// Fruitless polls of testing calls since the last event.
    pub(crate) polled_in_vain: u32,
    /// The condition of the wait in progress, for the hang report.
    pub(crate) awaited: Option<Awaited>,
    /// Counters, except those that links and rings keep.
    pub(super) counts: Counts,
    /// Type signature of the message that is being handled, where types are checked.
    pub(crate) signature: Option<Box<SentSignature>>,
    /// Receives that parked tasks wait for and that are complete since the tasks were polled last.
    pub(crate) woken: Vec<RequestId>,
    /// Set when a peer is lost or breaks the protocol; every wait returns it.
    pub(crate) fault: Option<Error>,
    pub(crate) node: Node,
    /// What happens, where that is recorded.
    pub(super) trace: Option<Box<Trace>>,
}

impl VciState {
    /// Notes that a peer broke the protocol: the call in progress fails with this text about it.
    #[cold]
    pub(crate) fn blame(&mut self, peer: LinkIndex, what: &str) {
        let process = self.node.process_of(peer);
        self.fail_with(format!("rank {process} {what}"));
    }

    /// Notes an error of the transport: every wait fails with it.
    #[cold]
    pub(crate) fn fail(&mut self, error: &io::Error) {
        let class = match error.kind() {
            io::ErrorKind::ConnectionAborted => ErrorClass::ERR_PROC_ABORTED,
            _ => ErrorClass::ERR_INTERN,
        };
        self.fault = Some(Error::new(class, error.to_string()));
    }

    /// Notes something that must not happen: every wait fails with this text about it.
    #[cold]
    pub(crate) fn fail_with(&mut self, text: String) {
        self.fault = Some(Error::new(ErrorClass::ERR_INTERN, text));
    }

    /// The state of one of a rank's VCIs.
    ///
    /// # Errors
    /// When the system refuses memory.
    pub(crate) fn new(
        handle: &NodeHandle,
        me: PeerIndex,
        vci: VciIndex,
        settings: &Settings,
        transport: Transport,
    ) -> Result<Self> {
        let can = transport.capabilities();
        let board = handle.vci_board(me, vci);
        let capacity = u32::try_from(settings.requests).unwrap_or(u32::MAX);
        // SAFETY: the board is this VCI's, and `node.handle` keeps it mapped.
        let slab = unsafe { RequestSlab::new(NonNull::from(board), vci, capacity) }?;

        let job = handle.job();
        let is_oversubscribed = job.local_ranks > job.cores;
        let eager_bytes = settings.eager_bytes << u32::from(is_oversubscribed);
        let auto_cma = match settings.cma {
            _ if !can.reads_memory => CmaPolicy::Never,
            0 => CmaPolicy::Never,
            1 => CmaPolicy::Measured,
            _ => CmaPolicy::Always,
        };
        let has_offers = can.shares_memory && settings.offers != 0;
        let mut node = Node {
            handle: handle.clone(),
            me,
            peers: Peers::new(job.capacity, vci),
            clock: NonNull::from(&handle.header().clock_ms),
            eager_bytes: (eager_bytes as usize).min(job.ring_payload_bytes as usize),
            copied_by_receiver_bytes: least_copied_by_receiver(is_oversubscribed),
            chunk_bytes: (settings.chunk_bytes as u32).min(job.ring_payload_bytes / 4),
            unexpected_bytes: settings.unexpected_bytes,
            cma_min_bytes: settings.cma_min_bytes,
            direct_max_bytes: match can.shares_memory {
                true => settings.direct_max_bytes,
                false => 0,
            },
            cma: CmaPolicy::Never,
            auto_cma,
            rendezvous: settings.rendezvous,
            offers: has_offers,
            offer_min_bytes: u64::MAX,
            noted_min_bytes: u64::MAX,
            refuses_writes: false,
            can,
            proof: Box::new(job.id),
        };
        node.set_shortest(settings);
        node.cma = node.cma_policy(node.rendezvous);
        if can.shares_memory && (is_oversubscribed || settings.progress_thread != 0) {
            node.prefer_one_copy();
        }
        Ok(Self {
            slab,
            posted: PostedQueue::new(settings.offers),
            unexpected: UnexpectedQueue::new(node.noted_min_bytes),
            links: Links::new(node.peers.count())?,
            incoming: Vec::new(),
            transport,
            backlogs: Vec::new(),
            streaming: Vec::new(),
            known: Known::default(),
            stored: Stored::default(),
            offered: 0,
            taken_in: 0,
            events: 0,
            spare: Spare::default(),
            copy_modes: CopyModes::new(),
            offer_gains: OfferGains::default(),
            polled_in_vain: 0,
            awaited: None,
            counts: Counts::default(),
            signature: None,
            woken: Vec::new(),
            fault: None,
            node,
            trace: Trace::wanted(settings),
        })
    }
}

impl VciState {
    /// Marks an operation complete; a freed one disappears.
    #[inline(always)]
    pub(crate) fn complete(&mut self, index: RequestIndex) {
        self.slab.record_mut(index).kind = kind::COMPLETE;
        if self.slab.entry(index).has(flag::FREED | flag::WATCHED) {
            self.complete_flagged(index);
        }
    }

    #[inline(never)]
    fn complete_flagged(&mut self, index: RequestIndex) {
        let entry = self.slab.entry(index);
        if entry.role() == Role::Receive && entry.has(flag::WATCHED) {
            self.woken.push(self.slab.id(index));
            self.slab.record_mut(index).flags &= !flag::WATCHED;
        }
        let entry = self.slab.entry(index);
        if !entry.has(flag::FREED) {
            return;
        }
        if entry.has(flag::IN_BULK) {
            return self.complete_in_bulk(index);
        }
        match entry.part() {
            Some(part) => self.complete_part(index, part),
            None => self.let_go(index),
        }
    }

    /// Has the completion of a receive noted in `woken`; false if it is complete, or no receive.
    pub(crate) fn watch_receive(&mut self, id: RequestId) -> bool {
        let Some(index) = self.slab.find(id).filter(|_| !self.is_complete(id)) else {
            return false;
        };
        if self.slab.entry(index).role() != Role::Receive {
            return false;
        }
        self.slab.record_mut(index).flags |= flag::WATCHED;
        true
    }

    /// Releases a complete or inactive operation, and the messages of a partitioned one.
    pub(crate) fn let_go(&mut self, index: RequestIndex) {
        if self.slab.entry(index).role() == Role::Partitioned {
            self.retire_messages(index);
        }
        self.retire(index);
    }

    /// Releases an operation that is not a partitioned one, and its hold on the communicator.
    #[inline(always)]
    pub(crate) fn retire(&mut self, index: RequestIndex) {
        self.let_owner_go(index);
        self.slab.release(index);
    }

    #[inline(always)]
    fn let_owner_go(&self, index: RequestIndex) {
        let owner = self.slab.entry(index).owner;
        if !owner.is_null() {
            // SAFETY: a communicator lives while it counts operations (Process::purge); `self` is reached by a guard of its VCI.
            unsafe { (*owner).release() };
        }
    }

    /// Whether the request has completed (a stale id counts as complete: asking for its status gives the error).
    // TIER: short
    #[inline(always)]
    pub(crate) fn is_complete(&self, id: RequestId) -> bool {
        match self.slab.find(id) {
            Some(index) => matches!(
                self.slab.record(index).kind,
                kind::COMPLETE | kind::INACTIVE
            ),
            None => true,
        }
    }

    /// Whether everything this rank still has to push out is out.
    pub(crate) fn is_drained(&self) -> bool {
        self.backlogs.is_empty() && self.streaming.is_empty()
    }
}

/// Whom a wait depends on that has no operation of its own, for the hang report.
#[derive(Clone, Copy)]
pub(crate) struct Awaited {
    /// Kind of the record that tells it.
    pub(crate) kind: u8,
    /// The peer that it depends on.
    pub(crate) peer: LinkIndex,
    pub(crate) match_word: u64,
}

/// When receivers copy long messages by cross-memory attach (setting `RANKPOINT_CMA`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmaPolicy {
    Never,
    /// Where that has turned out faster ([`super::copy_mode`]).
    Measured,
    Always,
}

/// From where on many receivers that copy at the same time take less time than one sender, in spite of their handshakes: nowhere where
/// each of these costs a switch.
const fn least_copied_by_receiver(is_oversubscribed: bool) -> usize {
    if is_oversubscribed {
        usize::MAX
    } else {
        32 << 10
    }
}

/// The node and its limits, as a VCI uses them.
pub(crate) struct Node {
    pub(crate) handle: NodeHandle,
    /// This process.
    pub(crate) me: PeerIndex,
    /// How this VCI numbers its peers.
    pub(crate) peers: Peers,
    clock: NonNull<AtomicU64>,
    pub(crate) eager_bytes: usize,
    /// Shortest message that its receiver copies where a collective says so, though it may be eager.
    pub(crate) copied_by_receiver_bytes: usize,
    pub(crate) chunk_bytes: u32,
    pub(crate) unexpected_bytes: u64,
    pub(crate) cma_min_bytes: u64,
    direct_max_bytes: u64,
    /// When messages are copied by cross-memory attach, where no communicator says otherwise.
    pub(crate) cma: CmaPolicy,
    /// The same of [`Rendezvous::Auto`].
    auto_cma: CmaPolicy,
    /// How long messages travel where no communicator says otherwise.
    pub(crate) rendezvous: Rendezvous,
    /// Whether receives may be offered to peers of this node, and the shortest that may.
    pub(crate) offers: bool,
    pub(crate) offer_min_bytes: u64,
    /// Shortest receive that is more than posted: offered, or recorded.
    pub(crate) noted_min_bytes: u64,
    /// Whether the system refuses to write the memory of peers.
    pub(crate) refuses_writes: bool,
    /// Capabilities of the transport.
    pub(crate) can: Capabilities,
    /// A word with a value that only this job knows; peers read it to prove that our pid means us.
    pub(crate) proof: Box<u64>,
}

impl Node {
    /// The shortest receives that are offered, and that take the way on which offers and traces are seen.
    fn set_shortest(&mut self, settings: &Settings) {
        if self.offers {
            self.offer_min_bytes = settings.offer_bytes.max(self.eager_bytes as u64 + 1);
        }
        self.noted_min_bytes = match settings.traces() {
            true => 0,
            false => self.offer_min_bytes,
        };
    }

    /// From now on receivers copy large messages alone: where the two ends are not on cores at once, each chunk through the
    /// ring would cost a switch.
    pub(crate) fn prefer_one_copy(&mut self) {
        if self.direct_max_bytes != 0 {
            self.direct_max_bytes = u64::MAX;
        }
        if self.auto_cma == CmaPolicy::Measured {
            (self.auto_cma, self.cma_min_bytes) = (CmaPolicy::Always, 0);
        }
        self.cma = self.cma_policy(self.rendezvous);
    }

    /// When messages of this protocol are copied by cross-memory attach.
    pub(crate) fn cma_policy(&self, rendezvous: Rendezvous) -> CmaPolicy {
        match rendezvous {
            Rendezvous::Read if self.can.reads_memory => CmaPolicy::Always,
            Rendezvous::Read | Rendezvous::Pipeline => CmaPolicy::Never,
            Rendezvous::Auto | Rendezvous::Write => self.auto_cma,
        }
    }

    /// Longest message of this protocol that its receiver copies alone out of the node segment.
    pub(crate) fn direct_max_bytes(&self, rendezvous: Rendezvous) -> u64 {
        match rendezvous {
            Rendezvous::Read if self.direct_max_bytes != 0 => u64::MAX,
            Rendezvous::Pipeline => 0,
            _ => self.direct_max_bytes,
        }
    }

    /// The link to the VCI itself.
    pub(crate) const fn own_link(&self) -> LinkIndex {
        self.peers.same_vci(self.me)
    }

    /// The process of a peer, as error texts name it.
    pub(crate) const fn process_of(&self, peer: LinkIndex) -> PeerIndex {
        self.peers.process(peer)
    }

    /// The job's clock in milliseconds, low half: what operations are stamped with.
    // account: request
    #[inline(always)]
    pub(crate) fn now_ms(&self) -> u32 {
        // SAFETY: points into the segment's header, which `segment` keeps mapped.
        unsafe { self.clock.as_ref() }.load(Ordering::Relaxed) as u32
    }
}
