// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accounts as tables: a row for each category, a column for each call.

use std::fmt::Write as _;

use account::Category;
use measure::columns;
use measure::table::markdown_row;

use super::calls::{CALLS, Group, Level};
use super::published::{PEERS, Peer, published, published_totals};
use super::report::Counted;

/// A table for each group of calls and thread level.
pub(super) fn tables(counted: &[Counted], is_markdown: bool) -> String {
    let mut text = String::new();
    let mut groups: Vec<(Group, Level)> = Vec::new();
    for one in counted {
        let group = (one.call.group, one.level);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.sort_by_key(|(group, _)| CALLS.iter().position(|call| call.group == *group));
    for (group, level) in groups {
        let of_group = |one: &&Counted| (one.call.group, one.level) == (group, level);
        let columns: Vec<&Counted> = counted.iter().filter(of_group).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}, {}: instructions of a call\n",
            columns[0].call.function,
            level.label()
        );
        let rows = rows(group, &columns);
        text += &match is_markdown {
            true => markdown(&rows),
            false => columns::lines(&rows, columns::named),
        };
        text += &remarks(group, level, &columns);
    }
    text
}

/// The heads, a row for each category that has instructions in some column, and the totals.
fn rows(group: Group, columns: &[&Counted]) -> Vec<Vec<String>> {
    let published = published(group);
    let published_of = |category: Category| {
        let parts = published.unwrap_or_default().iter();
        parts
            .filter(|part| part.0 == category)
            .map(|part| part.1)
            .sum::<u32>()
    };
    let mut head = vec!["instructions".to_owned()];
    head.extend(columns.iter().map(|one| one.call.column()));
    head.extend(published.map(|_| "MPICH/CH4, published".to_owned()));
    let mut rows = vec![head];
    for &category in Category::ALL {
        let mut row = vec![category.label().to_owned()];
        row.extend(columns.iter().map(|one| number(one.account.of(category))));
        row.extend(published.map(|_| number(f64::from(published_of(category)))));
        if row[1..].iter().any(|cell| cell != "-") {
            rows.push(row);
        }
    }
    let mut total = vec!["total".to_owned()];
    total.extend(columns.iter().map(|one| number(one.account.total)));
    let sum = |parts: &[(Category, u32)]| parts.iter().map(|part| part.1).sum::<u32>();
    total.extend(published.map(|parts| sum(parts).to_string()));
    rows.push(total);
    rows
}

/// A count with a digit behind the point where it is no whole number; means of calls differ by less than this.
fn number(count: f64) -> String {
    let tenths = (count * 10.0).round();
    match tenths {
        0.0 => "-".to_owned(),
        tenths if tenths % 10.0 == 0.0 => format!("{:.0}", tenths / 10.0),
        _ => format!("{:.1}", tenths / 10.0),
    }
}

fn markdown(rows: &[Vec<String>]) -> String {
    let mut lines: Vec<String> = rows.iter().map(|row| markdown_row(row)).collect();
    let columns = rows.first().map_or(0, Vec::len);
    lines.insert(1, format!("|---|{}\n", "---:|".repeat(columns - 1)));
    lines.concat()
}

/// Fewer are not told: they are slow paths that few calls take.
const TOLD: f64 = 0.05;

/// What the columns do not say, a paragraph each.
fn remarks(group: Group, level: Level, columns: &[&Counted]) -> String {
    let mut remarks = Vec::new();
    let told = |peer: &Peer| Some(format!("{} {}", peer.name, peer.total(group, level)?));
    let peers: Vec<String> = PEERS.iter().filter_map(told).collect();
    if !peers.is_empty() {
        remarks.push(format!("Others in all, with 1 byte: {}.", peers.join(", ")));
    }
    let totals = published_totals(group).iter();
    let totals: Vec<String> = totals
        .map(|(who, total)| format!("{who} {total}"))
        .collect();
    if !totals.is_empty() {
        remarks.push(format!(
            "Published in all (Raffenetti et al., SC'17), to the call of the network's library: {}. Rankpoint's counts contain the write into \
             the ring or window.",
            totals.join(", ")
        ));
    }
    let bare = columns
        .iter()
        .map(|one| one.account.unannotated.values().sum::<f64>());
    let bare = bare.fold(0.0, f64::max);
    if bare >= TOLD {
        remarks.push(format!(
            "'other' contains up to {bare:.1} instructions on lines without an annotation; --lines names them."
        ));
    }
    remarks
        .iter()
        .map(|remark| format!("\n{remark}\n"))
        .collect()
}

/// The instructions of each line of each call.
pub(super) fn lines(counted: &[Counted]) -> String {
    let mut text = String::new();
    for one in counted {
        let _ = writeln!(text, "\n{}, {}", one.call.function, one.level.label());
        for (file, line, category, count) in one.lines() {
            let purpose = category.map_or("no annotation", Category::label);
            let _ = writeln!(text, "{count:>8.1}  {purpose:<28}  {file}:{line}");
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use account::attribution::{Account, Place};

    use super::*;

    /// Accounts of two calls, one with a line that lacks an annotation.
    pub(crate) fn counted() -> Vec<Counted> {
        let place = |line| Place {
            file: "crates/x.rs".to_owned(),
            line,
        };
        let account = |bare: f64| Account {
            total: 12.5 + bare,
            categories: BTreeMap::from([
                (Category::Datatype, 4.0),
                (Category::Fabric, 8.5),
                (Category::Other, bare),
            ]),
            lines: BTreeMap::from([
                ((place(3), Category::Datatype), 4.0),
                ((place(7), Category::Fabric), 8.5),
            ]),
            unannotated: if bare > 0.0 {
                BTreeMap::from([(place(5), bare)])
            } else {
                BTreeMap::new()
            },
        };
        let one = |index: usize, bare| Counted {
            call: &CALLS[index],
            level: Level::Single,
            account: account(bare),
        };
        vec![one(0, 0.0), one(1, 2.0)]
    }

    #[test]
    fn a_table_has_the_categories_that_occur_and_the_published_counts() {
        let text = tables(&counted(), false);
        assert!(
            text.contains("MPI_Isend, MPI_THREAD_SINGLE: instructions of a call"),
            "{text}"
        );
        let row = |name: &str| {
            let mut lines = text.lines();
            let line = lines
                .find(|line| line.trim().starts_with(name))
                .unwrap_or("");
            line.split_whitespace()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(row("datatype"), ["4", "4", "59"]);
        assert_eq!(row("fabric"), ["8.5", "8.5", "-"]);
        assert_eq!(row("other"), ["-", "2", "23"]);
        assert_eq!(row("total"), ["12.5", "14.5", "221"]);
        assert!(
            text.contains("MPICH 5.0.2 804") && text.contains("up to 2.0 instructions on lines")
        );
        assert!(
            text.contains("MPICH/CH3 253, MPICH/CH4 221, its best build for MPI-3.1 59, with all proposals 16."),
            "{text}"
        );
    }

    #[test]
    fn markdown_has_a_line_below_the_heads() {
        let text = tables(&counted(), true);
        assert!(text.contains(
            "| instructions | MPI_Isend | _global | MPICH/CH4, published |\n|---|---:|---:|---:|\n"
        ));
    }

    #[test]
    fn lines_without_an_annotation_are_told() {
        let text = lines(&counted());
        assert!(
            text.contains("no annotation                 crates/x.rs:5"),
            "{text}"
        );
    }
}
