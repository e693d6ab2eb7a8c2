// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a profile says about choices: methods, places, directions, caches, regimes, calls.

use machine_profile::{Curve, Matrix, Profile};
use measure::columns::table;

use super::winners::winners;

/// The report.
pub(super) fn render(profile: &Profile) -> String {
    let mut text = format!(
        "{} of {}, {} cores, measured {}\n",
        profile.mode, profile.host.cpu, profile.host.cores, profile.created
    );
    best_methods(&mut text, profile);
    distances(&mut text, profile);
    both_ways(&mut text, profile);
    caches(&mut text, profile);
    regimes(&mut text, profile);
    calls(&mut text, profile);
    text
}

fn best_methods(text: &mut String, profile: &Profile) {
    let winners = winners(profile);
    if winners.is_empty() {
        return;
    }
    *text += "\nFastest method by size\n";
    let head = ["bytes", "ns", "next / it", "method", "next", "for"].map(str::to_owned);
    let rows = winners.into_iter().map(|winner| {
        let (second, ratio) = winner.second.unwrap_or_default();
        [
            winner.bytes.to_string(),
            winner.ns.to_string(),
            format!("{ratio:.2}"),
            winner.method,
            second,
            winner.purpose.to_owned(),
        ]
    });
    table(text, 3, [head].into_iter().chain(rows).collect());
}

fn distances(text: &mut String, profile: &Profile) {
    for matrix in &profile.matrices {
        let Some((low, high)) = matrix.range() else {
            continue;
        };
        let unit = matrix.unit.name();
        *text += &format!(
            "\n{}: {low} to {high} {unit} between different places, {:.2} times; ",
            matrix.name,
            high / low
        );
        let anisotropy = anisotropy(matrix);
        *text += &format!("the two directions of a pair differ by up to {anisotropy:.2} times\n");
    }
}

/// The largest ratio of the two directions of a pair.
fn anisotropy(matrix: &Matrix) -> f64 {
    let count = matrix.places.len();
    let pairs = (0..count).flat_map(|from| (0..from).map(move |to| (from, to)));
    let ratio = |(from, to): (usize, usize)| {
        let (there, back) = (matrix.values[from][to]?, matrix.values[to][from]?);
        Some((there / back).max(back / there))
    };
    pairs.filter_map(ratio).fold(1.0, f64::max)
}

fn both_ways(text: &mut String, profile: &Profile) {
    let (one, both) = (find(profile, "single/load"), find(profile, "single/both"));
    let overlaps = find(profile, "single/both/overlap");
    let (Some(one), Some(both), Some(overlaps)) = (one, both, overlaps) else {
        return;
    };
    *text += "\nBoth ways at once, over one way (2 is no loss); the part of the time in which both moved bytes\n";
    let mut rows = vec![["bytes", "gain", "overlap"].map(str::to_owned)];
    for point in &both.points {
        let single = one.points.iter().find(|single| single.x == point.x);
        let overlap = overlaps.points.iter().find(|overlap| overlap.x == point.x);
        if let (Some(single), Some(overlap)) = (single, overlap) {
            rows.push([
                point.x.to_string(),
                format!("{:.2}", 2.0 * single.sample.ns / point.sample.ns),
                format!("{:.0} %", 100.0 * overlap.sample.ns / point.sample.ns),
            ]);
        }
    }
    table(text, 3, rows);
}

fn caches(text: &mut String, profile: &Profile) {
    let (cached, flushed) = (
        find(profile, "copy/memcpy/cached"),
        find(profile, "copy/memcpy/flushed"),
    );
    let (Some(cached), Some(flushed)) = (cached, flushed) else {
        return;
    };
    *text += "\nmemcpy out of memory, over memcpy in the caches\n";
    let mut rows = vec![["bytes", "times"].map(str::to_owned)];
    for point in &flushed.points {
        if let Some(other) = cached.points.iter().find(|other| other.x == point.x) {
            let ratio = point.sample.ns / other.sample.ns;
            rows.push([point.x.to_string(), format!("{ratio:.2}")]);
        }
    }
    table(text, 2, rows);
}

fn regimes(text: &mut String, profile: &Profile) {
    let rows: Vec<[String; 3]> = profile
        .curves
        .iter()
        .filter_map(|curve| {
            let (peak, half) = curve.peak()?;
            Some([half.to_string(), format!("{peak:.2}"), curve.name.clone()])
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    *text += "\nRegimes: the first size with half of the largest rate, and that rate\n";
    let head = ["bytes", "GB/s", "curve"].map(str::to_owned);
    table(text, 2, [head].into_iter().chain(rows).collect());
}

fn calls(text: &mut String, profile: &Profile) {
    if profile.costs.is_empty() {
        return;
    }
    let peak = find(profile, "copy/memcpy/cached").and_then(Curve::peak);
    *text += "\nCosts, and the bytes that memcpy moves meanwhile at its best\n";
    let head = ["ns", "bytes", "cost"].map(str::to_owned);
    let rows = profile.costs.iter().map(|cost| {
        let bytes = peak.map_or_else(String::new, |(rate, _)| {
            format!("{:.0}", cost.sample.ns * rate)
        });
        [cost.sample.ns.to_string(), bytes, cost.name.clone()]
    });
    table(text, 2, [head].into_iter().chain(rows).collect());
}

fn find<'p>(profile: &'p Profile, name: &str) -> Option<&'p Curve> {
    profile.curves_of(name).next()
}

#[cfg(test)]
pub(super) mod tests {
    use machine_profile::{Axis, Cost, Host, Place, PlaceKind, Point, Sample, Unit};

    use super::*;

    fn sample(ns: f64) -> Sample {
        Sample {
            ns,
            trimean: ns,
            mad: ns / 100.0,
            n: 50,
            iid: true,
        }
    }

    /// A small profile, all of whose times are `scale` times as long.
    pub(crate) fn profile(scale: f64) -> Profile {
        let mut profile = Profile::new(Host {
            cpu: "Example".to_owned(),
            architecture: "x86_64".to_owned(),
            cores: 2,
            l3_bytes: 0,
            numa_nodes: 1,
            page_bytes: 4096,
            is_virtual: false,
            kernel: String::new(),
        });
        profile.places = (0..2)
            .map(|index| Place {
                name: format!("core {index}"),
                kind: PlaceKind::Core,
                index,
                l3: None,
                numa: None,
            })
            .collect();
        let curve = |name: &str, rate: f64, to: usize| Curve {
            name: name.to_owned(),
            axis: Axis::Bytes,
            from: Some(0),
            to: Some(to),
            points: [1024u64, 65_536]
                .map(|x| Point {
                    x,
                    sample: sample(scale * (50.0 + x as f64 / rate)),
                })
                .to_vec(),
        };
        profile.curves = vec![
            curve("copy/memcpy/cached", 40.0, 0),
            curve("copy/avx2/cached", 30.0, 0),
            curve("copy/memcpy/flushed", 10.0, 0),
            curve("single/load", 10.0, 1),
            curve("single/both", 8.0, 1),
            curve("single/both/overlap", 9.0, 1),
        ];
        profile.costs = vec![Cost {
            name: "call/syscall".to_owned(),
            sample: sample(scale * 60.0),
        }];
        profile.matrices = vec![Matrix {
            name: "line/matrix".to_owned(),
            unit: Unit::Ns,
            places: vec![0, 1],
            values: vec![vec![Some(0.0), Some(50.0)], vec![Some(60.0), Some(0.0)]],
            mad: vec![vec![Some(0.0); 2]; 2],
        }];
        profile
    }

    #[test]
    fn the_report_answers_each_question() {
        let text = render(&profile(1.0));
        for part in [
            "copy/memcpy/cached  copy/avx2/cached",
            "line/matrix: 50 to 60 ns between different places, 1.20 times; the two directions of a pair differ by up to 1.20 times",
            "Both ways at once",
            "memcpy out of memory",
            "Regimes",
            "call/syscall",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
