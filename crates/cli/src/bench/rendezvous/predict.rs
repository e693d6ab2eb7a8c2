// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skew curves as the cost model has them.
//!
//! The model gets two times of the run: the way of a control message, which is measured by itself, and the copy. The copy follows from the
//! point where the send is first by most, so this point agrees by construction, and the others are predictions.

use bench_rank::measurement::Measurement;
use protocols::cost::{Path, Times};
use protocols::{Config, Fabric, Variant};
use serde::Serialize;

use super::super::results::Results;

/// The row of the measured curves.
pub(super) const SKEW: &str = "rendezvous-skew";
/// The row of the control messages.
const CONTROL_TIME: &str = "rendezvous-control-time";

/// The curve of a library and a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in super::super) struct Curve {
    /// Index of the library.
    pub(super) library: usize,
    pub(super) size_bytes: usize,
    /// The way of a control message, as measured.
    pub(super) control_ns: f64,
    /// The copy, so that the first point agrees.
    pub(super) copy_ns: f64,
    /// By how much the receive is first, and the time from the later post until it is complete, in nanoseconds: at the measured skews, and
    /// where the curve bends.
    pub(super) points: Vec<(i64, f64)>,
}

/// The curves of all libraries whose protocol is known and that have measured ones.
pub(in super::super) fn predict(results: &Results) -> Vec<Curve> {
    let (Some(skew), Some(control)) = (Measurement::find(SKEW), Measurement::find(CONTROL_TIME))
    else {
        return Vec::new();
    };
    let mut curves = Vec::new();
    for (library, known) in results.libraries.iter().enumerate() {
        // What `auto` does is measured, not modelled.
        let Some(variant) = known.rendezvous.and_then(Variant::named) else {
            continue;
        };
        for way in results.keys(control) {
            let keys = results.keys(skew).into_iter();
            let keys = keys.filter(|key| key.size_bytes == way.size_bytes);
            let measured =
                keys.filter_map(|key| Some((key.skew_ns, results.median(key, library)?)));
            let measured: Vec<(i64, f64)> = measured.collect();
            let control_ns = results.median(way, library);
            if let (Some(&first), Some(control_ns)) = (measured.first(), control_ns) {
                let skews = measured.iter().map(|(skew_ns, _)| *skew_ns);
                let (copy_ns, points) = curve(variant, control_ns, first, skews);
                curves.push(Curve {
                    library,
                    size_bytes: way.size_bytes,
                    control_ns,
                    copy_ns,
                    points,
                });
            }
        }
    }
    curves
}

/// The copy that makes the curve go through the first point, and the curve at these skews and where it bends: where both post at once, and
/// where one is first by the way of a control message.
fn curve(
    variant: Variant,
    control_ns: f64,
    first: (i64, f64),
    skews: impl Iterator<Item = i64>,
) -> (f64, Vec<(i64, f64)>) {
    let copy_ns = (first.1 - received_ns(variant, control_ns, 0.0, first.0)).max(0.0);
    let way = control_ns.round() as i64;
    let mut skews: Vec<i64> = skews.collect();
    let reach = (skews.first().copied(), skews.last().copied());
    let is_within = |skew: &i64| reach.0 <= Some(*skew) && Some(*skew) <= reach.1;
    skews.extend([-way, 0, way].iter().filter(|skew| is_within(skew)));
    skews.sort_unstable();
    skews.dedup();
    let at = |skew_ns| {
        let time = received_ns(variant, control_ns, copy_ns, skew_ns);
        (skew_ns, time)
    };
    (copy_ns, skews.into_iter().map(at).collect())
}

/// From the later post until the receive is complete.
fn received_ns(variant: Variant, control_ns: f64, copy_ns: f64, skew_ns: i64) -> f64 {
    let times = Times {
        control_ns,
        read_ns: 0.0,
        startup_ns: copy_ns,
        bytes_per_ns: f64::INFINITY,
    };
    let config = Config::new(variant, Fabric::RINGS);
    let posts = (skew_ns as f64, 0.0);
    let (received, _) = times.complete_ns(config, Path::of(config, true), 0, posts);
    received - posts.0.max(0.0)
}

#[cfg(test)]
mod tests {
    use measure::yardstick::alike::Chosen;

    use super::super::super::results::{Library, PointKey};
    use super::*;

    const C: f64 = 300.0;

    #[test]
    fn curves_bend_where_the_table_of_delays_does() {
        let at = |variant, skew| received_ns(variant, C, 50_000.0, skew);
        // Reading waits for the RTS, unless that is there.
        assert_eq!(at(Variant::Read, -10_000), 50_000.0);
        assert_eq!(at(Variant::Read, -100), 50_200.0);
        assert_eq!(at(Variant::Read, 10_000), 50_300.0);
        // An offer that is there saves the RTS, and LANDED takes as long.
        assert_eq!(at(Variant::Write, -10_000), 50_000.0);
        assert_eq!(at(Variant::Write, 100), 50_500.0);
        assert_eq!(at(Variant::Write, 10_000), 50_300.0);
        // The CTS takes a way, and the last chunk another one.
        assert_eq!(at(Variant::Pieces, -10_000), 50_600.0);
        assert_eq!(at(Variant::Pieces, 10_000), 50_900.0);
    }

    #[test]
    fn a_curve_goes_through_the_first_point() {
        for variant in [Variant::Read, Variant::Pieces, Variant::Write] {
            let skews = [-90_000, -200, 0, 200, 90_000];
            let (copy_ns, points) = curve(variant, C, (-90_000, 60_000.0), skews.into_iter());
            assert!(copy_ns <= 60_000.0);
            assert_eq!(points[0], (-90_000, 60_000.0));
            let skews: Vec<i64> = points.iter().map(|(skew, _)| *skew).collect();
            assert_eq!(skews, [-90_000, -300, -200, 0, 200, 300, 90_000]);
        }
    }

    #[test]
    fn libraries_have_curves_if_their_protocol_is_known_and_they_were_measured() {
        let library = |rendezvous| Library {
            rendezvous,
            ..Library::default()
        };
        let mut results = Results {
            libraries: [Some("auto"), Some("read"), Some("write"), None]
                .map(library)
                .into(),
            ..Results::default()
        };
        let key = |name, skew_ns| PointKey {
            measurement: Measurement::find(name).unwrap(),
            ranks: 2,
            size_bytes: 1 << 20,
            skew_ns,
        };
        let value = |value| Chosen {
            values: vec![value],
            ..Chosen::default()
        };
        for one in [0, 1, 3] {
            results.add(key(CONTROL_TIME, 0), one, &value(C));
            results.add(key(SKEW, -90_000), one, &value(60_000.0));
            results.add(key(SKEW, 90_000), one, &value(61_000.0));
        }
        let curves = predict(&results);
        assert_eq!(curves.len(), 1);
        assert_eq!((curves[0].library, curves[0].copy_ns), (1, 60_000.0));
        let bends = [(-300, 60_000.0), (0, 60_300.0), (300, 60_300.0)];
        let ends = [(-90_000, 60_000.0), (90_000, 60_300.0)];
        assert_eq!(curves[0].points[1..4], bends);
        assert_eq!([curves[0].points[0], curves[0].points[4]], ends);
    }
}
