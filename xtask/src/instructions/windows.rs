// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of one-sided operations on memory of MPI_Win_allocate, with and without threads.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// A counted function of the program, and the most instructions that it may take at MPI_THREAD_SINGLE and at MPI_THREAD_MULTIPLE.
struct Row {
    name: &'static str,
    most: [u32; LEVELS.len()],
}

const LEVELS: [&str; 2] = ["single", "multiple"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("put_8", [55, 55]),
    row("put_1", [80, 80]),
    row("put_24", [75, 75]),
    row("put_64", [100, 100]),
    row("get_8", [55, 55]),
    row("get_1", [80, 80]),
    row("get_24", [75, 75]),
    row("get_64", [101, 101]),
    row("accumulate_long", [145, 205]),
    row("accumulate_double", [145, 205]),
    row("fetch_and_add", [120, 155]),
    row("fetch", [120, 155]),
    row("compare_and_swap", [140, 185]),
    row("accumulate_16_longs", [340, 360]),
    row("accumulate_1000_longs", [1355, 1364]),
    row("accumulate_after_long_ones", [419, 481]),
    row("flush", [30, 30]),
];

const fn row(name: &'static str, most: [u32; LEVELS.len()]) -> Row {
    Row { name, most }
}

const CALLS: &str = "100";
const SOURCE: &str = "tests/c/count_windows.c";

/// Prints the counts of Rankpoint.
pub(super) fn print() -> Result<(), String> {
    let library = callgrind::rankpoint(Profile::Release, SOURCE)?;
    let [single, multiple] = LEVELS.map(|level| costs(&library, level));
    let (single, multiple) = (single?, multiple?);
    let [one, other] = LEVELS;
    shell::say(&format!("{:<28}{one:>18}{other:>18}", "one-sided"));
    for row in ROWS {
        let cell = |costs: &Costs, most: u32| -> Result<String, String> {
            Ok(format!("{:.1} of {most}", costs.per_call(row.name)?))
        };
        let cells = (cell(&single, row.most[0])?, cell(&multiple, row.most[1])?);
        shell::say(&format!("{:<28}{:>18}{:>18}", row.name, cells.0, cells.1));
    }
    Ok(())
}

/// The counts and budgets at both levels.
pub(super) fn count() -> Result<Vec<Count>, String> {
    let library = callgrind::rankpoint(Profile::Release, SOURCE)?;
    let mut counts = Vec::new();
    for (column, level) in LEVELS.into_iter().enumerate() {
        let costs = costs(&library, level)?;
        for row in ROWS {
            counts.push(Count {
                call: format!("{} ({level})", row.name),
                profile: Profile::Release,
                instructions: costs.per_call(row.name)?,
                budget: f64::from(row.most[column]),
                fails: true,
            });
        }
    }
    Ok(counts)
}

fn costs(library: &Library, level: &str) -> Result<Costs, String> {
    library.run(&Job {
        ranks: 2,
        arguments: &[CALLS, level],
        setting: None,
    })
}
