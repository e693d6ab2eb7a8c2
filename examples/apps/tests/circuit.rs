// SPDX-License-Identifier: MIT OR Apache-2.0
//! The circuit in all modes: one checksum, each message handled once, and a polling thread that finds its lock free.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::circuit::{Options, run_alone, run_threads};
use apps::{Failure, Outcome};
use clap::Parser;
use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

const MODES: [&str; 4] = ["serial", "comm", "tag", "endpoint"];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("circuit").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn simulated(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{line}: {}", outcome.text());
    outcome
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_have_one_checksum_and_handle_each_message_once() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    // Few values travel in commands, many in payloads.
    for (common, has_payloads, most) in [
        ("--nodes 8 --wires 16 --steps 5", false, 4),
        ("--nodes 900 --wires 4000 --steps 3", true, 2),
    ] {
        let checksum = {
            let alone = world.split(world.rank(), 0)?;
            simulated(&alone, common).findings.checksum
        };
        let mut values = None;
        for (mode, tasks) in MODES
            .into_iter()
            .flat_map(|mode| (1..=most).map(move |it| (mode, it)))
        {
            let line = format!("--mode {mode} --tasks {tasks} {common}");
            let outcome = simulated(&world, &line);
            assert_eq!(outcome.findings.checksum, checksum, "{line}");
            let count = |name| outcome.count(name).unwrap();
            assert_eq!(count("commands"), count("handled"), "{line}");
            let has_sent = has_payloads && world.size() > 1;
            assert_eq!(count("payloads") > 0, has_sent, "{line}");
            // What travels does not depend on the number of messages.
            let found = (count("charges"), count("voltages"));
            assert_eq!(*values.get_or_insert(found), found, "{line}");
            assert_eq!(found.0 > 0, world.size() > 1, "{line}");
            let events = outcome.histogram.iter().map(|it| it.1);
            assert_eq!(events.sum::<u64>(), count("handled"));
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [2], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("circuit");
    let text = simulated(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [2, 3], timeout = 120)]
fn a_message_that_is_handled_twice_is_found() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in MODES {
        let line = format!("--mode {mode} --tasks 2 --fault doubled-message --steps 2");
        let outcome = run_threads(&world, &options(&line)).unwrap();
        assert!(!outcome.is_right(), "{}", outcome.text());
        let first = outcome.findings.first_wrong.unwrap_or_default();
        assert!(world.rank() > 0 || first.contains("the voltage of node"));
        let unseen = run_threads(&world, &options(&format!("{line} --verify false")));
        assert!(unseen.unwrap().is_right());
    }
    Ok(())
}

fn polled() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in ["tag", "endpoint"] {
        simulated(&world, &format!("--mode {mode} --tasks 3 --steps 100"));
    }
    Ok(())
}

#[test]
fn polling_threads_and_tasks_share_no_lock() {
    const TEST: RankTest = RankTest::new(
        concat!(module_path!(), "::polling_threads_and_tasks_share_no_lock"),
        &[2],
    )
    // Without rounds in which a thread that waits advances the messages of others.
    .environment(&[("RANKPOINT_PROGRESS", "vci")]);
    if is_rank() {
        return run(&TEST, polled);
    }
    let passed = start(&TEST).unwrap();
    for rank in &passed.jobs[0].ranks {
        assert!(rank.counter("locks_taken").unwrap() > 0);
        assert_eq!(rank.counter("locks_failed"), Some(0));
        assert_eq!(rank.counter("global_rounds"), Some(0));
    }
}

#[rankpoint::test(ranks = [2])]
fn what_cannot_run_is_refused_with_the_numbers() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let why = |outcome: std::result::Result<Outcome, Failure>| match outcome {
        Err(Failure::Refused(why)) => why,
        other => format!("{:?}", other.map(|outcome| outcome.about)),
    };
    for (line, expected) in [
        ("--mode processes", "a polling thread needs at least 2"),
        ("--mode naive", "mode naive is mode comm here"),
        ("--mode window", "mode window: active messages"),
        (
            "--nodes 1",
            "--nodes 1: 2 processes, expected at least one node",
        ),
        (
            "--wires 0 --fault doubled-message",
            "0 wires lead from 1 other processes",
        ),
    ] {
        let why = why(run_threads(&world, &options(line)));
        assert!(why.contains(expected), "{line}: {why}");
    }
    assert!(why(run_alone(&world, &options("--mode comm"))).contains("a universe for any thread"));
    for line in ["--tasks 64", "--tasks 0", "--nodes 0"] {
        let words = ["circuit"].into_iter().chain(line.split(' '));
        assert!(Line::try_parse_from(words).is_err(), "{line}");
    }
    Ok(())
}
