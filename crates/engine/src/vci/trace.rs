// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recording what happens on a VCI (setting `RANKPOINT_TRACE`).
//!
//! Nothing of it lies on a fast path: where messages are traced, the fast paths reach no rank ([`crate::progress::Vci::needs_slow_stages`]), and
//! senders use cells that lead receivers off theirs ([`crate::vci::cell::INJECT_TRACED`], `TRACED`). Messages of
//! a process that does not trace are therefore not recorded where they arrive. The ring of events is bounded; the oldest ones go first.

use fabric::trace::{TraceControl, TraceEvent, TraceKind, VciTrace};
use sys::clock;

use super::VciState;
use super::matching::Key;
use crate::identity::{LinkIndex, VciIndex};
use crate::request::{RequestId, RequestIndex, Role};
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
    fn record(&mut self, event: TraceEvent) {
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
    fn record_of(&mut self, peer: LinkIndex, event: TraceEvent) {
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

    /// [`Self::complete`], recorded.
    #[inline]
    pub(crate) fn complete_noted(&mut self, index: RequestIndex) {
        if self.is_traced() {
            self.trace_done(index);
        }
        self.complete(index);
    }

    /// Cells of a peer that this rank has consumed: the position of the one that it handles.
    fn position_from(&self, peer: LinkIndex) -> u64 {
        let mut rings = self.incoming.iter();
        let ring = rings.find(|incoming| incoming.peer == peer);
        ring.map_or(0, |incoming| incoming.ring.consumed())
    }

    /// A send has begun.
    #[cold]
    pub(crate) fn trace_send(&mut self, index: RequestIndex) {
        let entry = self.slab.entry(index);
        let event = TraceEvent {
            bytes: entry.record.bytes,
            word: entry.record.match_word,
            request: entry.id().0,
            ..TraceEvent::of(TraceKind::SendPosted)
        };
        let peer = entry.send().target;
        self.record_of(peer, event);
    }

    /// The message of a send has departed.
    #[cold]
    pub(crate) fn trace_sent(
        &mut self,
        index: RequestIndex,
        kind: TraceKind,
        departure: Departure,
    ) {
        let entry = self.slab.entry(index);
        let event = TraceEvent {
            time_ns: departure.time_ns,
            bytes: entry.record.bytes,
            word: entry.record.match_word,
            request: entry.id().0,
            message: departure.position,
            ..TraceEvent::of(kind)
        };
        let peer = entry.send().target;
        self.record_of(peer, event);
    }

    /// A receive has begun.
    #[cold]
    pub(crate) fn trace_receive(&mut self, index: RequestIndex, key: Key) {
        let entry = self.slab.entry(index);
        let event = TraceEvent {
            bytes: entry.record.bytes,
            word: key.word,
            request: entry.id().0,
            ..TraceEvent::of(TraceKind::ReceivePosted)
        };
        self.record_of(key.peer, event);
    }

    /// A receive has met a message of `bytes` bytes that arrives now.
    #[cold]
    pub(crate) fn trace_match(&mut self, receive: RequestIndex, key: Key, bytes: u64) {
        let message = self.position_from(key.peer);
        self.trace_match_of(receive, key, bytes, (TraceKind::Matched, message));
    }

    /// A receive has met a message, which the kind and a number name.
    #[cold]
    pub(crate) fn trace_match_of(
        &mut self,
        receive: RequestIndex,
        key: Key,
        bytes: u64,
        (kind, message): (TraceKind, u64),
    ) {
        let event = TraceEvent {
            bytes,
            word: key.word,
            request: self.slab.id(receive).0,
            message,
            ..TraceEvent::of(kind)
        };
        self.record_of(key.peer, event);
    }

    /// A message that arrives now is kept.
    #[cold]
    pub(crate) fn trace_kept(&mut self, kept: RequestIndex, key: Key, bytes: u64) {
        let message = self.position_from(key.peer);
        self.trace_match_of(kept, key, bytes, (TraceKind::Unexpected, message));
    }

    /// An operation is about to complete.
    #[cold]
    pub(crate) fn trace_done(&mut self, index: RequestIndex) {
        let entry = self.slab.entry(index);
        let (kind, peer) = match entry.role() {
            Role::Send => (TraceKind::SendDone, entry.send().target),
            Role::Receive => (TraceKind::ReceiveDone, entry.record.peer),
            Role::Task if entry.task().call != 0 => (TraceKind::TaskEnd, LinkIndex::NONE),
            _ => return,
        };
        let event = TraceEvent {
            bytes: entry.record.bytes,
            word: entry.record.match_word,
            request: entry.id().0,
            ..TraceEvent::of(kind)
        };
        self.record_of(peer, event);
    }

    /// A cell of a protocol has gone to a peer, or has come from it.
    #[cold]
    pub(crate) fn trace_control(
        &mut self,
        peer: LinkIndex,
        kind: TraceKind,
        control: TraceControl,
        (request, bytes): (u64, u64),
    ) {
        let event = TraceEvent {
            detail: control as u8,
            bytes,
            request,
            ..TraceEvent::of(kind)
        };
        self.record_of(peer, event);
    }

    /// A call has begun or ended, or an operation that goes on by itself.
    #[cold]
    pub(crate) fn trace_call(&mut self, kind: TraceKind, name: &'static str, request: RequestId) {
        let word = self.trace.as_mut().map_or(0, |trace| trace.number_of(name));
        self.record(TraceEvent {
            word,
            request: request.0,
            ..TraceEvent::of(kind)
        });
    }

    /// A thread sleeps, or is awake again.
    #[cold]
    pub(crate) fn trace_sleep(&mut self, kind: TraceKind) {
        self.record(TraceEvent::of(kind));
    }

    /// Messages to a peer have woken it, if it has been woken more often than `before` times.
    #[cold]
    pub(crate) fn trace_wakes(&mut self, peer: LinkIndex, before: u32) {
        if self.links[peer].wakes != before {
            self.record_of(peer, TraceEvent::of(TraceKind::Woke));
        }
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
