// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a network: a hash of all of them, and the last ones as text.

use std::collections::VecDeque;
use std::fmt;

use super::wire::{Moved, Wire};

/// Events that are kept for the text.
const KEPT: usize = 128;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Turn(u32),
    Left(u32),
    Died(u32),
    Cell {
        is_arrival: bool,
        source: u32,
        target: u32,
        kind: u8,
        aux: u16,
        match_word: u64,
        bytes: u64,
    },
}

/// The record of a network. The data words of cells are no part of it: they may hold addresses,
/// which differ from run to run.
#[derive(Default)]
pub(super) struct Trace {
    hash: u64,
    events: u64,
    last: VecDeque<(u64, Event)>,
}

impl Trace {
    pub(super) fn turn(&mut self, now_ns: u64, rank: u32) {
        self.note(now_ns, Event::Turn(rank), [1, rank.into(), 0, 0]);
    }

    pub(super) fn left(&mut self, now_ns: u64, rank: u32) {
        self.note(now_ns, Event::Left(rank), [2, rank.into(), 0, 0]);
    }

    pub(super) fn died(&mut self, now_ns: u64, rank: u32) {
        self.note(now_ns, Event::Died(rank), [3, rank.into(), 0, 0]);
    }

    /// Notes a cell that the network took over, or that arrived.
    pub(super) fn cell(&mut self, now_ns: u64, is_arrival: bool, wire: &Wire, moved: &Moved) {
        let contents = &moved.contents;
        let bytes = u64::from(contents.bytes) + moved.payload_bytes;
        let event = Event::Cell {
            is_arrival,
            source: wire.source.rank,
            target: wire.target.rank,
            kind: contents.kind,
            aux: contents.aux,
            match_word: contents.match_word,
            bytes,
        };
        let pair = u64::from(wire.source.rank) << 32 | u64::from(wire.target.rank);
        let vcis = u64::from(wire.source.vci.get()) << 8 | u64::from(wire.target.vci.get());
        let head = vcis << 24 | u64::from(contents.kind) << 16 | u64::from(contents.aux);
        let tag = 4 + u64::from(is_arrival) + (head << 8);
        self.note(now_ns, event, [tag, pair, contents.match_word, bytes]);
    }

    fn note(&mut self, now_ns: u64, event: Event, words: [u64; 4]) {
        for word in [now_ns].into_iter().chain(words) {
            self.hash = mix(self.hash ^ word);
        }
        self.events += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back((now_ns, event));
    }

    /// A number that depends on each event and their order.
    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }
}

/// Spreads each bit over the whole word (the finalizer of SplitMix64).
pub(super) const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.events - self.last.len() as u64;
        writeln!(
            f,
            "{} events; {skipped} earlier ones are not shown",
            self.events
        )?;
        for (now_ns, event) in &self.last {
            write!(f, "{now_ns:>10} ns  ")?;
            match event {
                Event::Turn(rank) => writeln!(f, "rank {rank} runs")?,
                Event::Left(rank) => writeln!(f, "rank {rank} leaves")?,
                Event::Died(rank) => writeln!(f, "rank {rank} dies")?,
                Event::Cell {
                    is_arrival,
                    source,
                    target,
                    kind,
                    aux,
                    match_word,
                    bytes,
                } => {
                    let verb = if *is_arrival { "arrives" } else { "starts" };
                    writeln!(
                        f,
                        "{source} -> {target}: kind {kind} {verb}, {bytes} bytes, aux {aux}, \
                         match word {match_word:#x}"
                    )?;
                }
            }
        }
        Ok(())
    }
}
