// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers as text and as JSON.

use std::fmt::Write as _;

use algorithms::short;
use file_plan::{Action, COST_ROWS};
use measure::columns::table;
use serde_json::{Value, json};

use super::answer::{Answer, Row};
use super::program::Accesses;

const fn verb(action: Action) -> &'static str {
    match action {
        Action::Read => "reads",
        Action::Write => "writes",
    }
}

fn us(ps: u64) -> String {
    format!("{:.1}", ps as f64 / 1e6)
}

fn plural(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}

/// The answer for people.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = String::new();
    let ranks = answer.ranks.len() as u64;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Each of {} on {} {} {} bytes; rank 0 in {} between bytes {} and {}\n",
        plural(ranks, "rank"),
        plural(answer.division.nodes.into(), "node"),
        verb(answer.action),
        short(answer.access.bytes),
        plural(answer.access.ranges, "range"),
        answer.ranks[0].first,
        answer.ranks[0].end
    );
    let _ = writeln!(text, "Costs, {}", answer.source);
    let cost = |row: &file_plan::CostRow| {
        let ns = answer.costs.ps(row.cost) as f64 / 1e3;
        [format!("  {ns}"), format!("ns {}: {}", row.name, row.text)]
    };
    table(&mut text, 1, COST_ROWS.iter().map(cost).collect());
    let _ = writeln!(
        text,
        "  So reads cover gaps of up to {} bytes, writes, if they may, of {}, and {} bytes are packed at a time",
        answer.costs.gap(),
        answer.costs.write_gap(),
        short(answer.costs.packed_bytes())
    );
    text.push_str("\nOne rank by itself\n");
    rows(&mut text, "path", &answer.paths);
    text.push_str("\nAll ranks in a collective access\n");
    rows(&mut text, "protocol", &answer.protocols);
    if answer.has_aggregators() {
        let by = &answer.rounds;
        let _ = writeln!(
            text,
            "  {} in {}, up to {} bytes each, {} bytes of buffers",
            plural(answer.division.aggregators.into(), "aggregator"),
            plural(by.rounds, "round"),
            short(by.window_bytes),
            short(by.buffers)
        );
    }
    text
}

fn rows(text: &mut String, what: &str, rows: &[Row]) {
    let heads = ["", "us", what, "rule"].map(str::to_owned);
    let mut lines = vec![heads];
    let mut is_over = false;
    for row in rows {
        let mark = match (row.is_chosen, row.fits, is_over) {
            (true, ..) => "  taken",
            (_, true, true) => "  later",
            (_, true, false) | (_, false, _) => "  no",
        };
        is_over |= row.is_chosen;
        let ps = if row.fits { us(row.ps) } else { "-".to_owned() };
        lines.push([
            mark.to_owned(),
            ps,
            row.name.to_owned(),
            row.rule.to_owned(),
        ]);
    }
    let lines = lines
        .into_iter()
        .map(|[mark, ps, name, rule]| [ps, mark, name, rule])
        .collect();
    table(text, 1, lines);
}

/// The answer for programs.
pub(super) fn json(answer: &Answer) -> Value {
    let row = |row: &Row| json!({ "name": row.name, "rule": row.rule, "fits": row.fits, "taken": row.is_chosen, "ns": row.ps / 1000 });
    let rows = |rows: &[Row]| rows.iter().map(row).collect::<Vec<_>>();
    json!({
        "action": verb(answer.action), "ranks": answer.ranks.len(), "nodes": answer.division.nodes,
        "bytes": answer.access.bytes, "ranges": answer.access.ranges,
        "costs": answer.costs.to_string(), "source": answer.source,
        "gap": answer.costs.gap(), "packed_bytes": answer.costs.packed_bytes(),
        "paths": rows(&answer.paths), "protocols": rows(&answer.protocols),
        "aggregators": answer.division.aggregators, "rounds": answer.rounds.rounds,
    })
}

/// What ranks of a program did.
pub(super) fn accesses(all: &[Accesses]) -> String {
    let mut text = String::new();
    let mut file = "";
    let mut lines = Vec::new();
    for row in all {
        if row.file != file {
            flush(&mut text, &mut lines);
            file = &row.file;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{file}\n  costs: {}", row.costs);
            let heads = ["accesses", "bytes", "predicted us", "of", "", "how", "rule"];
            lines.push(heads.map(str::to_owned));
        }
        lines.push([
            row.accesses.to_string(),
            row.bytes.to_string(),
            format!("{:.1}", row.ns as f64 / 1e3),
            row.scope.clone(),
            row.action.clone(),
            row.name.clone(),
            row.rule.clone(),
        ]);
    }
    flush(&mut text, &mut lines);
    text
}

fn flush(text: &mut String, lines: &mut Vec<[String; 7]>) {
    if !lines.is_empty() {
        table(text, 3, std::mem::take(lines));
    }
}
