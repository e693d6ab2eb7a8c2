// SPDX-License-Identifier: MIT OR Apache-2.0
//! The skew curves as charts: marks are measured, lines without marks are predicted.

use bench_rank::measurement::{Measurement, Unit};
use measure::plot::{AxisText, Chart, Line, Look, Scale};
use measure::sizes::show;

use super::super::results::Results;
use super::predict::SKEW;

/// Skews that the second chart of a size shows: those in which control messages matter.
const SMALL_NS: i64 = 2_000;

/// Two charts of each size whose skew was varied: all skews, and the small ones.
pub(in super::super) fn skew_charts(results: &Results) -> Vec<Chart<'_>> {
    let keys = Measurement::find(SKEW).map(|skew| results.keys(skew));
    let mut sizes: Vec<usize> = (keys.iter().flatten().map(|key| key.size_bytes)).collect();
    sizes.dedup();
    let both = |size| [i64::MAX, SMALL_NS].map(|most| skew_chart(results, size, most));
    sizes.into_iter().flat_map(both).collect()
}

fn skew_chart(results: &Results, size: usize, most: i64) -> Chart<'_> {
    let title = match most {
        SMALL_NS => "the same, small skews".to_owned(),
        _ => format!("{} until received", show(size)),
    };
    let lines = (0..results.libraries.len()).flat_map(|library| {
        let (name, of) = (&results.libraries[library].name, (size, library));
        let measured = Line {
            name: name.clone(),
            points: measured(results, of, most),
            look: Look::Marks(library),
        };
        let predicted = Line {
            name: format!("{name}, predicted"),
            points: predicted(results, of, most),
            look: Look::Plain(library),
        };
        [measured, predicted]
    });
    Chart {
        title,
        x: AxisText::new("receive posted first by", signed),
        y: AxisText::new("", signed),
        scale: Scale::Signed,
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    }
}

/// A time before or after another one.
fn signed(time: f64) -> String {
    match time {
        time if time < 0.0 => format!("-{}", Unit::Nanoseconds.show(-time)),
        time => Unit::Nanoseconds.show(time),
    }
}

/// A library's points up to a skew: skew and time in nanoseconds.
fn measured(results: &Results, (size, library): (usize, usize), most: i64) -> Vec<(f64, f64)> {
    let keys = Measurement::find(SKEW).map(|skew| results.keys(skew));
    let keys = keys.into_iter().flatten();
    keys.filter(|key| key.size_bytes == size && key.skew_ns.abs() <= most)
        .filter_map(|key| Some((key.skew_ns as f64, results.median(key, library)?)))
        .collect()
}

/// The same of the prediction.
fn predicted(results: &Results, (size, library): (usize, usize), most: i64) -> Vec<(f64, f64)> {
    let curves = results.predicted.iter();
    let curves = curves.filter(|curve| curve.size_bytes == size && curve.library == library);
    let points = curves.flat_map(|curve| &curve.points);
    points
        .filter(|(skew_ns, _)| skew_ns.abs() <= most)
        .map(|(skew_ns, time)| (*skew_ns as f64, *time))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// Two libraries, one of a known protocol, at three skews and the way of a control message.
    fn results() -> Results {
        let of = |library| {
            [
                ("rendezvous-control-time", (2, 0), library, 300.0),
                (SKEW, (2, -100_000), library, 5e4),
                (SKEW, (2, 500), library, 5e4),
                (SKEW, (2, 100_000), library, 5e4),
            ]
        };
        let libraries = [("ours, write", Some("write")), ("theirs", None)];
        testing::results(&libraries, &[of(0), of(1)].concat())
    }

    #[test]
    fn marks_are_measured_and_lines_predicted() {
        let results = results();
        let charts = skew_charts(&results);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["1 MiB until received", "the same, small skews"]);
        let drawn = |chart: &Chart<'_>| -> Vec<(String, Look, usize)> {
            let lines = chart.lines.iter();
            lines
                .map(|line| (line.name.clone(), line.look, line.points.len()))
                .collect()
        };
        let lines = |counts: [usize; 3]| {
            [
                ("ours, write".to_owned(), Look::Marks(0), counts[0]),
                (
                    "ours, write, predicted".to_owned(),
                    Look::Plain(0),
                    counts[1],
                ),
                ("theirs".to_owned(), Look::Marks(1), counts[2]),
            ]
        };
        // The predicted line has the bends, too: 0, and the way of a control message before and after it.
        assert_eq!(drawn(&charts[0]), lines([3, 6, 3]));
        assert_eq!(drawn(&charts[1]), lines([1, 4, 1]));
    }
}
