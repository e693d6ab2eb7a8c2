// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements over message size or skew as a picture: one chart each, one line a library.

use std::path::Path;

use bench_rank::measurement::{Axis, MEASUREMENTS, Measurement};
use measure::plot::{AxisText, Chart, Charts, Line, Look, Scale, bytes_label, render};

use super::rendezvous::skew_charts;
use super::results::Results;

/// Draws the results; the file's name says in which format.
pub(super) fn draw(results: &Results, file: &Path) -> Result<Vec<u8>, String> {
    let with_sizes = |row: &&Measurement| row.axis == Axis::Sizes && !results.keys(row).is_empty();
    let charts = MEASUREMENTS.iter().filter(with_sizes).map(|row| Chart {
        title: row.title.to_owned(),
        x: AxisText::new("message size", bytes_label),
        y: AxisText::new("", |value| row.unit.show(value)),
        scale: Scale::Logarithmic,
        lines: (0..results.libraries.len())
            .map(|library| line(results, row, library))
            .collect(),
    });
    let charts = Charts(charts.chain(skew_charts(results)).collect());
    if charts.0.is_empty() {
        return Err("a plot shows measurements by size or skew; none was asked for".to_owned());
    }
    render(&charts, charts.size(), file)
}

/// The values of a library.
fn line(results: &Results, measurement: &Measurement, library: usize) -> Line {
    let points = results.keys(measurement).into_iter().filter_map(|key| {
        let value = results.median(key, library)?;
        Some((key.size_bytes as f64, value))
    });
    Line {
        name: results.libraries[library].name.clone(),
        points: points.collect(),
        look: Look::Marked,
    }
}
