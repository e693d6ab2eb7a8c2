// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a rank waits: it polls for a moment, then yields its core, then sleeps on its doorbell.
//!
//! Each stage is shorter where the ranks of the node outnumber its cores, because a spinning rank then keeps another one from
//! running. The first stage writes nothing; a wait that turns out to be long is written to the board, for the launcher.

// account: progress

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fabric::board::{CALL_NAME_BYTES, VciBoard, activity};
use fabric::counters::Counter;
use fabric::doorbell::{self, Sleeper};
use fabric::node::NodeHandle;
use fabric::transport::Capabilities;
use sys::sync::{AtomicBool, AtomicU64, Ordering, spin_loop};
use sys::{cores, spin};

use super::elsewhere::RoundInterval;
use super::oversubscription::Oversubscription;
use super::polls::{Asked, Patience};
use super::yields::{Neighbour, Yields};
use super::{Guard, TasksPolled, Vci, polls};
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::{LinkIndex, PeerIndex, VciIndex};
use crate::request::{RequestIndex, Role};
use crate::settings::Settings;
use crate::vci::{Awaited, VciState};

/// Longest sleep where messages may arrive that ring no doorbell.
const NAP: Duration = Duration::from_micros(200);

/// How long a rank goes on waiting once the launcher has announced a death: the launcher should end it before.
const DEATH_GRACE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// The waiting policy of a rank.
pub(crate) struct WaitPolicy {
    pub(super) node: NodeHandle,
    pub(super) me: PeerIndex,
    pub(super) vci: VciIndex,
    /// How often waits advance the other VCIs.
    pub(super) rounds: RoundInterval,
    /// While this rank has a core of its own.
    on_own_core: Patience,
    /// While it has none.
    pub(super) oversubscribed: Patience,
    pub(super) short_polls: u32,
    /// Whether ranks outnumber cores.
    pub(super) is_oversubscribed: bool,
    pub(super) oversubscription: Arc<Oversubscription>,
    sleep_limit: Duration,
    can: Capabilities,
    /// When this rank first saw that another one is dead.
    death_seen: OnceLock<Instant>,
    neighbour: Neighbour,
    /// Number of events when a wait last ended only for its caller to check again, and `clock_ms` when that wait began: another
    /// wait with no event in between continues the same wait in the hang report.
    looked: (AtomicU64, AtomicU64),
    /// Whether a wait that ended for that reason is still shown.
    is_shown: AtomicBool,
}

impl WaitPolicy {
    pub(crate) fn new(
        node: &NodeHandle,
        me: PeerIndex,
        vci: VciIndex,
        settings: &Settings,
        can: Capabilities,
        oversubscription: Arc<Oversubscription>,
    ) -> Self {
        let job = node.job();
        let is_oversubscribed = job.local_ranks > job.cores;
        if !doorbell::prepare() {
            node.sender_fences().store(1, Ordering::Relaxed);
        }
        let patience = |polls, yields| Patience::new(polls, yields, settings.traces());
        let oversubscribed = patience(
            settings.oversubscribed_spin_polls,
            settings.oversubscribed_yields,
        );
        let own = patience(settings.spin_polls, settings.yields);
        let (on_own_core, short_polls) = match is_oversubscribed {
            true => (oversubscribed, 1),
            false => (own, polls::SHORT_POLLS),
        };
        Self {
            node: node.clone(),
            me,
            vci,
            rounds: RoundInterval::new(settings),
            on_own_core,
            oversubscribed,
            oversubscription,
            short_polls,
            is_oversubscribed,
            sleep_limit: match can.arrives_silently {
                true => NAP,
                false => Duration::from_millis(settings.sleep_limit_ms),
            },
            can,
            death_seen: OnceLock::new(),
            neighbour: Neighbour::default(),
            looked: (AtomicU64::new(u64::MAX), AtomicU64::new(0)),
            is_shown: AtomicBool::new(false),
        }
    }

    pub(super) const fn shares_memory(&self) -> bool {
        self.can.shares_memory
    }

    pub(super) const fn sleep_limit(&self) -> Duration {
        self.sleep_limit
    }

    /// The part of a VCI of this rank that other ranks see.
    pub(super) fn vci_board(&self, vci: VciIndex) -> &VciBoard {
        self.node.vci_board(self.me, vci)
    }

    pub(super) fn sleeper(&self) -> Sleeper<'_> {
        Sleeper {
            asleep: &self.vci_board(self.vci).asleep,
            sender_fences: self.node.sender_fences(),
            sleepers: &self.node.header().sleepers,
        }
    }

    /// The patience for the number of threads that wait now.
    pub(super) fn patience(&self) -> Patience {
        if self.oversubscription.outnumbers_cores() {
            self.oversubscribed
        } else {
            self.on_own_core
        }
    }

    /// Yields before a sleep.
    fn most_yields(&self) -> u64 {
        let is_shared = if self.has_own_core() {
            self.neighbour.is_here()
        } else {
            self.has_external_load()
        };
        if is_shared { 0 } else { self.patience().yields }
    }

    /// Whether the launcher has reported external load on this core. On an oversubscribed node a rank itself cannot tell other programs
    /// from other ranks.
    pub(super) fn has_external_load(&self) -> bool {
        let board = self.node.board(self.me);
        board.external_load.load(Ordering::Relaxed) != 0
    }

    /// Yields the core once.
    fn make_room(&self, yields: &mut Yields) {
        if self.has_own_core() {
            self.neighbour.make_room(yields);
        } else {
            yields.count += 1;
            cores::yield_core();
        }
    }

    /// Whether neither the ranks nor the threads of this rank outnumber cores, so that a long yield means external load.
    fn has_own_core(&self) -> bool {
        !self.is_oversubscribed && !self.oversubscription.outnumbers_cores()
    }

    fn show(&self, call: &str, what: u32, events: u64) {
        let header = self.node.header();
        let board = self.node.board(self.me);
        let mut name = [0u8; CALL_NAME_BYTES];
        let length = call.len().min(CALL_NAME_BYTES);
        name[..length].copy_from_slice(&call.as_bytes()[..length]);
        for (word, bytes) in board.call.iter().zip(name.chunks_exact(8)) {
            let mut eight = [0u8; 8];
            eight.copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(eight), Ordering::Relaxed);
        }
        board.call_len.store(length as u32, Ordering::Relaxed);
        let since = if self.is_recheck(events) {
            self.looked.1.load(Ordering::Relaxed)
        } else {
            header.clock_ms.load(Ordering::Relaxed)
        };
        board.wait_since_ms.store(since, Ordering::Relaxed);
        board.activity.store(what, Ordering::Relaxed);
    }

    /// Whether the last wait ended at `events` only for its caller to check again.
    fn is_recheck(&self, events: u64) -> bool {
        self.looked.0.load(Ordering::Relaxed) == events
    }

    /// The wait may end only because `events` has changed, for its caller to check again.
    fn note_recheck(&self, events: u64) {
        let since = &self.node.board(self.me).wait_since_ms;
        let (at, began) = &self.looked;
        began.store(since.load(Ordering::Relaxed), Ordering::Relaxed);
        at.store(events, Ordering::Relaxed);
    }

    pub(super) fn set_activity(&self, what: u32) {
        self.node
            .board(self.me)
            .activity
            .store(what, Ordering::Relaxed);
    }
}

impl Vci {
    /// Whether messages arrive.
    pub(crate) const fn delivers(&self) -> bool {
        self.waiting.can.delivers
    }

    /// Yields the core, then makes progress.
    pub(crate) fn yield_core(&self) {
        self.enter().count(Counter::Yields);
        cores::yield_core();
        self.poll_once();
    }

    /// The processor that this rank runs on; also stored in [`VciBoard::processor`](fabric::board::VciBoard::processor).
    pub(crate) fn tell_processor(&self) -> u32 {
        let here = cores::current_processor().map_or(0, |processor| processor + 1);
        let told = &self.waiting.vci_board(self.waiting.vci).processor;
        if told.load(Ordering::Relaxed) != here {
            told.store(here, Ordering::Relaxed);
        }
        here
    }

    /// As [`Self::wait_until`], for a message from `peer`: on an oversubscribed node it yields at once unless `peer` last waited
    /// on another core.
    ///
    /// # Errors
    /// When a peer broke the protocol.
    pub(crate) fn wait_until_brought(
        &self,
        call: &'static str,
        peer: LinkIndex,
        mut done: impl FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        if self.waiting.is_oversubscribed && !self.is_threaded() {
            let waiting = &self.waiting;
            let (process, vci) = (self.peers().process(peer), self.peers().vci(peer));
            let board = waiting.node.vci_board(process, vci);
            for _ in 0..self.short_yields() {
                let here = self.tell_processor();
                let mut polls = self.oversubscribed_polls();
                while polls > 0 && !board.may_want_core(here) {
                    if done(&mut self.enter()) {
                        return Ok(());
                    }
                    polls -= 1;
                    spin_loop();
                }
                self.yield_core();
                if done(&mut self.enter()) {
                    return Ok(());
                }
            }
        }
        self.wait_until(call, done)
    }

    /// Makes progress until `done` holds. `call` is the MPI call that waits, for the hang report.
    ///
    /// # Errors
    /// When a peer broke the protocol.
    #[inline]
    pub(crate) fn wait_until(
        &self,
        call: &'static str,
        done: impl FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        if self.is_threaded() {
            return self.wait_among_threads(call, done);
        }
        self.wait_polling(call, self.waiting.on_own_core.first_polls, done)
    }

    #[inline(never)]
    fn wait_among_threads(
        &self,
        call: &'static str,
        done: impl FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        self.note_visit();
        let _visit = self.background.visit();
        self.wait_polling(call, self.waiting.patience().first_polls, done)
    }

    #[inline(always)]
    fn wait_polling(
        &self,
        call: &'static str,
        polls: u64,
        mut done: impl FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        let mut guard = self.enter();
        let mut fruitless = 0u64;
        loop {
            if done(&mut guard) {
                return Ok(());
            }
            if guard.progress() != 0 {
                fruitless = 0;
            } else {
                fruitless += 1;
                if fruitless > polls || guard.fault.is_some() {
                    drop(guard);
                    return self.wait_long(call, done);
                }
                if self.waiting.rounds.follows(fruitless) && self.has_others() {
                    drop(guard);
                    self.progress_others();
                    guard = self.enter();
                }
            }
            if !self.tasks.is_empty() || self.is_contended() {
                guard = self.between_polls(guard);
            } else if fruitless != 0 && !self.waiting.is_oversubscribed {
                spin::cpu_relax();
            }
        }
    }

    /// Lets other threads in and tasks run.
    #[cold]
    pub(super) fn between_polls<'a>(&'a self, guard: Guard<'a>) -> Guard<'a> {
        drop(guard);
        spin_loop();
        self.let_others_in();
        if self.poll_tasks() == TasksPolled::Elsewhere {
            // The thread that polls the tasks may wait for this core.
            cores::yield_core();
        }
        self.enter()
    }

    #[cold]
    #[inline(never)]
    fn wait_long(
        &self,
        call: &'static str,
        mut done: impl FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        if self.traces() {
            return self.wait_traced(call, &mut done);
        }
        self.wait_longer(call, &mut done)
    }

    /// The rest of a wait that polling did not end.
    pub(super) fn wait_longer(
        &self,
        call: &'static str,
        done: &mut dyn FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        let _member = self
            .is_threaded()
            .then(|| self.waiting.oversubscription.join());
        if self.waiting.oversubscription.outnumbers_cores() {
            self.enter().node.prefer_one_copy();
        }
        let events = self.enter().events;
        self.waiting.show(call, activity::POLLING, events);
        let shown = self.show_awaited();
        let outcome = self.wait_stages(done);
        if let Some(index) = shown {
            self.enter().slab.release(index);
        }
        // A wait that ended only for its caller to check again goes on: it stays shown until `end_shown`.
        let goes_on = self.waiting.is_recheck(self.enter().events);
        self.waiting.is_shown.store(goes_on, Ordering::Relaxed);
        if !goes_on {
            self.waiting.set_activity(activity::OUTSIDE);
        }
        outcome
    }

    /// Whether the last wait is still shown to the launcher.
    pub(crate) fn is_shown(&self) -> bool {
        self.waiting.is_shown.load(Ordering::Relaxed)
    }

    /// The caller does not wait again.
    #[cold]
    pub(crate) fn end_shown(&self) {
        self.waiting.set_activity(activity::OUTSIDE);
    }

    /// As [`Self::wait_until`], for a condition that depends on `awaited` and has no request.
    ///
    /// # Errors
    /// When a peer broke the protocol.
    pub(crate) fn wait_for(
        &self,
        call: &'static str,
        awaited: Awaited,
        done: impl FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        self.enter().awaited = Some(awaited);
        let outcome = self.wait_until(call, done);
        self.enter().awaited = None;
        outcome
    }

    /// Records for the launcher which rank the wait depends on, when no request tells it.
    fn show_awaited(&self) -> Option<RequestIndex> {
        let mut guard = self.enter();
        let awaited = guard.awaited?;
        let index = guard.slab.take(Role::Task, awaited.kind).ok()?;
        let stamp = guard.node.now_ms();
        guard.slab.entry_mut(index).owner = std::ptr::null();
        let record = guard.slab.record_mut(index);
        record.match_word = awaited.match_word;
        record.peer = awaited.peer;
        record.bytes = 0;
        record.stamp_ms = stamp;
        Some(index)
    }

    fn wait_stages(&self, done: &mut dyn FnMut(&mut VciState) -> bool) -> Result<()> {
        if !self.waiting.can.delivers {
            return Err(Error::new(
                ErrorClass::ERR_UNSUPPORTED_OPERATION,
                "this call waits for another rank, and with RANKPOINT_FABRIC=null nothing arrives",
            ));
        }
        let (mut yields, mut asked) = (Yields::default(), Asked::after(self.helped()));
        loop {
            self.poll_tasks();
            let events = {
                let mut guard = self.enter();
                let events = guard.progress();
                if done(&mut guard) {
                    return Ok(());
                }
                guard.count_many(Counter::PollsFruitless, u64::from(events == 0));
                if let Some(fault) = &guard.fault {
                    return Err(fault.clone());
                }
                events
            };
            if events != 0 {
                yields = Yields::default();
                if self.is_threaded() {
                    // Another thread may sleep until a request that this poll completed.
                    self.ring_own_doorbell();
                }
            } else if asked.goes_on(self.helped(), self.waiting.patience()) {
                yields = Yields::default();
                spin::cpu_relax();
            } else if self.progress_others() != 0 {
                yields = Yields::default();
                // A task on this VCI may wait for what has happened on another one.
                self.enter().events += 1;
            } else if !self.waiting.can.shares_memory {
                // No doorbell rings on this transport: it yields the core when it is polled.
                self.check_death()?;
                // Another thread may have advanced the VCI that a task on this one waits for.
                self.enter().events += 1;
            } else if yields.count < self.waiting.most_yields() {
                self.enter().count(Counter::Yields);
                self.waiting.make_room(&mut yields);
            } else {
                if self.sleep(done, self.waiting.sleep_limit())? {
                    return Ok(());
                }
                // After a sleep the waiter checks everything again: something else than it expected may have changed.
                let mut guard = self.enter();
                guard.events += 1;
                self.waiting.note_recheck(guard.events);
            }
        }
    }

    /// Ends a wait some time after another rank's death.
    pub(super) fn check_death(&self) -> Result<()> {
        let waiting = &self.waiting;
        // A collective waits many times: the grace starts when this rank first saw the death.
        if waiting.node.header().death.load(Ordering::Relaxed) != 0
            && waiting.death_seen.get_or_init(Instant::now).elapsed() > DEATH_GRACE
        {
            return Err(Error::new(
                ErrorClass::ERR_PROC_ABORTED,
                "another rank of the job died",
            ));
        }
        Ok(())
    }

    /// Progress for the calls that test. A program that tests in a loop may depend on the other VCIs as one that waits does. On an
    /// oversubscribed node it keeps the ranks that are to answer off its core: there a fruitless test yields the core. Beside another
    /// program that would cost a time slice, so it sleeps for a moment, as a wait does.
    pub(crate) fn poll(&self) {
        let fruitless = self.poll_once();
        if !self.waiting.is_oversubscribed || fruitless <= self.waiting.oversubscribed.polls {
            return;
        }
        if self.waiting.has_external_load() && self.waiting.can.shares_memory {
            self.nap();
            self.poll_once();
        } else {
            self.yield_core();
        }
    }

    /// Rounds of progress while something arrives.
    pub(crate) fn take_arrived(&self) {
        while self.enter().progress() != 0 {}
    }

    /// One round of progress; returns how many of them have had no event since the last one that had.
    fn poll_once(&self) -> u64 {
        let fruitless = {
            let mut guard = self.enter();
            guard.polled_in_vain = match guard.progress() {
                0 => guard.polled_in_vain.wrapping_add(1),
                _ => 0,
            };
            u64::from(guard.polled_in_vain)
        };
        self.poll_tasks();
        if fruitless == 0 {
            if self.is_threaded() {
                self.ring_own_doorbell();
            }
        } else if self.waiting.rounds.follows(fruitless) {
            self.progress_others();
        }
        fruitless
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![expect(unsafe_code, reason = "messages are addresses")]

    use crate::comm::Process;
    use crate::completion::wait;
    use crate::p2p::{Memory, Mode, irecv, isend};
    use crate::request::RequestId;

    pub(in crate::progress) fn start_receiving(
        process: &'static Process,
        word: &mut u8,
        peer: u32,
        tag: i32,
    ) -> RequestId {
        // SAFETY: callers wait for the request while the word lives.
        unsafe {
            irecv(
                process.world(),
                Memory::contiguous(word, 1),
                peer as i32,
                tag,
            )
        }
        .unwrap()
    }

    pub(in crate::progress) fn end(process: &'static Process, mut request: RequestId) {
        wait(process.vci(), &mut request, "test").unwrap();
    }

    pub(in crate::progress) fn receive(process: &'static Process, peer: u32, tag: i32) {
        end(process, start_receiving(process, &mut 0, peer, tag));
    }

    pub(in crate::progress) fn send(process: &'static Process, peer: u32, tag: i32) {
        let mut word = 0;
        let memory = Memory::contiguous(&raw mut word, 1);
        // SAFETY: the word outlives the request.
        let sent = unsafe { isend(process.world(), memory, peer as i32, tag, Mode::Standard) };
        end(process, sent.unwrap());
    }
}
