// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recording what happens on a VCI (setting `RANKPOINT_TRACE`).
//!
//! Nothing of it lies on a fast path: where messages are traced, the fast paths reach no rank ([`crate::progress::Vci::needs_slow_stages`]), and
//! senders use cells that lead receivers off theirs ([`crate::vci::cell::INJECT_TRACED`], [`crate::vci::cell::Marks`]). Messages of
//! a process that does not trace are therefore not recorded where they arrive. The ring of events is bounded; the oldest ones go first.

use fabric::trace::{TraceEvent, TraceKind, VciTrace};
use sys::clock;

use super::VciState;
use crate::identity::{LinkIndex, VciIndex};
use crate::request::RequestId;
use crate::settings::Settings;

thread_local! {
    /// Its address tells threads apart.
    static ME: u8 = const { 0 };
}

/// The events of a VCI.
pub(crate) struct Trace {
    events: Vec<TraceEvent>,
    bound: usize,
    /// Where the next event goes once there are as many as may be.
    oldest: usize,
    dropped: u64,
    /// The names of calls.
    names: Vec<&'static str>,
    /// The threads that have used the VCI.
    threads: Vec<usize>,
}

impl Trace {
    /// What the settings ask for; `None` for no trace.
    pub(super) fn wanted(settings: &Settings) -> Option<Box<Self>> {
        settings
            .traces()
            .then(|| Box::new(Self::new(settings.trace_events as usize)))
    }

    const fn new(bound: usize) -> Self {
        Self {
            events: Vec::new(),
            bound,
            oldest: 0,
            dropped: 0,
            names: Vec::new(),
            threads: Vec::new(),
        }
    }

    fn record(&mut self, event: TraceEvent) {
        let has_room = self.events.len() < self.bound && self.events.try_reserve(1).is_ok();
        if has_room {
            self.events.push(event);
            return;
        }
        // Also where the system gives no more memory.
        self.bound = self.events.len();
        self.dropped += 1;
        if let Some(oldest) = self.events.get_mut(self.oldest) {
            *oldest = event;
            self.oldest = (self.oldest + 1) % self.bound;
        }
    }

    fn number_of(&mut self, name: &'static str) -> u64 {
        let known = self.names.iter().position(|&known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }) as u64
    }

    fn thread(&mut self) -> u8 {
        let me = ME.with(|me| std::ptr::from_ref(me).addr());
        let known = self.threads.iter().position(|&known| known == me);
        let number = known.unwrap_or_else(|| {
            self.threads.push(me);
            self.threads.len() - 1
        });
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    /// What was recorded, in order.
    fn told(&self, vci: VciIndex) -> VciTrace {
        let (newer, older) = self.events.split_at(self.oldest);
        VciTrace {
            vci: vci.get(),
            dropped: self.dropped,
            names: self.names.iter().map(|&name| name.to_owned()).collect(),
            events: [older, newer].concat(),
        }
    }
}

/// When a message goes, and by what both sides know it: the position of its first cell, or the offered receive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departure {
    pub(crate) time_ns: u64,
    pub(crate) position: u64,
}

impl VciState {
    /// Whether what happens is recorded.
    #[inline(always)]
    pub(crate) const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// What was recorded.
    #[cold]
    pub(crate) fn told_trace(&self, vci: VciIndex) -> Option<VciTrace> {
        self.trace.as_ref().map(|trace| trace.told(vci))
    }

    /// Records an event of this thread, now if it has no time.
    #[cold]
    #[inline(never)]
    pub(super) fn record(&mut self, event: TraceEvent) {
        if let Some(trace) = self.trace.as_mut() {
            let thread = trace.thread();
            let time_ns = match event.time_ns {
                0 => clock::monotonic_ns(),
                known => known,
            };
            trace.record(TraceEvent {
                time_ns,
                thread,
                ..event
            });
        }
    }

    /// Records an event that is about a peer.
    pub(super) fn record_of(&mut self, peer: LinkIndex, event: TraceEvent) {
        let is_one = peer != LinkIndex::ANY && peer != LinkIndex::NONE;
        let (peer, peer_vci) = match is_one {
            true => (
                self.node.peers.process(peer).get(),
                self.node.peers.vci(peer).get(),
            ),
            false => (TraceEvent::NOBODY, 0),
        };
        self.record(TraceEvent {
            peer,
            peer_vci,
            ..event
        });
    }

    /// Now, and the position of the next cell to a peer, where messages are traced: a message is sent before its receiver sees it.
    pub(crate) fn before_sending(&self, peer: LinkIndex) -> Departure {
        match self.trace {
            Some(_) => Departure {
                time_ns: clock::monotonic_ns(),
                position: self.links[peer].sender.published(),
            },
            None => Departure::default(),
        }
    }

    /// A call has begun or ended, or an operation that goes on by itself.
    #[cold]
    pub(crate) fn trace_call(&mut self, kind: TraceKind, name: &'static str, request: RequestId) {
        let event = TraceEvent {
            request: request.0,
            ..TraceEvent::of(kind)
        };
        self.trace_named(name, event);
    }

    /// An event that has a name.
    #[cold]
    pub(crate) fn trace_named(&mut self, name: &'static str, event: TraceEvent) {
        let word = self.trace.as_mut().map_or(0, |trace| trace.number_of(name));
        self.record(TraceEvent { word, ..event });
    }

    /// A thread sleeps, or is awake again.
    #[cold]
    pub(crate) fn trace_sleep(&mut self, kind: TraceKind) {
        self.record(TraceEvent::of(kind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64) -> TraceEvent {
        TraceEvent {
            time_ns: number,
            ..TraceEvent::of(TraceKind::WaitBegin)
        }
    }

    fn kept(bound: usize, recorded: u64) -> (Vec<u64>, u64) {
        let mut trace = Trace::new(bound);
        (0..recorded).for_each(|number| trace.record(event(number)));
        let told = trace.told(VciIndex::FIRST);
        let times = told.events.iter().map(|event| event.time_ns);
        (times.collect(), told.dropped)
    }

    #[test]
    fn the_newest_events_are_kept_in_order_and_the_others_are_counted() {
        assert_eq!(kept(4, 0), (vec![], 0));
        assert_eq!(kept(4, 4), (vec![0, 1, 2, 3], 0));
        assert_eq!(kept(4, 6), (vec![2, 3, 4, 5], 2));
        assert_eq!(kept(4, 4004), (vec![4000, 4001, 4002, 4003], 4000));
        assert_eq!(kept(1, 3), (vec![2], 2));
    }

    #[test]
    fn a_name_has_one_number() {
        let mut trace = Trace::new(1);
        let numbers = ["a", "b", "a"].map(|name| trace.number_of(name));
        assert_eq!(numbers, [0, 1, 0]);
        assert_eq!(trace.told(VciIndex::FIRST).names, ["a", "b"]);
        let first = trace.thread();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| trace.thread()).join().unwrap();
            assert_eq!((first, second), (0, 1));
        });
        assert_eq!(trace.thread(), 0);
    }
}
