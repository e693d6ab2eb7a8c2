// SPDX-License-Identifier: MIT OR Apache-2.0
//! A VCI: its state behind a lock, and the threads that wait for the lock.
//!
//! Only a [`Guard`] opens the state. [`Vci::enter`] waits for the lock; below MPI_THREAD_MULTIPLE it costs one predictable branch.
//! [`Vci::try_enter`] and [`Vci::try_lock`] decline while another thread has the lock, and [`Vci::enter_unlocked`] is for VCIs that
//! take none. Nothing that can call back into MPI (user functions, tasks) runs while a guard exists. A thread that holds the guard of
//! one VCI enters another one only by [`Vci::try_enter`], so that no two threads wait for each other.

// account: thread-safety

use std::cell::UnsafeCell;
use std::hint::cold_path;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use fabric::counters::{COUNTERS, Counter};
use fabric::lock::VciLock;
use fabric::node::NodeHandle;
use fabric::peers::Peers;
use fabric::transport::Transport;
use sys::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::background::Background;
use super::pool::{VciCommon, Vcis};
use super::tasks::TaskList;
use super::wait::WaitPolicy;
use crate::device;
use crate::errors::{Error, Result};
use crate::identity::{PeerIndex, VciIndex};
use crate::overlap::Overlaps;
use crate::request::RequestId;
use crate::vci::{VciState, link};

/// Whether the library lets several threads into MPI at once. Without them no branch asks for a lock.
pub const THREADS: bool = cfg!(not(feature = "single"));

/// A VCI: a lock and the state behind it.
#[repr(align(64))]
pub struct Vci {
    lock: VciLock,
    /// Whether the lock is taken.
    locks: bool,
    threaded: bool,
    index: VciIndex,
    peers: Peers,
    /// Whether a fast path has left without waking the threads that wait to enter.
    owes_wake: AtomicBool,
    checks_types: bool,
    checks_hints: bool,
    traces: bool,
    /// Whether waits leave their fast path.
    waits_slowly: bool,
    /// The calls of the process that must not overlap, where that is checked.
    overlaps: Option<Arc<Overlaps>>,
    state: UnsafeCell<VciState>,
    first_link: NonNull<link::Link>,
    pub(super) waiting: WaitPolicy,
    pub(crate) tasks: TaskList,
    pub(super) background: Arc<Background>,
    /// All VCIs of the process.
    pub(super) all: OnceLock<&'static Vcis>,
    /// The thread that began to wait here last, and how many waits have begun.
    pub(super) visitor: AtomicUsize,
    pub(super) visits: AtomicU32,
    /// `visits` when a thread that sleeps elsewhere last wanted to cover this VCI.
    pub(super) visits_seen: AtomicU32,
    /// Rounds of progress of all other VCIs that threads which wait here have made.
    pub(super) global_rounds: AtomicU64,
    /// How often a thread found the lock taken.
    pub(super) locks_failed: AtomicU64,
}

// SAFETY: `state` is reached through a `Guard` only, which holds the lock when several threads may call MPI; below that level the program
// promised that no two threads use the VCI at once.
unsafe impl Sync for Vci {}
// SAFETY: as for Sync; nothing in the state is tied to a thread.
unsafe impl Send for Vci {}

impl Vci {
    /// A VCI of a rank.
    pub(super) fn new(
        node: &NodeHandle,
        me: PeerIndex,
        index: VciIndex,
        shared: &VciCommon,
        transport: Transport,
    ) -> Result<Self> {
        let settings = &shared.settings;
        let can = transport.capabilities();
        let state = VciState::new(node, me, index, settings, transport)?;
        Ok(Self {
            first_link: state.links.first(),
            lock: VciLock::new(),
            owes_wake: AtomicBool::new(false),
            locks: shared.threaded,
            threaded: shared.threaded,
            index,
            peers: Peers::new(node.job().capacity, index),
            checks_types: settings.check.types,
            checks_hints: settings.check.hints,
            traces: settings.traces(),
            waits_slowly: shared.overlaps.is_some(),
            overlaps: shared.overlaps.clone(),
            state: UnsafeCell::new(state),
            waiting: WaitPolicy::new(
                node,
                me,
                index,
                settings,
                can,
                shared.oversubscription.clone(),
            ),
            tasks: TaskList::default(),
            background: shared.background.clone(),
            all: OnceLock::new(),
            visitor: AtomicUsize::new(0),
            visits: AtomicU32::new(0),
            visits_seen: AtomicU32::new(0),
            global_rounds: AtomicU64::new(0),
            locks_failed: AtomicU64::new(0),
        })
    }

    /// Cuts the VCI off from peers and tasks, in a forked child: each call fails with `why`.
    #[cold]
    pub(crate) fn cut_off(&self, why: &Error) {
        self.lock.renew();
        self.tasks.cut_off();
        self.enter().cut_off(why);
    }

    /// How it numbers its peers.
    pub(crate) const fn peers(&self) -> Peers {
        self.peers
    }

    /// Which VCI of the process it is.
    pub const fn index(&self) -> VciIndex {
        self.index
    }

    /// Whether the lock guards the state; a constant where the library has no threads.
    // account: thread-safety
    #[inline(always)]
    const fn locks(&self) -> bool {
        THREADS && self.locks
    }

    /// Whether fast paths need no lock.
    pub(crate) const fn is_unlocked(&self) -> bool {
        !self.locks()
    }

    /// The VCI of a request. Of an id that no VCI has given out it is any one.
    #[inline(always)]
    pub fn of(&self, id: RequestId) -> &Self {
        self.of_index(id.vci())
    }

    /// The VCI of this process with an index; this one when there is none.
    #[inline(always)]
    pub(crate) fn of_index(&self, index: VciIndex) -> &Self {
        if index == self.index {
            self
        } else {
            self.sibling(index)
        }
    }

    #[cold]
    #[inline(never)]
    fn sibling(&self, index: VciIndex) -> &Self {
        let all = self.all.get();
        all.and_then(|all| all.get(index)).unwrap_or(self)
    }

    /// Whether several threads may be inside MPI at once.
    pub const fn is_threaded(&self) -> bool {
        THREADS && self.threaded
    }

    /// Whether messages are compared with what hints promise of them.
    pub(crate) const fn checks_hints(&self) -> bool {
        self.checks_hints
    }

    /// The calls of the process that must not overlap, where that is checked.
    #[inline(always)]
    pub(crate) fn overlaps(&self) -> Option<&Overlaps> {
        self.overlaps.as_deref()
    }

    /// Whether what happens to messages is recorded.
    pub(crate) const fn traces(&self) -> bool {
        self.traces
    }

    /// Whether waits need more than their fast path.
    #[inline(always)]
    pub(crate) const fn waits_slowly(&self) -> bool {
        self.waits_slowly
    }

    /// Whether fast paths would pass by a lock, a check or a record of messages.
    pub(crate) const fn needs_slow_stages(&self) -> bool {
        self.checks_types || self.checks_hints || self.traces || self.overlaps.is_some()
    }

    /// The first of the links to all peers, which [`Peers`] numbers; what they hold may be touched under a [`Guard`] only.
    pub(crate) const fn first_link(&self) -> NonNull<link::Link> {
        self.first_link
    }

    /// Opens the state without a lock; only where [`Self::is_unlocked`].
    // TIER: short
    #[inline(always)]
    pub(crate) fn enter_unlocked(&self) -> Guard<'_, Unlocked> {
        debug_assert!(!self.locks());
        Guard::of(self)
    }

    /// Takes the lock if it is free, and opens the state; `None` when another thread has it. Only where not [`Self::is_unlocked`].
    // TIER: short
    #[inline(always)]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, Locked>> {
        debug_assert!(self.locks());
        if self.lock.try_lock() {
            let mut guard = Guard::of(self);
            guard.count(Counter::LocksTaken);
            Some(guard)
        } else {
            cold_path();
            self.locks_failed.fetch_add(1, Ordering::Relaxed);
            None
        }
    }

    /// [`Self::try_lock`] if threads demand a lock, else [`Self::enter_unlocked`].
    // TIER: short
    #[inline(always)]
    pub(crate) fn try_enter(&self) -> Option<Guard<'_>> {
        if !self.locks() {
            return Some(Guard::of(self));
        }
        self.try_lock().map(Guard::widen)
    }

    #[cfg(test)]
    pub(super) fn lock_address(&self) -> usize {
        std::ptr::from_ref(&self.lock).addr()
    }

    /// Whether another thread wants to enter.
    #[inline(always)]
    pub(crate) fn is_contended(&self) -> bool {
        self.locks() && self.lock.has_contenders()
    }

    /// Lets other threads in that want to enter; the caller has just left.
    pub(super) fn let_others_in(&self) {
        if self.is_contended() {
            self.lock.let_contenders_in();
        }
    }

    /// Wakes the threads that wait to enter if a fast path owes it, having refused its call.
    #[inline(always)]
    pub(crate) fn pay_wake(&self) {
        if self.owes_wake.load(Ordering::Relaxed) {
            self.pay_wake_owed();
        }
    }

    #[cold]
    #[inline(never)]
    fn pay_wake_owed(&self) {
        self.owes_wake.store(false, Ordering::Relaxed);
        self.lock.wake();
    }

    /// Wakes the threads that wait to enter, as [`Guard::leave`] asks for.
    #[cold]
    pub(crate) fn wake_contenders(&self) {
        self.lock.wake();
    }

    /// Takes the lock (if threads demand one) and opens the state.
    // TIER: short
    #[inline(always)]
    pub(crate) fn enter(&self) -> Guard<'_> {
        if !self.locks() {
            return Guard::of(self);
        }
        if !self.lock.try_lock() {
            self.lock_taken();
        }
        let mut guard: Guard<'_> = Guard::of(self);
        guard.count(Counter::LocksTaken);
        guard
    }

    /// Waits for the lock, which another thread has.
    #[cold]
    #[inline(never)]
    fn lock_taken(&self) {
        self.locks_failed.fetch_add(1, Ordering::Relaxed);
        self.lock.lock_contended();
    }

    /// Lets the thread that has the lock go on, after a fast stage that found it taken: its next calls find what they use in the cache.
    #[cold]
    #[inline(never)]
    pub(crate) fn let_owner_work(&self) {
        self.lock.let_owner_work();
    }
}

/// Whether a guard stands for the lock.
pub(crate) trait LockPolicy {
    /// Whether it does, at this VCI.
    fn is_locked(vci: &Vci) -> bool;
}

/// No other thread is inside MPI.
pub(crate) struct Unlocked;
/// The guard holds the lock.
pub(crate) struct Locked;
/// The guard holds the lock if threads demand one.
pub(crate) struct AsDemanded;

impl LockPolicy for Unlocked {
    #[inline(always)]
    fn is_locked(_: &Vci) -> bool {
        false
    }
}

impl LockPolicy for Locked {
    #[inline(always)]
    fn is_locked(_: &Vci) -> bool {
        true
    }
}

impl LockPolicy for AsDemanded {
    #[inline(always)]
    fn is_locked(vci: &Vci) -> bool {
        vci.locks()
    }
}

/// Exclusive access to a VCI's state.
pub(crate) struct Guard<'a, P: LockPolicy = AsDemanded> {
    vci: &'a Vci,
    policy: PhantomData<P>,
}

impl<'a> Guard<'a, Locked> {
    /// The same guard, which asks again whether it holds the lock.
    #[inline(always)]
    fn widen(self) -> Guard<'a> {
        Guard::of(ManuallyDrop::new(self).vci)
    }
}

impl<'a, P: LockPolicy> Guard<'a, P> {
    /// The guard of a VCI, into which this thread has just come.
    #[inline(always)]
    const fn of(vci: &'a Vci) -> Self {
        Self {
            vci,
            policy: PhantomData,
        }
    }

    /// Closes the state without a call; true when the caller must call [`Vci::wake_contenders`].
    // TIER: short
    #[inline(always)]
    #[must_use]
    pub(crate) fn leave(self) -> bool {
        self.leave_word() != 0
    }

    /// As [`Self::leave`]; not 0 when the caller must call [`Vci::wake_contenders`].
    // TIER: short
    #[inline(always)]
    #[must_use]
    pub(crate) fn leave_word(self) -> u32 {
        let guard = ManuallyDrop::new(self);
        if P::is_locked(guard.vci) {
            guard.vci.lock.release_word()
        } else {
            0
        }
    }

    /// Writes all counters to the rank's board, which holds the sums over its VCIs.
    #[cold]
    pub(crate) fn publish_counts(&mut self) {
        self.take_over_counts();
        self.publish();
    }

    /// All counters of the VCI.
    #[cold]
    pub(crate) fn all_counts(&mut self) -> [u64; COUNTERS.len()] {
        self.take_over_counts();
        self.values()
    }

    /// Takes over the counts that threads keep which do not hold the lock.
    fn take_over_counts(&mut self) {
        let vci = self.vci;
        for (counter, value) in [
            (Counter::LocksFailed, &vci.locks_failed),
            (Counter::GlobalRounds, &vci.global_rounds),
        ] {
            self.set_count(counter, value.load(Ordering::Relaxed));
        }
        // What the process counts as a whole is the first VCI's.
        if vci.index() == VciIndex::FIRST {
            for (counter, value) in device::counts() {
                self.set_count(counter, value);
            }
        }
    }

    /// Closes the state without a call; the caller goes on to one that calls [`Vci::pay_wake`].
    #[inline(always)]
    pub(crate) fn leave_owing(self) {
        let vci = self.vci;
        if self.leave() {
            // Another thread may pay as well: each wakes all that wait by then.
            vci.owes_wake.store(true, Ordering::Relaxed);
        }
    }
}

impl<P: LockPolicy> Deref for Guard<'_, P> {
    type Target = VciState;

    #[inline(always)]
    fn deref(&self) -> &VciState {
        // SAFETY: the guard stands for exclusive access (Vci::enter).
        unsafe { &*self.vci.state.get() }
    }
}

impl<P: LockPolicy> DerefMut for Guard<'_, P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut VciState {
        // SAFETY: the guard stands for exclusive access (Vci::enter).
        unsafe { &mut *self.vci.state.get() }
    }
}

impl<P: LockPolicy> Drop for Guard<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        if P::is_locked(self.vci) {
            self.vci.lock.unlock();
        }
    }
}
