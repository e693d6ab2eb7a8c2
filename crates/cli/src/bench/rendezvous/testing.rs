// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results for tests of what is made of them.

use bench_rank::measurement::Measurement;
use measure::yardstick::alike::Chosen;

use super::super::results::{Library, PointKey, Results};
use super::predict;

/// A measurement, its ranks and its skew in nanoseconds, the library's number, and the value.
pub(super) type Point = (&'static str, (u32, i64), usize, f64);

/// Results for messages of 1 MiB of some libraries, named and with their protocols if these are known, and what is predicted.
pub(super) fn results(libraries: &[(&str, Option<&'static str>)], points: &[Point]) -> Results {
    let library = |&(name, rendezvous): &(&str, _)| Library {
        name: name.to_owned(),
        rendezvous,
        ..Library::default()
    };
    let mut results = Results {
        libraries: libraries.iter().map(library).collect(),
        ..Results::default()
    };
    for &(name, (ranks, skew_ns), library, value) in points {
        let key = PointKey {
            measurement: Measurement::find(name).unwrap(),
            ranks,
            size_bytes: 1 << 20,
            skew_ns,
        };
        let chosen = Chosen {
            values: vec![value],
            ..Chosen::default()
        };
        results.add(key, library, &chosen);
    }
    results.predicted = predict(&results);
    results
}
