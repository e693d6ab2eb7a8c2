// SPDX-License-Identifier: MIT OR Apache-2.0
//! The output of `rankpoint explain type`.

use std::fmt::Write as _;
use std::io::Write as _;

use layout::{Isa, Layout};

use super::construct::{self, Steps};
use super::options::TypeOptions;
use super::{model, packing, parse, same, text};

/// Steps that are printed; more would be no explanation.
const MOST_STEPS: usize = 200;

/// Runs `rankpoint explain type`.
pub(in super::super) fn run(options: &TypeOptions) -> Result<(), String> {
    let text = explain(options, layout::best_isa())?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

pub(super) fn explain(options: &TypeOptions, isa: Isa) -> Result<String, String> {
    let mut steps = Steps::new(text::form);
    let layout = layout_of(&options.expression, &mut steps)?;
    let mut text = told(&steps);
    text += &facts(&layout);
    text += &speed(options, &layout, isa)?;
    if let Some(other) = &options.same_as {
        let second = layout_of(other, &mut layout::Silent)?;
        line(&mut text, "same as", &same::compare(&layout, &second));
    }
    Ok(text)
}

/// The layout of an expression, for other explanations.
///
/// # Errors
/// A sentence with the expression and a mark below the place.
pub(in super::super) fn layout(expression: &str) -> Result<Layout, String> {
    layout_of(expression, &mut layout::Silent)
}

pub(super) fn layout_of<O: construct::Watch>(
    expression: &str,
    observer: &mut O,
) -> Result<Layout, String> {
    let value = parse::parse(expression);
    let layout = value.and_then(|value| construct::layout(&value, observer));
    layout.map_err(|trouble| trouble.show(expression))
}

fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{name:<16}{value}");
}

/// The steps, one a line.
fn told(steps: &Steps) -> String {
    let mut text = String::new();
    for step in steps.steps.iter().take(MOST_STEPS) {
        let _ = writeln!(
            text,
            "{:<16}{:<10}{}",
            step.constructor,
            step.rule.name(),
            step.form
        );
    }
    if steps.steps.len() > MOST_STEPS {
        let more = steps.steps.len() - MOST_STEPS;
        let _ = writeln!(text, "{:<16}... {more} more steps", "");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn facts(layout: &Layout) -> String {
    let mut text = String::new();
    line(&mut text, "form", &text::form(layout.form()));
    line(&mut text, "kind", &text::kind(layout.form()));
    let (blocks, each) = text::blocks(layout.form());
    let each = each.map_or(String::new(), |bytes| format!(" of {bytes} B"));
    let plural = if blocks == 1 { "" } else { "s" };
    let size = format!("{} B in {blocks} block{plural}{each}", layout.size());
    line(&mut text, "size", &size);
    if let Some(table) = text::table(layout.form()) {
        line(&mut text, "table", &table);
    }
    let span = |first: i64, bytes: i64| format!("{bytes} B from {first}");
    let extent = span(layout.lower_bound(), layout.extent());
    line(&mut text, "extent", &extent);
    let true_extent = span(layout.true_lower_bound(), layout.true_extent());
    line(&mut text, "true extent", &true_extent);
    text
}

fn speed(options: &TypeOptions, layout: &Layout, isa: Isa) -> Result<String, String> {
    let mut text = String::new();
    let elements = options.elements;
    if elements.checked_mul(layout.size()).is_none() {
        return Err(format!("{elements} elements exceed the address space"));
    }
    if layout.size() == 0 || elements == 0 {
        return Ok(text);
    }
    let mut measured_is = "";
    if let Some(at) = layout.contiguous_start(elements) {
        let contiguous = format!("none: the data are contiguous, from {at} on");
        line(&mut text, "kernel", &contiguous);
        // A speed would be that of a copy that no message makes.
        line(
            &mut text,
            "predicted",
            "nothing is packed: messages send these bytes as plain ones",
        );
        measured_is = ", a plain copy as only MPI_Pack makes it";
    } else {
        let prediction = model::predict(layout, elements, isa);
        for used in &prediction.kernels {
            let name = model::kernel_name(used, isa);
            let runs = format!("{name}: {} runs, {} B", used.runs, used.bytes);
            line(&mut text, "kernel", &runs);
        }
        let speed = format!(
            "{:.1} B a cycle out of the {} (a rough model)",
            prediction.bytes_a_cycle, prediction.source
        );
        line(&mut text, "predicted", &speed);
    }
    if options.measure {
        let measured = packing::pack(layout, elements)?;
        line(
            &mut text,
            "measured",
            &format!("{measured:.1} GB/s{measured_is}"),
        );
    }
    Ok(text)
}
