// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy bands in all modes: exact counts, and one checksum.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::ebms::{Options, run_alone, run_threads};
use apps::{Failure, Outcome};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("ebms").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn fetched(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{line}: {}", outcome.text());
    outcome
}

#[rankpoint::test(ranks = [4], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("ebms");
    let text = fetched(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_get_each_remote_block_once_and_have_one_checksum() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let common = "--bands 3 --size 808 --particles 37 --lookups 3";
    let checksum = {
        let alone = world.split(world.rank(), 0)?;
        fetched(&alone, common).findings.checksum
    };
    for mode in ["processes", "serial", "window", "endpoint"] {
        for workers in 1..=4 {
            let of_node = if mode == "processes" { workers } else { 1 };
            if !world.size().is_multiple_of(of_node) {
                continue;
            }
            let line = format!("--mode {mode} --workers {workers} {common}");
            let outcome = fetched(&world, &line);
            assert_eq!(outcome.findings.checksum, checksum, "{line}");
            let nodes = (world.size() / of_node) as u64;
            let others = nodes * (nodes - 1);
            assert_eq!(outcome.count("gets"), Some(3 * others * workers as u64));
            assert_eq!(outcome.count("bytes"), Some(3 * 808 * (nodes - 1)));
            assert_eq!(outcome.count("lookups"), Some(3 * 37 * 3));
            assert_eq!(outcome.findings.verified, 3 * 101 * nodes + 37);
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [4], timeout = 300)]
fn four_nodes_with_sixteen_workers_get_1920_shares() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in ["serial", "window", "endpoint"] {
        let line = format!("--mode {mode} --workers 16 --size 4096 --particles 64 --lookups 1");
        assert_eq!(fetched(&world, &line).count("gets"), Some(1920));
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for line in [
        "--mode processes",
        "--mode serial --size 4096",
        "--mode window",
    ] {
        let outcome = run_alone(&world, &options(line)).unwrap();
        assert!(outcome.is_right(), "{}", outcome.text());
    }
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn a_block_of_another_band_is_found() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    for mode in ["processes", "serial", "window", "endpoint"] {
        let workers = if mode == "processes" { 1 } else { 2 };
        let line =
            format!("--mode {mode} --workers {workers} --size 1024 --fault stale-block --bands 4");
        let outcome = run_threads(&world, &options(&line)).unwrap();
        assert!(!outcome.is_right(), "{}", outcome.text());
        assert!(outcome.findings.wrong >= 64 / workers);
        assert_eq!(outcome.count("gets"), Some(4 * 2 * workers - 1));
        let first = outcome.findings.first_wrong.unwrap_or_default();
        assert_eq!(world.rank() == 1, first.contains("band 3"), "{first}");
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
        ("--mode tag", "a get has no tag"),
        ("--mode comm", "there are no messages"),
        (
            "--mode processes --workers 3",
            "--workers 3: 2 ranks are not a whole number of nodes",
        ),
        ("--size 12", "--size 12: expected a multiple of 8"),
        (
            "--size 24 --workers 2",
            "3 values for 2 nodes with 2 workers each, expected at least 4",
        ),
        (
            "--mode processes --workers 2 --fault stale-block",
            "1 node gets no blocks",
        ),
    ] {
        let why = why(run_threads(&world, &options(line)));
        assert!(why.contains(expected), "{line}: {why}");
    }
    for line in ["--mode endpoint", "--workers 2"] {
        assert!(why(run_alone(&world, &options(line))).contains("a universe for any thread"));
    }
    for line in ["--workers 65", "--bands 0", "--size 7", "--mode fast"] {
        let words = ["ebms"].into_iter().chain(line.split(' '));
        assert!(Line::try_parse_from(words).is_err(), "{line}");
    }
    Ok(())
}
