// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint bench threads` from end to end: every operation in every mode that it has, verified, and what is left out and why.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell, tools};

/// Operations, and their modes.
const MODES: [(&str, &[&str]); 2] = [
    (
        "isend",
        &[
            "processes",
            "serial",
            "communicators",
            "endpoints",
            "hints",
            "partitioned",
        ],
    ),
    (
        "put",
        &["processes", "serial", "windows", "endpoints", "hints"],
    ),
];
const FABRICS: [&str; 2] = ["shm", "null"];
const THREADS: [&str; 2] = ["1", "3"];
/// Values of `RANKPOINT_RMA`; puts travel as messages with the second.
const PATHS: &[&str] = &["", "message"];
/// Operation, mode and fabric of what has no rate, and a part of the reason.
type Row = (&'static str, &'static str, &'static str, &'static str);
const LEFT_OUT: [Row; 2] = [
    ("isend", "partitioned", "null", "needs an answer"),
    ("put", "endpoints", "null", "is collective"),
];

/// Measures briefly and looks what is there.
pub(super) fn of_threads(_: Scope) -> Result<Found, String> {
    if let Err(why) = tools::need(&[tools::CC]) {
        return Ok(Found::Skipped(why));
    }
    let prefix = install::into_target()?;
    let file = shell::target().join("rates.json");
    let (mut passed, mut wrong) = (0, Vec::new());
    for path in PATHS {
        let mut bench = shell::command(prefix.join("bin/rankpoint"));
        bench.args(["bench", "threads", "--quiet", "--rounds", "1"]);
        bench.args(["--repetitions", "1", "--threads", &THREADS.join(",")]);
        bench.arg("--json").arg(&file).env("RANKPOINT_RMA", path);
        let output = shell::output(&mut bench)?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| told(&error))?;
        let results: Value = serde_json::from_str(&text).map_err(|error| told(&error))?;
        let found = points(&results);
        for ([operation, mode, fabric, threads], wanted) in expected() {
            let name = format!("{path} {operation} {mode} on {fabric}, {threads} threads");
            match found.get(&[operation, mode, fabric, threads].map(str::to_owned)) {
                Some(outcome) if outcome.is_as(wanted) => passed += 1,
                Some(outcome) => wrong.push(format!("{name}: {outcome:?}")),
                None => wrong.push(format!("{name}: nothing")),
            }
        }
    }
    Found::runs(passed, wrong, "rates of threads in all modes")
}

/// Whether a case has a rate, and why not.
#[derive(Debug)]
enum Outcome {
    Measured(f64),
    LeftOut(String),
}

impl Outcome {
    /// Whether it is left out for this reason, or measured where there is none.
    fn is_as(&self, why: Option<&str>) -> bool {
        match self {
            Self::Measured(rate) => why.is_none() && *rate > 0.0,
            Self::LeftOut(text) => why.is_some_and(|why| text.contains(why)),
        }
    }
}

/// Operation, mode, fabric and threads of all cases, and why one is left out.
fn expected() -> Vec<([&'static str; 4], Option<&'static str>)> {
    let mut all = Vec::new();
    for (operation, modes) in MODES {
        for mode in modes {
            for fabric in FABRICS {
                let of = |row: &&Row| [row.0, row.1, row.2] == [operation, *mode, fabric];
                let why = LEFT_OUT.iter().find(of).map(|row| row.3);
                all.extend(THREADS.map(|threads| ([operation, mode, fabric, threads], why)));
            }
        }
    }
    all
}

/// The cases of a file, by operation, mode, fabric and threads.
fn points(results: &Value) -> BTreeMap<[String; 4], Outcome> {
    let of = |point: &Value| {
        let word = |name: &str| match &point[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let outcome = match point["skipped"].as_str() {
            Some(why) => Outcome::LeftOut(why.to_owned()),
            None => Outcome::Measured(point["aggregate"].as_f64().unwrap_or(0.0)),
        };
        (
            ["operation", "mode", "fabric", "threads"].map(word),
            outcome,
        )
    };
    let points = results["points"].as_array();
    points.map_or_else(BTreeMap::new, |points| points.iter().map(of).collect())
}
