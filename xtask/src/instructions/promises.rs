// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of the calls of `mpi_rankpoint.h`, beside the ordinary ones: the whole call, the write into the ring
//! included. A wait finds its message in the ring.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// A counted function of the program, and the most instructions that it may take in each column.
struct Row {
    name: &'static str,
    most: [u32; LEVELS.len()],
}

const LEVELS: [&str; 2] = ["single", "multiple"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("isend", [68, 88]),
    row("isend_global", [71, 98]),
    row("isend_npn", [69, 89]),
    row("isend_noreq", [62, 76]),
    row("isend_nomatch", [67, 87]),
    row("isend_all_opts", [63, 91]),
    row("isend_all_opts_inline", [30, 100]),
    row("send", [61, 76]),
    row("irecv", [70, 85]),
    row("irecv_global", [70, 97]),
    row("irecv_npn", [70, 85]),
    row("irecv_noreq", [68, 81]),
    row("irecv_nomatch", [63, 82]),
    row("irecv_all_opts", [66, 84]),
    row("recv", [192, 215]),
    row("wait", [428, 535]),
    row("wait_nomatch", [428, 525]),
    row("waitall_noreq", [522, 596]),
    row("waitall_all_opts", [534, 608]),
    row("put", [55, 55]),
    row("put_global", [57, 57]),
    row("put_npn", [55, 55]),
    row("put_virtual_addr", [54, 54]),
    row("put_all_opts", [56, 56]),
    row("get", [55, 55]),
    row("get_all_opts", [56, 56]),
    row("isend_permuted", [68, 88]),
    row("isend_global_permuted", [71, 98]),
    row("put_permuted", [55, 55]),
    row("put_global_permuted", [66, 66]),
    row("put_all_opts_permuted", [66, 66]),
];

const fn row(name: &'static str, most: [u32; LEVELS.len()]) -> Row {
    Row { name, most }
}

const CALLS: &str = "512";
pub(super) const SOURCE: &str = "tests/c/count_promises.c";

/// Prints the counts.
pub(super) fn print() -> Result<(), String> {
    let library = callgrind::rankpoint(Profile::Release, SOURCE)?;
    let [single, multiple] = LEVELS.map(|level| costs(&library, level));
    let (single, multiple) = (single?, multiple?);
    let [one, other] = LEVELS;
    shell::say(&format!("{:<28}{one:>18}{other:>18}", "with promises"));
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
                call: format!("{} with promises ({level})", row.name),
                profile: Profile::Release,
                instructions: costs.per_call(row.name)?,
                budget: f64::from(row.most[column]),
                fails: true,
            });
        }
    }
    Ok(counts)
}

/// The counted functions, their levels and what they take.
pub(super) fn totals() -> Result<Vec<(&'static str, &'static str, f64)>, String> {
    let library = callgrind::rankpoint(Profile::Release, SOURCE)?;
    let mut totals = Vec::new();
    for level in LEVELS {
        let costs = costs(&library, level)?;
        for row in ROWS {
            totals.push((row.name, level, costs.per_call(row.name)?));
        }
    }
    Ok(totals)
}

/// What the functions cost at a thread level.
pub(super) fn costs(library: &Library, level: &str) -> Result<Costs, String> {
    library.run(&Job {
        ranks: 2,
        arguments: &[CALLS, level],
        setting: None,
    })
}
