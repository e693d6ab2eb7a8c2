// SPDX-License-Identifier: MIT OR Apache-2.0
//! `show`: all that a model says.

use std::collections::BTreeSet;

use models::{Model, Values};

use super::report::{Cell, Report, Table};

/// Name and description of a model.
pub(super) fn head(model: &Model) -> Vec<(String, String)> {
    let name = ("model".to_owned(), model.name().to_owned());
    let note = model
        .note()
        .map(|note| ("describes".to_owned(), note.to_owned()));
    std::iter::once(name).chain(note).collect()
}

/// Which kinds of values the model mixes, or nothing if all are of one kind.
pub(super) fn mixture(model: &Model) -> Vec<String> {
    let origins = model.components().iter().map(|row| row.origin());
    let origins: BTreeSet<_> = origins.collect();
    let names: Vec<String> = origins.iter().map(ToString::to_string).collect();
    match names.as_slice() {
        [] => Vec::new(),
        [only] => vec![format!("All components are {only}.")],
        [.., _] => {
            let is_mixed = names.iter().any(|name| name == "measured")
                && names.iter().any(|name| name == "published");
            let warning = if is_mixed {
                " Published values are of another node than measured ones."
            } else {
                ""
            };
            vec![format!(
                "Components are {}; `show` says which.{warning}",
                names.join(", ")
            )]
        }
    }
}

/// The answer.
pub(super) fn show(model: &Model, values: &Values) -> Result<Report, String> {
    let told = |error: models::Error| error.to_string();
    let mut components = Table::new("Components", &["name", "ns", "sd", "source", "value is"]);
    for row in model.components() {
        components.rows.push(vec![
            Cell::text(row.name()),
            Cell::Number(model.value(row.name(), values).map_err(told)?),
            model
                .sd_ns(row.name(), values)
                .map_err(told)?
                .map_or(Cell::Empty, Cell::Number),
            Cell::text(row.source().to_string()),
            Cell::text(row.origin().to_string()),
        ]);
    }
    let mut sums = Table::new("Sums", &["name", "ns"]);
    for row in model.sums() {
        let value = model.value(row.name(), values).map_err(told)?;
        sums.rows
            .push(vec![Cell::text(row.name()), Cell::Number(value)]);
    }
    let mut quantities = Table::new("Quantities", &["name", "ns", "M/s", "terms", "what it is"]);
    for row in model.quantities() {
        let value = model.value(row.name(), values).map_err(told)?;
        let terms: Vec<&str> = row.terms().iter().map(models::Term::text).collect();
        quantities.rows.push(vec![
            Cell::text(row.name()),
            Cell::Number(value),
            Cell::Number(1e3 / value),
            Cell::text(terms.join(" + ")),
            Cell::text(row.note().unwrap_or_default()),
        ]);
    }
    let mut tables = vec![components, sums, quantities];
    for shares in model.shares() {
        let whole = model.term(shares.of(), values);
        let of = super::report::shown(whole);
        let title = format!(
            "Shares, {}: of {}, {of} ns",
            shares.name(),
            shares.of().text()
        );
        let mut table = Table::new(&title, &["part", "ns", "share"]);
        for (name, term) in shares.parts() {
            let value = model.term(term, values);
            let share = Cell::Percent(100.0 * value / whole);
            table
                .rows
                .push(vec![Cell::text(name), Cell::Number(value), share]);
        }
        tables.push(table);
    }
    let parameters = model.parameters().keys().map(|name| {
        let value = model.value(name, values).map_err(told)?;
        Ok((format!("parameter {name}"), value.to_string()))
    });
    let parameters: Vec<_> = parameters.collect::<Result<_, String>>()?;
    Ok(Report {
        head: [head(model), parameters].concat(),
        tables,
        remarks: [determined(model, values), mixture(model)].concat(),
    })
}

/// The rank of a model's experiments, the lumps of components that no experiment tells apart, and the unknown components, as lines of text.
pub(super) fn determined(model: &Model, values: &Values) -> Vec<String> {
    let models::Determined { solution, names } = model.determined(values);
    let mut lines = vec![format!("Experiments determine {solution}.")];
    let lumps = solution.lumps.iter().filter(|lump| !lump.is_single());
    lines.extend(lumps.map(|lump| {
        let ns = super::report::shown(lump.ns);
        format!(
            "One lump, not told apart: {} = {ns} ns.",
            lump.named(&names)
        )
    }));
    let unknown = solution.unknown.iter().map(|&index| names[index].as_str());
    let unknown: Vec<&str> = unknown.collect();
    if !unknown.is_empty() {
        lines.push(format!("No experiment tells: {}.", unknown.join(", ")));
    }
    if solution.residual_ns > 0.005 {
        let rms = super::report::shown(solution.residual_ns);
        lines.push(format!(
            "Experiments disagree by {rms} ns, root of the mean square."
        ));
    }
    lines
}
