// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds over rows over libraries, so that what changes on the machine meets all alike; and what ends them early.
//!
//! A point that took too long is measured once in a run, a job that failed is not tried again, and when the minutes are
//! over the first round is finished without repeats and no other one is begun. What there is is written after each row.

use std::time::{Duration, Instant};

use bench_rank::measurement::{Clock, Measurement, Unit};
use measure::conditions::Ticks;
use measure::job;
use measure::output::tell;
use measure::progress::{ProgressBar, moving_bar};
use measure::target::InitLevel;
use measure::target::Target;
use measure::yardstick::alike::{self, Chosen, SAME, Sample};
use measure::yardstick::comparable::{self, Row, Rows};
use measure::yardstick::{SharedPage, cache_line};

use super::options::BenchOptions;
use super::rendezvous;
use super::results::{PointKey, Results};
use super::run::write_files;

/// Looks at the cores before the first job, of which the nearest counts.
const FIRST_LOOKS: u32 = 5;

/// Part of the processors that other programs may take without being told of.
const MUCH: f64 = 0.03;

/// The bar, and how much time is left.
const STYLE: &str = "{prefix} [{bar:30}] {pos}/{len} {msg} {elapsed}, {eta} left";

/// What one job of a library measures.
pub(super) struct JobPlan {
    pub(super) measurement: &'static Measurement,
    pub(super) ranks: u32,
    /// None of a measurement without sizes.
    pub(super) sizes: Vec<usize>,
}

impl JobPlan {
    fn key(&self, measurement: &'static Measurement, size_bytes: usize, skew_ns: i64) -> PointKey {
        PointKey {
            measurement,
            ranks: self.ranks,
            size_bytes,
            skew_ns,
        }
    }
}

/// One step of one round, which every library does.
#[derive(Clone, Copy)]
pub(super) struct PlannedRow<'a> {
    pub(super) round: u64,
    pub(super) step: &'a JobPlan,
}

/// One library in a turn.
struct Job<'a> {
    round: u64,
    step: &'a JobPlan,
    library: usize,
    /// Its sizes that are to be measured.
    sizes: Vec<usize>,
}

/// Values of a job.
type Values = comparable::Values<PointKey>;

/// A point that took too long: its values are all that it gets.
struct Slow {
    key: PointKey,
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
    ticks: Option<Ticks>,
    bar: ProgressBar,
    done: u64,
    slow: Vec<Slow>,
    /// Steps of libraries that failed, by their measurement's name and ranks.
    failed: Vec<(&'static str, u32, usize)>,
    failures: Vec<String>,
    left_out: u64,
}

impl<'a> Rounds<'a> {
    /// Rounds of so many turns.
    pub(super) fn new(
        options: &'a BenchOptions,
        targets: &'a [Target],
        head: Results,
        turns: usize,
    ) -> Self {
        Self {
            options,
            targets,
            head,
            start: Instant::now(),
            ticks: Ticks::now(),
            bar: match options.quiet {
                true => ProgressBar::hidden(),
                false => moving_bar(turns * targets.len(), STYLE),
            },
            done: 0,
            slow: Vec::new(),
            failed: Vec::new(),
            failures: Vec::new(),
            left_out: 0,
        }
    }

    /// The results of what counts of what was taken.
    pub(super) fn results(&self, taken: &[Row<PlannedRow<'_>, PointKey>]) -> Results {
        let mut results = self.head.clone();
        for (key, libraries) in pooled(taken) {
            let all = alike::choose(&libraries, self.need());
            for (library, chosen) in all.iter().enumerate() {
                if !chosen.values.is_empty() {
                    results.add(key, library, chosen);
                }
            }
        }
        for slow in &self.slow {
            let values = slow.values.clone();
            let chosen = Chosen {
                values,
                ..Chosen::default()
            };
            results.add(slow.key, slow.library, &chosen);
            results.limit(slow.key, slow.library);
        }
        results.predicted = rendezvous::predict(&results);
        let others = self.ticks.zip(Ticks::now());
        let others = others.map_or(0.0, |(start, now)| now.others_since(start));
        if others > MUCH {
            results.remarks.push(format!(
                "other programs took {:.0} % of the processors meanwhile: times are longer than on an idle machine",
                100.0 * others
            ));
        }
        if !self.options.hosts.hosts.is_empty() {
            let names = self.options.hosts.hosts.join(", ");
            results
                .remarks
                .push(format!("ranks ran on the hosts {names} in turn"));
        }
        if self.left_out > 0 {
            let minutes = self.options.minutes.unwrap_or_default();
            results.remarks.push(format!(
                "after {minutes} minutes {} rows of later rounds were left out",
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

    /// Sizes of a step that a library still has to measure.
    fn sizes(&self, step: &JobPlan, library: usize) -> Vec<usize> {
        let wanted = |size: &usize| {
            !self.is_slow(step, library, |key| {
                key.size_bytes == *size && key.measurement == step.measurement
            })
        };
        step.sizes.iter().copied().filter(wanted).collect()
    }

    fn is_slow(&self, step: &JobPlan, library: usize, this: impl Fn(&PointKey) -> bool) -> bool {
        let mut own = self.slow.iter().filter(|slow| slow.library == library);
        own.any(|slow| slow.key.ranks == step.ranks && this(&slow.key))
    }

    /// The words that tell the ranks what to do, with the line between two ranks that have a core each.
    fn words(&self, job: &Job<'_>, line: Option<(&SharedPage, f64)>) -> Vec<String> {
        let options = self.options;
        let mut words = vec![
            job.step.measurement.job().to_owned(),
            format!("iterations={}", options.iterations),
            format!("repetitions={}", options.repetitions),
            format!("budget_us={}", options.budget_ms * 1000),
            format!("limit_us={}", options.point_limit * 1_000_000),
            format!("verify={}", u8::from(options.verifies())),
        ];
        let sizes: Vec<String> = job.sizes.iter().map(usize::to_string).collect();
        if !sizes.is_empty() {
            words.push(format!("sizes={}", sizes.join(",")));
        }
        if self.targets[job.library].threads == InitLevel::Multiple {
            words.push(bench_rank::MULTIPLE.to_owned());
        }
        if let Some((line, usual)) = line {
            words.push(format!("line={}", line.path()));
            words.push(format!("distance_limit_ns={:.0}", usual * SAME));
        }
        words
    }

    /// Values of a job, also of one that failed before its end.
    fn measure(&mut self, job: &Job<'_>, usual: Option<f64>) -> Result<Values, String> {
        let (target, step) = (&self.targets[job.library], job.step);
        let depends = step.ranks > 1
            && step.measurement.unit != Unit::Bytes
            && self.options.hosts.hosts.is_empty();
        // Around the job, where no rank looks meanwhile.
        let around = |before: Option<f64>| {
            let after = before.and_then(|_| cache_line::measure());
            nearer(before, after)
        };
        let has_line = depends
            && step.ranks == 2
            && self.head.cores > 1
            && step.measurement.clock == Clock::Rank;
        let before = if depends && !has_line {
            cache_line::measure()
        } else {
            None
        };
        let sample = |(value, met)| Sample { value, met };
        if step.measurement.clock == Clock::Job {
            let times = self.starts(job)?;
            let met = around(before);
            let samples = times.into_iter().map(|time| sample((time, met.clone())));
            return Ok(vec![(step.key(step.measurement, 0, 0), samples.collect())]);
        }
        let line = if depends && has_line {
            Some(SharedPage::new()?)
        } else {
            None
        };
        let words = self.words(job, line.as_ref().zip(usual));
        let outcome = job::run_partly(target, step.ranks, &words, self.options.limit())?;
        let met = around(before);
        let mut values = Values::new();
        for line in outcome.lines {
            match line {
                job::RankReport::Start { version } => {
                    self.head.libraries[job.library].version = version
                }
                job::RankReport::Skipped { .. } | job::RankReport::Rates { .. } => {}
                job::RankReport::Point {
                    name,
                    size,
                    skew_ns,
                    values: list,
                    distances,
                } => {
                    let row = Measurement::find(&name)
                        .ok_or_else(|| format!("{} measured {name}", target.name))?;
                    if self.options.measurements().contains(&row) {
                        let met = distances.into_iter().chain(std::iter::repeat(met.clone()));
                        let samples = list.into_iter().zip(met).map(sample);
                        values.push((step.key(row, size, skew_ns), samples.collect()));
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
        let mut words = vec![bench_rank::EMPTY.to_owned()];
        if target.threads == InitLevel::Multiple {
            words.push(bench_rank::MULTIPLE.to_owned());
        }
        let run = || job::run(target, ranks, &words, self.options.limit());
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
        self.bar.suspend(|| tell(&text));
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
        let sizes = match &job.sizes[..] {
            [] => String::new(),
            [one] => format!(" of {one} B"),
            [first, .., last] => format!(" of {first} to {last} B"),
        };
        format!("{target} {name}{sizes}, {ranks}")
    }
}

/// The nearer one of the distances before and after a job: cores that idle while a launcher starts or ends are moved apart, but
/// hardly those of ranks at work.
fn nearer(before: Option<f64>, after: Option<f64>) -> Vec<f64> {
    let nearer = before.into_iter().chain(after).min_by(f64::total_cmp);
    nearer.into_iter().collect()
}

/// All values of each point, of all rounds together.
fn pooled(taken: &[Row<PlannedRow<'_>, PointKey>]) -> Vec<(PointKey, Vec<Vec<Sample>>)> {
    let mut all: Vec<(PointKey, Vec<Vec<Sample>>)> = Vec::new();
    for point in taken.iter().flat_map(|row| &row.points) {
        match all.iter_mut().find(|(key, _)| *key == point.key) {
            Some((_, libraries)) => {
                for (known, more) in libraries.iter_mut().zip(&point.libraries) {
                    known.extend_from_slice(more);
                }
            }
            None => all.push((point.key, point.libraries.clone())),
        }
    }
    all
}

impl<'a> Rows for Rounds<'a> {
    type Row = PlannedRow<'a>;
    type Key = PointKey;

    fn libraries(&self) -> usize {
        self.targets.len()
    }

    fn distance(&mut self) -> Option<f64> {
        let looks = (0..FIRST_LOOKS).filter_map(|_| cache_line::measure());
        looks.min_by(f64::total_cmp)
    }

    fn need(&self) -> usize {
        (self.options.repetitions as usize).div_ceil(2)
    }

    fn wanted(&mut self, turn: &PlannedRow<'a>, library: usize, again: bool) -> bool {
        let limit = self
            .options
            .minutes
            .map(|minutes| Duration::from_secs(60 * minutes));
        let is_late = limit.is_some_and(|limit| self.start.elapsed() >= limit);
        if is_late && (turn.round > 1 || again) {
            self.left_out += u64::from(!again && library == 0);
            return false;
        }
        let step = turn.step;
        let has_more = match step.sizes[..] {
            [] => !self.is_slow(step, library, |key| {
                key.measurement.job() == step.measurement.job()
            }),
            _ => !self.sizes(step, library).is_empty(),
        };
        has_more && !(self.failed).contains(&(step.measurement.name, step.ranks, library))
    }

    fn work(
        &mut self,
        turn: &PlannedRow<'a>,
        library: usize,
        keys: Option<&[PointKey]>,
        usual: Option<f64>,
    ) -> Values {
        let mut sizes = self.sizes(turn.step, library);
        if let Some(keys) = keys {
            sizes.retain(|size| keys.iter().any(|key| key.size_bytes == *size));
        }
        let job = Job {
            round: turn.round,
            step: turn.step,
            library,
            sizes,
        };
        let what = self.describe(&job);
        self.bar
            .set_prefix(format!("round {} of {}", job.round, self.options.rounds));
        self.bar.set_message(what.clone());
        let start = Instant::now();
        let values = self.measure(&job, usual);
        let values = values.unwrap_or_else(|text| {
            self.fail(&job, text);
            Values::new()
        });
        let (slow, values): (Values, Values) = values.into_iter().partition(|(key, list)| {
            key.measurement.unit != Unit::Bytes && (list.len() as u64) < self.options.repetitions
        });
        self.slow
            .extend(slow.into_iter().map(|(key, samples)| Slow {
                key,
                library,
                values: samples.iter().map(|sample| sample.value).collect(),
            }));
        self.done += 1;
        let length = self.bar.length().unwrap_or_default().max(self.done);
        self.bar.set_length(length);
        self.bar.inc(1);
        if self.bar.is_hidden() && !self.options.quiet {
            let (round, seconds) = (job.round, start.elapsed().as_secs_f64());
            let again = if keys.is_some() { " again" } else { "" };
            tell(&format!(
                "{}/{length}, round {round}: {what}{again}: {seconds:.1} s",
                self.done
            ));
        }
        values
    }

    fn keep(&mut self, taken: &[Row<PlannedRow<'a>, PointKey>]) -> Result<(), String> {
        if self.options.json.is_none() && self.options.markdown.is_none() {
            return Ok(());
        }
        write_files(self.options, &self.results(taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_distance_around_a_job_counts() {
        assert_eq!(nearer(Some(58.0), Some(280.0)), [58.0]);
        assert_eq!(nearer(Some(280.0), Some(60.0)), [60.0]);
        assert!(nearer(None, None).is_empty());
    }
}
