// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of the calls of `mpi_rankpoint.h`, beside the ordinary ones, with and without argument checks: the whole call, the write
//! into the ring included. A wait finds its message in the ring.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// A counted function of the program, and the most instructions that it may take in each column.
struct Row {
    name: &'static str,
    most: [u32; COLUMNS.len()],
}

/// Profiles and thread levels.
const COLUMNS: [(Profile, &str); 3] = [
    (Profile::Release, "single"),
    (Profile::Release, "multiple"),
    (Profile::ReleaseFast, "single"),
];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("isend", [70, 90, 60]),
    row("isend_global", [70, 120, 60]),
    row("isend_npn", [70, 120, 60]),
    row("isend_noreq", [70, 120, 60]),
    row("isend_nomatch", [70, 120, 60]),
    row("isend_all_opts", [70, 120, 60]),
    row("irecv", [70, 90, 62]),
    row("irecv_global", [75, 120, 65]),
    row("irecv_npn", [75, 120, 65]),
    row("irecv_noreq", [75, 120, 65]),
    row("irecv_nomatch", [75, 120, 65]),
    row("irecv_all_opts", [75, 120, 65]),
    row("wait", [250, 280, 250]),
    row("wait_nomatch", [260, 290, 260]),
    row("waitall_noreq", [350, 400, 350]),
    row("waitall_all_opts", [350, 400, 350]),
    row("put", [55, 55, 50]),
    row("put_global", [60, 60, 55]),
    row("put_npn", [60, 60, 55]),
    row("put_virtual_addr", [60, 60, 55]),
    row("put_all_opts", [60, 60, 55]),
    row("get_all_opts", [60, 60, 55]),
];

const fn row(name: &'static str, most: [u32; COLUMNS.len()]) -> Row {
    Row { name, most }
}

const CALLS: &str = "512";
const SOURCE: &str = "tests/c/count_promises.c";

/// Prints the counts.
pub(super) fn print() -> Result<(), String> {
    let costs = all_costs()?;
    let names = COLUMNS.map(|(profile, level)| format!("{profile:?}, {level}"));
    let names: String = names.iter().map(|name| format!("{name:>24}")).collect();
    shell::say(&format!("{:<20}{names}", "calls with promises"));
    for row in ROWS {
        let mut line = format!("{:<20}", row.name);
        for (costs, most) in costs.iter().zip(row.most) {
            let cell = format!("{:.1} of {most}", costs.per_call(row.name)?);
            line += &format!("{cell:>24}");
        }
        shell::say(&line);
    }
    Ok(())
}

/// The counts and budgets of all columns.
pub(super) fn count() -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    for (column, costs) in all_costs()?.iter().enumerate() {
        let (profile, level) = COLUMNS[column];
        for row in ROWS {
            counts.push(Count {
                call: format!("{} with promises ({level})", row.name),
                profile,
                instructions: costs.per_call(row.name)?,
                budget: f64::from(row.most[column]),
                fails: true,
            });
        }
    }
    Ok(counts)
}

fn all_costs() -> Result<Vec<Costs>, String> {
    let of = |(profile, level): (Profile, &str)| {
        let library = callgrind::rankpoint(profile, SOURCE)?;
        costs(&library, level)
    };
    COLUMNS.into_iter().map(of).collect()
}

fn costs(library: &Library, level: &str) -> Result<Costs, String> {
    library.run(&Job {
        ranks: 1,
        arguments: &[CALLS, level],
        setting: None,
    })
}
