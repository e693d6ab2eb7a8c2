// SPDX-License-Identifier: MIT OR Apache-2.0
//! One job: starts the launcher, collects what rank 0 prints, and gives up when it takes too long.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;

use crate::target::Target;

/// A line of rank 0.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum RankReport {
    /// The library that is measured.
    Start {
        /// Its version text.
        version: String,
    },
    /// Why it does not do what is asked for.
    Skipped {
        /// The reason.
        skipped: String,
    },
    /// Messages a second in each repetition, of all threads and of each.
    Rates {
        /// Of all threads, one value a repetition.
        aggregates: Vec<f64>,
        /// Of each thread, one list a repetition.
        rates: Vec<Vec<f64>>,
    },
    /// Values of a point.
    Point {
        /// The row.
        name: String,
        /// Bytes of a message; 0 where there are none.
        size: usize,
        /// By how much the receive is posted before the send, in rows that differ in that.
        #[serde(default)]
        skew_ns: i64,
        /// In the order in which they were taken.
        values: Vec<f64>,
        /// Core-to-core times around each value, where there is a line between two ranks.
        #[serde(default)]
        distances: Vec<Vec<f64>>,
    },
}

/// The result of a job.
pub struct Outcome {
    /// What rank 0 printed.
    pub lines: Vec<RankReport>,
    /// From before the launcher was started until it had ended.
    pub time: Duration,
    /// Why it ended before its end.
    pub failure: Option<String>,
}

/// Most of a failed job's messages that are shown.
const SHOWN_BYTES: usize = 2000;

/// Runs a job to its end.
///
/// # Errors
/// When the job cannot be started, fails, or exceeds its time.
pub fn run(
    target: &Target,
    ranks: u32,
    words: &[String],
    limit: Duration,
) -> Result<Outcome, String> {
    let mut outcome = run_partly(target, ranks, words, limit)?;
    outcome.failure.take().map_or(Ok(outcome), Err)
}

/// Runs a job as far as it goes in its time.
///
/// # Errors
/// When the job cannot be started, or prints what is no line of a rank.
pub fn run_partly(
    target: &Target,
    ranks: u32,
    words: &[String],
    limit: Duration,
) -> Result<Outcome, String> {
    let launcher = target.launcher(ranks);
    let mut command = Command::new(&launcher[0]);
    command
        .args(&launcher[1..])
        .arg("-n")
        .arg(ranks.to_string());
    command.args(&target.program).args(words);
    command.envs(&target.environment);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.process_group(0);
    // Ctrl-C reaches this program only: the job is in a group of its own.
    launch::end_with_thread(&mut command);
    let start = Instant::now();
    let child = command.spawn();
    let mut child = child.map_err(|error| format!("cannot start {}: {error}", launcher[0]))?;
    let output = collect(child.stdout.take());
    let messages = collect(child.stderr.take());
    let whole = format!("{} on {ranks} ranks of {}", words.join(" "), target.name);
    let (lines, has_ended) = drain(&output, start + limit);
    let failure = if has_ended {
        let status = child
            .wait()
            .map_err(|error| format!("cannot wait for {whole}: {error}"))?;
        (!status.success()).then(|| {
            let soon = Instant::now() + Duration::from_secs(1);
            let text = drain(&messages, soon).0.join("\n");
            let mut places = text.char_indices().rev();
            let tail = places.nth(SHOWN_BYTES).map_or(0, |(place, _)| place);
            format!("{whole} failed ({status}):\n{}", &text[tail..])
        })
    } else {
        end(&mut child);
        Some(format!(
            "{whole} was given up after {} s: other programs may take the cores, or --time-limit be too short",
            limit.as_secs()
        ))
    };
    let time = start.elapsed();
    let lines = lines.iter().filter(|line| line.starts_with('{'));
    let lines = lines.map(|line| {
        serde_json::from_str(line).map_err(|error| format!("{whole} printed {line}: {error}"))
    });
    Ok(Outcome {
        lines: lines.collect::<Result<_, _>>()?,
        time,
        failure,
    })
}

/// Reads lines on a thread, so that a silent job can be given up.
fn collect(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(stream) = stream {
        std::thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
    }
    receiver
}

/// All lines until the end of the stream or the deadline, and whether the stream has ended.
fn drain(lines: &Receiver<String>, deadline: Instant) -> (Vec<String>, bool) {
    use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
    let mut all = Vec::new();
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => all.push(line),
            Err(Disconnected) => return (all, true),
            Err(Timeout) => return (all, false),
        }
    }
}

/// Ends the launcher and what it has started: asks first, as launchers clean up then.
fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    for signal in [Signal::TERM, Signal::KILL] {
        // An error means that nobody is left.
        if kill_process_group(group, signal).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_secs(1));
        if matches!(child.try_wait(), Ok(Some(_))) && signal == Signal::KILL {
            break;
        }
    }
    // The status of a job that was given up says nothing.
    drop(child.wait());
}
