// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint tune`: measures every algorithm of every collective on the machine at hand, and writes the rules that suit it,
//! for `RANKPOINT_COLL_TABLE`.
//!
//! Each algorithm is forced by a table of one rule, and the jobs are those of `rankpoint bench`. All algorithms of an
//! operation take turns, round by round, so that what changes on the machine meets all alike. [`fit`] makes rules of the times.

mod fit;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use algorithms::{Algorithm, Case, Operation, Table, number, short};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::bench::job::{self, RankReport};
use crate::bench::results::median;
use crate::bench::target::{self, Target};
use crate::settings;
use fit::{Candidate, Measured};

/// Options of `rankpoint tune`.
#[derive(Args)]
pub(crate) struct TuneOptions {
    /// Operations to measure (default: all)
    #[arg(long, value_delimiter = ',', value_parser = operation)]
    only: Vec<Operation>,
    /// Numbers of ranks, ascending (default: powers of two from 2 to twice the number of cores)
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=4096))]
    ranks: Vec<u32>,
    /// Bytes of one rank's vector or block, multiples of 8; takes K, M, G
    #[arg(long, value_delimiter = ',', default_value = "8,64,512,4K,32K,256K,2M", value_parser = bytes)]
    sizes: Vec<usize>,
    /// Largest number of bytes of all pieces of a rank
    #[arg(long, default_value = "64M", value_parser = bytes)]
    largest: usize,
    /// Rounds over all algorithms
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Values of each algorithm and size in a round; the median of all counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    repetitions: u64,
    /// Time of a repetition in milliseconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    budget_ms: u64,
    /// Seconds after which one job is given up
    #[arg(long, default_value_t = 120)]
    time_limit: u64,
    /// The file to write
    #[arg(long, short, default_value = "rankpoint.table")]
    output: PathBuf,
    /// Launcher of the library, with its flags (default: the mpiexec beside this program)
    #[arg(long)]
    mpiexec: Option<String>,
    /// Folder of the library (default: the one installed with this program, or what LD_LIBRARY_PATH says)
    #[arg(long)]
    library_path: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

fn operation(name: &str) -> Result<Operation, String> {
    Operation::named(name).ok_or_else(|| {
        let names: Vec<&str> = Operation::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn bytes(text: &str) -> Result<usize, String> {
    let found = number(text).filter(|&bytes| (8..=1 << 30).contains(&bytes) && bytes % 8 == 0);
    let found = found.and_then(|bytes| usize::try_from(bytes).ok());
    found.ok_or_else(|| "expected a multiple of 8 bytes, up to 1G".to_owned())
}

/// Runs `rankpoint tune`.
pub(crate) fn run(options: &TuneOptions) -> Result<(), String> {
    if settings::is_rank() {
        return Err("tune starts its jobs itself: run it without mpiexec".to_owned());
    }
    let library = target::library(options.mpiexec.as_deref(), options.library_path.as_deref())?;
    let operations = match &options.only[..] {
        [] => Operation::ALL,
        some => some,
    };
    let mut ranks = match &options.ranks[..] {
        [] => usual_ranks(),
        some => some.to_vec(),
    };
    ranks.sort_unstable();
    ranks.dedup();
    let bar = progress_bar(options, operations.len() * ranks.len());
    let (mut rules, mut told) = (String::new(), String::new());
    for &operation in operations {
        let mut measured = Vec::new();
        for &ranks in &ranks {
            bar.set_message(format!("{} on {ranks} ranks", operation.name()));
            measured.extend(measure(options, &library, operation, ranks)?);
            bar.inc(1);
        }
        rules += &fit::rules(&measured);
        told += &fit::gains(&measured);
    }
    bar.finish_and_clear();
    let text = head(&ranks) + &rules;
    let (_, problems) = Table::with("", &text);
    if let Some(problem) = problems.first() {
        return Err(format!("the rules that were made are wrong: {problem}"));
    }
    let file = &options.output;
    std::fs::write(file, &text)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let shown = file.display();
    let count = rules.lines().filter(|line| line.contains("use=")).count();
    let told = match told.as_str() {
        "" => "Nothing is faster than what the library's own rules choose.\n".to_owned(),
        _ => format!("Faster than what the library's own rules choose:\n{told}"),
    };
    let text =
        format!("{told}{count} rules in {shown}; use them with RANKPOINT_COLL_TABLE={shown}\n");
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn usual_ranks() -> Vec<u32> {
    let cores = sys::cores::usable_cores();
    (1..=12)
        .map(|shift| 1 << shift)
        .take_while(|&ranks| ranks <= 2 * cores.max(2))
        .collect()
}

fn head(ranks: &[u32]) -> String {
    let cores = sys::cores::usable_cores() as usize;
    let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
    format!(
        "# Written by `rankpoint tune` on a machine with {cores} cores, from measurements on {} ranks.\n\
         # Behind each rule: bytes, the time of its algorithm, and the best other one.\n\n",
        ranks.join(", ")
    )
}

fn progress_bar(options: &TuneOptions, steps: usize) -> ProgressBar {
    if options.quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg} {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The algorithms of an operation, with the numbers that are tried.
fn candidates(operation: Operation) -> Vec<Candidate> {
    let numbers = |algorithm: Algorithm| match (algorithm.parameter(), algorithm.name()) {
        (None, _) => vec![0],
        (Some(_), "knomial") => vec![3, 4, 8],
        (Some(_), "chain") => vec![8 << 10, 32 << 10, 128 << 10],
        (Some(_), "linear") => vec![2, 8, 32],
        (Some(parameter), _) => vec![parameter.default],
    };
    Algorithm::of(operation)
        .flat_map(|algorithm| {
            let numbers = numbers(algorithm).into_iter();
            numbers.map(move |parameter| Candidate {
                algorithm,
                parameter,
            })
        })
        .collect()
}

/// What the measured call is to the rules: sums of longs.
fn case(operation: Operation, ranks: u32, bytes: usize) -> Case {
    let case = Case::new(operation, ranks, bytes, 1);
    Case {
        elements: case.total / 8,
        ..case
    }
}

/// The times of all algorithms of an operation.
fn measure(
    options: &TuneOptions,
    library: &Target,
    operation: Operation,
    ranks: u32,
) -> Result<Vec<Measured>, String> {
    let sizes = match operation {
        Operation::Barrier => vec![0],
        _ => {
            let fits = |&&bytes: &&usize| case(operation, ranks, bytes).total <= options.largest;
            let mut sizes: Vec<usize> = options.sizes.iter().filter(fits).copied().collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        }
    };
    let candidates = candidates(operation);
    let mut values: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); sizes.len()]; candidates.len()];
    for round in 0..options.rounds {
        for (index, candidate) in candidates.iter().enumerate() {
            let can = |bytes: usize| {
                let case = case(operation, ranks, bytes);
                candidate.algorithm.obstacle(&case).is_none()
            };
            let own: Vec<usize> = sizes.iter().copied().filter(|&bytes| can(bytes)).collect();
            if own.is_empty() {
                continue;
            }
            let file = ForcedRule::write(operation, *candidate, (ranks, round))?;
            for (bytes, list) in run_job(options, library, operation, (ranks, &own), &file.0)? {
                if let Some(place) = sizes.iter().position(|&size| size == bytes) {
                    values[index][place].extend(list);
                }
            }
        }
    }
    let mut measured = Vec::new();
    for (place, &bytes) in sizes.iter().enumerate() {
        let times = candidates.iter().zip(&values);
        let times = times.filter(|(_, lists)| !lists[place].is_empty());
        measured.push(Measured {
            case: case(operation, ranks, bytes),
            operation,
            times: times
                .map(|(&candidate, lists)| (candidate, median(&lists[place])))
                .collect(),
        });
    }
    Ok(measured)
}

/// A file with one rule, which lives as long as this.
struct ForcedRule(PathBuf);

impl ForcedRule {
    fn write(
        operation: Operation,
        candidate: Candidate,
        (ranks, round): (u32, u64),
    ) -> Result<Self, String> {
        let process = std::process::id();
        let name = format!("rankpoint-tune-{process}-{ranks}-{round}.table");
        let file = std::env::temp_dir().join(name);
        let mut rule = format!("{} use={}", operation.name(), candidate.algorithm.name());
        if candidate.parameter > 0 {
            // Writing to a string cannot fail.
            let _ = write!(rule, ":{}", short(candidate.parameter));
        }
        std::fs::write(&file, rule + "\n")
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(Self(file))
    }
}

impl Drop for ForcedRule {
    fn drop(&mut self) {
        // A file that is left behind harms nobody.
        drop(std::fs::remove_file(&self.0));
    }
}

/// The times of one job: bytes, and nanoseconds of each repetition.
fn run_job(
    options: &TuneOptions,
    library: &Target,
    operation: Operation,
    (ranks, sizes): (u32, &[usize]),
    file: &Path,
) -> Result<Vec<(usize, Vec<f64>)>, String> {
    let mut forced = library.clone();
    let variable = "RANKPOINT_COLL_TABLE".to_owned();
    let file = file.display().to_string();
    forced.environment.insert(variable, file);
    let name = match operation {
        Operation::ReduceScatter => "reduce-scatter",
        operation => operation.name(),
    };
    let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let mut words = vec![
        name.to_owned(),
        format!("repetitions={}", options.repetitions),
        format!("budget_us={}", options.budget_ms * 1000),
        "verify=1".to_owned(),
    ];
    if operation != Operation::Barrier {
        words.push(format!("sizes={}", list.join(",")));
    }
    let limit = Duration::from_secs(options.time_limit);
    let lines = job::run(&forced, ranks, &words, limit)?.lines;
    let points = lines.into_iter().filter_map(|line| match line {
        RankReport::Point { size, values, .. } => {
            let bytes = if operation == Operation::Barrier {
                0
            } else {
                size
            };
            Some((bytes, values))
        }
        RankReport::Start { .. } => None,
    });
    Ok(points.collect())
}
