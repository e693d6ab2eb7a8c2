// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test as the parent of its ranks.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use launch::JobOutcome;
use launch::outcome::{Exit, RankOutcome};
use launch::plan::{Binding, CoreOrder, Input, JobPlan, Output, Program, Talk};

use crate::rank::DONE_MARK;
use crate::{RankTest, settings};

/// Time between asking the ranks of a failed test to end and killing them.
const GRACE: Duration = Duration::from_millis(500);
/// Lines of a rank's output that a failure shows: the last ones.
const MAX_SHOWN_LINES: usize = 200;

/// One job at a time in this process: each already fills the node.
static ONE_JOB: Mutex<()> = Mutex::new(());

/// All jobs of a test that passed.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The outcome of each job, in the order of [`RankTest::ranks`].
    pub jobs: Vec<JobOutcome>,
}

impl Passed {
    /// Prints what the ranks wrote, where the test harness takes it for the test's own.
    #[expect(
        clippy::print_stdout,
        reason = "only the print macros are captured by the test harness"
    )]
    pub fn show(&self) {
        for rank in self.jobs.iter().flat_map(|job| &job.ranks) {
            for line in own_lines(rank) {
                println!("[{}] {line}", rank.rank);
            }
        }
    }
}

/// A job of a test that failed. Displayed, it is the text of the failed test.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The function.
    pub test: &'static str,
    /// Ranks of the job.
    pub ranks: u32,
    /// The failure, in a sentence.
    pub reason: String,
    /// How the job ended; `None` when it could not be started.
    pub job: Option<JobOutcome>,
}

/// Starts the ranks of `test` and waits for them.
///
/// # Errors
/// The first job in which a rank failed, that took too long, or that could not be started.
pub fn start(test: &RankTest) -> Result<Passed, Failed> {
    let _turn = ONE_JOB.lock().unwrap_or_else(PoisonError::into_inner);
    let mut jobs = Vec::new();
    for &ranks in test.ranks {
        let failed = |reason, job| Failed {
            test: test.harness_name(),
            ranks,
            reason,
            job,
        };
        let plan = plan(test, ranks).map_err(|reason| failed(reason, None))?;
        let job = launch::run(&plan).map_err(|error| failed(error.text, None))?;
        if let Some(reason) = reason_to_fail(&job) {
            return Err(failed(reason, Some(job)));
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        let reason = "it names no number of ranks".to_owned();
        return Err(Failed {
            test: test.harness_name(),
            ranks: 0,
            reason,
            job: None,
        });
    }
    Ok(Passed { jobs })
}

fn plan(test: &RankTest, ranks: u32) -> Result<JobPlan, String> {
    let executable = std::env::current_exe()
        .map_err(|error| format!("the test's own executable is unknown: {error}"))?;
    let mut program = Program::new(ranks, executable);
    let arguments = [
        "--exact",
        test.harness_name(),
        "--nocapture",
        "--test-threads=1",
        "--include-ignored",
    ];
    program.arguments = arguments.map(Into::into).to_vec();
    let pairs = test.environment.iter();
    program.environment.set = pairs
        .map(|&(name, value)| (name.into(), value.into()))
        .collect();
    Ok(JobPlan {
        programs: vec![program],
        output: Output::Capture,
        input: Input::None,
        binding: Binding::None,
        core_order: CoreOrder::Filled,
        timeout: Some(settings::timeout()?.unwrap_or(test.timeout)),
        grace: GRACE,
        reserve: 0,
        talk: Talk::default(),
        hosts: None,
    })
}

fn reason_to_fail(job: &JobOutcome) -> Option<String> {
    if job.exit_code != 0 {
        return Some(job.messages.join("\n"));
    }
    let silent = job
        .ranks
        .iter()
        .find(|rank| !output(rank).contains(DONE_MARK))?;
    Some(format!(
        "rank {} {}, but never came to the end of the test's body: either the harness does not know the test by this \
         name, or the body ended the process",
        silent.rank, silent.exit
    ))
}

fn output(rank: &RankOutcome) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&rank.output)
}

/// A rank's output without what the harness and this crate add.
fn own_lines(rank: &RankOutcome) -> Vec<String> {
    let output = output(rank).replace(DONE_MARK, "");
    let lines = output.lines().filter(|line| {
        let harness = line.starts_with("running 1 test") || line.starts_with("test result: ");
        !harness && !line.trim().is_empty()
    });
    lines.map(str::to_owned).collect()
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} failed on {} ranks: {}",
            self.test, self.ranks, self.reason
        )?;
        let Some(job) = &self.job else { return Ok(()) };
        let came_through = |rank: &RankOutcome| rank.exit == Exit::Status(0);
        for rank in &job.ranks {
            let done = if output(rank).contains(DONE_MARK) {
                "passed the body"
            } else {
                "did not pass the body"
            };
            writeln!(
                f,
                "rank {} (pid {}) {done} and {}",
                rank.rank, rank.pid, rank.exit
            )?;
        }
        // Those that failed first: their words are what the reader looks for.
        let mut ranks: Vec<_> = job.ranks.iter().collect();
        ranks.sort_by_key(|rank| (came_through(rank), rank.rank));
        for rank in ranks {
            let lines = own_lines(rank);
            if lines.is_empty() {
                continue;
            }
            writeln!(f, "output of rank {}:", rank.rank)?;
            for line in &lines[lines.len().saturating_sub(MAX_SHOWN_LINES)..] {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Failed {}
