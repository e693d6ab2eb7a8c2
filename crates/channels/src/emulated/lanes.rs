// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual time: events in order, and servers of one customer at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Virtual time in picoseconds: whole numbers, so that runs are equal everywhere.
pub(super) type Time = u64;

/// Picoseconds of so many nanoseconds.
pub(super) fn picoseconds(ns: f64) -> Time {
    (ns * 1e3).round() as Time
}

/// A lock, a lane or a fetch unit. Customers come in the order of time, so the first one is served first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Server {
    free: Time,
    last: Option<usize>,
}

impl Server {
    /// Serves a customer who comes at a time; gives the time at which the service ends.
    pub(super) fn serve(&mut self, at: Time, takes: Time) -> Time {
        self.free = self.free.max(at) + takes;
        self.free
    }

    /// As [`Self::serve`], and `handover` longer when another customer was served before.
    pub(super) fn serve_customer(
        &mut self,
        customer: usize,
        at: Time,
        takes: Time,
        handover: Time,
    ) -> Time {
        let is_other = self.last.is_some_and(|last| last != customer);
        self.last = Some(customer);
        self.serve(at, takes + if is_other { handover } else { 0 })
    }
}

/// Threads by the time of their next step; equals by their numbers.
pub(super) struct Events(BinaryHeap<Reverse<(Time, usize)>>);

impl Events {
    /// All threads at time 0.
    pub(super) fn new(threads: usize) -> Self {
        Self((0..threads).map(|thread| Reverse((0, thread))).collect())
    }

    /// The thread with the earliest step.
    pub(super) fn next(&mut self) -> Option<(Time, usize)> {
        self.0.pop().map(|Reverse(event)| event)
    }

    /// A thread's next step.
    pub(super) fn add(&mut self, at: Time, thread: usize) {
        self.0.push(Reverse((at, thread)));
    }
}
