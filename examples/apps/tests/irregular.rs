// SPDX-License-Identifier: MIT OR Apache-2.0
//! Labels of a graph in all modes and on any number of threads: the components of the serial computation, in as many rounds.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::irregular::{Options, run_alone, run_threads};
use apps::{Failure, Outcome};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

const MODES: [&str; 4] = ["processes", "serial", "tag", "endpoint"];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("irregular").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn labelled(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{line}: {}", outcome.text());
    outcome
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_have_one_checksum_in_as_many_rounds() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for (common, most) in [
        ("--vertices 150 --edges 150", 4),
        ("--vertices 16 --edges 0", 1),
        ("--vertices 40 --edges 400", 2),
    ] {
        let alone = {
            let alone = world.split(world.rank(), 0)?;
            labelled(&alone, common)
        };
        for threads in 1..=most {
            let mut counts = None;
            for mode in MODES {
                if mode == "processes" && threads > 1 {
                    continue;
                }
                let line = format!("--mode {mode} --threads {threads} {common}");
                let outcome = labelled(&world, &line);
                assert_eq!(outcome.findings.checksum, alone.findings.checksum, "{line}");
                assert_eq!(outcome.count("rounds"), alone.count("rounds"), "{line}");
                let count = |name| outcome.count(name).unwrap();
                assert_eq!(count("labels sent"), count("labels received"), "{line}");
                // Each label goes to another process or stays.
                let all = count("labels sent") + count("labels left within processes");
                assert_eq!(Some(all), alone.count("labels left within processes"));
                let found = outcome.counts;
                assert_eq!(*counts.get_or_insert(found.clone()), found, "{line}");
            }
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [4], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("irregular");
    let text = labelled(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for mode in ["processes", "serial", "tag"] {
        let outcome = run_alone(&world, &options(&format!("--mode {mode}"))).unwrap();
        assert!(outcome.is_right(), "{}", outcome.text());
    }
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn a_lost_label_is_missed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in ["serial", "tag", "endpoint"] {
        let line = format!("--mode {mode} --threads 2 --vertices 300 --fault lost-label");
        let outcome = run_threads(&world, &options(&line)).unwrap();
        assert!(!outcome.is_right(), "{}", outcome.text());
        let count = |name| outcome.count(name).unwrap();
        assert_eq!(count("labels sent"), count("labels received") + 1);
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
        ("--mode comm", "so there is no plan of communicators"),
        ("--mode window", "is not known before"),
        (
            "--mode processes --threads 3",
            "one thread in each process, not 3",
        ),
        (
            "--vertices 5 --threads 3",
            "3 threads in each of 2 processes, expected at least 6",
        ),
    ] {
        let why = why(run_threads(&world, &options(line)));
        assert!(why.contains(expected), "{line}: {why}");
    }
    let alone = world.split(world.rank(), 0)?;
    let why_alone = why(run_threads(&alone, &options("--fault lost-label")));
    assert!(
        why_alone.contains("1 process sends no labels"),
        "{why_alone}"
    );
    for line in ["--mode endpoint", "--threads 2"] {
        assert!(why(run_alone(&world, &options(line))).contains("a universe for any thread"));
    }
    Ok(())
}
