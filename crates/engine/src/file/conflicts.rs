// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=files`: accesses of two ranks to the same bytes, at least one of them a write, that nothing orders.
//!
//! Outside of atomic mode only MPI_File_sync, a barrier and another MPI_File_sync order accesses of two ranks (MPI-5.0, section 14.6.1).
//! All ranks of a file call MPI_File_sync equally often, so the number of a rank's calls before an access, its *epoch*, says what may be
//! ordered: two accesses whose epochs differ by less than 2 are not. Each rank keeps what it accessed, and all compare it in the calls in
//! which they meet: MPI_File_sync, MPI_File_set_view and MPI_File_close. The answer depends on the program, not on who came first.
//!
//! Accesses through other opens of the file are not seen, nor whether there is a barrier between two calls of MPI_File_sync.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::PoisonError;

use sys::sync::Mutex;

use super::access::Action;
use super::agree::gather;
use super::object::File;
use super::view::View;
use crate::errors::{Error, ErrorClass, Result};

/// Ranges that a rank keeps; where it has more, it forgets the oldest ones.
const MOST_SPANS: usize = 1 << 16;

/// Words of a span in a message.
const WORDS: usize = 3;

/// An access, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    epoch: u64,
    writes: bool,
    is_atomic: bool,
    /// Whether ranks have compared it before.
    is_compared: bool,
}

impl Kind {
    fn word(self) -> u64 {
        let flags = [self.writes, self.is_atomic, self.is_compared];
        let bits = |all: u64, flag| all << 1 | u64::from(flag);
        flags.into_iter().fold(self.epoch, bits)
    }

    const fn of_word(word: u64) -> Self {
        Self {
            epoch: word >> 3,
            writes: word & 4 != 0,
            is_atomic: word & 2 != 0,
            is_compared: word & 1 != 0,
        }
    }

    /// Whether accesses of these kinds to the same bytes, by two ranks, are a conflict that was not reported before.
    const fn conflicts(self, other: Self) -> bool {
        (self.writes || other.writes)
            && !(self.is_atomic && other.is_atomic)
            && !(self.is_compared && other.is_compared)
            && self.epoch.abs_diff(other.epoch) < 2
    }
}

/// Bytes that a rank has accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    range: Range<u64>,
    kind: Kind,
}

/// What a rank has accessed, as far as it may still be in conflict with something.
#[derive(Debug, Default)]
pub(super) struct Log {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Calls of MPI_File_sync.
    epoch: u64,
    spans: Vec<Span>,
}

impl Kept {
    fn add(&mut self, range: Range<u64>, kind: Kind) {
        if let Some(last) = self.spans.last_mut()
            && last.kind == kind
            && last.range.end == range.start
        {
            last.range.end = range.end;
            return;
        }
        if self.spans.len() == MOST_SPANS {
            self.join();
        }
        if self.spans.len() == MOST_SPANS {
            self.spans.drain(..MOST_SPANS / 2);
        }
        self.spans.push(Span { range, kind });
    }

    /// Joins spans that touch each other.
    fn join(&mut self) {
        let order = |span: &Span| (span.kind, span.range.start);
        self.spans.sort_by_key(order);
        self.spans.dedup_by(|next, span| {
            let joins = next.kind == span.kind && next.range.start <= span.range.end;
            if joins {
                span.range.end = span.range.end.max(next.range.end);
            }
            joins
        });
    }

    /// All spans were compared. Where that was in MPI_File_sync, what lies behind an earlier call is in no conflict with what comes.
    fn compared(&mut self, syncs: bool) {
        self.epoch += u64::from(syncs);
        let epoch = self.epoch;
        self.spans.retain(|span| span.kind.epoch + 1 >= epoch);
        for span in &mut self.spans {
            span.kind.is_compared = true;
        }
    }
}

/// Notes an access that begins.
pub(super) fn note(file: &File, action: Action, view: &View, positions: &Range<u64>) {
    let Some(log) = &file.log else {
        return;
    };
    let mut kept = log.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = Kind {
        epoch: kept.epoch,
        writes: action == Action::Write,
        is_atomic: file.is_atomic(),
        is_compared: false,
    };
    view.tiles
        .for_each_range(positions.clone(), |offset, bytes| {
            kept.add(offset..offset + bytes, kind);
        });
}

/// A span of a rank.
type Owned = (u32, Span);

/// The first two spans in the file that are in conflict.
fn first_conflict(mut all: Vec<Owned>) -> Option<(Owned, Owned)> {
    all.sort_by_key(|(rank, span)| (span.range.start, *rank));
    // Of each rank and kind the span that ends last: spans of one rank and kind conflict with the same others.
    let mut open: BTreeMap<(u32, Kind), Range<u64>> = BTreeMap::new();
    for (rank, span) in all {
        open.retain(|_, range| range.end > span.range.start);
        let other = open
            .iter()
            .find(|((other, kind), _)| *other != rank && kind.conflicts(span.kind));
        if let Some((&(other, kind), range)) = other {
            let earlier = Span {
                range: range.clone(),
                kind,
            };
            return Some(((other, earlier), (rank, span)));
        }
        let key = (rank, span.kind);
        match open.get_mut(&key) {
            Some(range) if range.end >= span.range.end => {}
            Some(range) => *range = span.range,
            None => drop(open.insert(key, span.range)),
        }
    }
    None
}

/// What a rank did.
fn described((rank, span): &Owned) -> String {
    let verb = match span.kind.writes {
        true => "wrote",
        false => "read",
    };
    let (start, end) = (span.range.start, span.range.end);
    format!("rank {rank} {verb} bytes {start}..{end}")
}

fn error_of((one, other): &(Owned, Owned)) -> Error {
    let (earlier, later) = match one.1.kind.epoch <= other.1.kind.epoch {
        true => (one, other),
        false => (other, one),
    };
    let between = match later.1.kind.epoch - earlier.1.kind.epoch {
        0 => "no MPI_File_sync lies between them",
        _ => "only one MPI_File_sync lies between them",
    };
    let text = format!(
        "{} of the file, {}, and {between}: MPI_File_sync, a barrier and MPI_File_sync order accesses (RANKPOINT_CHECK=files)",
        described(earlier),
        described(later)
    );
    Error::new(ErrorClass::ERR_IO, text)
}

/// Compares what all ranks have accessed, at all ranks. `syncs` says that this is a call of MPI_File_sync.
///
/// # Errors
/// MPI_ERR_IO, at all ranks, for a conflict that was not reported before. Those of the messages.
pub fn compare(file: &File, syncs: bool, call: &'static str) -> Result<()> {
    let Some(log) = &file.log else {
        return Ok(());
    };
    let mut words = Vec::new();
    let mut kept = log.kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.join();
    for Span { range, kind } in &kept.spans {
        words.extend([range.start, range.end, kind.word()]);
    }
    kept.compared(syncs);
    drop(kept);
    let lengths = gather(&file.comm, call, &[words.len() as u64])?;
    let most = lengths.iter().copied().max().unwrap_or(0) as usize;
    words.resize(most, 0);
    let all = gather(&file.comm, call, &words)?;
    let mut owned = Vec::new();
    for (rank, words) in (0..).zip(all.chunks_exact(most.max(1))) {
        let spans = words[..lengths[rank as usize] as usize]
            .as_chunks::<WORDS>()
            .0;
        owned.extend(spans.iter().map(|&[start, end, kind]| {
            let kind = Kind::of_word(kind);
            let range = start..end;
            (rank, Span { range, kind })
        }));
    }
    first_conflict(owned).map_or(Ok(()), |found| Err(error_of(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Kind = Kind {
        epoch: 4,
        writes: false,
        is_atomic: false,
        is_compared: false,
    };
    const WRITE: Kind = Kind {
        writes: true,
        ..READ
    };

    fn span(rank: u32, range: Range<u64>, kind: Kind) -> Owned {
        (rank, Span { range, kind })
    }

    #[test]
    fn kinds_are_words() {
        for epoch in [0, 1, 1 << 60] {
            for bits in 0..8 {
                let word = epoch << 3 | bits;
                assert_eq!(Kind::of_word(word).word(), word);
            }
        }
    }

    #[test]
    fn a_write_is_in_conflict_with_what_two_syncs_do_not_keep_apart() {
        let at = |epoch, kind| Kind { epoch, ..kind };
        let table = [
            (READ, READ, false),
            (READ, WRITE, true),
            (WRITE, WRITE, true),
            (WRITE, at(5, READ), true),
            (at(5, WRITE), READ, true),
            (WRITE, at(6, READ), false),
        ];
        for (one, other, expected) in table {
            assert_eq!(one.conflicts(other), expected, "{one:?} {other:?}");
        }
        let atomic = Kind {
            is_atomic: true,
            ..WRITE
        };
        assert!(!atomic.conflicts(atomic) && atomic.conflicts(WRITE));
        let known = Kind {
            is_compared: true,
            ..WRITE
        };
        assert!(!known.conflicts(known) && known.conflicts(WRITE));
    }

    #[test]
    fn the_first_conflict_of_two_ranks_is_found() {
        let long = span(0, 0..100, WRITE);
        let own = span(0, 50..60, READ);
        assert_eq!(first_conflict(vec![long.clone(), own.clone()]), None);
        let beside = span(1, 100..120, WRITE);
        assert_eq!(first_conflict(vec![beside.clone(), long.clone()]), None);
        // A short span of the rank does not hide the long one.
        let inside = span(2, 70..71, READ);
        let all = vec![
            inside.clone(),
            own,
            beside,
            span(0, 10..11, WRITE),
            long.clone(),
        ];
        assert_eq!(first_conflict(all), Some((long, inside)));
    }

    #[test]
    fn what_is_kept_is_joined_and_bounded() {
        let mut kept = Kept::default();
        for start in (0..10_000_000)
            .step_by(20)
            .chain((10..10_000_000).step_by(20))
        {
            kept.add(start..start + 10, WRITE);
        }
        assert!(kept.spans.len() <= MOST_SPANS);
        let mut kept = Kept {
            epoch: 4,
            spans: Vec::new(),
        };
        for start in [20, 0, 10, 40] {
            kept.add(start..start + 10, WRITE);
        }
        kept.add(5..15, READ);
        kept.join();
        let ranges: Vec<_> = kept.spans.iter().map(|span| span.range.clone()).collect();
        assert_eq!(ranges, [5..15, 0..30, 40..50]);
        kept.compared(true);
        assert_eq!((kept.epoch, kept.spans.len()), (5, 3));
        kept.compared(true);
        assert_eq!(kept.spans, []);
    }
}
