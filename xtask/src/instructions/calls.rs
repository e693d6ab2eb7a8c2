// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point-to-point calls: one table of budgets, a row a call and a column a mode.

use std::fs;

use super::callgrind::{Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// How a program uses MPI, and thereby which code its calls take.
pub(super) struct Mode {
    pub(super) name: &'static str,
    level: &'static str,
    /// The communicator's ranks are those of MPI_COMM_WORLD, or listed in a table; or it uses another VCI than that one, or those that tags name.
    comm: &'static str,
    ranks: u32,
    setting: Option<(&'static str, &'static str)>,
    /// The most instructions that threads may add to a call's count in the first mode.
    surcharge: Option<f64>,
}

/// What MPI_THREAD_MULTIPLE may add to a call of a program with one thread. The half is for counts that are means of all calls.
const THREADS: Option<f64> = Some(20.5);

pub(super) const MODES: [Mode; 7] = [
    mode("SINGLE", "single", "world"),
    Mode {
        surcharge: THREADS,
        ..mode("MULTIPLE", "multiple", "world")
    },
    Mode {
        setting: Some(("RANKPOINT_VCIS", "2")),
        surcharge: THREADS,
        ..mode("MULTIPLE, another VCI", "multiple", "other")
    },
    Mode {
        setting: Some(("RANKPOINT_PROGRESS_THREAD", "1")),
        ..mode("progress thread", "single", "world")
    },
    Mode {
        ranks: 4,
        ..mode("SINGLE, table", "single", "table")
    },
    Mode {
        ranks: 4,
        ..mode("MULTIPLE, table", "multiple", "table")
    },
    Mode {
        setting: Some(("RANKPOINT_VCIS", "2")),
        ..mode("MULTIPLE, tags", "multiple", "tags")
    },
];

const fn mode(name: &'static str, level: &'static str, comm: &'static str) -> Mode {
    Mode {
        name,
        level,
        comm,
        ranks: 2,
        setting: None,
        surcharge: None,
    }
}

impl Mode {
    /// Whether it is one that only Rankpoint has.
    pub(super) const fn has_setting(&self) -> bool {
        self.setting.is_some()
    }
}

/// The most instructions that a call may take.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    pub(super) most: f64,
    /// Whether a count above it fails; otherwise the count is only shown as over budget.
    pub(super) fails: bool,
}

/// A call, its budget in each mode, and the one of the library without checks in the first mode.
pub(super) struct Row {
    pub(super) call: &'static str,
    pub(super) bytes: u32,
    pub(super) budgets: [Budget; MODES.len()],
    pub(super) unchecked: Option<f64>,
}

const fn at_most(most: u32) -> Budget {
    Budget {
        most: most as f64,
        fails: true,
    }
}

/// A budget that is not met yet: make it `at_most` when it is.
const fn aim(most: u32) -> Budget {
    Budget {
        fails: false,
        ..at_most(most)
    }
}

#[rustfmt::skip]
pub(super) const ROWS: [Row; 12] = [
    row("Isend", 1, [at_most(70), at_most(90), at_most(90), at_most(110), at_most(110), at_most(110), at_most(105)], Some(57.0)),
    row("Irecv", 1, [at_most(70), at_most(90), at_most(90), at_most(110), at_most(110), at_most(110), at_most(100)], Some(61.5)),
    row("Send", 1, [at_most(70), at_most(90), at_most(90), at_most(110), at_most(110), at_most(110), at_most(92)], None),
    row("Recv", 1, [at_most(192), at_most(215), at_most(215), aim(235), at_most(235), at_most(235), at_most(232)], Some(182.0)),
    row("Isend", 8, [at_most(66), at_most(86), at_most(86), at_most(110), at_most(110), at_most(110), at_most(105)], None),
    row("Irecv", 8, [at_most(70), at_most(90), at_most(90), at_most(110), at_most(110), at_most(110), at_most(100)], None),
    row("Send", 8, [at_most(58), at_most(72), at_most(72), at_most(110), at_most(110), at_most(110), at_most(92)], None),
    row("Recv", 8, [at_most(195), at_most(215), at_most(215), aim(235), at_most(235), at_most(235), at_most(232)], None),
    row("Isend", 64, [at_most(240), at_most(247), at_most(247), at_most(265), at_most(265), at_most(265), at_most(240)], Some(224.0)),
    row("Irecv", 64, [at_most(70), at_most(90), at_most(90), at_most(110), at_most(110), at_most(110), at_most(100)], None),
    row("Send", 64, [at_most(229), at_most(210), at_most(210), at_most(230), at_most(230), at_most(230), at_most(225)], None),
    row("Recv", 64, [at_most(318), at_most(340), at_most(340), aim(360), at_most(360), at_most(360), at_most(362)], Some(313.0)),
];

const fn row(
    call: &'static str,
    bytes: u32,
    budgets: [Budget; MODES.len()],
    unchecked: Option<f64>,
) -> Row {
    Row {
        call,
        bytes,
        budgets,
        unchecked,
    }
}

impl Row {
    /// The count's name in tables.
    pub(super) fn name(&self) -> String {
        format!("MPI_{}, {} B", self.call, self.bytes)
    }

    /// What one of its calls took.
    pub(super) fn of(&self, costs: &Costs) -> Result<f64, String> {
        costs.per_call(&format!("{}_{}", self.call.to_lowercase(), self.bytes))
    }

    /// The budget in a mode, where the counts of the first mode are these.
    pub(super) fn budget(&self, column: usize, first: &Costs) -> Result<Budget, String> {
        let budget = self.budgets[column];
        let Some(surcharge) = MODES[column].surcharge else {
            return Ok(budget);
        };
        let most = (self.of(first)? + surcharge).min(budget.most);
        Ok(Budget { most, ..budget })
    }
}

/// Calls that are counted of each row: a multiple of the cells of a ring.
const CALLS: &str = "512";
pub(super) const SOURCE: &str = "tests/c/count_calls.c";
/// Bytes of the file through which the ranks of the program take turns.
const TURNS: usize = 4096;

/// What all calls cost in a mode.
pub(super) fn costs(library: &Library, mode: &Mode) -> Result<Costs, String> {
    let turns = shell::target().join("count_calls.turns");
    let told = |error: std::io::Error| format!("{}: {error}", turns.display());
    fs::write(&turns, [0; TURNS]).map_err(told)?;
    library.run(&Job {
        ranks: mode.ranks,
        arguments: &[CALLS, mode.level, mode.comm, &turns.display().to_string()],
        setting: mode.setting,
    })
}

/// The counts of all modes, or those of the library without checks.
pub(super) fn count(library: &Library, profile: Profile) -> Result<Vec<Count>, String> {
    let modes = match profile {
        Profile::Release => &MODES[..],
        Profile::ReleaseFast | Profile::ReleaseSingle => &MODES[..1],
    };
    let mut counts = Vec::new();
    let costs: Result<Vec<Costs>, String> = modes.iter().map(|mode| costs(library, mode)).collect();
    let costs = costs?;
    for (column, (mode, of_mode)) in modes.iter().zip(&costs).enumerate() {
        for row in &ROWS {
            let budget = match (profile, row.unchecked) {
                (Profile::Release, _) => row.budget(column, &costs[0])?,
                (_, Some(most)) => Budget { most, fails: true },
                (_, None) => continue,
            };
            counts.push(Count {
                call: format!("{} ({})", row.name(), mode.name),
                profile,
                instructions: row.of(of_mode)?,
                budget: budget.most,
                fails: budget.fails,
            });
        }
    }
    Ok(counts)
}
