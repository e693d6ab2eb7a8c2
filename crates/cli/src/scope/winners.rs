// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of several methods for the same purpose is the fastest.

use std::collections::BTreeSet;

use machine_profile::{Curve, Profile};

/// A purpose, and the curves that serve it: prefix and suffix of their names.
const PURPOSES: [(&str, &[(&str, &str)]); 4] = [
    ("copy in the caches", &[("copy/", "/cached")]),
    ("copy out of memory", &[("copy/", "/flushed")]),
    (
        "between processes",
        &[
            ("single/load", ""),
            ("single/store", ""),
            ("double/", ""),
            ("cma/readv", ""),
            ("cma/writev", ""),
        ],
    ),
    ("wait", &[("wake/", "/other-core")]),
];

/// The fastest method at a size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Winner {
    pub(super) purpose: &'static str,
    pub(super) bytes: u64,
    pub(super) method: String,
    pub(super) ns: f64,
    /// The next one, and its time over that of the fastest.
    pub(super) second: Option<(String, f64)>,
}

/// The fastest methods of all purposes, at all sizes that two of their curves were measured at.
pub(super) fn winners(profile: &Profile) -> Vec<Winner> {
    let mut winners = Vec::new();
    for (purpose, names) in PURPOSES {
        let serves = |curve: &&Curve| {
            let name = &curve.name;
            let is_one =
                |(start, end): &(&str, &str)| name.starts_with(start) && name.ends_with(end);
            names.iter().any(is_one)
        };
        let curves: Vec<&Curve> = profile.curves.iter().filter(serves).collect();
        let points = curves.iter().flat_map(|curve| &curve.points);
        let sizes: BTreeSet<u64> = points.map(|point| point.x).collect();
        winners.extend(
            sizes
                .into_iter()
                .filter_map(|bytes| fastest(purpose, &curves, bytes)),
        );
    }
    winners
}

fn fastest(purpose: &'static str, curves: &[&Curve], bytes: u64) -> Option<Winner> {
    let time = |curve: &&Curve| {
        let point = curve.points.iter().find(|point| point.x == bytes)?;
        Some((curve.name.clone(), point.sample.ns))
    };
    let mut times: Vec<(String, f64)> = curves.iter().filter_map(time).collect();
    times.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut times = times.into_iter();
    let (method, ns) = times.next()?;
    let second = times.next().map(|(name, time)| (name, time / ns));
    second.is_some().then_some(Winner {
        purpose,
        bytes,
        method,
        ns,
        second,
    })
}
