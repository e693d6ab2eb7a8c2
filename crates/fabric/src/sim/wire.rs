// SPDX-License-Identifier: MIT OR Apache-2.0
//! One directed pair of VCIs of ranks: two rings, and the cells under way between them.
//!
//! A cell of `b` bytes (its own data and the payload that it describes) that the wire takes over at
//! time `t` starts at `s = max(t, free)`, where `free` is when the cell before left the wire free,
//! occupies the wire for `gap + b / bandwidth`, and arrives at `s + b / bandwidth + latency`. So
//! arrivals of one wire are in order and at least `gap` apart.
//!
//! Invariant: the wire holds at most as many cells as a ring; the other cells stay in the source's
//! ring, whose credits end the source's haste. The way back carries the receiver's throttle and
//! preferences, each with the latency.
#![expect(unsafe_code, reason = "payload lies at addresses of rings")]

use std::collections::VecDeque;

use super::{SimError, SimSettings};
use crate::identity::VciIndex;
use crate::ring::{CellContents, PayloadRule, RingReceiver, RingSender, private_ring};

/// A cell under way.
struct Parcel {
    contents: CellContents,
    /// The payload that the cell describes, and the word for its location in the target's ring.
    payload: Option<(Vec<u8>, usize)>,
    due_ns: u64,
    /// Number of the cell in the order in which the network took cells over.
    order: u64,
}

/// The throttle and preferences of a receiver.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Feedback {
    is_throttled: bool,
    preferences: u32,
}

/// Where a wire's cells go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// From a rank to a rank.
    Open,
    /// The target has left: cells vanish where they would arrive.
    NoTarget,
    /// The source is dead: nothing it sends exists.
    NoSource,
}

/// An end of a wire: a VCI of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Station {
    pub(super) rank: u32,
    pub(super) vci: VciIndex,
}

/// The connection from one station to another.
pub(super) struct Wire {
    pub(super) source: Station,
    pub(super) target: Station,
    from_source: RingReceiver,
    to_target: RingSender,
    parcels: VecDeque<Parcel>,
    most_parcels: usize,
    /// When the wire is free for the next cell.
    free_ns: u64,
    ends: Ends,
    /// The target's last feedback, and the feedback in flight with its times.
    said: Feedback,
    feedback: VecDeque<(u64, Feedback)>,
    no_reverse: RingSender,
}

/// A cell that a wire took over or delivered, for the trace.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub(super) contents: CellContents,
    pub(super) payload_bytes: u64,
}

impl Wire {
    /// A wire, and the ends of its rings that belong to the ranks.
    pub(super) fn new(
        source: Station,
        target: Station,
        settings: &SimSettings,
    ) -> Result<(Self, RingSender, RingReceiver), SimError> {
        let ring =
            || private_ring(settings.cells, settings.payload_bytes).ok_or(SimError::NoMemory);
        let ((outgoing, from_source), (to_target, incoming)) = (ring()?, ring()?);
        let wire = Self {
            source,
            target,
            from_source,
            to_target,
            parcels: VecDeque::new(),
            most_parcels: settings.cells as usize,
            free_ns: 0,
            ends: Ends::Open,
            said: Feedback::default(),
            feedback: VecDeque::new(),
            no_reverse: RingSender::unconnected(),
        };
        Ok((wire, outgoing, incoming))
    }

    /// Takes over the next cell of the source at `now_ns`, if there is one and the wire has room.
    /// `jitter_ns` is how much later than necessary the cell arrives.
    pub(super) fn collect(
        &mut self,
        now_ns: u64,
        order: u64,
        settings: &SimSettings,
        payload_rules: &[PayloadRule],
        jitter_ns: impl FnOnce() -> u64,
    ) -> Result<Option<Moved>, SimError> {
        if self.parcels.len() >= self.most_parcels {
            return Ok(None);
        }
        let Some(arrival) = self.from_source.peek() else {
            return Ok(None);
        };
        let contents = self.from_source.contents(arrival);
        let rule = payload_rules.iter().find(|rule| rule.kind == contents.kind);
        let payload = match rule {
            Some(rule) => Some((
                self.take_payload(&contents, rule)?,
                rule.location_word.into(),
            )),
            None => None,
        };
        self.from_source.advance();
        let payload_bytes = payload.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64);
        let moved = Moved {
            contents,
            payload_bytes,
        };
        if self.ends == Ends::NoSource {
            return Ok(Some(moved));
        }
        let transfer_ns = settings.transfer_ns(u64::from(contents.bytes) + payload_bytes);
        let start_ns = now_ns.max(self.free_ns);
        self.free_ns = start_ns + transfer_ns + settings.gap_ns;
        let due_ns = start_ns + transfer_ns + settings.latency_ns + jitter_ns();
        // Jitter must not let a cell overtake the one before it.
        let previous_ns = self.parcels.back().map_or(0, |parcel| parcel.due_ns);
        self.parcels.push_back(Parcel {
            contents,
            payload,
            due_ns: due_ns.max(previous_ns),
            order,
        });
        Ok(Some(moved))
    }

    /// Copies the payload that the peeked cell describes, and returns its room to the source.
    fn take_payload(
        &mut self,
        contents: &CellContents,
        rule: &PayloadRule,
    ) -> Result<Vec<u8>, SimError> {
        let word = |index: u8| contents.words.get(usize::from(index)).copied();
        let (location, bytes) = (word(rule.location_word), word(rule.bytes_word));
        let (location, bytes) = (location.unwrap_or(u64::MAX), bytes.unwrap_or(u64::MAX));
        let found = u32::try_from(bytes).ok().and_then(|bytes| {
            let start = self
                .from_source
                .payload(location, bytes, &self.no_reverse)?;
            Some((start, bytes))
        });
        let Some((start, length)) = found else {
            return Err(SimError::BadChunk {
                source: self.source.rank,
                target: self.target.rank,
                kind: contents.kind,
                location,
                bytes,
            });
        };
        // SAFETY: the ring checked that `length` bytes from `start` on lie in its payload area; the
        // source wrote them before it published the cell and leaves them alone until they are
        // released.
        let payload = unsafe { std::slice::from_raw_parts(start.as_ptr(), length as usize) };
        let payload = payload.to_vec();
        self.from_source
            .release_payload(location, length, &mut self.no_reverse);
        Ok(payload)
    }

    /// When the next cell is due, and its number in the network's order.
    pub(super) fn next_due(&self) -> Option<(u64, u64)> {
        self.parcels
            .front()
            .map(|parcel| (parcel.due_ns, parcel.order))
    }

    /// Whether the target's ring has a cell for the next delivery.
    pub(super) fn has_credit(&mut self) -> bool {
        self.ends != Ends::Open || self.to_target.has_credit() || self.to_target.refresh()
    }

    /// Whether nothing is under way, neither cells nor feedback.
    pub(super) fn is_idle(&self) -> bool {
        self.parcels.is_empty() && self.feedback.is_empty()
    }

    /// Puts the next cell into the target's ring; `None` when there is none, or no credit or room.
    pub(super) fn deliver(&mut self) -> Option<Moved> {
        let parcel = self.parcels.front_mut()?;
        let payload_bytes = match &parcel.payload {
            Some((payload, _)) => payload.len() as u64,
            None => 0,
        };
        let moved = Moved {
            contents: parcel.contents,
            payload_bytes,
        };
        if self.ends == Ends::Open {
            if let Some((payload, location_word)) = &parcel.payload {
                let reserved = self
                    .to_target
                    .reserve(payload.len() as u32, payload.as_ptr());
                let (target, location) = reserved?;
                // SAFETY: the reservation is as long as the payload, and no reader knows it yet.
                unsafe { target.copy_from_nonoverlapping(payload_start(payload), payload.len()) };
                if let Some(word) = parcel.contents.words.get_mut(*location_word) {
                    *word = location;
                }
            }
            if !self.to_target.put_contents(&parcel.contents) {
                return None;
            }
        }
        self.parcels.pop_front();
        Some(moved)
    }

    /// Notes what the target says to the source; it arrives after the latency.
    pub(super) fn note_feedback(&mut self, now_ns: u64, settings: &SimSettings) {
        let said = Feedback {
            is_throttled: self.to_target.is_throttled(),
            preferences: self.to_target.preferences(),
        };
        if said != self.said {
            self.said = said;
            self.feedback
                .push_back((now_ns + settings.latency_ns, said));
        }
    }

    /// Passes on the feedback that is due at `now_ns`; whether there was some.
    pub(super) fn pass_feedback(&mut self, now_ns: u64) -> bool {
        let mut has_passed = false;
        while let Some((_, said)) = self.feedback.pop_front_if(|(due, _)| *due <= now_ns) {
            self.from_source.set_throttle(said.is_throttled);
            self.from_source.set_preferences(said.preferences);
            has_passed = true;
        }
        has_passed
    }

    /// When the next feedback is due.
    pub(super) fn feedback_due(&self) -> Option<u64> {
        self.feedback.front().map(|&(due, _)| due)
    }

    /// Lets cells to the target vanish, because it has left.
    pub(super) fn lose_target(&mut self) {
        if self.ends == Ends::Open {
            self.ends = Ends::NoTarget;
        }
        self.feedback.clear();
    }

    /// Drops all that the source has sent and that has not arrived, and all that it will send.
    pub(super) fn lose_source(&mut self) {
        self.ends = Ends::NoSource;
        self.parcels.clear();
    }
}

/// The start of a payload as the type that rings take.
fn payload_start(payload: &[u8]) -> std::ptr::NonNull<u8> {
    std::ptr::NonNull::from(payload).cast()
}
