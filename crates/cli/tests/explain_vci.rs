// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain vci` with a program of several threads: this test is the program, too.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::process::{Command, Output};

use rankpoint::testkit::{RankTest, is_rank, run};
use rankpoint::{AnyThread, Communicator, Result, Universe};
use serde_json::Value;

const MESSAGES: u64 = 100_000;

/// Sends messages round.
fn pass_around(comm: &Communicator<'_, AnyThread>) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut from_left = 0;
    for _ in 0..MESSAGES {
        comm.send_recv(&rank, right, 0, &mut from_left, left, 0)?;
    }
    assert_eq!(from_left, left);
    Ok(())
}

/// Two threads, on two communicators of three.
fn exchange() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let [left, idle, right] = [(); 3].map(|()| world.duplicate());
    let comms = [left?, idle?, right?];
    for (comm, name) in comms.iter().zip(["left", "idle", "right"]) {
        comm.set_name(name);
    }
    std::thread::scope(|threads| {
        let start = |index: usize| {
            let comm = &comms[index];
            threads.spawn(move || pass_around(comm))
        };
        let all = [0, 2].map(start);
        all.into_iter().try_for_each(|one| one.join().unwrap())
    })
}

/// The outcome of `rankpoint explain vci` with this test as the program.
fn explain(test: &str, vcis: &str, ranks: u32, is_json: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    command.args(["explain", "vci"]);
    command.args(is_json.then_some("--json"));
    command.args([
        "-n",
        &ranks.to_string(),
        "--bind-to",
        "none",
        "--timeout",
        "120",
    ]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("RANKPOINT_VCIS", vcis).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn communicators_that_share_a_vci_and_its_locks_are_named() {
    const NAME: &str = "communicators_that_share_a_vci_and_its_locks_are_named";
    const TEST: RankTest = RankTest::new(NAME, &[]);
    if is_rank() {
        return run(&TEST, exchange);
    }
    for ranks in [1, 2, 3] {
        let output = explain(NAME, "2", ranks, true);
        assert!(output.status.success(), "{}", said(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["missing"], Value::Array(Vec::new()));
        assert_eq!(report["network"]["in_use"], "domain");
        let reports = report["ranks"].as_array().unwrap();
        assert_eq!(reports.len(), ranks as usize);
        let mut is_contended = false;
        for one in reports {
            let vci_of = |name: &str| {
                let all = one["communicators"].as_array().unwrap();
                let found = all.iter().find(|comm| comm["text"] == name);
                found.unwrap()["vcis"].clone()
            };
            let of = ["MPI_COMM_WORLD", "left", "idle", "right"].map(vci_of);
            assert_eq!(
                of,
                [[0], [1], [0], [1]].map(|vcis| Value::from(vcis.to_vec()))
            );
            let counter = |name: &str| one["vcis"][1]["counters"][name].as_u64().unwrap();
            let sent = counter("sends_inject");
            let received = counter("receives_posted") + counter("receives_unexpected");
            assert_eq!((sent, received), (2 * MESSAGES, 2 * MESSAGES));
            let (taken, failed) = (counter("locks_taken"), counter("locks_failed"));
            assert!(taken >= 2 * MESSAGES);
            is_contended |= failed >= 100 && failed * 100 >= failed + taken;
        }
        let advice = report["advice"].to_string();
        assert_eq!(advice.contains("VCI 1 of rank"), is_contended, "{report:#}");
    }
}

#[test]
fn tables_follow_the_output_of_the_program() {
    const NAME: &str = "tables_follow_the_output_of_the_program";
    const TEST: RankTest = RankTest::new(NAME, &[]);
    if is_rank() {
        return run(&TEST, exchange);
    }
    let output = explain(NAME, "4", 2, false);
    let text = said(&output.stdout);
    assert!(output.status.success(), "{text}{}", said(&output.stderr));
    let (program, tables) = text.split_once("2 of 2 ranks reported").unwrap();
    assert!(program.contains("test result: ok"), "{program}");
    let right = "\n  0, 1   3     12       right (freed)\n";
    assert!(tables.contains(right), "{tables}");
}

#[test]
fn a_program_that_fails_or_uses_no_mpi_is_an_error() {
    const NAME: &str = "a_program_that_fails_or_uses_no_mpi_is_an_error";
    const TEST: RankTest = RankTest::new(NAME, &[]);
    if is_rank() {
        return run(&TEST, || -> std::result::Result<(), String> {
            drop(Universe::init_threaded().unwrap());
            Err("wanted".to_owned())
        });
    }
    let output = explain(NAME, "4", 1, false);
    assert!(!output.status.success());
    assert!(said(&output.stdout).contains("1 of 1 ranks reported"));
    assert!(said(&output.stderr).contains("mpiexec ended with"));

    let mut command = Command::new(env!("CARGO_BIN_EXE_rankpoint"));
    let output = command.args(["explain", "vci", "-n", "1", "true"]).output();
    let output = output.unwrap();
    assert!(!output.status.success());
    let told = said(&output.stderr);
    assert!(told.contains("the program did not finalize MPI"), "{told}");
}
