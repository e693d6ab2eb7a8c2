// SPDX-License-Identifier: MIT OR Apache-2.0
//! `sweep`: gains over reductions, as a table, comma-separated values, or a picture.

use models::{Model, Values};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::asked::extrapolated;
use super::options::SweepOptions;
use super::report::{Cell, Report, Table};
use super::shown::{head, mixture};
use crate::bench::picture::{COLORS, Picture, render};

const PANEL: (u32, u32) = (760, 440);

/// Gains of one quantity.
struct Panel {
    quantity: String,
    /// Names of components, and gains by reduction.
    lines: Vec<(String, Vec<f64>)>,
}

/// The gains of all quantities.
struct Gains<'a> {
    reductions: &'a [f64],
    panels: Vec<Panel>,
}

/// The answer; it writes the picture.
pub(super) fn sweep(
    model: &Model,
    values: &Values,
    options: &SweepOptions,
) -> Result<String, String> {
    let told = |error: models::Error| error.to_string();
    let panels = options.of.iter().map(|quantity| {
        let lines = options.components.iter().map(|part| {
            let gains = model.sweep(values, quantity, part, &options.reduce);
            Ok((part.clone(), gains.map_err(told)?))
        });
        Ok(Panel {
            quantity: quantity.clone(),
            lines: lines.collect::<Result<_, String>>()?,
        })
    });
    let gains = Gains {
        reductions: &options.reduce,
        panels: panels.collect::<Result<_, String>>()?,
    };
    let mut remarks = Vec::new();
    for quantity in &options.of {
        remarks.extend(extrapolated(model, values, quantity)?);
    }
    if let Some(file) = &options.plot {
        let size = (PANEL.0, PANEL.1 * gains.panels.len() as u32);
        let bytes = render(&gains, size, file)?;
        std::fs::write(file, bytes)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        remarks.push(format!("Picture: {}", file.display()));
    }
    if options.csv {
        return Ok(gains.csv());
    }
    let report = Report {
        head: head(model),
        tables: gains
            .panels
            .iter()
            .map(|panel| panel.table(&options.reduce))
            .collect(),
        remarks: [remarks, mixture(model)].concat(),
    };
    Ok(report.show(options.common.format))
}

impl Panel {
    fn table(&self, reductions: &[f64]) -> Table {
        let columns: Vec<String> = reductions
            .iter()
            .map(|percent| format!("-{percent} %"))
            .collect();
        let mut columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        columns.insert(0, "component");
        let mut table = Table::new(&format!("Gain of {}", self.quantity), &columns);
        for (name, gains) in &self.lines {
            let gains = gains.iter().map(|&gain| Cell::Percent(gain));
            table
                .rows
                .push(std::iter::once(Cell::text(name)).chain(gains).collect());
        }
        table
    }
}

impl Gains<'_> {
    fn csv(&self) -> String {
        let mut text = "quantity,component,reduction_percent,gain_percent\n".to_owned();
        for panel in &self.panels {
            for (name, gains) in &panel.lines {
                for (reduction, gain) in self.reductions.iter().zip(gains) {
                    text += &format!("{},{name},{reduction},{gain}\n", panel.quantity);
                }
            }
        }
        text
    }
}

impl Picture for Gains<'_> {
    fn draw<Backend: DrawingBackend>(
        &self,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        area.fill(&WHITE)?;
        for (panel, place) in self
            .panels
            .iter()
            .zip(area.split_evenly((self.panels.len(), 1)))
        {
            self.draw_panel(panel, &place)?;
        }
        area.present()
    }
}

impl Gains<'_> {
    fn draw_panel<Backend: DrawingBackend>(
        &self,
        panel: &Panel,
        area: &DrawingArea<Backend, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<Backend::ErrorType>> {
        let most = panel
            .lines
            .iter()
            .flat_map(|(_, gains)| gains)
            .fold(1.0_f64, |a, &b| a.max(b));
        let mut chart = ChartBuilder::on(area)
            .caption(format!("gain of {}", panel.quantity), ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..100.0, 0.0..most * 1.15)?;
        chart
            .configure_mesh()
            .x_desc("reduction of the component, %")
            .y_desc("gain, %")
            .label_style(("sans-serif", 16))
            .draw()?;
        for (index, (name, gains)) in panel.lines.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            let points = self.reductions.iter().copied().zip(gains.iter().copied());
            chart
                .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
                .label(name)
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
            .draw()
    }
}
