// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of `rankpoint bench`: its plan, and what becomes of the results.

use bench_rank::measurement::{Axis, MEASUREMENTS, Measurement};
use measure::conditions::{command_line, processor};
use measure::output::{print, write};
use measure::settings;
use measure::table::Form;
use measure::target::Target;
use measure::yardstick::comparable;

use super::options::{BenchOptions, OtherBench};
use super::results::{Library, Results};
use super::round::{JobPlan, PlannedRow, Rounds};
use super::tables;
use super::{plot, targets, threads};

/// Largest message whose skew is varied, unless all that are asked for are larger.
const LARGEST_SKEWED: usize = 1 << 20;
/// Most sizes of one job.
const SIZES_OF_A_JOB: usize = 4;

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
    if let Some(OtherBench::Threads(options)) = &options.other {
        return threads::run(options);
    }
    check_sizes(options)?;
    let targets = targets::targets(options)?;
    let steps = steps(options);
    let head = Results {
        command: options.shown_as.clone().unwrap_or_else(command_line),
        processor: processor(),
        cores: sys::cores::usable_cores() as usize,
        libraries: targets
            .iter()
            .map(|target| Library {
                name: target.name.clone(),
                version: String::new(),
                threads: target.threads,
                rendezvous: target.rendezvous,
            })
            .collect(),
        ..Results::default()
    };
    let (results, all_went_well) = measure_all(options, &targets, &steps, head)?;
    print(&tables::render(&results, Form::Terminal))?;
    write_files(options, &results)?;
    write_plots(options, &results)?;
    all_went_well
}

/// Refuses sizes that leave nothing to measure of what was named.
fn check_sizes(options: &BenchOptions) -> Result<(), String> {
    let overlap = options.overlap.then(|| "overlap".to_owned());
    for name in options.only.iter().chain(&overlap) {
        let rows = || MEASUREMENTS.iter().filter(|row| row.is_called(name));
        if rows().any(|row| !sizes(options, row).is_empty()) {
            continue;
        }
        let is_blocks = rows().any(|row| row.axis == Axis::Blocks);
        let (flag, given) = match is_blocks {
            true => ("--blocks", &options.blocks.0),
            false => ("--sizes", &options.sizes.0),
        };
        let least = rows().map(Measurement::least_bytes).min().unwrap_or(0);
        let given: Vec<String> = given.iter().map(usize::to_string).collect();
        return Err(format!(
            "nothing to measure: {name} takes {least} bytes or more, {flag} gives {}",
            given.join(",")
        ));
    }
    Ok(())
}

fn steps(options: &BenchOptions) -> Vec<JobPlan> {
    let mut steps = Vec::new();
    for measurement in options.measurements() {
        // One job may give several rows.
        let known = |step: &JobPlan| step.measurement.job() == measurement.job();
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
        for &ranks in ranks {
            let few = |sizes| JobPlan {
                measurement,
                ranks,
                sizes,
            };
            steps.extend(sizes(options, measurement).into_iter().map(few));
        }
    }
    steps
}

/// Sizes of a measurement, a few for each job: the shorter a job is, the likelier cores that are moved stay where they are
/// until every library has done it. One job without sizes where there are none.
fn sizes(options: &BenchOptions, measurement: &Measurement) -> Vec<Vec<usize>> {
    let sizes = match measurement.axis {
        Axis::Sizes | Axis::Long | Axis::Skew => &options.sizes.0,
        Axis::Blocks => &options.blocks.0,
        Axis::Ranks => return vec![Vec::new()],
    };
    let taken = |&size: &usize| size >= measurement.least_bytes();
    let mut sizes: Vec<usize> = sizes.iter().copied().filter(taken).collect();
    if measurement.axis == Axis::Skew {
        let small = |size: &usize| *size <= LARGEST_SKEWED;
        let one = sizes.iter().copied().rfind(small);
        sizes = one.or(sizes.first().copied()).into_iter().collect();
    }
    sizes
        .chunks(SIZES_OF_A_JOB)
        .map(<[usize]>::to_vec)
        .collect()
}

/// Measures every row with every library in each round; gives what came out, and whether all went well.
fn measure_all(
    options: &BenchOptions,
    targets: &[Target],
    steps: &[JobPlan],
    head: Results,
) -> Result<(Results, Result<(), String>), String> {
    let all = (1..=options.rounds)
        .flat_map(|round| steps.iter().map(move |step| PlannedRow { round, step }));
    let turns: Vec<PlannedRow<'_>> = all.collect();
    let mut rounds = Rounds::new(options, targets, head, turns.len());
    let taken = comparable::run(turns, &mut rounds)?;
    let results = rounds.results(&taken);
    Ok((results, rounds.finish()))
}

/// Writes the values and the tables to the files that were asked for.
pub(super) fn write_files(options: &BenchOptions, results: &Results) -> Result<(), String> {
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(results)
            .map_err(|error| format!("cannot write JSON: {error}"))?;
        write(file, text.as_bytes())?;
    }
    if let Some(file) = &options.markdown {
        write(file, tables::render(results, Form::Markdown).as_bytes())?;
    }
    Ok(())
}

fn write_plots(options: &BenchOptions, results: &Results) -> Result<(), String> {
    let mut files = options.plot.iter();
    files.try_for_each(|file| write(file, &plot::draw(results, file)?))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: BenchOptions,
    }

    fn check(words: &str) -> Result<(), String> {
        let words = std::iter::once("bench").chain(words.split(' '));
        check_sizes(&Line::try_parse_from(words).unwrap().options)
    }

    #[test]
    fn sizes_that_leave_nothing_of_what_was_named_are_refused() {
        for (words, expected) in [
            (
                "--only rendezvous --sizes 8K",
                "nothing to measure: rendezvous takes 65536 bytes or more, --sizes gives 8192",
            ),
            (
                "--only latency,rendezvous-skew --sizes 8,8K",
                "nothing to measure: rendezvous-skew takes 65536 bytes or more, --sizes gives 8,8192",
            ),
            (
                "--only bandwidth --sizes 0",
                "nothing to measure: bandwidth takes 1 bytes or more, --sizes gives 0",
            ),
        ] {
            assert_eq!(check(words), Err(expected.to_owned()), "{words}");
        }
        for words in [
            "--sizes 8K",
            "--only rendezvous --sizes 8K,64K",
            "--only private-memory --sizes 0",
        ] {
            assert_eq!(check(words), Ok(()), "{words}");
        }
    }

    #[test]
    fn every_row_measures_its_smallest_size() {
        for row in MEASUREMENTS {
            let bytes = row.least_bytes().max(8);
            let words = format!("--only {} --sizes {bytes} --blocks {bytes}", row.name);
            assert_eq!(check(&words), Ok(()), "{words}");
        }
    }
}
