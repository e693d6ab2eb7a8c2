// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan of a run: rounds over measurements over libraries, so that what changes on the machine meets all alike.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::job::{self, Line};
use super::measurement::{Axis, Clock, MEASUREMENTS, Measurement};
use super::options::BenchOptions;
use super::results::{Library, Place, Results};
use super::table::{self, Form};
use super::target::{self, Target};
use super::{cache_line, near, plot};
use crate::settings;

/// What one library does in a round.
struct Step {
    measurement: &'static Measurement,
    ranks: u32,
}

/// Runs `rankpoint bench`.
pub(crate) fn run(options: &BenchOptions) -> Result<(), String> {
    if options.list {
        let list: String = MEASUREMENTS
            .iter()
            .map(|row| {
                format!(
                    "{:<15} {} {:?}: {}\n",
                    row.name, row.title, row.ranks, row.text
                )
            })
            .collect();
        return print(&list);
    }
    if settings::is_rank() {
        return Err("bench starts its jobs itself: run it without mpiexec".to_owned());
    }
    let targets = target::targets(options)?;
    let steps = steps(options);
    let mut results = Results {
        command: options.shown_as.clone().unwrap_or_else(command_line),
        processor: processor(),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        libraries: targets
            .iter()
            .map(|target| Library {
                name: target.name.clone(),
                version: String::new(),
            })
            .collect(),
        ..Results::default()
    };
    measure_all(options, &targets, &steps, &mut results)?;
    print(&table::render(&results, Form::Terminal))?;
    write_files(options, &results)
}

fn command_line() -> String {
    let words = std::env::args().skip(1);
    words.fold("rankpoint".to_owned(), |line, word| line + " " + &word)
}

fn steps(options: &BenchOptions) -> Vec<Step> {
    let mut steps = Vec::new();
    for measurement in options.measurements() {
        // One job may give several rows.
        let known = |step: &Step| step.measurement.job() == measurement.job();
        if measurement.job() != measurement.name && steps.iter().any(known) {
            continue;
        }
        let own = measurement.axis != Axis::Sizes
            && measurement.ranks.len() > 1
            && !options.ranks.is_empty();
        let ranks = if own {
            &options.ranks[..]
        } else {
            measurement.ranks
        };
        steps.extend(ranks.iter().map(|&ranks| Step { measurement, ranks }));
    }
    steps
}

/// Measures every step of every library in each round.
fn measure_all(
    options: &BenchOptions,
    targets: &[Target],
    steps: &[Step],
    results: &mut Results,
) -> Result<(), String> {
    let jobs: Vec<(u64, &Step, usize)> = (1..=options.rounds)
        .flat_map(|round| steps.iter().map(move |step| (round, step)))
        .flat_map(|(round, step)| (0..targets.len()).map(move |library| (round, step, library)))
        .collect();
    let bar = progress_bar(options, jobs.len());
    let work = |&(round, step, library): &(u64, &Step, usize)| {
        let target = &targets[library];
        bar.set_prefix(format!("round {round} of {}", options.rounds));
        bar.set_message(format!("{} {}", target.name, step.measurement.name));
        let values = measure(
            options,
            target,
            step,
            &mut results.libraries[library].version,
        );
        bar.inc(1);
        values
    };
    // A repeated job is one job more.
    let again = |_: &_| bar.inc_length(1);
    let taken = near::run(jobs, near::PAUSE, cache_line::measure, work, again)?;
    for near::Taken {
        job: (_, _, library),
        values,
        distances,
    } in taken
    {
        for (place, list) in values {
            results.add(place, library, &list, &distances);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Values of one library in one step.
fn measure(
    options: &BenchOptions,
    target: &Target,
    step: &Step,
    version: &mut String,
) -> Result<Vec<(Place, Vec<f64>)>, String> {
    let place = |measurement, size_bytes| Place {
        measurement,
        ranks: step.ranks,
        size_bytes,
    };
    if step.measurement.clock == Clock::Job {
        let run = || job::run(target, step.ranks, &["empty".to_owned()], options.limit());
        // The first one finds the files on the disk.
        run()?;
        let times: Result<Vec<Duration>, String> =
            (0..options.repetitions).map(|_| Ok(run()?.time)).collect();
        let times = times?
            .into_iter()
            .map(|time| time.as_nanos() as f64)
            .collect();
        return Ok(vec![(place(step.measurement, 0), times)]);
    }
    let mut points = Vec::new();
    for line in job::run(
        target,
        step.ranks,
        &words(options, step.measurement),
        options.limit(),
    )?
    .lines
    {
        match line {
            Line::Start { version: said } => *version = said,
            Line::Point { name, size, values } => {
                let row = Measurement::find(&name)
                    .ok_or_else(|| format!("{} measured {name}", target.name))?;
                if options.measurements().contains(&row) {
                    points.push((place(row, size), values));
                }
            }
        }
    }
    if points.is_empty() {
        return Err(format!(
            "{} gave no value for {}",
            target.name, step.measurement.name
        ));
    }
    Ok(points)
}

fn words(options: &BenchOptions, measurement: &Measurement) -> Vec<String> {
    let mut words = vec![
        measurement.job().to_owned(),
        format!("iterations={}", options.iterations),
        format!("repetitions={}", options.repetitions),
        format!("budget_us={}", options.budget_ms * 1000),
        format!("verify={}", u8::from(options.verifies())),
    ];
    let sizes = match measurement.axis {
        Axis::Sizes => Some(&options.sizes),
        Axis::Pieces => Some(&options.pieces),
        Axis::Ranks => None,
    };
    if let Some(sizes) = sizes {
        let sizes = sizes.0.iter().filter(|size| measurement.takes_size(**size));
        let sizes: Vec<String> = sizes.map(usize::to_string).collect();
        words.push(format!("sizes={}", sizes.join(",")));
    }
    words
}

fn progress_bar(options: &BenchOptions, jobs: usize) -> ProgressBar {
    if options.quiet {
        return ProgressBar::hidden();
    }
    // Hidden by itself when standard error is no terminal.
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg} {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn write_files(options: &BenchOptions, results: &Results) -> Result<(), String> {
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(results)
            .map_err(|error| format!("cannot write JSON: {error}"))?;
        write(file, text.as_bytes())?;
    }
    if let Some(file) = &options.markdown {
        write(file, table::render(results, Form::Markdown).as_bytes())?;
    }
    for file in &options.plot {
        write(file, &plot::draw(results, file)?)?;
    }
    Ok(())
}

fn write(file: &Path, data: &[u8]) -> Result<(), String> {
    std::fs::write(file, data).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

fn print(text: &str) -> Result<(), String> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

/// The processor's name, as far as the kernel tells.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line
        .and_then(|line| line.split_once(':'))
        .map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| "unknown processor".to_owned())
}
