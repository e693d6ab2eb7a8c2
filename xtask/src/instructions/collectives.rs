// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that collectives of 8 bytes take on one rank, in their three forms, while the other rank has come already.
//!
//! Which functions of `count_collectives.c` were called, how often, and what they cost, is in callgrind's file.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// A collective, and the most instructions that its blocking form, its nonblocking one with the wait, and the start and the wait of
/// its persistent one may take.
struct Row {
    name: &'static str,
    /// On two ranks, the counted one being the root, or, for a `leaf`, the other one.
    two: [u32; 3],
    /// On one.
    one: [u32; 3],
}

const FORMS: [&str; 3] = ["blocking", "nonblocking", "persistent"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("barrier", [127, 142, 117], [31, 47, 55]),
    row("bcast", [163, 186, 109], [56, 72, 55]),
    row("bcast_leaf", [156, 166, 117], [56, 72, 55]),
    row("reduce", [300, 328, 168], [124, 142, 66]),
    row("reduce_leaf", [196, 228, 112], [124, 142, 66]),
    row("allreduce", [309, 330, 188], [106, 121, 66]),
    row("gather", [253, 251, 131], [140, 149, 66]),
    row("gather_leaf", [203, 203, 112], [140, 149, 66]),
    row("scatter", [285, 287, 155], [130, 149, 66]),
    row("scatter_leaf", [189, 202, 117], [130, 149, 66]),
    row("allgather", [254, 273, 150], [104, 128, 66]),
    row("alltoall", [291, 307, 188], [108, 131, 66]),
    row("scan", [290, 320, 201], [105, 126, 66]),
    row("reduce_scatter_block", [339, 358, 214], [133, 150, 66]),
];

const fn row(name: &'static str, two: [u32; 3], one: [u32; 3]) -> Row {
    Row { name, two, one }
}

/// Calls of each form that are counted: three quarters of the rounds after which the lines of the shared collective area are used again.
const CALLS: &str = "96";
const SOURCE: &str = "tests/c/count_collectives.c";

/// Prints the counts of Rankpoint.
pub(super) fn print() -> Result<(), String> {
    let library = callgrind::rankpoint(Profile::Release, SOURCE)?;
    for ranks in [2, 1] {
        shell::say(&format!(
            "{:<26}{:>10}{:>18}{:>18}",
            format!("8 bytes, {ranks} of {ranks} ranks"),
            FORMS[0],
            "I.. and wait",
            "start and wait"
        ));
        let found = costs(&library, ranks)?;
        for row in ROWS {
            let [now, started, planned] = FORMS.map(|form| per_call(&found, row, form));
            let (now, started, planned) = (now?, started?, planned?);
            shell::say(&format!(
                "{:<26}{now:>10.1}{started:>10.1} ({:.2}x){planned:>10.1} ({:.2}x)",
                row.name,
                started / now,
                planned / now
            ));
        }
    }
    Ok(())
}

/// How often calls are counted whose partner may have come late, which only adds to them.
const TRIES: u32 = 3;

/// The counts and budgets of both numbers of ranks: the least of several where one was beyond its budget.
pub(super) fn count() -> Result<Vec<Count>, String> {
    let library = callgrind::rankpoint(Profile::Release, SOURCE)?;
    let mut counts = counts_of(&library, 2)?;
    for _ in 1..TRIES {
        if !counts.iter().any(|one| one.instructions > one.budget) {
            break;
        }
        for (least, again) in counts.iter_mut().zip(counts_of(&library, 2)?) {
            least.instructions = least.instructions.min(again.instructions);
        }
    }
    counts.extend(counts_of(&library, 1)?);
    Ok(counts)
}

fn counts_of(library: &Library, ranks: u32) -> Result<Vec<Count>, String> {
    let found = costs(library, ranks)?;
    let mut counts = Vec::new();
    for row in ROWS {
        let budgets = if ranks == 2 { row.two } else { row.one };
        for (form, budget) in FORMS.into_iter().zip(budgets) {
            counts.push(Count {
                call: format!("{form} {} on {ranks}", row.name),
                profile: Profile::Release,
                instructions: per_call(&found, row, form)?,
                budget: f64::from(budget),
                fails: true,
            });
        }
    }
    Ok(counts)
}

fn costs(library: &Library, ranks: u32) -> Result<Costs, String> {
    library.run(&Job {
        ranks,
        arguments: &[CALLS],
        setting: None,
    })
}

fn per_call(costs: &Costs, row: &Row, form: &str) -> Result<f64, String> {
    costs.per_call(&format!("{form}_{}", row.name))
}
