// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of `rankpoint bench threads`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench_rank::threads::{Mode, RATES, RatePlan};
use measure::conditions::{Ticks, command_line, processor};
use measure::job;
use measure::output::{self, tell};
use measure::table::Form;
use measure::target::{self, Target};

use super::super::results::Library;
use super::ThreadsOptions;
use super::options::{Fabric, Locks, Progress, Sharing};
use super::page;
use super::results::{Case, ThreadResults};

/// Part of the processors that others may take before tables say so.
const MUCH: f64 = 0.03;

/// Runs `rankpoint bench threads`.
pub(in super::super) fn run(options: &ThreadsOptions) -> Result<(), String> {
    let (mpiexec, folder) = (options.mpiexec.as_deref(), options.library_path.as_deref());
    let targets = target::with_peers(mpiexec, folder, options.peers.as_deref())?;
    let cores = sys::cores::usable_cores();
    let library = |target: &Target| Library {
        name: target.name.clone(),
        version: String::new(),
        threads: target.threads,
        rendezvous: None,
    };
    let mut results = ThreadResults {
        command: options.shown_as.clone().unwrap_or_else(command_line),
        processor: processor(),
        cores,
        libraries: targets.iter().map(library).collect(),
        points: Vec::new(),
        remarks: Vec::new(),
    };
    let cases = cases(options, targets.len(), cores);
    if cases.is_empty() {
        return Err(nothing(options));
    }
    let (start, ticks) = (Instant::now(), Ticks::now());
    for round in 1..=options.rounds {
        let limit = options
            .minutes
            .map(|minutes| Duration::from_secs(60 * minutes));
        if round > 1 && limit.is_some_and(|limit| start.elapsed() >= limit) {
            let text = format!(
                "the time was up after {} of {} rounds",
                round - 1,
                options.rounds
            );
            results.remarks.push(text);
            break;
        }
        for (index, &case) in cases.iter().enumerate() {
            if !results.is_skipped(&case) {
                if !options.quiet {
                    let place = format!("{}/{}, round {round}", index + 1, cases.len());
                    tell(&format!("{place}: {}", described(&targets, &case)));
                }
                measure(options, &targets[case.library], case, &mut results);
                // An interrupted run keeps what it has.
                results.conclude();
                write_files(options, &results)?;
            }
        }
    }
    let others = ticks.zip(Ticks::now());
    let others = others.map_or(0.0, |(start, now)| now.others_since(start));
    if others > MUCH {
        results.remarks.push(format!(
            "other programs took {:.0} % of the processors meanwhile: rates are lower than on an idle machine",
            100.0 * others
        ));
    }
    output::print(&page::render(&results, Form::Terminal))?;
    write_files(options, &results)?;
    let has_any = results
        .points
        .iter()
        .any(|point| !point.aggregates.is_empty());
    has_any
        .then_some(())
        .ok_or_else(|| "nothing was measured".to_owned())
}

/// Why no case is left.
fn nothing(options: &ThreadsOptions) -> String {
    let sizes = options.sizes.0.iter();
    let refused = sizes.flat_map(|&size| options.ops.iter().filter_map(move |it| it.refusal(size)));
    let why = refused.collect::<Vec<_>>().join("; ");
    match why.is_empty() {
        true => {
            "nothing to measure: these operations need answers, which --fabrics null does not carry"
                .to_owned()
        }
        false => format!("nothing to measure: {why}"),
    }
}

/// Everything that is measured; what is compared stands side by side.
fn cases(options: &ThreadsOptions, libraries: usize, cores: u32) -> Vec<Case> {
    let mut cases = Vec::new();
    for &operation in &options.ops {
        // Where nothing arrives, nothing is answered.
        let fabrics = options.fabrics().iter();
        for &fabric in fabrics.filter(|&&it| it != Fabric::Null || !operation.is_answered()) {
            let sizes = options.sizes.0.iter();
            for &size_bytes in sizes.filter(|&&size| operation.refusal(size).is_none()) {
                for &window in &options.windows {
                    for threads in options.thread_counts(cores) {
                        let of = |mode| Case {
                            library: 0,
                            operation,
                            fabric,
                            mode,
                            models: None,
                            sharing: None,
                            threads,
                            size_bytes,
                            window,
                        };
                        let modes = options.modes(operation).into_iter();
                        cases.extend(
                            modes.flat_map(|mode| side_by_side(options, of(mode), libraries)),
                        );
                    }
                }
            }
        }
    }
    cases
}

/// A case with all models, and with the peers.
fn side_by_side(options: &ThreadsOptions, case: Case, libraries: usize) -> Vec<Case> {
    let ours = models(options, case.mode).map(|models| Case { models, ..case });
    let ours = ours.flat_map(|case| {
        let all = options.sharing.iter().map(|&sharing| Some(sharing));
        let all = all.filter(move |_| case.fabric == Fabric::Hosts && case.models.is_some());
        let all: Vec<_> = all.collect();
        let all = if all.is_empty() { vec![None] } else { all };
        all.into_iter().map(move |sharing| Case { sharing, ..case })
    });
    let peers = match case.fabric {
        Fabric::Null | Fabric::Hosts => 1,
        Fabric::Shm => libraries,
    };
    let theirs = (1..peers).map(|library| Case { library, ..case });
    ours.chain(theirs).collect()
}

/// The models of locks and progress that a mode is measured with.
fn models(options: &ThreadsOptions, mode: Mode) -> impl Iterator<Item = Option<(Locks, Progress)>> {
    let is_process = mode == Mode::Processes;
    let all = options.locks.iter().flat_map(|&locks| {
        let all = options.progress.iter();
        all.map(move |&progress| Some((locks, progress)))
    });
    let none = is_process.then_some(None);
    none.into_iter().chain(all.filter(move |_| !is_process))
}

fn measure(options: &ThreadsOptions, target: &Target, case: Case, results: &mut ThreadResults) {
    let mut target = target.clone();
    if !target.unbound_launcher.is_empty() {
        target.launcher = target.unbound_launcher.clone();
        target.oversubscribed_launcher.clear();
    }
    let mut set = |name: &str, value: &str| {
        target.environment.insert(name.to_owned(), value.to_owned());
    };
    if case.library == 0 && case.fabric != Fabric::Hosts {
        set(Fabric::VARIABLE, case.fabric.name());
    }
    if let Some((locks, progress)) = case.models {
        set(Locks::VARIABLE, locks.name());
        set(Progress::VARIABLE, progress.name());
    }
    if let Some(sharing) = case.sharing {
        set(Sharing::VARIABLE, sharing.name());
    }
    let shared = match case.fabric {
        Fabric::Shm | Fabric::Hosts => Ok(None),
        Fabric::Null => SharedFolder::new().map(Some),
    };
    let outcome = shared.and_then(|shared| {
        let plan = RatePlan {
            operation: case.operation,
            mode: case.mode,
            threads: case.threads as usize,
            size_bytes: case.size_bytes,
            window: case.window as usize,
            repetitions: options.repetitions,
            budget: Duration::from_millis(options.budget_ms),
            verify: !options.no_verify,
            meet: shared.as_ref().map(|shared| shared.folder.clone()),
        };
        if case.fabric == Fabric::Hosts {
            target.spread(&options.hosts, plan.ranks());
        }
        let mut words = vec![RATES.to_owned()];
        words.extend(plan.words());
        let limit = Duration::from_secs(options.time_limit);
        job::run(&target, plan.ranks(), &words, limit)
    });
    match outcome {
        Ok(outcome) => results.add(case, outcome.lines),
        Err(text) => {
            tell(&text);
            let first = text.lines().next().unwrap_or_default();
            results.skip(case, first.trim_end_matches(':').to_owned());
        }
    }
}

/// A folder through which processes synchronise that have no transport.
struct SharedFolder {
    folder: PathBuf,
}

impl SharedFolder {
    fn new() -> Result<Self, String> {
        let name = format!("rankpoint-bench-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let made = std::fs::create_dir(&folder);
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder })
    }
}

impl Drop for SharedFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the temporary folder of the system.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn described(targets: &[Target], case: &Case) -> String {
    let (name, mode) = (&targets[case.library].name, case.mode.name());
    let models = case
        .models
        .map(|(locks, progress)| format!(", locks {}, progress {}", locks.name(), progress.name()));
    let (fabric, threads) = (case.fabric.name(), case.threads);
    let (size, models) = (case.size_bytes, models.unwrap_or_default());
    let sharing = case
        .sharing
        .map(|sharing| format!(", contexts by {}", sharing.name()));
    let sharing = sharing.unwrap_or_default();
    let operation = case.operation.name();
    format!("{name} {operation} {mode} on {fabric}, {threads} threads, {size} B{models}{sharing}")
}

fn write_files(options: &ThreadsOptions, results: &ThreadResults) -> Result<(), String> {
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(results);
        let text = text.map_err(|error| format!("cannot write JSON: {error}"))?;
        output::write(file, text.as_bytes())?;
    }
    if let Some(file) = &options.markdown {
        output::write(file, page::render(results, Form::Markdown).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::options::Sharing;
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ThreadsOptions,
    }

    fn parsed(words: &str) -> ThreadsOptions {
        let usual = "x --ops isend --modes processes,serial --threads 2";
        Line::parse_from(usual.split(' ').chain(words.split_whitespace())).options
    }

    #[test]
    fn between_hosts_threads_have_a_context_each_or_one_for_all() {
        let cases = cases(&parsed("--hosts a,b"), 2, 4);
        let all = cases.iter().map(|case| (case.mode, case.sharing));
        let expected = [
            (Mode::Processes, None),
            (Mode::Serial, Some(Sharing::Vci)),
            (Mode::Serial, Some(Sharing::Process)),
        ];
        assert_eq!(all.collect::<Vec<_>>(), expected);
        let is_ours = |case: &Case| case.fabric == Fabric::Hosts && case.library == 0;
        assert!(cases.iter().all(is_ours));
    }

    #[test]
    fn on_one_host_there_are_no_contexts_to_share() {
        let cases = cases(&parsed("--fabrics shm"), 2, 4);
        // Both libraries, and ours first.
        assert_eq!(cases.len(), 4);
        assert!(cases.iter().all(|case| case.sharing.is_none()));
    }
}
