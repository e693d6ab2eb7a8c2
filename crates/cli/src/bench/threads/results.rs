// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was measured of threads.

use bench_rank::threads::{Mode, Operation};
use measure::job::RankReport;
use measure::statistics::median;
use serde::Serialize;

use super::super::results::Library;
use super::options::{Fabric, Locks, Progress, Sharing};

/// Everything that one run has found.
#[derive(Serialize)]
pub(super) struct ThreadResults {
    /// The command that gave them.
    pub(super) command: String,
    pub(super) processor: String,
    pub(super) cores: u32,
    pub(super) libraries: Vec<Library>,
    pub(super) points: Vec<RatePoint>,
    pub(super) remarks: Vec<String>,
}

/// What a point is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Case {
    /// Index of the library.
    pub(super) library: usize,
    pub(super) operation: Operation,
    pub(super) fabric: Fabric,
    pub(super) mode: Mode,
    /// Models of locks and progress, of this library with threads.
    pub(super) models: Option<(Locks, Progress)>,
    /// Contexts of the network, of this library with threads between hosts.
    pub(super) sharing: Option<Sharing>,
    pub(super) threads: u32,
    pub(super) size_bytes: usize,
    pub(super) window: u32,
}

/// The values of a case.
#[derive(Serialize)]
pub(super) struct RatePoint {
    #[serde(flatten)]
    pub(super) case: Case,
    /// Median of all repetitions, messages a second of all threads.
    pub(super) aggregate: f64,
    /// The same of the slowest and of the fastest thread of each repetition.
    pub(super) slowest: f64,
    pub(super) fastest: f64,
    /// The aggregate rate divided by that of processes.
    pub(super) to_processes: Option<f64>,
    /// Why there are no values.
    pub(super) skipped: Option<String>,
    pub(super) aggregates: Vec<f64>,
    /// Of each thread in each repetition.
    pub(super) rates: Vec<Vec<f64>>,
}

impl Case {
    /// Whether two cases differ in nothing but who communicates and how.
    fn is_beside(&self, other: &Self) -> bool {
        let of = |it: &Self| {
            (
                it.operation,
                it.fabric,
                it.threads,
                it.size_bytes,
                it.window,
            )
        };
        of(self) == of(other)
    }
}

impl ThreadResults {
    /// Whether a case need not be measured again.
    pub(super) fn is_skipped(&self, case: &Case) -> bool {
        let point = self.points.iter().find(|point| point.case == *case);
        point.is_some_and(|point| point.skipped.is_some())
    }

    /// Adds what the ranks of a job have printed.
    pub(super) fn add(&mut self, case: Case, lines: Vec<RankReport>) {
        let (mut skipped, mut aggregates, mut rates) = (None, Vec::new(), Vec::new());
        for line in lines {
            match line {
                RankReport::Start { version } => self.libraries[case.library].version = version,
                RankReport::Skipped { skipped: why } => skipped = Some(why),
                RankReport::Rates {
                    aggregates: more,
                    rates: of_threads,
                } => merge(&mut aggregates, &mut rates, &more, of_threads),
                RankReport::Point { .. } => {}
            }
        }
        let point = self.point(case);
        point.skipped = skipped;
        point.aggregates.extend(aggregates);
        point.rates.extend(rates);
    }

    /// Notes that a case cannot be measured.
    pub(super) fn skip(&mut self, case: Case, why: String) {
        self.point(case).skipped = Some(why);
    }

    /// Works out medians and ratios.
    pub(super) fn conclude(&mut self) {
        for point in &mut self.points {
            let of = |pick: fn(f64, f64) -> f64| {
                let each = point.rates.iter();
                let each = each.filter_map(|it| it.iter().copied().reduce(pick));
                median(&each.collect::<Vec<f64>>())
            };
            (point.slowest, point.fastest) = (of(f64::min), of(f64::max));
            point.aggregate = median(&point.aggregates);
        }
        let ratios = self.points.iter().map(|point| self.to_processes(point));
        let ratios: Vec<Option<f64>> = ratios.collect();
        for (point, ratio) in self.points.iter_mut().zip(ratios) {
            point.to_processes = ratio;
        }
    }

    /// The best rate of another library in the same mode, divided into a rate of the first.
    pub(super) fn to_best_peer(&self, point: &RatePoint) -> Option<f64> {
        if point.case.library != 0 || point.aggregates.is_empty() {
            return None;
        }
        let others = self.points.iter().filter(|other| {
            let case = &other.case;
            case.library != 0 && case.mode == point.case.mode && case.is_beside(&point.case)
        });
        let best = others.map(|other| other.aggregate).fold(0.0, f64::max);
        (best > 0.0).then(|| point.aggregate / best)
    }

    fn to_processes(&self, point: &RatePoint) -> Option<f64> {
        let mut all = self.points.iter();
        let processes = all.find(|other| {
            let case = &other.case;
            case.mode == Mode::Processes
                && case.library == point.case.library
                && case.is_beside(&point.case)
        })?;
        let has_both = !point.aggregates.is_empty() && processes.aggregate > 0.0;
        has_both.then(|| point.aggregate / processes.aggregate)
    }

    fn point(&mut self, case: Case) -> &mut RatePoint {
        let known = self.points.iter().position(|point| point.case == case);
        let index = known.unwrap_or_else(|| {
            self.points.push(RatePoint {
                case,
                aggregate: 0.0,
                slowest: 0.0,
                fastest: 0.0,
                to_processes: None,
                skipped: None,
                aggregates: Vec::new(),
                rates: Vec::new(),
            });
            self.points.len() - 1
        });
        &mut self.points[index]
    }
}

/// Adds what a rank has printed to what others have: processes that cannot communicate print for themselves.
fn merge(
    aggregates: &mut Vec<f64>,
    rates: &mut Vec<Vec<f64>>,
    more: &[f64],
    of_threads: Vec<Vec<f64>>,
) {
    if aggregates.is_empty() {
        aggregates.extend_from_slice(more);
        *rates = of_threads;
        return;
    }
    for (sum, value) in aggregates.iter_mut().zip(more) {
        *sum += value;
    }
    for (all, own) in rates.iter_mut().zip(of_threads) {
        all.extend(own);
    }
}

#[cfg(test)]
mod tests {
    use measure::target::InitLevel;

    use super::*;

    pub(crate) fn case(library: usize, mode: Mode) -> Case {
        Case {
            library,
            operation: Operation::Isend,
            fabric: Fabric::Shm,
            mode,
            models: None,
            sharing: None,
            threads: 2,
            size_bytes: 8,
            window: 64,
        }
    }

    fn rates(aggregate: f64, of_threads: &[f64]) -> RankReport {
        RankReport::Rates {
            aggregates: vec![aggregate],
            rates: vec![of_threads.to_vec()],
        }
    }

    #[test]
    fn rates_are_compared_with_processes_and_peers() {
        let library = |name: &str| Library {
            name: name.to_owned(),
            version: String::new(),
            threads: InitLevel::Multiple,
            ..Library::default()
        };
        let mut results = ThreadResults {
            command: String::new(),
            processor: String::new(),
            cores: 2,
            libraries: vec![library("ours"), library("theirs")],
            points: Vec::new(),
            remarks: Vec::new(),
        };
        // Each process prints for itself.
        let both = vec![rates(6.0, &[6.0]), rates(4.0, &[4.0])];
        results.add(case(0, Mode::Processes), both);
        results.add(case(0, Mode::Communicators), vec![rates(9.0, &[5.0, 4.0])]);
        results.add(case(1, Mode::Communicators), vec![rates(3.0, &[2.0, 1.0])]);
        results.skip(case(0, Mode::Hints), "no".to_owned());
        results.conclude();
        let own = &results.points[1];
        assert_eq!((own.slowest, own.fastest), (4.0, 5.0));
        assert_eq!(own.to_processes, Some(0.9));
        assert_eq!(results.to_best_peer(own), Some(3.0));
        assert_eq!(results.points[2].to_processes, None);
        assert!(results.is_skipped(&case(0, Mode::Hints)));
    }
}
