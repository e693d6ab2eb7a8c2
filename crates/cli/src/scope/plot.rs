// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile as pictures: curves of related entries in one plot each, and matrices as heat maps.

use std::path::Path;

use machine_profile::{Axis, Curve, Matrix, Profile};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::options::Format;
use crate::bench::picture::{COLORS, Picture, bytes_label, render};
use crate::bench::write;

const SIZE: (u32, u32) = (860, 520);
/// Pixels of a cell of a heat map, of its margins, and most of the whole.
const CELL: u32 = 64;
const MARGIN: u32 = 90;
const MOST: u32 = 1600;

/// A plot of curves: file, title, and which curves by the begin and end of their names.
type Plot = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PLOTS: [Plot; 9] = [
    (
        "copy-cached",
        "Copies in the caches",
        &[("copy/", "/cached")],
    ),
    (
        "copy-flushed",
        "Copies out of memory",
        &[("copy/", "/flushed")],
    ),
    (
        "cache-effect",
        "memcpy by where its bytes are",
        &[("copy/memcpy/", "")],
    ),
    (
        "processes",
        "From one process to another",
        &[
            ("single/load", ""),
            ("single/store", ""),
            ("double/", ""),
            ("cma/", ""),
        ],
    ),
    (
        "both-ways",
        "One way and both ways at once",
        &[("single/load", ""), ("single/both", "")],
    ),
    (
        "memory",
        "Latency of dependent loads",
        &[("memory/chase", "")],
    ),
    (
        "atomics",
        "Read-modify-write on one word",
        &[("atomic/", "")],
    ),
    (
        "network",
        "Half round trips",
        &[("mpi/latency", ""), ("network/", "")],
    ),
    ("gpu", "Transfers of GPUs", &[("gpu/", "")]),
];

/// Writes all plots for which there are values into a folder.
pub(super) fn write_all(profile: &Profile, folder: &Path, format: Format) -> Result<(), String> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    let file = |name: &str| folder.join(name).with_extension(format.ending());
    for (name, title, wanted) in PLOTS {
        let is_wanted = |curve: &&Curve| {
            let is_one = |(start, end): &(&str, &str)| {
                curve.name.starts_with(start) && curve.name.ends_with(end)
            };
            wanted.iter().any(is_one)
        };
        let curves: Vec<&Curve> = profile.curves.iter().filter(is_wanted).collect();
        let Some(first) = curves.first() else {
            continue;
        };
        let axis = first.axis;
        let curves = curves
            .into_iter()
            .filter(|curve| curve.axis == axis)
            .collect();
        // Rates say more of copies, times of everything that has no bytes or one word.
        let is_rate = axis == Axis::Bytes && name != "memory" && name != "network";
        let plot = Curves {
            title,
            curves,
            axis,
            is_rate,
        };
        let file = file(name);
        write(&file, &render(&plot, SIZE, &file)?)?;
    }
    for matrix in &profile.matrices {
        let names = matrix
            .places
            .iter()
            .map(|&place| profile.places[place].name.as_str());
        let map = HeatMap {
            matrix,
            names: names.collect(),
        };
        let file = file(&matrix.name.replace('/', "-"));
        write(&file, &render(&map, map.size(), &file)?)?;
    }
    Ok(())
}

/// Curves in one plot.
struct Curves<'p> {
    title: &'p str,
    curves: Vec<&'p Curve>,
    axis: Axis,
    is_rate: bool,
}

impl Curves<'_> {
    fn points(&self, curve: &Curve) -> Vec<(f64, f64)> {
        let points = curve.points.iter().map(|point| {
            let x = (point.x as f64).max(0.5);
            let ns = point.sample.ns.max(1e-3);
            (
                x,
                if self.is_rate {
                    point.x as f64 / ns
                } else {
                    ns
                },
            )
        });
        points.filter(|(_, y)| *y > 0.0).collect()
    }
}

impl Picture for Curves<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let lines: Vec<Vec<(f64, f64)>> =
            self.curves.iter().map(|curve| self.points(curve)).collect();
        let range = |pick: fn(&(f64, f64)) -> f64| {
            let all = lines.iter().flatten().map(pick);
            let low = all.clone().fold(f64::INFINITY, f64::min);
            let high = all.fold(0.0, f64::max);
            low * 0.8..(high * 1.25).max(low * 2.0)
        };
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(92)
            .build_cartesian_2d(
                range(|point| point.0).log_scale(),
                range(|point| point.1).log_scale(),
            )?;
        let label = |x: &f64| match self.axis {
            Axis::Bytes => bytes_label(*x),
            _ => format!("{x:.0}"),
        };
        chart
            .configure_mesh()
            .x_desc(self.axis.unit())
            .y_desc(if self.is_rate { "GB/s" } else { "ns" })
            .x_label_formatter(&label)
            .y_label_formatter(&|y| number(*y))
            .label_style(("sans-serif", 16))
            .draw()?;
        for (index, (curve, line)) in self.curves.iter().zip(&lines).enumerate() {
            let color = COLORS[index % COLORS.len()];
            let series = LineSeries::new(line.iter().copied(), color.stroke_width(2));
            chart
                .draw_series(series.point_size(3))?
                .label(&curve.name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.4))
            .label_font(("sans-serif", 16))
            .draw()?;
        area.present()
    }
}

fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A matrix as colours.
struct HeatMap<'p> {
    matrix: &'p Matrix,
    names: Vec<&'p str>,
}

impl HeatMap<'_> {
    fn cell(&self) -> u32 {
        let count = self.names.len().max(1) as u32;
        CELL.min((MOST - MARGIN) / count).max(1)
    }

    fn size(&self) -> (u32, u32) {
        let side = self.cell() * self.names.len() as u32;
        // Room for the title beside small matrices.
        ((side + 2 * MARGIN).max(420), side + 2 * MARGIN)
    }
}

impl Picture for HeatMap<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let style = TextStyle::from(("sans-serif", 16)).color(&BLACK);
        let unit = self.matrix.unit.name();
        let title = format!("{} [{unit}], from row to column", self.matrix.name);
        area.draw_text(&title, &style, (12, 12))?;
        let (low, high) = self.matrix.range().unwrap_or((0.0, 1.0));
        let (cell, left, top) = (self.cell() as i32, MARGIN as i32, MARGIN as i32);
        let has_text = cell >= 48;
        for (row, values) in self.matrix.values.iter().enumerate() {
            let y = top + row as i32 * cell;
            if cell >= 16 {
                area.draw_text(self.names[row], &style, (8, y + cell / 2 - 8))?;
            }
            for (column, value) in values.iter().enumerate() {
                let x = left + column as i32 * cell;
                if row == 0 && has_text {
                    area.draw_text(self.names[column], &style, (x, top - 22))?;
                }
                let part =
                    value.map(|value| ((value - low) / (high - low).max(1e-9)).clamp(0.0, 1.0));
                let color = part.map_or(RGBColor(220, 220, 220), shade);
                let corners = [(x, y), (x + cell - 1, y + cell - 1)];
                area.draw(&Rectangle::new(corners, color.filled()))?;
                if let Some(value) = value.filter(|_| has_text) {
                    let ink = if part.unwrap_or(0.0) > 0.5 {
                        &WHITE
                    } else {
                        &BLACK
                    };
                    let style = TextStyle::from(("sans-serif", 16)).color(ink);
                    area.draw_text(&number(value), &style, (x + 6, y + cell / 2 - 8))?;
                }
            }
        }
        area.present()
    }
}

/// From a light yellow to a dark blue: darker is larger, also without colours.
fn shade(part: f64) -> RGBColor {
    let mix = |low: f64, high: f64| (low + (high - low) * part).round() as u8;
    RGBColor(mix(255.0, 8.0), mix(247.0, 48.0), mix(188.0, 107.0))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::profile;
    use super::*;

    #[test]
    fn every_plot_is_a_picture_of_its_values() {
        let folder = std::env::temp_dir().join(format!("rankpoint-plots-{}", std::process::id()));
        for (format, start) in [(Format::Svg, &b"<svg"[..]), (Format::Png, b"\x89PNG")] {
            write_all(&profile(1.0), &folder, format).unwrap();
            for name in ["copy-cached", "both-ways", "line-matrix"] {
                let file = folder.join(name).with_extension(format.ending());
                assert!(
                    std::fs::read(&file).unwrap().starts_with(start),
                    "{}",
                    file.display()
                );
            }
        }
        let text = std::fs::read_to_string(folder.join("line-matrix.svg")).unwrap();
        assert!(text.contains("core 1") && text.contains("60.0"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
