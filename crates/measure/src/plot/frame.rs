// SPDX-License-Identifier: MIT OR Apache-2.0
//! What surrounds every chart: title, margins, legend, and the colours in it.

use plotters::coord::CoordTranslate;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Pixels of a chart.
pub(super) const PANEL: (u32, u32) = (860, 480);
/// The typeface of labels.
pub(super) const LABEL: (&str, i32) = ("sans-serif", 16);

/// Colours that differ also for the colour-blind (after Okabe and Ito).
pub const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The colour of a series by its number; they repeat after some.
pub(super) const fn color(index: usize) -> RGBColor {
    COLORS[index % COLORS.len()]
}

/// Begins a chart: its title, and room for the labels of both axes.
pub(super) fn begin<'a, 'b, Backend: DrawingBackend>(
    area: &'a DrawingArea<Backend, Shift>,
    title: &str,
) -> ChartBuilder<'a, 'b, Backend> {
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(92);
    builder
}

/// Draws the legend of the series that have labels.
pub(super) fn draw_legend<'a, Backend: DrawingBackend + 'a, Coordinates: CoordTranslate>(
    chart: &mut ChartContext<'a, Backend, Coordinates>,
) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.4))
        .label_font(LABEL)
        .draw()
}
