// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures all operations, and writes the rules.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Instant;

use algorithms::{Operation, Table};
use machine_profile::Profile;
use measure::progress::{PLAIN, ProgressBar, moving_bar};
use measure::settings;
use measure::target;

use super::fit;
use super::options::TuneOptions;
use super::times::{check_sizes, fastest_chunk, measure};

/// Runs `rankpoint tune`.
pub(crate) fn run(options: &TuneOptions) -> Result<(), String> {
    if settings::is_rank() {
        return Err("tune starts its jobs itself: run it without mpiexec".to_owned());
    }
    let mut ranks = match &options.ranks[..] {
        [] => usual_ranks(&options.hosts.hosts),
        some => some.to_vec(),
    };
    ranks.sort_unstable();
    ranks.dedup();
    check_sizes(options, &ranks)?;
    let library = target::library(options.mpiexec.as_deref(), options.library_path.as_deref())?;
    let mut library = [library];
    target::settle(&mut library, &options.hosts)?;
    let [library] = library;
    let operations = match &options.only[..] {
        [] => Operation::ALL,
        some => some,
    };
    let profile = options.profile.load_if_any()?;
    let mut progress = Progress::new(options, operations.len() * ranks.len());
    let head = head(&ranks, &options.hosts.hosts, profile.as_ref());
    let file = &options.output;
    let (mut rules, mut told) = (String::new(), String::new());
    for (done, &operation) in operations.iter().enumerate() {
        let mut measured = Vec::new();
        for &ranks in &ranks {
            progress.begin(&format!("{} on {ranks} ranks", operation.name()));
            measured.extend(measure(
                options,
                &library,
                operation,
                (ranks, profile.as_ref()),
            )?);
        }
        rules += &fit::rules(&measured);
        told += &fit::gains(&measured);
        let state = match operations.len() - done - 1 {
            0 => String::new(),
            left => format!("# Unfinished: {left} operations were not measured yet.\n"),
        };
        save(file, &format!("{head}{state}{rules}"))?;
    }
    progress.end();
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

fn usual_ranks(hosts: &[String]) -> Vec<u32> {
    let cores = sys::cores::usable_cores();
    if hosts.len() > 1 {
        let hosts = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        let each = (0..12).map(|shift| 1 << shift);
        let each = each.take_while(|&each| each <= cores.max(2));
        return each.map(|each| hosts.saturating_mul(each)).collect();
    }
    (1..=12)
        .map(|shift| 1 << shift)
        .take_while(|&ranks| ranks <= 2 * cores.max(2))
        .collect()
}

fn head(ranks: &[u32], hosts: &[String], profile: Option<&Profile>) -> String {
    let cores = sys::cores::usable_cores() as usize;
    let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
    let on = match hosts {
        [] | [_] => format!("a machine with {cores} cores"),
        _ => format!("the hosts {}, {cores} cores each", hosts.join(", ")),
    };
    let read = profile.map_or_else(String::new, |profile| {
        let file = profile.file.display();
        match fastest_chunk(profile) {
            Some(chunk) => {
                let chunk = algorithms::short(chunk);
                format!("# Chunks of {chunk} were tried, too: the fastest by the machine profile {file}.\n")
            }
            None => format!("# The machine profile {file} has no ring that moves a long message.\n"),
        }
    });
    format!(
        "# Written by `rankpoint tune` on {on}, from measurements on {} ranks.\n{read}\
         # Behind each rule: bytes, the time of its algorithm, and the best other one.\n\n",
        ranks.join(", ")
    )
}

/// Writes the rules that there are so far: a run that is interrupted leaves them.
fn save(file: &Path, text: &str) -> Result<(), String> {
    let (_, problems) = Table::with("", text);
    if let Some(problem) = problems.first() {
        return Err(format!("the rules that were made are wrong: {problem}"));
    }
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Shows on standard error what is measured: by a bar on a terminal, else by a line for each operation and number of ranks.
struct Progress {
    bar: ProgressBar,
    prints: bool,
    begun: u64,
    steps: u64,
    start: Instant,
}

impl Progress {
    fn new(options: &TuneOptions, steps: usize) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self {
            bar: match options.quiet || !is_terminal {
                true => ProgressBar::hidden(),
                false => moving_bar(steps, PLAIN),
            },
            prints: !options.quiet && !is_terminal,
            begun: 0,
            steps: steps as u64,
            start: Instant::now(),
        }
    }

    fn begin(&mut self, step: &str) {
        self.bar.set_position(self.begun);
        self.bar.set_message(step.to_owned());
        self.begun += 1;
        if self.prints {
            let (begun, steps) = (self.begun, self.steps);
            let seconds = self.start.elapsed().as_secs();
            // Nothing is lost if standard error is closed.
            let _ = writeln!(
                std::io::stderr(),
                "tune: {begun} of {steps}, {step}, after {seconds} s"
            );
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
