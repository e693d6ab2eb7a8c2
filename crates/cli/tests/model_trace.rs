// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint model trace` with a job of two ranks: this test is the program, too.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankpoint::testkit::{RankTest, is_rank, run};
use rankpoint::{Result, Universe};
use serde_json::Value;

/// Messages of each length, there and back.
const LENGTHS: [(usize, usize); 4] = [(8, 10), (4096, 5), (100_000, 3), (1 << 20, 2)];
const MESSAGES: usize = 2 * (10 + 5 + 3 + 2);

fn exchange() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for (bytes, count) in LENGTHS {
        let mut data = vec![1u8; bytes];
        for _ in 0..count {
            if world.rank() == 0 {
                world.send(&data[..], 1, 5)?;
                world.recv(&mut data[..], 1, 6)?;
            } else {
                world.recv(&mut data[..], 0, 5)?;
                world.send(&data[..], 0, 6)?;
            }
        }
    }
    world.barrier()
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("rankpoint-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails may not have made it.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Runs this test as a job whose ranks record; `explain vci` starts it.
fn record(test: &str, place: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    let words = "explain vci -n 2 --bind-to none --timeout 120";
    command.args(words.split(' '));
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("RANKPOINT_TRACE", place).output().unwrap()
}

fn trace(words: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    command
        .args(["model", "trace"])
        .args(words)
        .output()
        .unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap()
}

/// Whether it is a message of the program, not of a collective.
fn of_program(event: &Value) -> bool {
    event["args"]["of_collective"] == Value::Bool(false)
}

#[test]
fn each_message_has_its_send_and_its_receive_in_the_exported_time_line() {
    const NAME: &str = "each_message_has_its_send_and_its_receive_in_the_exported_time_line";
    const TEST: RankTest = RankTest::new(NAME, &[]);
    if is_rank() {
        return run(&TEST, exchange);
    }
    let folder = Folder::new("model-trace");
    let output = record(NAME, &folder.0);
    assert!(output.status.success(), "{}", said(&output.stderr));
    let file = folder.0.join("out.json");
    let output = trace(&[&folder.0, Path::new("-o"), &file]);
    assert!(output.status.success(), "{}", said(&output.stderr));

    let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let of_phase = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    for (category, per_rank) in [("send", MESSAGES / 2), ("receive", MESSAGES / 2)] {
        for rank in 0..2 {
            let own = |phase| {
                let all = of_phase(phase).filter(|event| event["cat"] == category);
                all.filter(|event| event["pid"] == rank && of_program(event))
                    .count()
            };
            assert_eq!([own("b"), own("e")], [per_rank; 2], "{category} of {rank}");
        }
    }
    let mut spans: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for event in of_phase("b").chain(of_phase("e")) {
        spans
            .entry(event["id"].as_str().unwrap())
            .or_default()
            .push(number(event, "ts"));
    }
    assert!(
        spans
            .values()
            .all(|times| matches!(times[..], [begin, end] if begin <= end))
    );
    assert!(of_phase("X").all(|event| number(event, "dur") > 0.0));

    let departs = |event: &&Value| event["cat"] == "message" && of_program(event);
    let departures = of_phase("X").filter(departs);
    let ends_of = |phase: &'static str| -> BTreeMap<u64, (u64, f64)> {
        let ends = of_phase(phase).map(|event| {
            let place = (event["pid"].as_u64().unwrap(), number(event, "ts"));
            (event["id"].as_u64().unwrap(), place)
        });
        ends.collect()
    };
    let (starts, ends) = (ends_of("s"), ends_of("f"));
    assert!(starts.len() >= MESSAGES && starts.len() == of_phase("s").count());
    assert_eq!(starts.len(), of_phase("f").count());
    for (id, start) in &starts {
        let end = &ends[id];
        assert!(start.0 != end.0 && start.1 <= end.1, "{start:?} {end:?}");
    }
    assert_eq!(json["otherData"]["messages"], starts.len());
    assert_eq!(json["otherData"]["sends_alone"], 0);
    assert_eq!(json["otherData"]["receives_alone"], 0);
    // Each message departs in one slice, or two if it is announced first, and is matched in one.
    assert!(departures.count() >= 2 * MESSAGES);

    let output = trace(&[&folder.0]);
    let text = said(&output.stdout);
    assert!(text.contains("From departure to match"), "{text}");
    for line in ["  inject ", "  eager ", "  RTS "] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_job_whose_trace_cannot_be_written_ends_well_and_says_so() {
    const NAME: &str = "a_job_whose_trace_cannot_be_written_ends_well_and_says_so";
    const TEST: RankTest = RankTest::new(NAME, &[]);
    if is_rank() {
        return run(&TEST, exchange);
    }
    let output = record(NAME, Path::new("/dev/null/traces"));
    let told = said(&output.stderr);
    assert!(output.status.success(), "{told}");
    for rank in 0..2 {
        let text = format!("RANKPOINT_TRACE: cannot write /dev/null/traces/rank-{rank}.trace: ");
        assert!(told.contains(&text), "{told}");
    }
    assert!(told.contains("rank-0.trace cannot be written: "), "{told}");
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = Folder::new("no-trace");
    std::fs::create_dir_all(&folder.0).unwrap();
    let error = |words: &[&Path]| {
        let output = trace(words);
        assert!(!output.status.success());
        said(&output.stderr)
    };
    let told = error(&[&folder.0]);
    assert!(
        told.contains("has no file *.trace: expected those that RANKPOINT_TRACE="),
        "{told}"
    );
    let file = folder.0.join("rank-0.trace");
    std::fs::write(&file, "rankpoint trace 1\nrank zero\n\n").unwrap();
    let told = error(&[&file]);
    assert!(
        told.contains("rank-0.trace: line 2: 'rank zero': expected 1 numbers"),
        "{told}"
    );
    std::fs::write(&file, "rankpoint trace 1\nrank 0\nsize 1\n\n").unwrap();
    let told = error(&[&file, &file]);
    assert!(
        told.contains("are both of rank 0: expected one file a rank"),
        "{told}"
    );
    std::fs::write(
        folder.0.join("rank-1.trace"),
        "rankpoint trace 1\nrank 1\nsize 2\n\n",
    )
    .unwrap();
    let told = error(&[&folder.0]);
    assert!(told.contains("expected files of one job"), "{told}");
}
