// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run will take, step by step: the times of the last run of each step on this machine, kept beside what is built.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::scope::Scope;
use crate::shell;

/// The times of steps.
pub(super) struct Forecast {
    file: PathBuf,
    times: BTreeMap<String, f64>,
}

impl Forecast {
    /// What earlier runs of a scope have left.
    pub(super) fn of(scope: Scope) -> Self {
        let file = shell::root().join(format!("target/times-{}", scope.name()));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let times = parse(&text);
        Self { file, times }
    }

    /// What each of these steps took, and all of them; `None` where no step has run yet.
    pub(super) fn text(&self, steps: &[&str]) -> Option<String> {
        let known: Vec<(&str, f64)> = steps
            .iter()
            .filter_map(|&step| Some((step, *self.times.get(step)?)))
            .collect();
        if known.is_empty() {
            return None;
        }
        let each: Vec<String> = known
            .iter()
            .map(|(step, seconds)| format!("{step} {}", rounded(*seconds)))
            .collect();
        let all = rounded(known.iter().map(|(_, seconds)| seconds).sum());
        let unknown = match steps.len() - known.len() {
            0 => String::new(),
            new => format!(", without {new} that have not run here"),
        };
        Some(format!(
            "by the last run's times: {}\n{all} in all{unknown}",
            each.join(", ")
        ))
    }

    /// Records what a step took. A forecast is no result: where it cannot be written there is none next time.
    pub(super) fn record(&mut self, step: &str, seconds: f64) {
        self.times.insert(step.to_owned(), seconds);
        let line = |(step, seconds): (&String, &f64)| format!("{step}\t{seconds:.1}\n");
        let text: String = self.times.iter().map(line).collect();
        let _ = std::fs::create_dir_all(self.file.with_file_name(""))
            .and_then(|()| std::fs::write(&self.file, text));
    }
}

fn parse(text: &str) -> BTreeMap<String, f64> {
    let time = |line: &str| {
        let (step, seconds) = line.split_once('\t')?;
        Some((step.to_owned(), seconds.parse().ok()?))
    };
    text.lines().filter_map(time).collect()
}

/// Seconds, or minutes where they are many.
fn rounded(seconds: f64) -> String {
    match seconds < 100.0 {
        true => format!("{seconds:.0} s"),
        false => format!("{:.1} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(text: &str) -> Forecast {
        Forecast {
            file: PathBuf::new(),
            times: parse(text),
        }
    }

    #[test]
    fn the_times_of_the_steps_are_summed() {
        let forecast = forecast("docs\t30.4\ntests\t330.0\nnonsense\nother\tx\n");
        let text = forecast.text(&["docs", "tests", "new"]).unwrap();
        assert_eq!(
            text,
            "by the last run's times: docs 30 s, tests 5.5 min\n6.0 min in all, without 1 that have not run here"
        );
    }

    #[test]
    fn nothing_is_forecast_without_an_earlier_run() {
        assert!(forecast("").text(&["docs"]).is_none());
        assert!(forecast("other\t3.0\n").text(&["docs"]).is_none());
    }
}
