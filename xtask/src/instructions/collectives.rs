// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that collectives of 8 bytes take on one rank, in their three forms, while the other rank has come already.
//!
//! Which functions of `count_collectives.c` were called, how often, and what they cost, is in callgrind's file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::{Count, counted_library};
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
    row("barrier", [125, 149, 84], [31, 46, 28]),
    row("bcast", [161, 195, 96], [56, 70, 28]),
    row("bcast_leaf", [137, 168, 88], [56, 70, 28]),
    row("reduce", [282, 309, 114], [126, 135, 39]),
    row("reduce_leaf", [207, 229, 96], [126, 135, 39]),
    row("allreduce", [298, 319, 143], [103, 119, 39]),
    row("gather", [247, 275, 100], [121, 148, 39]),
    row("gather_leaf", [185, 213, 96], [121, 148, 39]),
    row("scatter", [265, 300, 115], [124, 143, 39]),
    row("scatter_leaf", [175, 207, 88], [124, 143, 39]),
    row("allgather", [267, 310, 125], [99, 128, 39]),
    row("alltoall", [305, 346, 134], [105, 124, 39]),
    row("scan", [325, 345, 104], [105, 120, 39]),
    row("reduce_scatter_block", [333, 354, 152], [127, 142, 39]),
];

const fn row(name: &'static str, two: [u32; 3], one: [u32; 3]) -> Row {
    Row { name, two, one }
}

/// Calls of each form that are counted: three quarters of the turns after which lines of the commons come round.
const CALLS: &str = "96";
const SOURCE: &str = "tests/c/count_collectives.c";

/// Prints the counts of Rankpoint.
pub(super) fn print() -> Result<(), String> {
    for ranks in [2, 1] {
        shell::say(&format!(
            "{:<26}{:>10}{:>18}{:>18}",
            format!("8 bytes, {ranks} of {ranks} ranks"),
            FORMS[0],
            "I.. and wait",
            "start and wait"
        ));
        let found = calls_of(ranks)?;
        for row in ROWS {
            let [now, started, planned] = FORMS.map(|form| found.per_call(row, form));
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
    let mut counts = counts_of(2)?;
    for _ in 1..TRIES {
        if !counts.iter().any(|one| one.instructions > one.budget) {
            break;
        }
        for (least, again) in counts.iter_mut().zip(counts_of(2)?) {
            least.instructions = least.instructions.min(again.instructions);
        }
    }
    counts.extend(counts_of(1)?);
    Ok(counts)
}

fn counts_of(ranks: u32) -> Result<Vec<Count>, String> {
    let found = calls_of(ranks)?;
    let mut counts = Vec::new();
    for row in ROWS {
        let budgets = if ranks == 2 { row.two } else { row.one };
        for (form, budget) in FORMS.into_iter().zip(budgets) {
            counts.push(Count {
                call: format!("{form} {} on {ranks}", row.name),
                profile: Profile::Release,
                instructions: found.per_call(row, form)?,
                budget: f64::from(budget),
            });
        }
    }
    Ok(counts)
}

/// What counted functions cost, and how often they were called.
struct Calls(HashMap<String, (f64, f64)>);

impl Calls {
    /// Instructions of one call, without those of the function around it.
    fn per_call(&self, row: &Row, form: &str) -> Result<f64, String> {
        let name = format!("counted_{form}_{}", row.name);
        match self.0.get(&name) {
            Some((instructions, calls)) if *calls > 0.0 => Ok(instructions / calls),
            _ => Err(format!("callgrind saw no call of {name}")),
        }
    }
}

fn calls_of(ranks: u32) -> Result<Calls, String> {
    let library = counted_library(Profile::Release, SOURCE, "count_collectives")?;
    let file = shell::target().join("count_collectives.callgrind");
    let mut command = shell::command(&library.launcher[0]);
    // What is bound at the first call would be counted.
    command
        .env("LD_LIBRARY_PATH", &library.library_folder)
        .env("LD_BIND_NOW", "1");
    command.args(&library.launcher[1..]);
    command.args(["-n", "1", "valgrind", "--tool=callgrind"]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(&library.program).arg(CALLS);
    if ranks > 1 {
        command.args([":", "-n", &(ranks - 1).to_string()]);
        command.arg(&library.program).arg(CALLS);
    }
    let output = shell::output(&mut command)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the counted program failed:\n{text}"));
    }
    read(&file)
}

/// Reads the costs of what counted functions called out of a file of callgrind.
fn read(file: &Path) -> Result<Calls, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut names = HashMap::new();
    let (mut caller, mut called, mut calls) = (String::new(), String::new(), 0.0);
    let mut found = HashMap::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = full_name(&mut names, name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = full_name(&mut names, name);
        } else if let Some(numbers) = line.strip_prefix("calls=") {
            calls = first_number(numbers)?;
        } else if calls > 0.0 {
            // The line after: where it was called, and what it cost.
            let cost = line.split_whitespace().nth(1).unwrap_or("");
            let cost = first_number(cost)?;
            if caller.starts_with("counted_") {
                let entry: &mut (f64, f64) = found.entry(caller.clone()).or_default();
                entry.0 += cost;
            }
            if called.starts_with("counted_") {
                let entry: &mut (f64, f64) = found.entry(called.clone()).or_default();
                entry.1 += calls;
            }
            calls = 0.0;
        }
    }
    Ok(Calls(found))
}

/// A name, which is said once and then called by its number: `(12) name`, `(12)`.
fn full_name(names: &mut HashMap<String, String>, text: &str) -> String {
    match text.split_once(' ') {
        Some((number, name)) => {
            names.insert(number.to_owned(), name.to_owned());
            name.to_owned()
        }
        None => names.get(text).cloned().unwrap_or_default(),
    }
}

fn first_number(text: &str) -> Result<f64, String> {
    let word = text.split_whitespace().next().unwrap_or("");
    word.parse()
        .map_err(|_| format!("callgrind's file says '{text}' for a number"))
}
