// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many more instructions a call with a contiguous buffer takes from Fortran than the C function itself, the caller's part included.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::{shell, tools};

/// A counted procedure of the program, the one in its place that calls C, and the most instructions more than that.
struct Row {
    name: &'static str,
    in_c: &'static str,
    most: f64,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("mpi_send", "c_send", 34),
    row("mpi_isend", "c_isend", 67),
    row("f08_send", "c_send", 52),
    // Rank 2 and allocatable: the caller makes a descriptor of another one.
    row("f08_send_square", "c_send", 84),
    row("f08_isend", "c_isend", 85),
];

const fn row(name: &'static str, in_c: &'static str, most: u32) -> Row {
    Row {
        name,
        in_c,
        most: most as f64,
    }
}

const SOURCE: &str = "tests/fortran/counted/count_fortran.f90";

impl Row {
    fn count(&self, costs: &Costs) -> Result<f64, String> {
        Ok(costs.per_inlined_call(self.name)? - costs.per_inlined_call(self.in_c)?)
    }
}

/// Prints the counts of a library.
pub(super) fn print(library: Option<&str>) -> Result<(), String> {
    tools::need(&[tools::FORTRAN])?;
    let library = match library {
        Some(prefix) => callgrind::installed_fortran(prefix.as_ref(), prefix, SOURCE)?,
        None => callgrind::rankpoint_fortran(Profile::Release, SOURCE)?,
    };
    let costs = costs(&library)?;
    shell::say("more instructions from Fortran than from C");
    for row in ROWS {
        let cell = format!("{:.1} of {}", row.count(&costs)?, row.most);
        shell::say(&format!("{:<28}{cell:>18}", row.name));
    }
    Ok(())
}

/// The counts and budgets; none where there is no compiler.
pub(super) fn count() -> Result<Vec<Count>, String> {
    if tools::need(&[tools::FORTRAN]).is_err() {
        return Ok(Vec::new());
    }
    let costs = costs(&callgrind::rankpoint_fortran(Profile::Release, SOURCE)?)?;
    let count = |row: &Row| {
        Ok(Count {
            call: format!("{} in Fortran, more than in C", row.name),
            profile: Profile::Release,
            instructions: row.count(&costs)?,
            budget: row.most,
            fails: true,
        })
    };
    ROWS.iter().map(count).collect()
}

fn costs(library: &Library) -> Result<Costs, String> {
    library.run(&Job {
        ranks: 1,
        arguments: &[],
        setting: None,
    })
}
