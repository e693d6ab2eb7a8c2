// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a device would have ended what streams were given: a clock that calls, copies and kernels advance by fixed times.

use std::collections::BTreeMap;

/// Nanoseconds that every call takes the host.
const CALL_NS: f64 = 3000.0;
/// Nanoseconds before the first byte of a copy, and before the first instruction of a kernel.
const BEGIN_NS: f64 = 2000.0;
/// Bytes that a copy moves in a nanosecond.
const BYTES_PER_NS: f64 = 25.0;

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Position among the functions that were asked for.
    pub(crate) function: usize,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    pub(crate) parameter: Vec<u8>,
}

/// The clock.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// The host's time.
    now: f64,
    /// When each stream has done what it was given.
    ready: BTreeMap<usize, f64>,
    /// Streams that are captured.
    capturing: BTreeMap<usize, Vec<Launch>>,
    /// When each event fires; none before it is recorded.
    pub(crate) events: Vec<Option<f64>>,
    /// Graphs, and what they were instantiated to.
    pub(crate) graphs: Vec<Vec<Launch>>,
    streams: usize,
}

impl Timeline {
    /// The host made a call.
    pub(crate) fn call(&mut self) {
        self.now += CALL_NS;
    }

    /// A new stream.
    pub(crate) fn stream(&mut self) -> usize {
        self.streams += 1;
        self.streams
    }

    /// A copy of so many bytes.
    pub(crate) fn copy(&mut self, stream: usize, bytes: usize) {
        self.add(stream, BEGIN_NS + bytes as f64 / BYTES_PER_NS);
    }

    /// A kernel of so many cycles, each a nanosecond.
    pub(crate) fn kernel(&mut self, stream: usize, cycles: u64) {
        self.add(stream, BEGIN_NS + cycles as f64);
    }

    fn add(&mut self, stream: usize, ns: f64) {
        let end = self.end(stream) + ns;
        self.ready.insert(stream, end);
    }

    /// When a stream will have done what it was given; not before now.
    pub(crate) fn end(&self, stream: usize) -> f64 {
        self.ready
            .get(&stream)
            .copied()
            .unwrap_or(0.0)
            .max(self.now)
    }

    /// A stream goes on no earlier than at a time.
    pub(crate) fn hold(&mut self, stream: usize, until: f64) {
        let end = self.end(stream).max(until);
        self.ready.insert(stream, end);
    }

    /// The host waits for a time.
    pub(crate) fn wait(&mut self, until: f64) {
        self.now = self.now.max(until);
    }

    /// The host waits for all streams.
    pub(crate) fn wait_for_all(&mut self) {
        let last = self.ready.values().copied().fold(0.0, f64::max);
        self.wait(last);
    }

    /// Whether a time has come.
    pub(crate) fn is_over(&self, time: f64) -> bool {
        time <= self.now
    }

    /// Begins to keep what a stream is given; whether it was not captured before.
    pub(crate) fn capture(&mut self, stream: usize) -> bool {
        self.capturing.insert(stream, Vec::new()).is_none()
    }

    /// What a stream has been given since it is captured; none if it is not.
    pub(crate) fn captured(&mut self, stream: usize) -> Option<&mut Vec<Launch>> {
        self.capturing.get_mut(&stream)
    }

    /// Ends a capture.
    pub(crate) fn end_capture(&mut self, stream: usize) -> Option<Vec<Launch>> {
        self.capturing.remove(&stream)
    }
}
