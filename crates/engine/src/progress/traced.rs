// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits that are recorded (`RANKPOINT_TRACE`): they leave the fast path with their first fruitless poll, and poll here as long as others
//! do there.

use fabric::trace::TraceKind;
use sys::spin;

use super::Vci;
use crate::errors::Result;
use crate::request::RequestId;
use crate::vci::VciState;

impl Vci {
    /// A wait that did not end with its first poll, recorded.
    pub(super) fn wait_traced(
        &self,
        call: &'static str,
        done: &mut dyn FnMut(&mut VciState) -> bool,
    ) -> Result<()> {
        let note = |kind| self.enter().trace_call(kind, call, RequestId::NULL);
        note(TraceKind::WaitBegin);
        let outcome = match self.poll_long(done) {
            true => Ok(()),
            false => self.wait_longer(call, done),
        };
        note(TraceKind::WaitEnd);
        outcome
    }

    /// Polls as long as a wait is a short one; whether it has ended.
    fn poll_long(&self, done: &mut dyn FnMut(&mut VciState) -> bool) -> bool {
        let mut guard = self.enter();
        let mut fruitless = 0;
        while fruitless <= self.waiting.patience().polls && guard.fault.is_none() {
            fruitless = match guard.progress() {
                0 => fruitless + 1,
                _ => 0,
            };
            if done(&mut guard) {
                return true;
            }
            if fruitless != 0 && self.waiting.rounds.follows(fruitless) && self.has_others() {
                drop(guard);
                self.progress_others();
                guard = self.enter();
            }
            if !self.tasks.is_empty() || self.is_contended() {
                guard = self.between_polls(guard);
                if done(&mut guard) {
                    return true;
                }
            } else if !self.waiting.is_oversubscribed {
                spin::cpu_relax();
            }
        }
        false
    }
}
