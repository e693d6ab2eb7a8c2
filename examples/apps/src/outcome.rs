// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run reports: figures that threads counted, times that they measured, and what verification found.

use std::time::{Duration, Instant};

use rankpoint::{Communicator, Op, Threads};
use serde_json::{Map, Value, json};

use crate::{Failure, Told};

/// Where the VCIs are reported: programs run alike on libraries that have none.
pub(crate) const MORE: &str =
    "VCIs of communicators, and what their locks cost: rankpoint explain vci";

/// Figures with their names.
pub type Figures = Vec<(&'static str, u64)>;

/// What a thread counted and measured. The names are the same in all threads of all processes.
pub(crate) trait Tally {
    /// Figures that are summed over all threads, with their names.
    fn counts(&self) -> Figures;

    /// Times, of which that of the slowest thread is kept, with their names.
    fn times(&self) -> Vec<(&'static str, Duration)>;

    /// How many events took how long, by class, summed over all threads.
    fn histogram(&self) -> Figures {
        Vec::new()
    }

    /// What its verification found.
    fn findings(&self) -> &Findings;
}

/// What the verification of a thread found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Values compared.
    pub verified: u64,
    /// Values that differ.
    pub wrong: u64,
    /// The first of them, in a sentence.
    pub first_wrong: Option<String>,
    /// The thread's part of the checksum.
    pub checksum: u64,
}

/// Sums over all threads of all ranks, the same on each rank.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub about: String,
    /// What each process created, with its number.
    pub created: (&'static str, usize),
    /// Figures that were counted, summed over all threads.
    pub counts: Figures,
    /// Times of the slowest thread in each.
    pub times: Vec<(&'static str, Duration)>,
    /// Events by the time that they took, summed over all threads.
    pub histogram: Figures,
    /// What verification found; the first difference is one of this process.
    pub findings: Findings,
}

impl Findings {
    /// Compares a value with the expected one; `what` says which value it is.
    pub(crate) fn compare(&mut self, found: u64, expected: u64, what: impl FnOnce() -> String) {
        self.verified += 1;
        if found != expected {
            self.wrong(|| format!("{} is {found}, expected {expected}", what()));
        }
    }

    /// Records that something is wrong.
    pub(crate) fn wrong(&mut self, what: impl FnOnce() -> String) {
        self.wrong += 1;
        self.first_wrong.get_or_insert_with(what);
    }
}

impl Outcome {
    /// Sums up. Called by all ranks.
    pub(crate) fn of<T: Threads>(
        world: &Communicator<'_, T>,
        about: String,
        created: (&'static str, usize),
        tallies: &[impl Tally],
    ) -> Result<Self, Failure> {
        let all = || tallies.iter();
        let mut sums = [0u64; 3];
        for found in all().map(Tally::findings) {
            let found = [found.verified, found.wrong, found.checksum];
            let pairs = sums.iter_mut().zip(found);
            pairs.for_each(|(sum, it)| *sum = sum.wrapping_add(it));
        }
        world.all_reduce_in_place(&mut sums, Op::SUM)?;
        let mut wrong = all().filter_map(|it| it.findings().first_wrong.clone());
        let nanoseconds = |tally| {
            let times = Tally::times(tally).into_iter();
            let times = times.map(|(name, it)| (name, u64::try_from(it.as_nanos())));
            let times = times.map(|(name, it)| (name, it.unwrap_or(u64::MAX)));
            times.collect()
        };
        let times = combined(world, all().map(nanoseconds), u64::max, Op::MAX)?;
        let add = u64::wrapping_add;
        Ok(Self {
            about,
            created,
            counts: combined(world, all().map(Tally::counts), add, Op::SUM)?,
            histogram: combined(world, all().map(Tally::histogram), add, Op::SUM)?,
            times: times
                .into_iter()
                .map(|(name, it)| (name, Duration::from_nanos(it)))
                .collect(),
            findings: Findings {
                verified: sums[0],
                wrong: sums[1],
                checksum: sums[2],
                first_wrong: wrong.next(),
            },
        })
    }

    /// The figure of a name.
    pub fn count(&self, name: &str) -> Option<u64> {
        let mut all = self.counts.iter();
        all.find_map(|&(it, count)| (it == name).then_some(count))
    }

    /// Whether verification found nothing.
    pub const fn is_right(&self) -> bool {
        self.findings.wrong == 0
    }

    /// The outcome as lines of text.
    pub fn text(&self) -> String {
        let counts = self.counts.iter();
        let counts: Vec<_> = counts.map(|(name, it)| format!("{it} {name}")).collect();
        let ms = |time: &Duration| time.as_secs_f64() * 1e3;
        let times = self.times.iter();
        let times: Vec<_> = times
            .map(|(name, it)| format!("{name} {:.3} ms", ms(it)))
            .collect();
        let Findings {
            verified, wrong, ..
        } = self.findings;
        let compared = match verified {
            0 => "nothing compared".to_owned(),
            _ => format!("{verified} values compared with the serial computation"),
        };
        let (kind, number) = self.created;
        let classes = self.histogram.iter();
        let classes: Vec<_> = classes.map(|(name, it)| format!("{name} {it}")).collect();
        let events = match classes.is_empty() {
            true => String::new(),
            false => format!("real   events {}\n", classes.join(", ")),
        };
        format!(
            "{}\n\
             exact  {}\n\
             exact  {kind} created in each process: {number}\n\
             real   {} (slowest thread of each)\n\
             {events}exact  {compared}, {wrong} differ\n\
             {MORE}\n\
             checksum {:016x}\n",
            self.about,
            counts.join(", "),
            times.join(", "),
            self.findings.checksum
        )
    }

    /// The outcome as JSON.
    pub fn json(&self) -> String {
        let key = |name: &str| name.replace(' ', "_");
        let counts = self.counts.iter();
        let mut exact: Map<String, Value> =
            counts.map(|&(name, it)| (key(name), json!(it))).collect();
        exact.insert(key(self.created.0), json!(self.created.1));
        exact.insert("verified".to_owned(), json!(self.findings.verified));
        exact.insert("wrong".to_owned(), json!(self.findings.wrong));
        let checksum = format!("{:016x}", self.findings.checksum);
        exact.insert("checksum".to_owned(), json!(checksum));
        let times = self.times.iter();
        let times: Map<String, Value> = times
            .map(|(name, it)| (key(name), json!(it.as_secs_f64())))
            .collect();
        let mut all = json!({ "about": self.about, "exact": exact, "real_s": times });
        if !self.histogram.is_empty() {
            let classes = self.histogram.iter();
            let classes: Map<String, Value> =
                classes.map(|&(name, it)| (key(name), json!(it))).collect();
            all["real_events"] = json!(classes);
        }
        format!("{all:#}\n")
    }

    /// What a program prints of it.
    pub(crate) fn told(&self, as_json: bool) -> Told {
        Told {
            text: if as_json { self.json() } else { self.text() },
            wrong: self.findings.first_wrong.clone(),
            is_right: self.is_right(),
        }
    }
}

/// Combines figures of all threads of all ranks.
fn combined<T: Threads>(
    world: &Communicator<'_, T>,
    tallies: impl Iterator<Item = Figures>,
    combine: impl Fn(u64, u64) -> u64,
    op: Op<u64>,
) -> Result<Figures, Failure> {
    let merge = |mut all: Figures, more: Figures| {
        let pairs = all.iter_mut().zip(more);
        pairs.for_each(|(one, other)| one.1 = combine(one.1, other.1));
        all
    };
    let mut figures = tallies.reduce(merge).unwrap_or_default();
    let mut values: Vec<u64> = figures.iter().map(|it| it.1).collect();
    world.all_reduce_in_place(&mut values, op)?;
    let pairs = figures.iter_mut().zip(values);
    pairs.for_each(|(figure, value)| figure.1 = value);
    Ok(figures)
}

/// Adds the time since `since` to a phase, and begins the next one.
pub(crate) fn end(phase: &mut Duration, since: &mut Instant) {
    let now = Instant::now();
    *phase += now - *since;
    *since = now;
}
