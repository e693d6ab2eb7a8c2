// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results: the values of every point, and the conditions under which they were taken.

use bench_rank::measurement::{Better, Measurement, Unit};
use measure::statistics::median;
use measure::target::InitLevel;
use measure::yardstick::alike::{self, Chosen};
use serde::Serialize;

use super::rendezvous::Curve;

/// Everything that one run of `rankpoint bench` has found.
#[derive(Clone, Default, Serialize)]
pub(super) struct Results {
    /// The command that gave them.
    pub(super) command: String,
    /// The processor, as the kernel names it.
    pub(super) processor: String,
    /// Cores that this process may use.
    pub(super) cores: usize,
    /// The libraries, the first of them ours.
    pub(super) libraries: Vec<Library>,
    /// The values.
    pub(super) points: Vec<Point>,
    /// Notes for readers of the tables: jobs that failed or were left out.
    pub(super) remarks: Vec<String>,
    /// The skew curves as the cost model has them; none where they were not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) predicted: Vec<Curve>,
}

/// A library that was measured.
#[derive(Clone, Default, Serialize)]
pub(super) struct Library {
    pub(super) name: String,
    /// Its version text; empty until it has run.
    pub(super) version: String,
    pub(super) threads: InitLevel,
    /// The value of `RANKPOINT_RENDEZVOUS` that it is measured with, if several are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rendezvous: Option<&'static str>,
}

/// The identity of a point; its order is the order of the tables.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub(super) struct PointKey {
    #[serde(serialize_with = "name")]
    pub(super) measurement: &'static Measurement,
    pub(super) ranks: u32,
    pub(super) size_bytes: usize,
    /// By how much the receive is posted before the send, where rows differ in that.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) skew_ns: i64,
}

/// All values of one library at one key.
#[derive(Clone, Serialize)]
pub(super) struct Point {
    #[serde(flatten)]
    pub(super) key: PointKey,
    /// Index of the library.
    pub(super) library: usize,
    pub(super) median: f64,
    /// In the order in which they were taken; nanoseconds, bytes, a rate per second or per cent.
    pub(super) values: Vec<f64>,
    /// Core-to-core times in nanoseconds around each value; none where they do not matter.
    pub(super) core_to_core_ns: Vec<f64>,
    /// Whether those are others than the other libraries of the row met, however often it was repeated.
    pub(super) met_another_distance: bool,
    /// Whether there are fewer values than asked for, because they took too long.
    pub(super) limited: bool,
}

impl Results {
    /// Adds values to a point.
    pub(super) fn add(&mut self, key: PointKey, library: usize, chosen: &Chosen) {
        let known = |point: &Point| point.key == key && point.library == library;
        let index = self.points.iter().position(known).unwrap_or_else(|| {
            self.points.push(Point {
                key,
                library,
                median: 0.0,
                values: Vec::new(),
                core_to_core_ns: Vec::new(),
                met_another_distance: false,
                limited: false,
            });
            self.points.len() - 1
        });
        let point = &mut self.points[index];
        point.values.extend_from_slice(&chosen.values);
        point.median = median(&point.values);
        point.core_to_core_ns.extend(&chosen.met);
        point.met_another_distance |= chosen.is_apart;
    }

    /// Marks a point whose values took too long.
    pub(super) fn limit(&mut self, key: PointKey, library: usize) {
        let known = |point: &&mut Point| point.key == key && point.library == library;
        if let Some(point) = self.points.iter_mut().find(known) {
            point.limited = true;
        }
    }

    /// Whether a library has fewer values for a key than asked for.
    pub(super) fn is_limited(&self, key: PointKey, library: usize) -> bool {
        let wanted = |point: &&Point| point.key == key && point.library == library;
        self.points
            .iter()
            .find(wanted)
            .is_some_and(|point| point.limited)
    }

    /// Core-to-core times in nanoseconds around all values.
    pub(super) fn distances(&self) -> Vec<f64> {
        let all = self.points.iter().flat_map(|point| &point.core_to_core_ns);
        all.copied().collect()
    }

    /// Whether a library's values for a key were taken while the cores were at another distance than usual.
    pub(super) fn elsewhere(&self, key: PointKey, library: usize) -> bool {
        let usual = alike::usual(&self.distances());
        let wanted = |point: &&Point| point.key == key && point.library == library;
        let point = self.points.iter().find(wanted);
        point.is_some_and(|point| alike::differ(&point.core_to_core_ns, usual))
    }

    /// Whether a library's values for a key met another distance than those of the other libraries.
    pub(super) fn is_apart(&self, key: PointKey, library: usize) -> bool {
        let wanted = |point: &&Point| point.key == key && point.library == library;
        let point = self.points.iter().find(wanted);
        point.is_some_and(|point| point.met_another_distance)
    }

    /// The keys of a measurement, each once, by ranks and sizes.
    pub(super) fn keys(&self, measurement: &Measurement) -> Vec<PointKey> {
        let mut keys: Vec<PointKey> = Vec::new();
        for point in &self.points {
            if point.key.measurement.name == measurement.name && !keys.contains(&point.key) {
                keys.push(point.key);
            }
        }
        keys.sort_by_key(|key| (key.ranks, key.size_bytes, key.skew_ns));
        keys
    }

    /// The median at a key.
    pub(super) fn median(&self, key: PointKey, library: usize) -> Option<f64> {
        let wanted = |point: &&Point| point.key == key && point.library == library;
        self.points.iter().find(wanted).map(|point| point.median)
    }

    /// Whether the second library is the first one at MPI_THREAD_MULTIPLE.
    pub(super) fn has_both_levels(&self) -> bool {
        match &self.libraries[..] {
            [first, second, ..] => {
                (first.threads, second.threads) == (InitLevel::Single, InitLevel::Multiple)
            }
            _ => false,
        }
    }

    /// The first library's median at MPI_THREAD_MULTIPLE divided by that at MPI_THREAD_SINGLE, where both met the same distance.
    pub(super) fn ratio_of_levels(&self, key: PointKey) -> Option<f64> {
        let is_apart = self.is_apart(key, 0) || self.is_apart(key, 1);
        if is_apart || !self.has_both_levels() {
            return None;
        }
        Some(self.median(key, 1)? / self.median(key, 0)?)
    }

    /// Whether there is another library at the first one's thread level.
    pub(super) fn has_peers(&self) -> bool {
        self.peers().next().is_some()
    }

    /// Libraries that the first one is compared with: all others at its thread level.
    fn peers(&self) -> impl Iterator<Item = usize> {
        let level = self.libraries.first().map(|library| library.threads);
        (1..self.libraries.len()).filter(move |&index| Some(self.libraries[index].threads) == level)
    }

    /// The first library's median divided by that of the best peer; none of what has an end at 100 %, and none where any
    /// library met another distance of the cores than the others: the best one is not known then.
    pub(super) fn ratio_to_best_peer(&self, key: PointKey) -> Option<f64> {
        if (0..self.libraries.len()).any(|library| self.is_apart(key, library)) {
            return None;
        }
        let peers = self.peers().filter_map(|library| self.median(key, library));
        let best = match key.measurement.better {
            Better::Lower => peers.min_by(f64::total_cmp),
            Better::Higher => peers.max_by(f64::total_cmp),
        };
        Some(self.median(key, 0)? / best?).filter(|_| key.measurement.unit != Unit::Percent)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives a reference to the field"
)]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives a reference to the field"
)]
fn name<S: serde::Serializer>(
    measurement: &&'static Measurement,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(measurement.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(value: f64, distance: f64, is_apart: bool) -> Chosen {
        Chosen {
            values: vec![value],
            met: vec![distance; 2],
            is_apart,
        }
    }

    #[test]
    fn the_best_peer_is_the_fastest_one() {
        let library = |name: &str| Library {
            name: name.into(),
            version: String::new(),
            ..Library::default()
        };
        let mut results = Results {
            libraries: vec![library("a"), library("b"), library("c")],
            ..Results::default()
        };
        for (name, expected) in [("latency", 0.5), ("rate", 0.25)] {
            let key = PointKey {
                measurement: Measurement::find(name).unwrap(),
                ranks: 2,
                size_bytes: 8,
                skew_ns: 0,
            };
            assert_eq!(results.ratio_to_best_peer(key), None);
            for (library, value) in [1.0, 2.0, 4.0].into_iter().enumerate() {
                results.add(key, library, &chosen(value, 57.0, false));
            }
            assert_eq!(results.ratio_to_best_peer(key), Some(expected));
            results.add(key, 2, &chosen(4.0, 160.0, true));
            assert_eq!(results.ratio_to_best_peer(key), None);
        }
    }

    #[test]
    fn levels_of_one_library_have_a_ratio_of_their_own_and_are_no_peers() {
        let library = |threads| Library {
            name: "a".into(),
            version: String::new(),
            threads,
            ..Library::default()
        };
        let mut results = Results {
            libraries: vec![library(InitLevel::Single), library(InitLevel::Multiple)],
            ..Results::default()
        };
        let key = PointKey {
            measurement: Measurement::find("latency").unwrap(),
            ranks: 2,
            size_bytes: 8,
            skew_ns: 0,
        };
        assert_eq!(results.ratio_of_levels(key), None);
        results.add(key, 0, &chosen(60.0, 57.0, false));
        results.add(key, 1, &chosen(72.0, 57.0, false));
        assert_eq!(results.ratio_of_levels(key), Some(1.2));
        assert!(!results.has_peers());
        assert_eq!(results.ratio_to_best_peer(key), None);
        results.add(key, 1, &chosen(72.0, 160.0, true));
        assert_eq!(results.ratio_of_levels(key), None);
    }
}
