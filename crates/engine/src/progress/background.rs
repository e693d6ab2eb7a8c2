// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress thread (`RANKPOINT_PROGRESS_THREAD=1`): it advances a VCI while the program computes.
//!
//! It is *on watch* or it *naps*. On watch it sleeps on the process's doorbell, as a waiting call does, so that a sender
//! wakes it; it then makes progress as long as there is some, and a little longer. While the program itself waits
//! inside MPI there is nothing for it to do, and being woken would cost senders a system call each: it naps, on a word that
//! nobody else knows, looks now and then whether the program has left, and is on watch again when a nap has passed
//! without any call that waits. An operation that needs progress to go on ends a long nap ([`Vci::rouse`]).
//!
//! Writers: `waiters` and `visits` are counted by calls that wait, `napping` is set by the thread and taken out by
//! the waker. None of them guards data: the VCI's lock does, and a lost wake-up costs one nap. A nap doubles each
//! time the program was seen waiting, so that a program that always waits is disturbed 500 times a second at most.

// account: progress

use std::thread::JoinHandle;
use std::time::Duration;

use sys::sync::{AtomicU32, Mutex, Ordering, spin_loop};
use sys::{cores, futex, signals};

use fabric::doorbell::SLEEPS;
use fabric::trace::TraceKind;

use super::Vci;
use crate::errors::{Error, ErrorClass, Result};

/// Shortest and longest nap.
const NAPS: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(2));
/// Fruitless polls on watch before the thread sleeps again: about as long as an answer takes that is being given on
/// another core.
const POLLS: u32 = 100;

/// The state that the program and its progress thread share.
pub(crate) struct Background {
    wanted: bool,
    /// Processors to run on, if those of the rank are not the ones.
    spare: Vec<u32>,
    /// Calls that wait now.
    waiters: AtomicU32,
    /// Calls that have waited so far.
    visits: AtomicU32,
    /// 1 while the thread naps for longer than the shortest time.
    napping: AtomicU32,
    stopping: AtomicU32,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A call that waits.
pub(super) struct Visit<'a>(&'a Background);

impl Background {
    pub(super) const fn new(wanted: bool, spare: Vec<u32>) -> Self {
        Self {
            wanted,
            spare,
            waiters: AtomicU32::new(0),
            visits: AtomicU32::new(0),
            napping: AtomicU32::new(0),
            stopping: AtomicU32::new(0),
            thread: Mutex::new(None),
        }
    }

    /// A call begins to wait, until the result is dropped.
    pub(super) fn visit(&self) -> Option<Visit<'_>> {
        self.wanted.then(|| {
            self.waiters.fetch_add(1, Ordering::Relaxed);
            self.visits.fetch_add(1, Ordering::Relaxed);
            Visit(self)
        })
    }

    fn is_visited(&self) -> bool {
        self.waiters.load(Ordering::Relaxed) != 0
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed) != 0
    }

    #[cold]
    fn wake(&self) {
        if self.napping.swap(0, Ordering::Relaxed) != 0 {
            futex::wake_all(&self.napping);
        }
    }

    /// Sleeps for a nap's time; true if another thread ended it.
    fn nap(&self, time: Duration) -> bool {
        let word = u32::from(time > NAPS.0);
        self.napping.store(word, Ordering::Relaxed);
        futex::wait(&self.napping, word, time);
        word != 0 && self.napping.swap(0, Ordering::Relaxed) == 0
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Vci {
    /// Starts the progress thread if it is wanted and does not run.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub(crate) fn start_background(&'static self) -> Result<()> {
        let background = &self.background;
        let Ok(mut thread) = background.thread.lock() else {
            return Ok(());
        };
        if !background.wanted || thread.is_some() {
            return Ok(());
        }
        background.stopping.store(0, Ordering::Relaxed);
        let started = signals::without_signals(|| {
            std::thread::Builder::new()
                .name("rankpoint-prog".to_owned())
                .stack_size(8 << 20)
                .spawn(|| self.run_background())
        });
        *thread = Some(started.map_err(|error| {
            let text =
                format!("RANKPOINT_PROGRESS_THREAD is 1, but no thread can be started: {error}");
            Error::new(ErrorClass::ERR_OTHER, text)
        })?);
        Ok(())
    }

    /// Ends the progress thread, if there is one.
    pub(crate) fn stop_background(&self) {
        let background = &self.background;
        let thread = background.thread.lock().ok().and_then(|mut it| it.take());
        let Some(thread) = thread else {
            return;
        };
        background.stopping.store(1, Ordering::Relaxed);
        // It may be about to sleep, on either word: its naps are short, and the doorbell is rung until it has gone.
        while !thread.is_finished() {
            background.wake();
            self.ring_own_doorbell();
            futex::wait(&background.stopping, 1, NAPS.0);
        }
        // A panic of a user's function on that thread has been reported by it.
        let _ = thread.join();
    }

    #[cfg(test)]
    pub(crate) fn has_background(&self) -> bool {
        self.background.thread.lock().is_ok_and(|it| it.is_some())
    }

    /// Ends a long nap of the progress thread: there is something that needs progress.
    #[inline(always)]
    pub(crate) fn rouse(&self) {
        if self.background.napping.load(Ordering::Relaxed) != 0 {
            self.background.wake();
        }
    }

    fn run_background(&self) {
        let background = &self.background;
        if !background.spare.is_empty() {
            // Where it may not, the rank's own processors have to do.
            cores::run_on(&background.spare);
        }
        let mut nap = NAPS.0;
        let mut seen = 0;
        while !background.is_stopping() {
            let visits = background.visits.load(Ordering::Relaxed);
            let roused = background.nap(nap);
            let quiet = background.visits.load(Ordering::Relaxed) == visits;
            if !quiet || background.is_visited() {
                nap = if roused {
                    NAPS.0
                } else {
                    (nap * 2).min(NAPS.1)
                };
                continue;
            }
            nap = (nap / 2).max(NAPS.0);
            while !background.is_stopping() && !background.is_visited() {
                self.watch_once(&mut seen);
            }
            // A thread that looked for tasks while this one had them may sleep.
            self.ring_own_doorbell();
        }
    }

    /// Sleeps until something happens, and makes progress until nothing has happened for a moment.
    fn watch_once(&self, seen: &mut u64) {
        let sleeper = self.waiting.sleeper();
        let covered = self.cover_others();
        sleeper.announce();
        if !self.advance(seen) {
            self.trace_sleep(TraceKind::SleepBegin);
            futex::wait(sleeper.asleep, SLEEPS, self.sleep_limit(&covered));
            self.trace_sleep(TraceKind::SleepEnd);
        }
        sleeper.leave();
        drop(covered);
        let mut fruitless = 0;
        while fruitless < POLLS && !self.background.is_visited() && !self.background.is_stopping() {
            fruitless = if self.advance(seen) { 0 } else { fruitless + 1 };
            spin_loop();
        }
    }

    /// One round of progress; whether anything happened after `seen` things.
    fn advance(&self, seen: &mut u64) -> bool {
        self.poll_tasks();
        let events = {
            let mut guard = self.enter();
            // A fault is the next call's to return.
            guard.progress();
            guard.events
        };
        let happened = std::mem::replace(seen, events) != events;
        if happened {
            self.ring_own_doorbell();
        }
        happened | (self.progress_others() != 0)
    }
}
