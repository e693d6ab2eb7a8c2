// SPDX-License-Identifier: MIT OR Apache-2.0
//! `sweep`: gains over reductions, as a table, comma-separated values, or a picture.

use measure::plot::{AxisText, Chart, Charts, Line, Look, Scale, render};

use super::asked::extrapolated;
use super::options::SweepOptions;
use super::report::{Cell, Report, Table};
use super::shown::{head, mixture};
use super::source::Asked;

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
pub(super) fn sweep(asked: Asked, options: &SweepOptions) -> Result<String, String> {
    let Asked {
        model,
        values,
        mut remarks,
    } = asked;
    let (model, values) = (&model, &values);
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
    for quantity in &options.of {
        remarks.extend(extrapolated(model, values, quantity)?);
    }
    if let Some(file) = &options.plot {
        let charts = gains.charts();
        let bytes = render(&charts, charts.size(), file)?;
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
    fn charts(&self) -> Charts<'static> {
        let chart = |panel: &Panel| Chart {
            title: format!("gain of {}", panel.quantity),
            x: AxisText::new("reduction of the component, %", |value| format!("{value}")),
            y: AxisText::new("gain, %", |value| format!("{value}")),
            scale: Scale::Linear(100.0),
            lines: panel.lines.iter().map(|line| self.line(line)).collect(),
        };
        Charts(self.panels.iter().map(chart).collect())
    }

    fn line(&self, (name, gains): &(String, Vec<f64>)) -> Line {
        let reductions = self.reductions.iter().copied();
        Line {
            name: name.clone(),
            points: reductions.zip(gains.iter().copied()).collect(),
            look: Look::Marked,
        }
    }
}
