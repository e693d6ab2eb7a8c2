// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements over message size as a picture: one panel each, one line a library.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::measurement::{Axis, MEASUREMENTS, Measurement};
use super::picture::{COLORS, Picture, bytes_label, render};
use super::results::Results;

const PANEL: (u32, u32) = (760, 440);
/// Points of a line: size and value.
type Line = Vec<(f64, f64)>;

/// Draws the results; the file's name says in which format.
pub(super) fn draw(results: &Results, file: &Path) -> Result<Vec<u8>, String> {
    let with_sizes = |row: &&Measurement| row.axis == Axis::Sizes && !results.keys(row).is_empty();
    let panels: Vec<&Measurement> = MEASUREMENTS.iter().filter(with_sizes).collect();
    if panels.is_empty() {
        return Err("a plot shows measurements by size; none was asked for".to_owned());
    }
    let size = (PANEL.0, PANEL.1 * panels.len() as u32);
    render(&Panels { results, panels }, size, file)
}

/// All panels, below each other.
struct Panels<'a> {
    results: &'a Results,
    panels: Vec<&'a Measurement>,
}

impl Picture for Panels<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        draw_panels(self.results, &self.panels, area)
    }
}

fn draw_panels<Backend: DrawingBackend>(
    results: &Results,
    panels: &[&Measurement],
    area: &DrawingArea<Backend, Shift>,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    area.fill(&WHITE)?;
    for (panel, measurement) in area.split_evenly((panels.len(), 1)).iter().zip(panels) {
        draw_panel(results, measurement, panel)?;
    }
    area.present()
}

fn draw_panel<Backend: DrawingBackend>(
    results: &Results,
    measurement: &Measurement,
    area: &DrawingArea<Backend, Shift>,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    let lines: Vec<Line> = (0..results.libraries.len())
        .map(|library| line(results, measurement, library))
        .collect();
    let all = || lines.iter().flatten();
    let range = |pick: fn(&(f64, f64)) -> f64| {
        let low = all().map(pick).fold(f64::INFINITY, f64::min);
        let high = all().map(pick).fold(0.0, f64::max);
        low * 0.8..(high * 1.25).max(low * 2.0)
    };
    let mut chart = ChartBuilder::on(area)
        .caption(measurement.title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(92)
        .build_cartesian_2d(
            range(|point| point.0).log_scale(),
            range(|point| point.1).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("message size")
        .x_label_formatter(&|size| bytes_label(*size))
        .y_label_formatter(&|value| measurement.unit.show(*value))
        .label_style(("sans-serif", 16))
        .draw()?;
    for (library, line) in lines.iter().enumerate() {
        let color = COLORS[library % COLORS.len()];
        chart
            .draw_series(
                LineSeries::new(line.iter().copied(), color.stroke_width(2)).point_size(3),
            )?
            .label(&results.libraries[library].name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.4))
        .label_font(("sans-serif", 16))
        .draw()
}

/// The points of a library. A message of no bytes has no place on a logarithmic axis; it stands half-way below one byte.
fn line(results: &Results, measurement: &Measurement, library: usize) -> Line {
    let points = results.keys(measurement).into_iter().filter_map(|key| {
        let value = results.median(key, library)?;
        Some(((key.size_bytes as f64).max(0.5), value))
    });
    points.collect()
}
