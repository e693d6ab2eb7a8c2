// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer as text and as JSON.

use std::fmt::Write as _;

use algorithms::short;
use measure::columns::table;
use serde_json::{Value, json};

use super::super::ranges::ranges;
use super::answer::{Answer, Placed};

/// The answer for people.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = String::new();
    head(&mut text, answer);
    placements(&mut text, answer);
    gain(&mut text, answer);
    nodes(&mut text, answer);
    text
}

/// The unit of the weights.
fn unit(answer: &Answer) -> &'static str {
    if answer.pattern.has_bytes {
        "bytes"
    } else {
        "messages"
    }
}

/// Bytes as 64K, messages by their number.
fn amount(answer: &Answer, weight: u64) -> String {
    match answer.pattern.has_bytes {
        true => short(weight),
        false => weight.to_string(),
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

fn head(text: &mut String, answer: &Answer) {
    let pattern = &answer.pattern;
    let bytes = match pattern.has_bytes {
        true => format!(", {} bytes", short(pattern.total())),
        false => String::new(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}, on {} node{} of {}: {} messages{bytes}\n",
        pattern.about,
        answer.nodes,
        if answer.nodes == 1 { "" } else { "s" },
        answer.per_node,
        pattern.messages.len()
    );
}

fn placements(text: &mut String, answer: &Answer) {
    let total = answer.pattern.total();
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
    let row = |placed: &Placed, how: &str| {
        let (mean, slowest) = placed.times.map_or_else(Default::default, |times| {
            (us(times.mean_ns), us(times.slowest_ns))
        });
        [
            amount(answer, placed.between),
            percent(placed.between, total),
            amount(answer, placed.of_nodes.iter().copied().max().unwrap_or(0)),
            mean,
            slowest,
            format!("{}{how}", placed.name),
        ]
    };
    let random = &answer.random;
    let random = [
        amount(answer, random.between),
        percent(random.between, total),
        "-".to_owned(),
        random.mean_ns.map_or_else(String::new, us),
        "-".to_owned(),
        "at random, on average".to_owned(),
    ];
    let between = format!("{} between nodes", unit(answer));
    let heads = [
        &between,
        "of all",
        "busiest node",
        "us of a rank",
        "slowest",
        "placement",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(answer.started.iter().map(|placed| row(placed, "")));
    rows.push(random);
    rows.extend(
        answer
            .found
            .iter()
            .map(|placed| row(placed, " with reorder")),
    );
    match &answer.costs {
        None => {
            let known =
                |[between, share, busiest, .., name]: [String; 6]| [between, share, busiest, name];
            table(text, 3, rows.into_iter().map(known).collect());
        }
        Some(costs) => {
            table(text, 5, rows);
            let _ = writeln!(
                text,
                "  A rank sends its messages one after the other; times by {}",
                costs.source
            );
        }
    }
}

fn gain(text: &mut String, answer: &Answer) {
    let Some((before, after)) = answer.ends() else {
        return;
    };
    let kept = (0..).zip(&after.process_of);
    let moved = kept.filter(|(rank, process)| rank != *process).count();
    let (name, ranks) = (after.name, after.process_of.len());
    let _ = match moved {
        0 => writeln!(
            text,
            "\n{name} keeps all ranks where they are: it finds no better placement"
        ),
        _ => writeln!(
            text,
            "\n{name} moves {moved} of {ranks} ranks: {} fewer {} between nodes, {}",
            amount(answer, before.between - after.between),
            unit(answer),
            percent(before.between - after.between, before.between)
        ),
    };
}

fn nodes(text: &mut String, answer: &Answer) {
    let Some((before, after)) = answer.ends() else {
        return;
    };
    let _ = writeln!(
        text,
        "\nWhat enters and leaves each node, in {}",
        unit(answer)
    );
    let heads = ["node", "before", "after", "ranks after"].map(str::to_owned);
    let row = |node: u32| {
        let of = |placed: &Placed| amount(answer, placed.of_nodes[node as usize]);
        let here = (0..).zip(&after.node_of).filter(|&(_, &at)| at == node);
        let ranks = ranges(here.map(|(rank, _)| rank));
        [node.to_string(), of(before), of(after), ranks]
    };
    let rows = std::iter::once(heads).chain((0..answer.nodes).map(row));
    table(text, 3, rows.collect());
}

/// The answer for programs.
pub(super) fn json(answer: &Answer) -> Value {
    let placed = |placed: &Placed| {
        let times = placed
            .times
            .map(|times| json!({ "mean_ns": times.mean_ns, "slowest_ns": times.slowest_ns }));
        json!({
            "placement": placed.name, "between_nodes": placed.between, "of_nodes": placed.of_nodes,
            "process_of_rank": placed.process_of, "node_of_rank": placed.node_of, "times": times,
        })
    };
    let all = |list: &[Placed]| list.iter().map(placed).collect::<Vec<_>>();
    json!({
        "about": answer.pattern.about, "nodes": answer.nodes, "per_node": answer.per_node,
        "messages": answer.pattern.messages.len(), "unit": unit(answer), "total": answer.pattern.total(),
        "started": all(&answer.started), "reordered": all(&answer.found),
        "random": { "between_nodes": answer.random.between, "mean_ns": answer.random.mean_ns },
        "profile": answer.costs.as_ref().map(|costs| &costs.source),
    })
}
