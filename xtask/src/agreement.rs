// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask agreement [RUNS] [--profiles]`: whether what `rankpoint scope` says of a cache line and of memcpy is what a C program
//! and `rankpoint bench` say, and whether profiles take the time and have the spread that `docs/measuring.md` promises.

use std::path::{Path, PathBuf};
use std::time::Instant;

use machine_profile::statistics::median;
use serde_json::Value;

use crate::{install, shell};

/// Bytes of the copies: those of the benchmark's row `copy-limit`.
const BYTES: &str = "65536";
/// Names and limits of the ratios; 0.05 is 5 %.
const RATIOS: [(&str, f64); 4] = [
    ("line, scope to C", 0.05),
    ("line, scope to bench", 0.10),
    ("memcpy, scope to C", 0.05),
    ("memcpy, scope to bench", 0.05),
];
/// Seconds that a quick profile and a whole one may take.
const PROFILE_S: [(&[&str], f64); 3] = [(&["--quick"], 60.0), (&["--quick"], 60.0), (&[], 900.0)];
/// By how much a value may differ between two quick profiles, the part of the values that must not differ by more, and by how
/// much the cache line may, or the machine is another one.
const REPEATED: (f64, f64, f64) = (0.10, 0.90, 0.25);

/// Measures in turn, and prints ratios and verdicts.
///
/// # Errors
/// What does not agree, or a program that does not run.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (mut runs, mut profiles) = (3, false);
    for word in arguments {
        if word == "--profiles" {
            profiles = true;
            continue;
        }
        runs = (word.parse().ok().filter(|runs| *runs > 0))
            .ok_or_else(|| format!("'{word}': expected a number of runs, or --profiles"))?;
    }
    let bin = install::into_target()?.join("bin/rankpoint");
    let mut wrong = ratios(&bin, runs)?;
    if profiles {
        wrong += profiles_repeat(&bin)?;
    }
    match wrong {
        0 => Ok(()),
        1 => Err("one value does not agree".to_owned()),
        many => Err(format!("{many} values do not agree")),
    }
}

/// Prints the ratios of all runs and of their medians; gives how many medians do not agree.
fn ratios(bin: &Path, runs: usize) -> Result<usize, String> {
    let program = shell::target().join("yardstick");
    let mut compiler = shell::command("cc");
    compiler.args(["-O2", "-pthread", "-o"]).arg(&program);
    compiler.arg(shell::root().join("tests/scope/yardstick.c"));
    shell::run(&mut compiler)?;
    let mut all: [Vec<f64>; RATIOS.len()] = Default::default();
    for _ in 0..runs {
        for (values, ratio) in all.iter_mut().zip(ratios_once(bin, &program)?) {
            values.push(ratio);
        }
    }
    let mut wrong = 0;
    for ((name, limit), values) in RATIOS.iter().zip(&all) {
        wrong += usize::from(!say_verdict(name, *limit, values));
    }
    Ok(wrong)
}

/// The ratios of one run, in the order of [`RATIOS`].
fn ratios_once(bin: &Path, program: &Path) -> Result<[f64; RATIOS.len()], String> {
    let mut other = shell::command(program);
    let other = text(other.args(["0", "1", BYTES]))?;
    let mut scope = shell::command(bin);
    scope.args(["scope", "--quiet", "--places", "0-1", "--sizes", BYTES]);
    let scope = text(scope.args(["--only", "^(line/matrix|copy/memcpy/cached)$", "--csv", "-"]))?;
    let file = shell::target().join("agreement-bench.json");
    let mut bench = shell::command(bin);
    bench.args([
        "bench",
        "--only",
        "latency,copy-limit",
        "--sizes",
        "8",
        "--json",
    ]);
    text(bench.arg(&file))?;
    let bench = json(&file)?;
    let missing = |name: &str| format!("no {name} in\n{other}{scope}{bench}");
    let at = |found: Option<f64>, name: &str| found.ok_or_else(|| missing(name));
    let line = at(value(&scope, "line/pair", ',', 8), "line/pair")?;
    let copy = at(
        value(&scope, "copy/memcpy/cached", ',', 8),
        "copy/memcpy/cached",
    )?;
    let rate = at(
        point(&bench, "copy-limit", |point| point["median"].as_f64()),
        "copy-limit",
    )?;
    let bytes: f64 = BYTES.parse().map_err(|_| missing("size"))?;
    Ok([
        line / at(value(&other, "line", ' ', 1), "line")?,
        line / at(
            point(&bench, "latency", distance_of),
            "core_to_core_ns of latency",
        )?,
        copy / at(value(&other, "memcpy", ' ', 1), "memcpy")?,
        copy / (bytes / rate * 1e9),
    ])
}

/// Two quick profiles and a whole one: how long each takes, and how far the first two agree. Gives how many verdicts are bad.
fn profiles_repeat(bin: &Path) -> Result<usize, String> {
    let mut wrong = 0;
    let mut files = Vec::<PathBuf>::new();
    for (number, (flags, limit_s)) in PROFILE_S.iter().enumerate() {
        let file = shell::target().join(format!("agreement-{number}.toml"));
        let mut scope = shell::command(bin);
        scope.args(["scope", "--quiet"]).args(*flags);
        let start = Instant::now();
        text(scope.arg("--profile").arg(&file))?;
        let took = start.elapsed().as_secs_f64();
        let good = took <= *limit_s;
        wrong += usize::from(!good);
        let kind = flags.first().map_or("whole", |_| "quick");
        shell::say(&format!(
            "{kind} profile: {took:.0} s, {} {limit_s:.0} s",
            if good { "within" } else { "longer than" }
        ));
        files.push(file);
    }
    let mut compare = shell::command(bin);
    compare.args(["scope", "compare", "--all", "--json"]);
    let compared = text(compare.arg(&files[0]).arg(&files[1]))?;
    let compared: Value = serde_json::from_str(&compared)
        .map_err(|error| format!("rankpoint scope compare: {error}"))?;
    let ratios: Vec<(&str, f64)> = (compared["values"].as_array().into_iter().flatten())
        .filter_map(|row| Some((row["value"].as_str()?, row["ratio"].as_f64()?)))
        .collect();
    let (near, part, same_machine) = REPEATED;
    let moved = (ratios.iter())
        .any(|(name, ratio)| name.starts_with("line/pair") && !within(*ratio, same_machine));
    let close = (ratios.iter().filter(|(_, ratio)| within(*ratio, near))).count();
    let good = close as f64 >= part * ratios.len() as f64;
    wrong += usize::from(!good && !moved);
    shell::say(&format!(
        "two quick profiles: {close} of {} values within {:.0} %{}",
        ratios.len(),
        near * 100.0,
        match (good, moved) {
            (_, true) => ", but the cores moved between them: no verdict",
            (true, false) => ": they agree",
            (false, false) => ": they do not agree",
        }
    ));
    Ok(wrong)
}

/// Prints a median and whether it is within its limit.
fn say_verdict(name: &str, limit: f64, values: &[f64]) -> bool {
    let median = median(values);
    let good = within(median, limit);
    let each: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
    shell::say(&format!(
        "{name}: {}; median {median:.3}, {} {:.0} %",
        each.join(", "),
        if good { "within" } else { "not within" },
        limit * 100.0
    ));
    good
}

/// Whether a ratio is 1 but for so much.
fn within(ratio: f64, limit: f64) -> bool {
    (ratio - 1.0).abs() <= limit
}

/// What a command prints.
fn text(command: &mut std::process::Command) -> Result<String, String> {
    let output = shell::output(command)?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {told}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A file's JSON.
fn json(file: &Path) -> Result<Value, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| told(&error))?;
    serde_json::from_str(&text).map_err(|error| told(&error))
}

/// What `of` takes from the first point of a measurement.
fn point(bench: &Value, name: &str, of: impl Fn(&Value) -> Option<f64>) -> Option<f64> {
    let points = bench["points"].as_array()?;
    of(points.iter().find(|point| point["measurement"] == name)?)
}

/// The median of the distances between the cores at a point.
fn distance_of(point: &Value) -> Option<f64> {
    let values = point["core_to_core_ns"].as_array()?.iter();
    let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
    (!values.is_empty()).then(|| median(&values))
}

/// The number in a column of the line that begins with a name.
fn value(text: &str, name: &str, separator: char, column: usize) -> Option<f64> {
    let mut lines = text.lines().map(|line| line.split(separator));
    let line = lines.find(|line| line.clone().next() == Some(name))?;
    line.clone().nth(column)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_column() {
        assert_eq!(value("line 1.5\nmemcpy 2\n", "memcpy", ' ', 1), Some(2.0));
        assert_eq!(value("a,b,3\n", "a", ',', 2), Some(3.0));
        assert_eq!(value("a,b\n", "a", ',', 2), None);
    }

    #[test]
    fn points_are_found_by_measurement() {
        let bench = serde_json::json!({"points": [
            {"measurement": "latency", "median": 70.0, "core_to_core_ns": [50.0, 90.0, 51.0]},
            {"measurement": "copy-limit", "median": 3e10, "core_to_core_ns": []},
        ]});
        assert_eq!(point(&bench, "latency", distance_of), Some(51.0));
        assert_eq!(point(&bench, "copy-limit", distance_of), None);
        assert_eq!(
            point(&bench, "copy-limit", |point| point["median"].as_f64()),
            Some(3e10)
        );
        assert_eq!(point(&bench, "barrier", distance_of), None);
    }

    #[test]
    fn a_ratio_agrees_on_both_sides_of_one() {
        assert!(within(0.951, 0.05) && within(1.049, 0.05));
        assert!(!within(0.94, 0.05) && !within(1.06, 0.05) && !within(f64::NAN, 0.05));
    }
}
