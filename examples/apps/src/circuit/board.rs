// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the threads of a process share: voltages and charges, and how far handlers have come.
#![expect(
    clippy::disallowed_types,
    reason = "programs share the standard library's atomics"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Condvar, Mutex, MutexGuard, PoisonError};

use super::message::Kind;
use crate::threads::unpoisoned;

/// Voltages of own nodes and ghosts, and charges of own nodes. The mutex and the barrier order what is read and written.
pub(super) struct Board {
    voltages: Vec<AtomicU64>,
    charges: Vec<AtomicU64>,
    events: Mutex<Events>,
    changed: Condvar,
    /// The task threads.
    pub(super) tasks: Barrier,
}

/// How far the process has come.
#[derive(Clone, Copy, Default)]
pub(super) struct Events {
    /// Values that handlers have taken, by [`Kind`].
    handled: [u64; 2],
    /// Task threads that have ended.
    ended: usize,
    /// Messages that these have sent.
    pub(super) sent: u64,
    /// Charges that these have sent.
    pub(super) charges: u64,
}

impl Board {
    /// All voltages at the start, for so many task threads.
    pub(super) fn new(voltages: Vec<u64>, tasks: usize) -> Self {
        Self {
            charges: voltages.iter().map(|_| AtomicU64::new(0)).collect(),
            voltages: voltages.into_iter().map(AtomicU64::new).collect(),
            events: Mutex::default(),
            changed: Condvar::new(),
            tasks: Barrier::new(tasks),
        }
    }

    pub(super) fn voltage(&self, node: usize) -> u64 {
        self.voltages[node].load(Ordering::Relaxed)
    }

    pub(super) fn set_voltage(&self, node: usize, voltage: u64) {
        self.voltages[node].store(voltage, Ordering::Relaxed);
    }

    pub(super) fn add_charge(&self, node: usize, charge: u64) {
        self.charges[node].fetch_add(charge, Ordering::Relaxed);
    }

    pub(super) fn take_charge(&self, node: usize) -> u64 {
        self.charges[node].swap(0, Ordering::Relaxed)
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        unpoisoned(&self.events)
    }

    /// A handler has taken values.
    pub(super) fn handled(&self, kind: Kind, values: u64) {
        self.events().handled[kind as usize] += values;
        self.changed.notify_all();
    }

    /// Waits until handlers have taken so many values since the start.
    pub(super) fn wait_for(&self, kind: Kind, values: u64) {
        let is_missing = |events: &mut Events| events.handled[kind as usize] < values;
        let events = self.changed.wait_while(self.events(), is_missing);
        drop(events.unwrap_or_else(PoisonError::into_inner));
    }

    /// A task thread ends, which has sent so many messages and charges.
    pub(super) fn end(&self, sent: u64, charges: u64) {
        let mut events = self.events();
        events.ended += 1;
        events.sent += sent;
        events.charges += charges;
    }

    /// How far the process has come, if all of so many task threads have ended.
    pub(super) fn ended(&self, tasks: usize) -> Option<Events> {
        Some(*self.events()).filter(|events| events.ended == tasks)
    }
}
