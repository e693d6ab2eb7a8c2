// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rankpoint account` says of sends, receives and one-sided operations: no instruction on a line without an annotation, no more of
//! each category than allowed, and the totals that [`super::promises`] counts.

use std::path::Path;

use serde_json::Value;

use super::command::Count;
use super::promises;
use crate::install::{self, Profile};
use crate::{page, shell};

/// The most instructions of each category that a call may take.
struct Bound {
    /// The call, behind `counted_`.
    call: &'static str,
    level: &'static str,
    most: &'static [(&'static str, u32)],
}

/// Calls with a row have no instructions of other categories.
#[rustfmt::skip]
const BOUNDS: &[Bound] = &[
    bound("isend", "single", &[("function-call", 14), ("argument-checks", 7), ("communicator", 2), ("rank-translation", 3), ("proc-null", 2), ("datatype", 8), ("request", 1), ("match-bits", 2), ("fabric", 28)]),
    bound("isend", "multiple", &[("function-call", 24), ("argument-checks", 7), ("thread-safety", 9), ("communicator", 4), ("rank-translation", 3), ("proc-null", 4), ("datatype", 8), ("request", 1), ("match-bits", 2), ("fabric", 27)]),
    bound("isend_all_opts", "single", &[("function-call", 12), ("argument-checks", 6), ("communicator", 1), ("rank-translation", 3), ("proc-null", 3), ("datatype", 7), ("match-bits", 1), ("fabric", 28)]),
    bound("isend_all_opts", "multiple", &[("function-call", 30), ("argument-checks", 6), ("thread-safety", 9), ("communicator", 6), ("rank-translation", 3), ("proc-null", 6), ("datatype", 7), ("match-bits", 2), ("fabric", 28)]),
    bound("irecv", "single", &[("function-call", 12), ("argument-checks", 9), ("communicator", 3), ("rank-translation", 2), ("proc-null", 2), ("datatype", 8), ("request", 15), ("match-bits", 19)]),
    bound("irecv", "multiple", &[("function-call", 20), ("argument-checks", 9), ("thread-safety", 7), ("communicator", 4), ("rank-translation", 3), ("proc-null", 4), ("datatype", 8), ("request", 15), ("match-bits", 20)]),
    bound("irecv_all_opts", "single", &[("function-call", 5), ("argument-checks", 6), ("communicator", 8), ("proc-null", 2), ("datatype", 8), ("request", 17), ("match-bits", 20)]),
    bound("irecv_all_opts", "multiple", &[("function-call", 9), ("argument-checks", 6), ("thread-safety", 12), ("communicator", 7), ("proc-null", 6), ("datatype", 8), ("request", 17), ("match-bits", 20)]),
    bound("send", "single", &[("function-call", 11), ("argument-checks", 5), ("communicator", 2), ("rank-translation", 3), ("proc-null", 2), ("datatype", 8), ("match-bits", 2), ("fabric", 27)]),
    bound("send", "multiple", &[("function-call", 15), ("argument-checks", 5), ("thread-safety", 8), ("communicator", 4), ("rank-translation", 3), ("proc-null", 4), ("datatype", 8), ("match-bits", 2), ("fabric", 27)]),
    bound("put", "single", &[("function-call", 10), ("argument-checks", 10), ("communicator", 4), ("rank-translation", 12), ("datatype", 11), ("fabric", 8)]),
    bound("put", "multiple", &[("function-call", 10), ("argument-checks", 10), ("communicator", 4), ("rank-translation", 12), ("datatype", 11), ("fabric", 8)]),
    bound("put_all_opts", "single", &[("function-call", 9), ("argument-checks", 11), ("communicator", 4), ("rank-translation", 14), ("datatype", 11), ("fabric", 8)]),
    bound("put_all_opts", "multiple", &[("function-call", 9), ("argument-checks", 11), ("communicator", 4), ("rank-translation", 14), ("datatype", 11), ("fabric", 8)]),
    bound("get", "single", &[("function-call", 10), ("argument-checks", 10), ("communicator", 4), ("rank-translation", 12), ("datatype", 11), ("fabric", 8)]),
    bound("get", "multiple", &[("function-call", 10), ("argument-checks", 10), ("communicator", 4), ("rank-translation", 12), ("datatype", 11), ("fabric", 8)]),
];

const fn bound(
    call: &'static str,
    level: &'static str,
    most: &'static [(&'static str, u32)],
) -> Bound {
    Bound { call, level, most }
}

/// The calls whose instructions all lie on annotated lines, by how their names start.
const ANNOTATED: [&str; 5] = ["isend", "irecv", "send", "put", "get"];

/// What counts may be above a bound, because they are means of all calls, few of which leave the fast path: at the end of the ring.
const RARE: f64 = 0.5;
/// What the categories of a call may differ from its total, because counts have three digits behind the point.
const ROUNDED: f64 = 0.01;

/// What the installed release is said to take.
fn accounts(prefix: &Path) -> Result<Vec<Value>, String> {
    let mut command = shell::command(prefix.join("bin/rankpoint"));
    let output = shell::output(command.args(["account", "--all", "--json"]))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("rankpoint account failed:\n{text}"));
    }
    let told = |error| format!("rankpoint account: {error}");
    let report: Value = serde_json::from_slice(&output.stdout).map_err(told)?;
    match report["calls"].as_array() {
        Some(calls) if !calls.is_empty() => Ok(calls.clone()),
        _ => Err("rankpoint account has told of no calls".to_owned()),
    }
}

/// Prints all tables.
pub(super) fn print() -> Result<(), String> {
    let prefix = install::into_target()?;
    shell::run(shell::command(prefix.join("bin/rankpoint")).args(["account", "--all"]))
}

/// The page with tables, and its picture.
const PAGE: &str = "docs/shortest-path.md";
const PICTURE: &str = "docs/account.svg";
const MARKS: (&str, &str) = ("<!-- account: begin -->\n", "<!-- account: end -->");

/// Writes the tables and the picture of the page.
pub(super) fn write() -> Result<(), String> {
    let prefix = install::into_target()?;
    let account = |arguments: &[&str]| {
        let mut command = shell::command(prefix.join("bin/rankpoint"));
        let output = shell::output(command.arg("account").args(arguments))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let tables = account(&["isend", "irecv", "put", "wait", "--markdown"])?;
    let picture = shell::root().join(PICTURE).display().to_string();
    account(&["isend", "put", "--level", "single", "--plot", &picture])?;
    page::write(PAGE, MARKS, &format!("\n{tables}\n"))?;
    shell::say(&format!("Wrote {PAGE} and {PICTURE}"));
    Ok(())
}

/// The counts of the categories, of lines without an annotation, and of what the accounts miss.
pub(super) fn count() -> Result<Vec<Count>, String> {
    let accounts = accounts(&install::into_target()?)?;
    let mut counts = Vec::new();
    let mut add = |call: String, instructions: f64, budget: f64| {
        counts.push(Count {
            call,
            profile: Profile::Release,
            instructions,
            budget,
            fails: true,
        });
    };
    let totals = promises::totals()?;
    for account in &accounts {
        let call = account["counted"].as_str().unwrap_or("");
        let level = account["level"].as_str().unwrap_or("");
        if !ANNOTATED.iter().any(|start| call.starts_with(start)) {
            continue;
        }
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let total = number(&account["total"]);
        let categories = account["categories"].as_object().into_iter().flatten();
        let sum: f64 = categories.clone().map(|(_, count)| number(count)).sum();
        let name = |what: &str| format!("{call} ({level}), {what}");
        let bare = number(&account["unannotated"]);
        add(name("on lines without an annotation"), bare, RARE);
        add(name("outside all categories"), (total - sum).abs(), ROUNDED);
        let counted = totals.iter().find(|it| it.0 == call && it.1 == level);
        let counted = counted.ok_or_else(|| format!("no count of {call}"))?;
        let missed = (total - counted.2).abs();
        add(name("missed by its account"), missed, RARE);
        let of_call = |it: &&Bound| it.call == call && it.level == level;
        let Some(bound) = BOUNDS.iter().find(of_call) else {
            continue;
        };
        for (category, count) in categories {
            let most = bound.most.iter().find(|most| most.0 == category);
            let most = most.map_or(0, |most| most.1);
            add(name(category), number(count), f64::from(most) + RARE);
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_name_categories() {
        for bound in BOUNDS {
            for (category, _) in bound.most {
                assert!(account::Category::named(category).is_some(), "{category}");
            }
        }
    }
}
