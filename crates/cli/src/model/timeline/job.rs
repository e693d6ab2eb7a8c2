// SPDX-License-Identifier: MIT OR Apache-2.0
//! The traces of a job's ranks, on one clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fabric::trace::{RankTrace, TraceEvent};

use super::operations::{Operation, operations};
use super::pairs::{Message, Pairs};

/// Ending of the names of files.
const ENDING: &str = "trace";
/// With what they begin.
const MAGIC: &[u8] = b"rankpoint trace";

/// What the ranks of a job recorded.
pub(in crate::model) struct Job {
    /// By rank.
    pub(super) ranks: Vec<RankTrace>,
    /// Operations of each VCI of each rank.
    pub(super) operations: Vec<Vec<Vec<Operation>>>,
    pub(super) pairs: Pairs,
    /// Nanoseconds to add to the times of each rank.
    pub(super) shifts: Vec<i64>,
    /// What a reader must know.
    pub(super) remarks: Vec<String>,
}

/// Where an event is: indices of the rank, of its VCI, and of the event there.
pub(super) type Place = (usize, usize, usize);

/// Whether a path is a folder of traces of ranks, or such a trace.
pub(in crate::model) fn is_of_ranks(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = [0; MAGIC.len()];
    let file = fs::File::open(path);
    path.is_dir() || file.is_ok_and(|mut file| file.read_exact(&mut head).is_ok() && head == MAGIC)
}

impl Job {
    /// Reads files, and all of folders.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of the same job.
    pub(in crate::model) fn read(paths: &[PathBuf]) -> Result<Self, String> {
        let mut ranks: Vec<(PathBuf, RankTrace)> = Vec::new();
        for file in files_of(paths)? {
            let shown = file.display();
            let bytes = fs::read(&file).map_err(|error| format!("cannot read {shown}: {error}"))?;
            let trace = RankTrace::parse(&bytes).map_err(|error| format!("{shown}: {error}"))?;
            if let Some((other, known)) = ranks.first()
                && known.size != trace.size
            {
                let (here, there) = (trace.size, known.size);
                let other = other.display();
                return Err(format!(
                    "{shown} is of a job of {here} ranks, {other} of one of {there}: expected files of one job"
                ));
            }
            if let Some((other, _)) = ranks.iter().find(|(_, known)| known.rank == trace.rank) {
                let (rank, other) = (trace.rank, other.display());
                return Err(format!(
                    "{shown} and {other} are both of rank {rank}: expected one file a rank"
                ));
            }
            ranks.push((file, trace));
        }
        let ranks: Vec<RankTrace> = ranks.into_iter().map(|(_, trace)| trace).collect();
        Ok(Self::of(ranks))
    }

    /// The job of these ranks.
    pub(super) fn of(mut ranks: Vec<RankTrace>) -> Self {
        ranks.sort_by_key(|trace| trace.rank);
        let of_rank = |trace: &RankTrace| trace.vcis.iter().map(operations).collect();
        let operations: Vec<Vec<Vec<Operation>>> = ranks.iter().map(of_rank).collect();
        let pairs = Pairs::of(&ranks, &operations);
        let mut remarks = Vec::new();
        let shifts = shifts(&ranks, &pairs.messages, &mut remarks);
        let missing = ranks.first().map_or(0, |first| first.size as usize) - ranks.len();
        if missing != 0 {
            remarks.push(format!("{missing} ranks of the job have no file here."));
        }
        let dropped: u64 = ranks
            .iter()
            .flat_map(|rank| &rank.vcis)
            .map(|vci| vci.dropped)
            .sum();
        if dropped != 0 {
            remarks.push(format!(
                "{dropped} events were dropped, the oldest ones of their VCIs: RANKPOINT_TRACE_EVENTS keeps more."
            ));
        }
        Self {
            ranks,
            operations,
            pairs,
            shifts,
            remarks,
        }
    }

    /// An event.
    pub(super) fn event(&self, (rank, vci, event): Place) -> &TraceEvent {
        &self.ranks[rank].vcis[vci].events[event]
    }

    /// When it was, in nanoseconds on the clock of the first rank.
    pub(super) fn time(&self, place: Place) -> i64 {
        self.event(place).time_ns.cast_signed() + self.shifts[place.0]
    }
}

/// The files of paths, and those of folders.
fn files_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let shown = path.display();
        let entries =
            fs::read_dir(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let own = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut own: Vec<PathBuf> = own
            .filter(|file| file.extension().is_some_and(|ending| ending == ENDING))
            .collect();
        if own.is_empty() {
            return Err(format!(
                "{shown} has no file *.{ENDING}: expected those that RANKPOINT_TRACE={shown} makes"
            ));
        }
        own.sort();
        files.append(&mut own);
    }
    Ok(files)
}

/// What to add to the times of each rank, for the clock of the first one. Hosts have clocks of their own: messages in both directions
/// bound how far they are apart, for none arrives before it is sent; else the calendars tell.
fn shifts(ranks: &[RankTrace], messages: &[Message], remarks: &mut Vec<String>) -> Vec<i64> {
    let Some(first) = ranks.first() else {
        return Vec::new();
    };
    let mut known = BTreeMap::from([(first.clock.clone(), 0)]);
    for rank in ranks {
        if known.contains_key(&rank.clock) {
            continue;
        }
        let clock = |place: Place| &ranks[place.0].clock;
        let time = |(rank, vci, event): Place| ranks[rank].vcis[vci].events[event].time_ns;
        let least = |from: &String, to: &String| {
            let own = messages
                .iter()
                .filter(|one| clock(one.sent) == from && clock(one.matched) == to);
            own.map(|one| time(one.matched).wrapping_sub(time(one.sent)).cast_signed())
                .min()
        };
        let (host, reference) = (&rank.host, &first.host);
        let both = least(&first.clock, &rank.clock).zip(least(&rank.clock, &first.clock));
        let shift = if let Some((there, back)) = both {
            let doubt = (there + back).max(0) / 2;
            remarks.push(format!(
                "Host {host} has another clock than {reference}: messages in both directions place it within {doubt} ns."
            ));
            (back - there) / 2
        } else {
            remarks.push(format!(
                "Host {host} has another clock than {reference}, and no message came back: their calendars place it."
            ));
            let ahead =
                |rank: &RankTrace| rank.now_ns[1].wrapping_sub(rank.now_ns[0]).cast_signed();
            ahead(rank) - ahead(first)
        };
        known.insert(rank.clock.clone(), shift);
    }
    ranks.iter().map(|rank| known[&rank.clock]).collect()
}
