// SPDX-License-Identifier: MIT OR Apache-2.0
//! `predict`, `whatif`, `need` and `sensitivity`.

use models::{Change, Error, Model, Need, Values};

use super::report::{Cell, Report, Table, decimals};
use super::shown::{head, mixture};

/// Gains below this many per cent do not count as large, as in the publication.
const LARGE_PERCENT: f64 = 5.0;

fn told(error: Error) -> String {
    error.to_string()
}

/// The names that were given, or those of all quantities.
fn chosen(model: &Model, names: &[String]) -> Vec<String> {
    match names {
        [] => model
            .quantities()
            .iter()
            .map(|row| row.name().to_owned())
            .collect(),
        some => some.to_vec(),
    }
}

fn report(model: &Model, table: Table, remarks: Vec<String>) -> Report {
    Report {
        head: head(model),
        tables: vec![table],
        remarks: [remarks, mixture(model)].concat(),
    }
}

/// Remarks on quantities whose size was not measured.
pub(super) fn extrapolated(
    model: &Model,
    values: &Values,
    quantity: &str,
) -> Result<Vec<String>, String> {
    let names = model.extrapolated(quantity, values).map_err(told)?;
    let ranges = names.iter().filter_map(|name| {
        let row = model.components().iter().find(|row| row.name() == *name)?;
        let (over, from, to) = row.range()?;
        let range = match over {
            models::BYTES => format!("from {from} to {to} bytes"),
            over => format!("with {over} from {from} to {to}"),
        };
        Some(format!(
            "{quantity}: {name} is extrapolated: it was measured {range}"
        ))
    });
    Ok(ranges.collect())
}

/// Predictions and residuals.
pub(super) fn predict(model: &Model, values: &Values, names: &[String]) -> Result<Report, String> {
    let columns = [
        "quantity",
        "predicted ns",
        "sd",
        "observed ns",
        "residual",
        "least certain",
    ];
    let mut table = Table::new("Predictions", &columns);
    let mut remarks = Vec::new();
    for name in chosen(model, names) {
        let independent = match model.independent(&name) {
            Ok(independent) => independent,
            // All that can be predicted is; what was named must be.
            Err(error @ Error::Circular { .. }) if names.is_empty() => {
                remarks.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error.to_string()),
        };
        let answer = independent.predict(values);
        remarks.extend(extrapolated(model, values, &name)?);
        let optional = |value: Option<f64>| value.map_or(Cell::Empty, Cell::Number);
        let residual = answer.residual_percent();
        table.rows.push(vec![
            Cell::text(name),
            Cell::Number(answer.predicted_ns),
            optional(answer.sd_ns),
            optional(answer.observed_ns),
            residual.map_or(Cell::Empty, Cell::Signed),
            answer.least_certain.map_or(Cell::Empty, Cell::Text),
        ]);
    }
    Ok(report(model, table, remarks))
}

/// What changes do.
pub(super) fn what_if(
    model: &Model,
    values: &Values,
    changes: &[Change],
    names: &[String],
) -> Result<Report, String> {
    let columns = [
        "quantity",
        "before ns",
        "after ns",
        "gain",
        "factor",
        "large",
    ];
    let mut table = Table::new("What if", &columns);
    let mut remarks = Vec::new();
    for name in chosen(model, names) {
        let gain = model.what_if(values, &name, changes).map_err(told)?;
        remarks.extend(extrapolated(model, values, &name)?);
        let percent = gain.percent();
        let large = if percent > LARGE_PERCENT { "yes" } else { "" };
        table.rows.push(vec![
            Cell::text(name),
            Cell::Number(gain.before_ns),
            Cell::Number(gain.after_ns),
            Cell::Percent(percent),
            Cell::Number(gain.factor()),
            Cell::text(large),
        ]);
    }
    remarks.push(format!("A gain is large above {LARGE_PERCENT} %."));
    Ok(report(model, table, remarks))
}

/// What is needed for a gain.
pub(super) fn need(
    model: &Model,
    values: &Values,
    (quantity, gain): (&str, f64),
    parts: &[String],
) -> Result<Report, String> {
    let title = format!("For {} % less {quantity}", decimals(gain, 2));
    let mut table = Table::new(&title, &["component", "ns", "reduction", "to ns"]);
    for part in parts {
        let now = model.value(part, values).map_err(told)?;
        let (reduction, after) = match model.need(values, quantity, gain, part).map_err(told)? {
            Need::Reduction(percent) => {
                let after = now * (1.0 - percent / 100.0);
                (Cell::Percent(percent), Cell::Number(after))
            }
            Need::Cannot(Some(percent)) => {
                let text = format!("cannot ({})", decimals(percent, 2));
                (Cell::Text(text), Cell::Empty)
            }
            Need::Cannot(None) => (Cell::text("cannot"), Cell::Empty),
        };
        table
            .rows
            .push(vec![Cell::text(part), Cell::Number(now), reduction, after]);
    }
    Ok(report(model, table, extrapolated(model, values, quantity)?))
}

/// Elasticities.
pub(super) fn sensitivity(
    model: &Model,
    values: &Values,
    quantity: &str,
) -> Result<Report, String> {
    let rows = model.sensitivity(values, quantity).map_err(told)?;
    let title = format!("Per cent of {quantity} for one per cent of a component");
    let mut table = Table::new(&title, &["component", "elasticity", "ns", "value is"]);
    for row in rows {
        table.rows.push(vec![
            Cell::text(row.component),
            Cell::Text(decimals(row.elasticity, 4)),
            Cell::Number(row.ns),
            Cell::text(row.origin.to_string()),
        ]);
    }
    Ok(report(model, table, extrapolated(model, values, quantity)?))
}
