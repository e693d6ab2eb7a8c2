// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of threads in all modes: one checksum, and exact counts of calls.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::collectives::{Options, run_alone, run_threads};
use apps::{Failure, Outcome};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

const MODES: [&str; 4] = ["processes", "serial", "comm", "endpoint"];
const COLLECTIVES: [&str; 2] = ["allreduce", "allgather"];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("collectives").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn combined(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{line}: {}", outcome.text());
    outcome
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_have_one_checksum_and_exact_calls() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let ranks = world.size() as u64;
    // With one number threads cannot divide a vector.
    for (collective, (count, most)) in COLLECTIVES
        .into_iter()
        .flat_map(|it| [(1, 2), (10, 4)].map(|count| (it, count)))
    {
        let common = format!("--collective {collective} --count {count} --steps 3 --vectors 144");
        let checksum = {
            let alone = world.split(world.rank(), 0)?;
            combined(&alone, &common).findings.checksum
        };
        for (mode, threads) in MODES
            .into_iter()
            .flat_map(|mode| (1..=most).map(move |it| (mode, it)))
        {
            if mode == "processes" && threads > 1 {
                continue;
            }
            let line = format!("--mode {mode} --threads {threads} {common}");
            let outcome = combined(&world, &line);
            assert_eq!(outcome.findings.checksum, checksum, "{line}");
            let callers = match mode {
                "processes" | "serial" => ranks,
                _ => ranks * threads,
            };
            assert_eq!(outcome.count("calls"), Some(3 * callers), "{line}");
            let numbers = match (collective, mode) {
                ("allgather", _) => 144 * count,
                (_, "comm") if count >= threads => ranks * count,
                _ => callers * count,
            };
            assert_eq!(
                outcome.count("numbers in calls"),
                Some(3 * numbers),
                "{line}"
            );
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [2], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("collectives");
    let text = combined(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for mode in ["processes", "serial", "comm"] {
        let outcome = run_alone(&world, &options(&format!("--mode {mode}"))).unwrap();
        assert!(outcome.is_right(), "{}", outcome.text());
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2])]
fn a_missing_vector_is_found() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for (mode, collective) in MODES
        .into_iter()
        .flat_map(|mode| COLLECTIVES.map(|it| (mode, it)))
    {
        let threads = if mode == "processes" { 1 } else { 3 };
        let line = format!(
            "--mode {mode} --threads {threads} --collective {collective} --count 5 --fault missing-vector"
        );
        let outcome = run_threads(&world, &options(&line)).unwrap();
        let first = outcome.findings.first_wrong.clone().unwrap_or_default();
        assert!(first.contains("step 9, thread "), "{line}: {first}");
        // Every thread has it wrong.
        assert!(outcome.findings.wrong >= 5 * threads * world.size() as u64);
    }
    Ok(())
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
        ("--mode tag", "a collective has neither tags nor windows"),
        ("--mode naive", "call it one at a time"),
        (
            "--mode processes --threads 2",
            "one thread in each process, not 2",
        ),
        (
            "--vectors 10 --threads 2",
            "2 threads in each of 2 processes, expected a multiple of 4",
        ),
    ] {
        let why = why(run_threads(&world, &options(line)));
        assert!(why.contains(expected), "{line}: {why}");
    }
    for line in ["--mode endpoint", "--threads 2"] {
        assert!(why(run_alone(&world, &options(line))).contains("a universe for any thread"));
    }
    Ok(())
}
