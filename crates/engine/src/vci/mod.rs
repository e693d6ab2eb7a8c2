// SPDX-License-Identifier: MIT OR Apache-2.0
//! A virtual communication interface: one independent stream of communication.
//!
//! All that a send or a receive touches belongs to one VCI: its lock, its queues ([`matching`]), its operations
//! ([`operations`]), its rings ([`link`]). [`Vci::enter`] is the only door to that state. Below MPI_THREAD_MULTIPLE it costs
//! one predictable branch. Nothing that can call back into MPI (user functions, tasks) runs while a guard exists.

mod background;
mod counts;
mod crowd;
pub(crate) mod link;
pub(crate) mod matching;
pub mod operations;
pub(crate) mod progress;
pub(crate) mod wait;
mod yields;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use fabric::board::kind;
use fabric::lock::VciLock;
use fabric::segment::Segment;
use fabric::sync::{AtomicU32, AtomicU64, Ordering};

use crate::datatype::Heading;
use crate::errors::Result;
use crate::settings::Settings;
use counts::Counts;
use link::{Backlog, Incoming, Links, Streams};
use matching::{PostedQueue, UnexpectedQueue};
use operations::Operations;

/// One stream: a lock and the state behind it.
#[repr(align(64))]
pub struct Vci {
    lock: VciLock,
    threaded: bool,
    checks_types: bool,
    state: UnsafeCell<VciState>,
    first_link: NonNull<link::Link>,
    pub(crate) waiting: wait::Waiting,
    pub(crate) tasks: crate::task::TaskList,
    background: background::Background,
}

// SAFETY: `state` is reached through `enter` only, which takes the lock when several threads may call MPI; below that level
// the program promised (MPI_Init_thread) that calls do not overlap.
unsafe impl Sync for Vci {}
// SAFETY: as for Sync; nothing in the state is tied to a thread.
unsafe impl Send for Vci {}

/// The state of a VCI.
pub(crate) struct VciState {
    pub(crate) ops: Operations,
    pub(crate) posted: PostedQueue,
    pub(crate) unexpected: UnexpectedQueue,
    /// One way per world rank.
    pub(crate) links: Links,
    pub(crate) incoming: Vec<Incoming>,
    /// The count of connections that `incoming` reflects.
    pub(crate) accepted: u32,
    pub(crate) backlogs: Vec<Backlog>,
    /// Sends whose receivers asked for the data piece by piece.
    pub(crate) streaming: Vec<Streams>,
    /// Sends that wait for their receivers.
    pub(crate) offered: u32,
    /// Bytes of pieces taken in since this rank last pushed its own, while it has some.
    pub(crate) taken_in: usize,
    /// Things that happened so far.
    pub(crate) events: u64,
    /// Memory for messages that arrive before their receives.
    pub(crate) spare: crate::protocol::Spare,
    /// What the ways of long messages have cost.
    pub(crate) ways: crate::protocol::Ways,
    /// Polls of calls that test since something last happened.
    pub(crate) polled_in_vain: u32,
    /// What the wait that goes on depends on, for the hang report.
    pub(crate) awaited: Option<Awaited>,
    /// What happened, counter by counter, but for what links and rings know.
    counts: Counts,
    /// What the message that is being handled consists of, where that is checked.
    pub(crate) heading: Option<Box<Heading>>,
    /// Set when a peer breaks the protocol; every wait returns it.
    pub(crate) fault: Option<String>,
    pub(crate) node: Node,
}

/// Whom a wait depends on that has no operation of its own, for the hang report.
#[derive(Clone, Copy)]
pub(crate) struct Awaited {
    /// Kind of the record that tells it.
    pub(crate) kind: u8,
    /// World rank.
    pub(crate) peer: u32,
    pub(crate) match_word: u64,
}

/// A word of shared memory, and what it held when somebody began to wait for it to change.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    word: NonNull<AtomicU64>,
    seen: u64,
    /// World rank of who is to change it.
    peer: u32,
    /// Match word of the operation that waits.
    match_word: u64,
}

// SAFETY: the word is atomic, and mapped as long as the process lives (Watch::new).
unsafe impl Send for Watch {}

impl Watch {
    /// Waits for a word to change from what it held when the waiter last looked whether it had to wait.
    ///
    /// # Safety
    /// The word stays mapped.
    pub(crate) const unsafe fn new(
        word: *const AtomicU64,
        seen: u64,
        peer: u32,
        match_word: u64,
    ) -> Self {
        // SAFETY: a reference's address, or that of a mapped word (caller).
        let word = unsafe { NonNull::new_unchecked(word.cast_mut()) };
        Self {
            word,
            seen,
            peer,
            match_word,
        }
    }

    /// World rank of who is to change the word.
    pub(crate) const fn peer(&self) -> u32 {
        self.peer
    }

    /// The same for the hang report.
    pub(crate) const fn awaited(&self) -> Awaited {
        Awaited {
            kind: kind::MEETING,
            peer: self.peer,
            match_word: self.match_word,
        }
    }

    /// Whether the word has changed.
    #[inline(always)]
    pub(crate) fn has_changed(&self) -> bool {
        // SAFETY: mapped (Watch::new).
        unsafe { self.word.as_ref() }.load(Ordering::Relaxed) != self.seen
    }
}

/// Whether receivers read the memory of senders (setting `CROSS_COPY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Never,
    /// Where that has turned out faster (`protocol::ways`).
    Measured,
    Always,
}

/// What a VCI knows about its node.
pub(crate) struct Node {
    pub(crate) segment: Arc<Segment>,
    /// This rank.
    pub(crate) me: u32,
    clock: NonNull<AtomicU64>,
    connections: NonNull<AtomicU32>,
    pub(crate) eager_bytes: usize,
    pub(crate) fragment_bytes: u32,
    pub(crate) unexpected_bytes: u64,
    pub(crate) cross_copy_bytes: u64,
    pub(crate) shared_copy_bytes: u64,
    pub(crate) cross_copy: Reading,
    /// A word with a value that only this job knows; peers read it to prove that our pid means us.
    pub(crate) proof: Box<u64>,
}

impl Node {
    /// From now on receivers copy large messages alone: where the two ends are not on cores at once, each piece through the
    /// ring would cost a switch.
    pub(crate) fn prefer_one_copy(&mut self) {
        self.shared_copy_bytes = u64::MAX;
        if self.cross_copy == Reading::Measured {
            (self.cross_copy, self.cross_copy_bytes) = (Reading::Always, 0);
        }
    }

    /// The job's clock in milliseconds, low half: what operations are stamped with.
    #[inline(always)]
    pub(crate) fn now_ms(&self) -> u32 {
        // SAFETY: points into the segment's header, which `segment` keeps mapped.
        unsafe { self.clock.as_ref() }.load(Ordering::Relaxed) as u32
    }

    /// Rings towards this rank that peers have announced.
    #[inline(always)]
    pub(crate) fn connections(&self) -> u32 {
        // SAFETY: points into this rank's board, which `segment` keeps mapped.
        unsafe { self.connections.as_ref() }.load(Ordering::Relaxed)
    }
}

impl Vci {
    /// The first VCI of a rank.
    pub(crate) fn new(
        segment: &Arc<Segment>,
        me: u32,
        settings: &Settings,
        threaded: bool,
    ) -> Result<Self> {
        let board = segment.board(me);
        let capacity = u32::try_from(settings.operations).unwrap_or(u32::MAX);
        // SAFETY: the board is this rank's, and `node.segment` keeps it mapped.
        let ops = unsafe { Operations::new(NonNull::from(board), capacity) }?;

        let header = segment.header();
        let is_crowded = header.local_ranks > header.cores;
        let eager_bytes = settings.eager_bytes << u32::from(is_crowded);
        let mut node = Node {
            segment: segment.clone(),
            me,
            clock: NonNull::from(&header.clock_ms),
            connections: NonNull::from(&board.connections),
            eager_bytes: (eager_bytes as usize).min(header.ring_payload_bytes as usize),
            fragment_bytes: (settings.fragment_bytes as u32).min(header.ring_payload_bytes / 4),
            unexpected_bytes: settings.unexpected_bytes,
            cross_copy_bytes: settings.cross_copy_bytes,
            shared_copy_bytes: settings.shared_copy_bytes,
            cross_copy: match settings.cross_copy {
                0 => Reading::Never,
                1 => Reading::Measured,
                _ => Reading::Always,
            },
            proof: Box::new(header.job_id),
        };
        if is_crowded || settings.progress_thread != 0 {
            node.prefer_one_copy();
        }
        let state = VciState {
            ops,
            posted: PostedQueue::new(),
            unexpected: UnexpectedQueue::new(),
            links: Links::new(header.local_ranks)?,
            incoming: Vec::new(),
            accepted: 0,
            backlogs: Vec::new(),
            streaming: Vec::new(),
            offered: 0,
            taken_in: 0,
            events: 0,
            spare: crate::protocol::Spare::default(),
            ways: crate::protocol::Ways::new(),
            polled_in_vain: 0,
            awaited: None,
            counts: Counts::default(),
            heading: None,
            fault: None,
            node,
        };
        Ok(Self {
            first_link: state.links.first(),
            lock: VciLock::new(),
            threaded: threaded || settings.progress_thread != 0,
            checks_types: settings.check.types,
            state: UnsafeCell::new(state),
            waiting: wait::Waiting::new(segment, me, settings),
            tasks: crate::task::TaskList::default(),
            background: background::Background::new(
                settings.progress_thread != 0,
                settings.spare.clone(),
            ),
        })
    }

    /// Whether several threads may be inside MPI at once.
    pub const fn is_threaded(&self) -> bool {
        self.threaded
    }

    /// Whether messages say which basic types they consist of.
    pub(crate) const fn checks_types(&self) -> bool {
        self.checks_types
    }

    /// The links to all world ranks, by rank; what they hold may be touched with [`Self::enter`] or [`Self::enter_alone`] only.
    pub(crate) const fn first_link(&self) -> NonNull<link::Link> {
        self.first_link
    }

    /// Opens the state without a lock; only below MPI_THREAD_MULTIPLE.
    // TIER: short
    #[inline(always)]
    pub(crate) fn enter_alone(&self) -> AloneGuard<'_> {
        debug_assert!(!self.threaded);
        AloneGuard { vci: self }
    }

    /// Takes the lock (if threads demand one) and opens the state.
    // TIER: short
    #[inline(always)]
    pub(crate) fn enter(&self) -> Guard<'_> {
        if self.threaded {
            self.lock.lock();
        }
        Guard { vci: self }
    }
}

/// Exclusive access to the state of a VCI that one thread uses at a time.
pub(crate) struct AloneGuard<'a> {
    vci: &'a Vci,
}

impl Deref for AloneGuard<'_> {
    type Target = VciState;

    #[inline(always)]
    fn deref(&self) -> &VciState {
        // SAFETY: no other thread is inside MPI (Vci::enter_alone).
        unsafe { &*self.vci.state.get() }
    }
}

impl DerefMut for AloneGuard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut VciState {
        // SAFETY: no other thread is inside MPI (Vci::enter_alone).
        unsafe { &mut *self.vci.state.get() }
    }
}

/// Exclusive access to a VCI's state.
pub(crate) struct Guard<'a> {
    vci: &'a Vci,
}

impl Deref for Guard<'_> {
    type Target = VciState;

    #[inline(always)]
    fn deref(&self) -> &VciState {
        // SAFETY: the guard stands for exclusive access (Vci::enter).
        unsafe { &*self.vci.state.get() }
    }
}

impl DerefMut for Guard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut VciState {
        // SAFETY: the guard stands for exclusive access (Vci::enter).
        unsafe { &mut *self.vci.state.get() }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.vci.threaded {
            self.vci.lock.unlock();
        }
    }
}
