// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last stage of a wait: sleeping on the doorbell of a VCI.

use std::time::Duration;

use fabric::board::activity;
use fabric::counters::Counter;
use fabric::doorbell::SLEEPS;
use fabric::trace::TraceKind;
use sys::futex;

use super::Vci;
use crate::errors::Result;
use crate::vci::VciState;

/// Longest sleep in a call that tests: its program may have other work to do.
const TEST_NAP: Duration = Duration::from_micros(100);

impl Vci {
    /// Sleeps for a moment in a call that tests.
    #[cold]
    pub(super) fn nap(&self) {
        // A death ends the job, not this call.
        let _ = self.sleep(&mut |_| false, TEST_NAP);
        self.waiting.set_activity(activity::OUTSIDE);
    }

    /// Sleeps until something may have happened, for `longest` at most; true when `done` holds.
    #[cold]
    pub(super) fn sleep(
        &self,
        done: &mut dyn FnMut(&mut VciState) -> bool,
        longest: Duration,
    ) -> Result<bool> {
        self.check_death()?;
        self.record_awaited();
        let sleeper = self.waiting.sleeper();
        let covered = self.cover_others();
        sleeper.announce();
        // Tasks may wait for words of shared memory, whose writers ring only who they see asleep.
        self.poll_tasks();
        let others = self.progress_others();
        {
            let mut guard = self.enter();
            let events = guard.progress() + others;
            // Never asked again after it was true: it may have taken what it waited for.
            let is_done = done(&mut guard);
            if is_done || events != 0 {
                if self.is_threaded() {
                    // Others may sleep who are to look, too.
                    sleeper.leave();
                    self.ring_own_doorbell();
                } else {
                    sleeper.cancel();
                }
                return Ok(is_done);
            }
        }
        {
            let mut guard = self.enter();
            guard.count(Counter::Sleeps);
            guard.publish_counts();
        }
        self.trace_sleep(TraceKind::SleepBegin);
        self.waiting.set_activity(activity::SLEEPING);
        if self.is_threaded() {
            // The word stays as it is: another thread may sleep on. At worst a sender rings once in vain.
            let longest = longest.min(self.sleep_limit(&covered));
            futex::wait(sleeper.asleep, SLEEPS, longest);
            sleeper.leave();
        } else {
            sleeper.sleep(longest);
        }
        self.waiting.set_activity(activity::POLLING);
        self.trace_sleep(TraceKind::SleepEnd);
        Ok(false)
    }

    /// Records that this thread sleeps, or is awake, where that is traced.
    pub(super) fn trace_sleep(&self, kind: TraceKind) {
        if self.traces() {
            self.enter().trace_sleep(kind);
        }
    }

    /// Wakes the threads of this process that sleep: something happened that they may wait for.
    pub(crate) fn ring_own_doorbell(&self) {
        let waiting = &self.waiting;
        let board = waiting.node.board(waiting.me);
        board.ring(waiting.vci, false);
    }
}
