// SPDX-License-Identifier: MIT OR Apache-2.0
//! One app in one mode on one library: its runs, and the medians of what they printed.

use std::path::PathBuf;

use machine_profile::statistics::median;
use serde_json::{Value, json};

use super::catalog::{App, Mode, Program, Ranks, Values};
use super::fit::Fit;
use super::library::{Cores, Library};
use crate::shell;

/// Seconds that a run may take.
const LIMIT_S: &str = "60";

/// A measured size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Points or atoms of a rank; 0 where an app has no sizes.
    pub(super) per_rank: f64,
    pub(super) seconds: f64,
    /// Share of the time in MPI.
    pub(super) share: f64,
}

/// The runs.
pub(super) struct Series<'a> {
    pub(super) app: &'static App,
    pub(super) library: &'a Library,
    pub(super) mode: Mode,
    pub(super) ranks: usize,
    program: PathBuf,
    arguments: Vec<String>,
    rounds: Vec<Vec<Sample>>,
}

impl<'a> Series<'a> {
    pub(super) fn new(
        app: &'static App,
        library: &'a Library,
        mode: Mode,
        ranks: usize,
        program: PathBuf,
        arguments: Vec<String>,
    ) -> Self {
        Self {
            app,
            library,
            mode,
            ranks,
            program,
            arguments,
            rounds: Vec::new(),
        }
    }

    /// What stands above its column.
    pub(super) fn title(&self) -> String {
        format!("{} ({})", self.library.name, self.mode.name)
    }

    /// Whether it is Rankpoint's in the mode that the others are compared with.
    pub(super) fn is_base(&self) -> bool {
        self.library.has_extensions() && self.mode.name == self.app.modes[0].name
    }

    /// Runs it once more.
    pub(super) fn run(&mut self) -> Result<(), String> {
        let on = match self.app.ranks {
            Ranks::Two => Cores::Any,
            Ranks::Most | Ranks::Powers => Cores::OneEach,
        };
        let mut job = self.library.job(&self.program, self.ranks, on, LIMIT_S);
        job.args(&self.arguments);
        job.args([self.app.option, self.mode.name, "--json"]);
        let output = shell::output(&mut job)?;
        let told = |why: &str| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!(
                "{}, {}, {} ranks: {why}, {}\n{}",
                self.app.name,
                self.title(),
                self.ranks,
                output.status,
                errors.trim()
            )
        };
        if !output.status.success() {
            return Err(told("it failed"));
        }
        let found: Value =
            serde_json::from_slice(&output.stdout).map_err(|_| told("it printed no JSON"))?;
        let samples = match self.app.values {
            Values::Sweep { .. } => sizes(&found),
            Values::Phases => phases(&found).map(|sample| vec![sample]),
        };
        let samples = samples.ok_or_else(|| told("its JSON lacks the times"))?;
        self.rounds.push(samples);
        Ok(())
    }

    /// The medians of all rounds, by size.
    pub(super) fn medians(&self) -> Vec<Sample> {
        let first = self.rounds.first().map_or(&[][..], Vec::as_slice);
        let of = |index: usize, pick: fn(&Sample) -> f64| {
            let rounds = self.rounds.iter();
            let values: Vec<f64> = rounds.map(|round| pick(&round[index])).collect();
            median(&values)
        };
        let samples = first.iter().enumerate();
        let of_all = |(index, sample): (usize, &Sample)| Sample {
            per_rank: sample.per_rank,
            seconds: of(index, |it| it.seconds),
            share: of(index, |it| it.share),
        };
        samples.map(of_all).collect()
    }

    /// All that is known of it.
    pub(super) fn json(&self) -> Value {
        let row = |it: &Sample| json!({ "per_rank": it.per_rank, "seconds": it.seconds, "mpi_share": it.share });
        json!({
            "app": self.app.name, "library": self.library.name, "mode": self.mode.name, "ranks": self.ranks,
            "rounds": self.rounds.len(),
            "rows": self.medians().iter().map(row).collect::<Vec<_>>(),
        })
    }
}

/// Programs of apps for a library; `None` where it cannot run one.
pub(super) fn program(app: &App, library: &Library) -> Result<Option<PathBuf>, String> {
    match app.program {
        Program::C(source) => library.compile(source, app.name).map(Some),
        Program::Rust if library.has_extensions() => {
            Ok(Some(shell::target().join("release").join(app.name)))
        }
        Program::Rust => Ok(None),
    }
}

/// The fit over several series of an app: those on more than one rank.
pub(super) fn fit(all: &[&Series<'_>]) -> Option<Fit> {
    let several = all.iter().filter(|series| series.ranks > 1);
    let samples = several.flat_map(|series| series.medians());
    let points: Vec<(f64, f64)> = samples.map(|it| (it.per_rank, it.seconds)).collect();
    Fit::of(&points)
}

fn sizes(found: &Value) -> Option<Vec<Sample>> {
    let rows = found["rows"].as_array()?.iter();
    let sample = |row: &Value| {
        Some(Sample {
            per_rank: row["per_rank"].as_f64()?,
            seconds: row["seconds"].as_f64()?,
            share: row["mpi_share"].as_f64()?,
        })
    };
    rows.map(sample).collect()
}

/// Phases without MPI.
const OUTSIDE: [&str; 4] = ["compute", "copy", "handle", "track"];

fn phases(found: &Value) -> Option<Sample> {
    let times = found["real_s"].as_object()?;
    let seconds: Option<f64> = times.values().map(Value::as_f64).sum();
    let seconds = seconds.filter(|&seconds| seconds > 0.0)?;
    let of_phase = |name: &&str| times.get(*name).and_then(Value::as_f64);
    let compute: f64 = OUTSIDE.iter().filter_map(of_phase).sum();
    Some(Sample {
        per_rank: 0.0,
        seconds,
        share: 1.0 - compute / seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_and_computing_is_not_mpi() {
        let found = json!({ "real_s": { "issue": 1.0, "completion": 2.0, "compute": 1.0 } });
        let sample = phases(&found).unwrap();
        assert_eq!((sample.seconds, sample.share), (4.0, 0.75));
        assert_eq!(phases(&json!({ "real_s": {} })), None);
        assert_eq!(phases(&json!({ "exact": 1 })), None);
    }

    #[test]
    fn a_row_without_a_time_is_not_taken() {
        let row = |seconds: Value| json!({ "rows": [{ "per_rank": 27, "seconds": seconds, "mpi_share": 0.5 }] });
        assert_eq!(sizes(&row(json!(1e-6))).unwrap()[0].seconds, 1e-6);
        assert_eq!(sizes(&row(Value::Null)), None);
    }
}
