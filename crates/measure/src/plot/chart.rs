// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines over an axis.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use super::frame::{LABEL, PANEL, begin, color, draw_legend};
use super::picture::Picture;

/// A chart of lines.
pub struct Chart<'a> {
    /// Its title.
    pub title: String,
    /// The axis from left to right.
    pub x: AxisText<'a>,
    /// The axis upwards.
    pub y: AxisText<'a>,
    /// How both axes grow.
    pub scale: Scale,
    /// The lines, each in a colour of its own.
    pub lines: Vec<Line>,
}

/// What stands at an axis.
pub struct AxisText<'a> {
    /// Its title, with the unit.
    pub title: String,
    /// A value as it is written at the axis.
    pub label: Box<dyn Fn(f64) -> String + 'a>,
}

/// How axes grow.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// By factors, around the points. A point at 0 stands half-way below 1 of the horizontal axis; one that is not above 0 on the
    /// vertical axis is left out.
    Logarithmic,
    /// By sums, from 0 to so much of the horizontal axis, and as far as the points reach of the vertical one.
    Linear(f64),
    /// By sums, as far as the points reach in both directions.
    Signed,
}

/// A line.
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points from left to right.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub look: Look,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line with marks at its points, in the colour of its place among the lines.
    Marked,
    /// Marks alone, in the colour with a number.
    Marks(usize),
    /// A line without marks, in the colour with a number.
    Plain(usize),
}

/// Charts below each other.
pub struct Charts<'a>(pub Vec<Chart<'a>>);

impl<'a> AxisText<'a> {
    /// An axis with a title, and how its values are written.
    pub fn new(title: impl Into<String>, label: impl Fn(f64) -> String + 'a) -> Self {
        Self {
            title: title.into(),
            label: Box::new(label),
        }
    }
}

impl Charts<'_> {
    /// Pixels of the picture.
    pub fn size(&self) -> (u32, u32) {
        (PANEL.0, PANEL.1 * self.0.len().max(1) as u32)
    }
}

impl Picture for Charts<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        let panels = area.split_evenly((self.0.len().max(1), 1));
        for (chart, panel) in self.0.iter().zip(&panels) {
            chart.draw(panel)?;
        }
        area.present()
    }
}

impl Chart<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let lines: Vec<Vec<(f64, f64)>> = self.lines.iter().map(|line| self.drawn(line)).collect();
        let mut builder = begin(area, &self.title);
        match self.scale {
            Scale::Logarithmic => {
                let x = around(&lines, |point| point.0).log_scale();
                let y = around(&lines, |point| point.1).log_scale();
                self.draw_lines(&lines, builder.build_cartesian_2d(x, y)?)
            }
            Scale::Linear(end) => {
                let ys = lines.iter().flatten().map(|point| point.1);
                let most = ys.fold(1.0, f64::max);
                let chart = builder.build_cartesian_2d(0.0..end, 0.0..most * 1.15)?;
                self.draw_lines(&lines, chart)
            }
            Scale::Signed => {
                let x = reach(&lines, |point| point.0);
                let y = reach(&lines, |point| point.1);
                // Room for the legend above the lines.
                let y = y.start..y.end + (y.end - y.start) * 0.6;
                self.draw_lines(&lines, builder.build_cartesian_2d(x, y)?)
            }
        }
    }

    /// The points of a line that have a place on the axes.
    fn drawn(&self, line: &Line) -> Vec<(f64, f64)> {
        let points = line.points.iter().copied();
        match self.scale {
            Scale::Linear(_) | Scale::Signed => points.collect(),
            Scale::Logarithmic => {
                let points = points.filter(|point| point.1 > 0.0);
                points.map(|(x, y)| (x.max(0.5), y)).collect()
            }
        }
    }

    fn draw_lines<'a, Backend, X, Y>(
        &self,
        lines: &[Vec<(f64, f64)>],
        mut chart: ChartContext<'a, Backend, Cartesian2d<X, Y>>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>>
    where
        Backend: DrawingBackend + 'a,
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .x_desc(self.x.title.as_str())
            .y_desc(self.y.title.as_str())
            .x_label_formatter(&|value| (self.x.label)(*value))
            .y_label_formatter(&|value| (self.y.label)(*value))
            .label_style(LABEL)
            .draw()?;
        for (index, (line, points)) in self.lines.iter().zip(lines).enumerate() {
            let (color, marks) = match line.look {
                Look::Marked => (color(index), 3),
                Look::Marks(number) => {
                    // A line of no width would be one pixel wide in a PNG file.
                    let color = color(number);
                    let mark = move |at| Circle::new(at, 4, color.filled());
                    chart
                        .draw_series(points.iter().copied().map(mark))?
                        .label(line.name.as_str())
                        .legend(move |(x, y)| Circle::new((x + 9, y), 4, color.filled()));
                    continue;
                }
                Look::Plain(number) => (color(number), 0),
            };
            let series = LineSeries::new(points.iter().copied(), color.stroke_width(2));
            chart
                .draw_series(series.point_size(marks))?
                .label(line.name.as_str())
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2))
                });
        }
        draw_legend(&mut chart)
    }
}

/// A range with room around the points.
fn around(lines: &[Vec<(f64, f64)>], pick: fn(&(f64, f64)) -> f64) -> Range<f64> {
    let all = || lines.iter().flatten().map(pick);
    let low = all().fold(f64::INFINITY, f64::min);
    if !low.is_finite() {
        return 1.0..10.0;
    }
    let high = all().fold(0.0, f64::max);
    low * 0.8..(high * 1.25).max(low * 2.0)
}

/// A range that holds the points.
fn reach(lines: &[Vec<(f64, f64)>], pick: fn(&(f64, f64)) -> f64) -> Range<f64> {
    let all = || lines.iter().flatten().map(pick);
    let (low, high) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(f64::NEG_INFINITY, f64::max),
    );
    if !low.is_finite() {
        return 0.0..1.0;
    }
    let margin = ((high - low) * 0.05).max(1.0);
    low - margin..high + margin
}

#[cfg(test)]
mod tests {
    use super::super::{bytes_label, number_label, render};
    use super::*;

    fn chart(scale: Scale, points: Vec<(f64, f64)>) -> Charts<'static> {
        chart_of(scale, points, Look::Marked)
    }

    fn chart_of(scale: Scale, points: Vec<(f64, f64)>, look: Look) -> Charts<'static> {
        Charts(vec![Chart {
            title: "a title".to_owned(),
            x: AxisText::new("bytes", bytes_label),
            y: AxisText::new("ns", number_label),
            scale,
            lines: vec![Line {
                name: "a line".to_owned(),
                points,
                look,
            }],
        }])
    }

    fn drawn(scale: Scale, points: Vec<(f64, f64)>) -> String {
        let chart = chart(scale, points);
        let bytes = render(&chart, chart.size(), "a.svg".as_ref()).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn title_axes_and_legend_are_written() {
        for scale in [Scale::Logarithmic, Scale::Linear(4096.0), Scale::Signed] {
            let text = drawn(scale, vec![(1.0, 10.0), (4096.0, 2000.0)]);
            for word in ["a title", "bytes", "ns", "a line"] {
                assert!(text.contains(word), "{word}");
            }
        }
    }

    #[test]
    fn points_without_a_place_on_logarithmic_axes_do_no_harm() {
        let text = drawn(Scale::Logarithmic, vec![(0.0, 10.0), (8.0, 0.0)]);
        // One point is left, and its line.
        assert_eq!(text.matches("<circle").count(), 1);
        assert!(!drawn(Scale::Logarithmic, Vec::new()).contains("NaN"));
    }

    #[test]
    fn marks_have_no_line_and_lines_no_marks() {
        let drawn = |look| {
            let points = vec![(1.0, 10.0), (2.0, 30.0), (4.0, 20.0)];
            let chart = chart_of(Scale::Signed, points, look);
            let bytes = render(&chart, chart.size(), "a.svg".as_ref()).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let lines = text.matches("stroke-width=\"2\"").count();
            (text.matches("<circle").count(), lines)
        };
        // Each has one more in the legend.
        assert_eq!(drawn(Look::Marks(0)), (4, 0));
        assert_eq!(drawn(Look::Plain(0)), (0, 2));
    }

    #[test]
    fn charts_stand_below_each_other() {
        let mut charts = chart(Scale::Logarithmic, vec![(1.0, 1.0)]);
        charts
            .0
            .extend(chart(Scale::Linear(2.0), vec![(1.0, 1.0)]).0);
        assert_eq!(charts.size(), (PANEL.0, 2 * PANEL.1));
        let raster = render(&charts, charts.size(), "a.png".as_ref()).unwrap();
        assert!(raster.starts_with(b"\x89PNG"));
    }
}
