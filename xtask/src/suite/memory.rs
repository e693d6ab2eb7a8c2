// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of idle ranks, as `rankpoint bench` measures it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::found::Found;
use super::scope::Scope;
use crate::{install, shell};

/// Measurement, ranks, and the most MiB; a quick run takes the first ones.
const BUDGETS: &[(&str, u64, f64)] = &[
    ("private-memory", 2, 6.0),
    ("private-memory", 64, 8.0),
    ("shared-memory", 64, 128.0),
    // Boards, locations and links grow with pairs that talk, not with all pairs.
    ("shared-memory", 512, 128.0),
];
const QUICK: usize = 3;

const MEBI: f64 = 1_048_576.0;

/// No rank takes more than its budget.
pub(super) fn budgets(scope: Scope) -> Result<Found, String> {
    let budgets = scope.some(BUDGETS, QUICK);
    let ranks: BTreeSet<String> = budgets.iter().map(|row| row.1.to_string()).collect();
    let ranks = ranks.into_iter().collect::<Vec<_>>().join(",");
    let bench = install::into_target()?.join("bin/rankpoint");
    let file = shell::target().join("memory.json");
    let rows = ["bench", "--only", "private-memory,shared-memory"];
    let output = shell::output(
        shell::command(bench)
            .args(rows)
            .args(["--ranks", &ranks, "--quiet", "--json"])
            .arg(&file),
    )?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let told = |error: String| format!("{}: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(|error| told(error.to_string()))?;
    let results: Value = serde_json::from_str(&text).map_err(|error| told(error.to_string()))?;
    let (mut within, mut wrong) = (Vec::new(), Vec::new());
    for &(name, ranks, most) in budgets {
        let mebibytes = median(&results, name, ranks).map(|bytes| bytes / MEBI);
        let shown = mebibytes.map_or("not measured".to_owned(), |value| format!("{value:.1} MiB"));
        let text = format!("{name} of {ranks} ranks {shown} (at most {most})");
        match mebibytes {
            Some(value) if value <= most => within.push(text),
            _ => wrong.push(text),
        }
    }
    Found::runs(within.len(), wrong, &within.join(", "))
}

fn median(results: &Value, name: &str, ranks: u64) -> Option<f64> {
    let mut points = results["points"].as_array()?.iter();
    let point = points.find(|point| point["measurement"] == name && point["ranks"] == ranks)?;
    point["median"].as_f64()
}

#[cfg(test)]
mod tests {
    #[test]
    fn points_are_found_by_name_and_ranks() {
        let point = |ranks, median| serde_json::json!({ "measurement": "a", "ranks": ranks, "median": median });
        let results = serde_json::json!({ "points": [point(2, 5.0), point(64, 7.0)] });
        assert_eq!(super::median(&results, "a", 64), Some(7.0));
        assert_eq!(super::median(&results, "b", 64), None);
    }
}
