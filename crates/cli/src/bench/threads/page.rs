// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates of threads as tables: one for each fabric, size and window.

use bench_rank::measurement::Unit;
use bench_rank::threads::Operation;
use measure::sizes::show;
use measure::table::{Form, Table, head};

use super::results::{Case, RatePoint, ThreadResults};

/// All tables, after the conditions.
pub(super) fn render(results: &ThreadResults, form: Form) -> String {
    let mut lines = vec![format!("{}, {} cores", results.processor, results.cores)];
    for library in &results.libraries {
        lines.push(format!("{}: {}", library.name, library.version));
    }
    lines.extend(results.remarks.iter().cloned());
    lines.extend(skipped(results));
    let mut text = head(&results.command, &lines, form);
    let title = |case: &Case| {
        let carried = match (case.operation, case.fabric.name()) {
            (Operation::Isend, "null") => "sends only, on a fabric that carries nothing",
            (Operation::Isend, "hosts") => "messages between two hosts",
            (Operation::Isend, _) => "messages between two processes",
            (_, "hosts") => "from one host to the memory of another",
            (_, "null") => "sent as messages, on a fabric that carries nothing",
            (_, _) => "from one process to the memory of another",
        };
        let (size, window) = (show(case.size_bytes), case.window);
        let function = case.operation.function();
        format!("Threads, {function}, {size}, windows of {window}: {carried}")
    };
    let mut titles: Vec<String> = Vec::new();
    for point in &results.points {
        let title = title(&point.case);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    for name in titles {
        let of = results
            .points
            .iter()
            .filter(|point| title(&point.case) == name);
        let measured = of.filter(|point| !point.aggregates.is_empty());
        let table = Table {
            rows: measured.map(|point| row(results, point)).collect(),
            title: name,
            text: "calls a second of all threads, and of the slowest and the fastest of them; ratios are of all threads".to_owned(),
            header: header(results),
        };
        text.push_str(&table.render(form));
    }
    text
}

fn header(results: &ThreadResults) -> Vec<String> {
    let words = [
        "library",
        "mode",
        "threads",
        "all",
        "slowest",
        "fastest",
        "to processes",
    ];
    let mut header: Vec<String> = words.map(str::to_owned).to_vec();
    if results.libraries.len() > 1 {
        header.push("to best peer".to_owned());
    }
    header
}

fn row(results: &ThreadResults, point: &RatePoint) -> Vec<String> {
    let rate = |value| Unit::MessagesPerSecond.show(value);
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.2} x"));
    let mut cells = vec![
        results.libraries[point.case.library].name.clone(),
        mode(&point.case),
        point.case.threads.to_string(),
        rate(point.aggregate),
        rate(point.slowest),
        rate(point.fastest),
        ratio(point.to_processes),
    ];
    if results.libraries.len() > 1 {
        cells.push(ratio(results.to_best_peer(point)));
    }
    cells
}

/// The mode, with the models that are not the default.
fn mode(case: &Case) -> String {
    let mut text = case.mode.name().to_owned();
    if let Some((locks, progress)) = case.models {
        for (what, name, usual) in [
            ("locks", locks.name(), "vci"),
            ("progress", progress.name(), "hybrid"),
        ] {
            if name != usual {
                text.push_str(&format!(", {what} {name}"));
            }
        }
    }
    if let Some(sharing) = case.sharing {
        text.push_str(match sharing.name() {
            "process" => ", one context",
            _ => ", a context each",
        });
    }
    text
}

/// What was not measured, each reason once.
fn skipped(results: &ThreadResults) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for point in &results.points {
        if let Some(why) = &point.skipped {
            let name = &results.libraries[point.case.library].name;
            let fabric = point.case.fabric.name();
            let (operation, mode) = (point.case.operation.name(), point.case.mode.name());
            let line = format!("{name}, {operation}, {mode} on {fabric}: {why}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}
