// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds over measurements over libraries, so that what changes on the machine meets all alike; and what ends them early.
//!
//! A point that took too long is measured once in a run, a job that failed is not tried again in later rounds, and when the
//! minutes are over the first round is finished and no other one is begun. What there is is written after each job.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::job::{self, Line};
use super::measurement::{Axis, Clock, Measurement, Unit};
use super::near::{Jobs, Taken};
use super::options::BenchOptions;
use super::results::{Place, Results};
use super::target::Target;
use super::{cache_line, run};

/// What one library does in a round.
pub(super) struct Step {
    pub(super) measurement: &'static Measurement,
    pub(super) ranks: u32,
}

impl Step {
    fn place(&self, measurement: &'static Measurement, size_bytes: usize) -> Place {
        Place {
            measurement,
            ranks: self.ranks,
            size_bytes,
        }
    }
}

/// One library in one step of one round.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) round: u64,
    pub(super) step: &'a Step,
    pub(super) library: usize,
}

/// Values of a job.
pub(super) type Values = Vec<(Place, Vec<f64>)>;

/// A point that took too long: its values are all that it gets.
struct Slow {
    place: Place,
    library: usize,
    values: Vec<f64>,
}

/// The rounds of a run.
pub(super) struct Rounds<'a> {
    options: &'a BenchOptions,
    targets: &'a [Target],
    /// Everything but the points.
    head: Results,
    start: Instant,
    bar: ProgressBar,
    done: u64,
    slow: Vec<Slow>,
    /// Steps of libraries that failed, by their measurement's name and ranks.
    failed: Vec<(&'static str, u32, usize)>,
    failures: Vec<String>,
    left_out: u64,
}

impl<'a> Rounds<'a> {
    /// Rounds of so many jobs.
    pub(super) fn new(
        options: &'a BenchOptions,
        targets: &'a [Target],
        head: Results,
        jobs: usize,
    ) -> Self {
        Self {
            options,
            targets,
            head,
            start: Instant::now(),
            bar: progress_bar(options, jobs),
            done: 0,
            slow: Vec::new(),
            failed: Vec::new(),
            failures: Vec::new(),
            left_out: 0,
        }
    }

    /// The results of what was taken.
    pub(super) fn results(&self, taken: &[Taken<Job<'_>, Values>]) -> Results {
        let mut results = self.head.clone();
        for one in taken {
            for (place, values) in &one.values {
                results.add(*place, one.job.library, values, &one.distances);
            }
        }
        for slow in &self.slow {
            results.add(slow.place, slow.library, &slow.values, &[]);
            results.limit(slow.place, slow.library);
        }
        if self.left_out > 0 {
            let minutes = self.options.minutes.unwrap_or_default();
            results.remarks.push(format!(
                "after {minutes} minutes {} jobs of later rounds were left out",
                self.left_out
            ));
        }
        let first_lines = (self.failures.iter())
            .filter_map(|text| Some(text.lines().next()?.trim_end_matches(':')));
        results.remarks.extend(first_lines.map(str::to_owned));
        results
    }

    /// Ends the display of progress; an error if a job failed.
    pub(super) fn finish(&self) -> Result<(), String> {
        self.bar.finish_and_clear();
        if self.failures.is_empty() {
            return Ok(());
        }
        Err(self.failures.join("\n"))
    }

    /// Sizes that a job still has to measure; nothing for a measurement without sizes.
    fn sizes(&self, job: &Job<'_>) -> Option<Vec<usize>> {
        let measurement = job.step.measurement;
        let sizes = match measurement.axis {
            Axis::Sizes => &self.options.sizes,
            Axis::Pieces => &self.options.pieces,
            Axis::Ranks => return None,
        };
        let wanted = |size: &usize| {
            measurement.takes_size(*size)
                && !self.is_slow(job, |place| {
                    place.size_bytes == *size && place.measurement == measurement
                })
        };
        Some(sizes.0.iter().copied().filter(wanted).collect())
    }

    fn is_slow(&self, job: &Job<'_>, this: impl Fn(&Place) -> bool) -> bool {
        let ranks = job.step.ranks;
        let mut own = self.slow.iter().filter(|slow| slow.library == job.library);
        own.any(|slow| slow.place.ranks == ranks && this(&slow.place))
    }

    /// The words that tell the ranks what to do.
    fn words(&self, job: &Job<'_>) -> Vec<String> {
        let options = self.options;
        let mut words = vec![
            job.step.measurement.job().to_owned(),
            format!("iterations={}", options.iterations),
            format!("repetitions={}", options.repetitions),
            format!("budget_us={}", options.budget_ms * 1000),
            format!("limit_us={}", options.point_limit * 1_000_000),
            format!("verify={}", u8::from(options.verifies())),
        ];
        if let Some(sizes) = self.sizes(job) {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            words.push(format!("sizes={}", sizes.join(",")));
        }
        words
    }

    /// Values of a job, also of one that failed before its end.
    fn measure(&mut self, job: &Job<'_>) -> Result<Values, String> {
        let (target, step) = (&self.targets[job.library], job.step);
        if step.measurement.clock == Clock::Job {
            return Ok(vec![(step.place(step.measurement, 0), self.starts(job)?)]);
        }
        let words = self.words(job);
        let outcome = job::run_partly(target, step.ranks, &words, self.options.limit())?;
        let mut values = Values::new();
        for line in outcome.lines {
            match line {
                Line::Start { version } => self.head.libraries[job.library].version = version,
                Line::Point {
                    name,
                    size,
                    values: list,
                } => {
                    let row = Measurement::find(&name)
                        .ok_or_else(|| format!("{} measured {name}", target.name))?;
                    if self.options.measurements().contains(&row) {
                        values.push((step.place(row, size), list));
                    }
                }
            }
        }
        if let Some(failure) = outcome.failure {
            self.fail(job, failure);
        } else if values.is_empty() {
            let name = step.measurement.name;
            return Err(format!("{} gave no value for {name}", target.name));
        }
        Ok(values)
    }

    /// Times of whole jobs that do nothing.
    fn starts(&self, job: &Job<'_>) -> Result<Vec<f64>, String> {
        let (target, ranks) = (&self.targets[job.library], job.step.ranks);
        let run = || job::run(target, ranks, &["empty".to_owned()], self.options.limit());
        // The first one finds the files on the disk.
        run()?;
        let start = Instant::now();
        let mut times = Vec::new();
        for _ in 0..self.options.repetitions {
            times.push(run()?.time.as_nanos() as f64);
            if start.elapsed() >= Duration::from_secs(self.options.point_limit) {
                break;
            }
        }
        Ok(times)
    }

    fn fail(&mut self, job: &Job<'_>, text: String) {
        let step = job.step;
        self.bar.suspend(|| run::tell(&text));
        self.failures.push(text);
        self.failed
            .push((step.measurement.name, step.ranks, job.library));
    }

    fn describe(&self, job: &Job<'_>) -> String {
        let ranks = match job.step.ranks {
            1 => "1 rank".to_owned(),
            ranks => format!("{ranks} ranks"),
        };
        let (target, name) = (&self.targets[job.library].name, job.step.measurement.name);
        format!("{target} {name}, {ranks}")
    }
}

impl<'a> Jobs for Rounds<'a> {
    type Job = Job<'a>;
    type Values = Values;

    fn distance(&mut self) -> Option<f64> {
        cache_line::measure()
    }

    fn wanted(&mut self, job: &Job<'a>, attempt: u32) -> bool {
        let limit = self
            .options
            .minutes
            .map(|minutes| Duration::from_secs(60 * minutes));
        let is_late = limit.is_some_and(|limit| self.start.elapsed() >= limit);
        if is_late && (job.round > 1 || attempt > 1) {
            self.left_out += u64::from(attempt == 1);
            return false;
        }
        let step = (job.step.measurement.name, job.step.ranks, job.library);
        let has_more = match self.sizes(job) {
            Some(sizes) => !sizes.is_empty(),
            None => !self.is_slow(job, |place| {
                place.measurement.job() == job.step.measurement.job()
            }),
        };
        has_more && !self.failed.contains(&step)
    }

    fn work(&mut self, job: &Job<'a>) -> Result<Values, String> {
        let what = self.describe(job);
        self.bar
            .set_prefix(format!("round {} of {}", job.round, self.options.rounds));
        self.bar.set_message(what.clone());
        let start = Instant::now();
        let values = self.measure(job);
        let values = values.unwrap_or_else(|text| {
            self.fail(job, text);
            Values::new()
        });
        let (slow, values): (Values, Values) = values.into_iter().partition(|(place, list)| {
            place.measurement.unit != Unit::Bytes && (list.len() as u64) < self.options.repetitions
        });
        self.slow
            .extend(slow.into_iter().map(|(place, values)| Slow {
                place,
                library: job.library,
                values,
            }));
        self.done += 1;
        let length = self.bar.length().unwrap_or_default().max(self.done);
        self.bar.set_length(length);
        self.bar.inc(1);
        if self.bar.is_hidden() && !self.options.quiet {
            let (round, seconds) = (job.round, start.elapsed().as_secs_f64());
            run::tell(&format!(
                "{}/{length}, round {round}: {what}: {seconds:.1} s",
                self.done
            ));
        }
        Ok(values)
    }

    fn keep(&mut self, taken: &[Taken<Job<'a>, Values>]) -> Result<(), String> {
        if self.options.json.is_none() && self.options.markdown.is_none() {
            return Ok(());
        }
        run::write_files(self.options, &self.results(taken))
    }
}

fn progress_bar(options: &BenchOptions, jobs: usize) -> ProgressBar {
    if options.quiet {
        return ProgressBar::hidden();
    }
    // Hidden by itself when standard error is no terminal.
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), ProgressDrawTarget::stderr());
    let style = "{prefix} [{bar:30}] {pos}/{len} {msg} {elapsed}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
