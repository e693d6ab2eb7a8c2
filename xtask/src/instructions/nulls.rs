// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions of each null request in the calls on arrays of requests: programs wait for some requests again and again, and those that are
//! complete are null then.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// A call, and the most instructions for each null request in each column.
struct Row {
    name: &'static str,
    most: [f64; LEVELS.len()],
}

const LEVELS: [&str; 2] = ["single", "multiple"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("waitall", 56.0),
    row("waitany", 30.0),
    row("waitsome", 30.0),
    row("testall", 54.0),
    row("testany", 30.0),
    row("testsome", 30.0),
    row("vain_testall", 34.0),
    row("vain_testany", 38.0),
    row("vain_testsome", 30.0),
    row("nulls_waitall", 33.0),
    row("nulls_waitany", 30.0),
];

const fn row(name: &'static str, most: f64) -> Row {
    Row {
        name,
        most: [most; LEVELS.len()],
    }
}

const CALLS: &str = "16";
/// How many more null requests than `FEW` has `MANY` in the program.
const MORE_NULLS: f64 = 1000.0;
const SOURCE: &str = "tests/c/count_nulls.c";

impl Row {
    /// What a null request takes.
    fn of(&self, costs: &Costs) -> Result<f64, String> {
        let [few, many] = ["few", "many"].map(|array| format!("{}_{array}", self.name));
        Ok((costs.per_call(&many)? - costs.per_call(&few)?) / MORE_NULLS)
    }
}

/// Prints the counts of a library.
pub(super) fn print(library: Option<&str>) -> Result<(), String> {
    let library = match library {
        Some(prefix) => callgrind::installed(prefix.as_ref(), prefix, SOURCE)?,
        None => callgrind::rankpoint(Profile::Release, SOURCE)?,
    };
    let [single, multiple] = LEVELS.map(|level| costs(&library, level));
    let (single, multiple) = (single?, multiple?);
    let [one, other] = LEVELS;
    shell::say(&format!("{:<28}{one:>18}{other:>18}", "each null request"));
    for row in ROWS {
        let cell = |costs: &Costs, most: f64| -> Result<String, String> {
            Ok(format!("{:.1} of {most}", row.of(costs)?))
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
                call: format!("{}, each null request ({level})", row.name),
                profile: Profile::Release,
                instructions: row.of(&costs)?,
                budget: row.most[column],
                fails: true,
            });
        }
    }
    Ok(counts)
}

/// What the functions cost at a thread level.
fn costs(library: &Library, level: &str) -> Result<Costs, String> {
    library.run(&Job {
        ranks: 1,
        arguments: &[CALLS, level],
        setting: None,
    })
}
