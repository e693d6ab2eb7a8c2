// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs steps and sums up what they found, the time that each took, and the processor time of all processes it started.

use std::time::Instant;

use super::forecast::Forecast;
use super::found::Found;
use super::scope::Scope;
use super::steps::{NAMED, STEPS, Step};
use crate::shell;

/// Lines of what a failure has printed that are told after the summary.
const SHOWN: usize = 80;
/// Clock ticks a second, in which Linux tells processor time to programs.
const TICKS: f64 = 100.0;

/// What the summary says of a step.
struct Row {
    name: &'static str,
    passed: usize,
    failed: usize,
    skipped: usize,
    seconds: f64,
    processor_s: f64,
    text: String,
    wrong: Vec<String>,
}

impl Row {
    /// Its line in the summary.
    fn line(&self) -> String {
        let word = if self.failed > 0 { "FAILED" } else { "" };
        format!(
            "{:<14}{:>7}{:>8}{:>9}{:>9.1} s{:>10.1} s  {word:<7}{}",
            self.name,
            self.passed,
            self.failed,
            self.skipped,
            self.seconds,
            self.processor_s,
            self.text
        )
    }
}

/// Runs the steps that the arguments name, or all but the long ones.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (scope, words) = scope_of(arguments);
    let Some(steps) = chosen(&words)? else {
        return Ok(());
    };
    let mut forecast = Forecast::of(scope);
    let names: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    if let Some(text) = forecast.text(&names) {
        shell::say(&text);
    }
    let told = |step| {
        let row = row(step, scope);
        shell::say(&row.line());
        if row.failed == 0 {
            forecast.record(row.name, row.seconds);
        }
        row
    };
    let rows: Vec<Row> = steps.into_iter().map(told).collect();
    sum_up(&rows, scope)
}

/// The scope, and the other arguments.
fn scope_of(arguments: &[String]) -> (Scope, Vec<&str>) {
    let words = arguments.iter().map(String::as_str);
    let (flags, words): (Vec<&str>, Vec<&str>) = words.partition(|word| *word == "--thorough");
    let scope = match flags.is_empty() {
        true => Scope::Quick,
        false => Scope::Thorough,
    };
    (scope, words)
}

fn row(&(name, action): &'static Step, scope: Scope) -> Row {
    shell::say(&format!("== {name}"));
    let (start, before) = (Instant::now(), processor_s());
    let found = action(scope);
    let (seconds, processor_s) = (start.elapsed().as_secs_f64(), processor_s() - before);
    let (passed, failed, skipped, text, wrong) = match found {
        Ok(Found::Tests {
            passed,
            failed,
            skipped,
            what,
            wrong,
        }) => (passed, failed, skipped, what, wrong),
        Ok(Found::Skipped(why)) => (0, 0, 1, format!("skipped: {why}"), Vec::new()),
        Err(text) => {
            let first = text.lines().next().unwrap_or("").to_owned();
            (0, 1, 0, first, vec![text])
        }
    };
    wrong.iter().for_each(|text| shell::say(text));
    Row {
        name,
        passed,
        failed,
        skipped,
        seconds,
        processor_s,
        text,
        wrong,
    }
}

fn sum_up(rows: &[Row], scope: Scope) -> Result<(), String> {
    shell::say(&format!(
        "\n{:<14}{:>7}{:>8}{:>9}{:>11}{:>12}",
        "step", "passed", "failed", "skipped", "time", "processor"
    ));
    rows.iter().for_each(|row| shell::say(&row.line()));
    let of_all = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
    let all = Row {
        name: "all",
        passed: of_all(|row| row.passed),
        failed: of_all(|row| row.failed),
        skipped: of_all(|row| row.skipped),
        seconds: rows.iter().map(|row| row.seconds).sum(),
        processor_s: rows.iter().map(|row| row.processor_s).sum(),
        text: scope.name().to_owned(),
        wrong: Vec::new(),
    };
    shell::say(&all.line());
    shell::say("");
    for row in rows {
        for text in &row.wrong {
            shell::say(&format!("-- {}\n{}", row.name, shell::tail(text, SHOWN)));
        }
    }
    let (passed, failed, skipped) = (all.passed, all.failed, all.skipped);
    shell::say(&format!(
        "{passed} passed, {failed} failed, {skipped} skipped"
    ));
    if failed == 0 && passed > 0 {
        Ok(())
    } else {
        Err(String::new())
    }
}

/// Processor time of all processes that were started here and have ended.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name before, in parentheses, may hold anything.
    let numbers = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks = numbers.skip(13).take(2);
    let ticks: f64 = ticks.filter_map(|word| word.parse::<f64>().ok()).sum();
    ticks / TICKS
}

/// The steps that the arguments name, or all but the long ones; none where their names are asked for, which are then told.
fn chosen(words: &[&str]) -> Result<Option<Vec<&'static Step>>, String> {
    let known = || STEPS.iter().chain(NAMED);
    let names: Vec<&str> = known().map(|(name, _)| *name).collect();
    if words.contains(&"--list") {
        STEPS.iter().for_each(|(name, _)| shell::say(name));
        for (name, _) in NAMED {
            shell::say(&format!("{name} (only if named)"));
        }
        return Ok(None);
    }
    if let Some(unknown) = words.iter().find(|word| !names.contains(word)) {
        return Err(format!(
            "no step is called {unknown}; the steps are {}",
            names.join(", ")
        ));
    }
    Ok(Some(if words.is_empty() {
        STEPS.iter().collect()
    } else {
        known().filter(|(name, _)| words.contains(name)).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thorough_stands_among_steps() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let (scope, words) = scope_of(&words);
            (scope, words.len())
        };
        assert_eq!(of("docs tests"), (Scope::Quick, 2));
        assert_eq!(of("--thorough docs"), (Scope::Thorough, 1));
        assert!(chosen(&["nothing"]).is_err());
        assert!(chosen(&["docs"]).is_ok_and(|steps| steps.is_some()));
    }

    #[test]
    fn processor_time_of_children_is_counted() {
        let before = processor_s();
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        shell::run(shell::command("sh").args(["-c", script])).expect("a shell");
        assert!(processor_s() > before);
    }
}
