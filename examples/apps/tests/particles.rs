// SPDX-License-Identifier: MIT OR Apache-2.0
//! Particles in all modes and on all grids: none is lost, and all are where they should be.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::particles::{Options, run_alone, run_threads};
use apps::{Failure, Outcome};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

const MODES: [&str; 6] = ["processes", "serial", "naive", "comm", "tag", "endpoint"];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("particles").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn moved(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{line}: {}", outcome.text());
    outcome
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_and_grids_have_one_checksum() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let common = "--size 13 --particles 150 --speed 3 --steps 4";
    let checksum = {
        let alone = world.split(world.rank(), 0)?;
        moved(&alone, common).findings.checksum
    };
    let ranks = world.size();
    let all = ["1,2,2", "1,1,1", "1,2,1", "1,3,1"];
    for (procs, threads) in [
        (format!("1,1,{ranks}"), &all[1..]),
        (format!("{ranks},1,1"), &all[..1]),
    ] {
        for &threads in threads {
            let mut handed = None;
            for mode in MODES {
                if mode == "processes" && threads != "1,1,1" {
                    continue;
                }
                let line = format!("--mode {mode} --threads {threads} --procs {procs} {common}");
                let outcome = moved(&world, &line);
                assert_eq!(outcome.findings.checksum, checksum, "{line}");
                assert_eq!(outcome.count("particles"), Some(150));
                let found = outcome.counts;
                assert_eq!(*handed.get_or_insert(found.clone()), found, "{line}");
            }
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [8], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("particles");
    let text = moved(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for mode in ["processes", "comm", "tag"] {
        let outcome = run_alone(&world, &options(&format!("--mode {mode}"))).unwrap();
        assert!(outcome.is_right(), "{}", outcome.text());
    }
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn a_lost_particle_is_missed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    for mode in ["serial", "comm", "tag", "endpoint"] {
        let line = format!("--mode {mode} --threads 1,2,1 --particles 400 --fault lost-particle");
        let outcome = run_threads(&world, &options(&line)).unwrap();
        assert!(!outcome.is_right(), "{}", outcome.text());
        assert_eq!(outcome.count("particles"), Some(399));
        let first = outcome.findings.first_wrong.unwrap_or_default();
        let expected = "the number of particles is 399, expected 400";
        assert_eq!(world.rank() == 0, first == expected, "{first}");
    }
    Ok(())
}

#[rankpoint::test(ranks = [1])]
fn what_cannot_run_is_refused_with_the_numbers() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let why = |outcome: std::result::Result<Outcome, Failure>| match outcome {
        Err(Failure::Refused(why)) => why,
        other => format!("{:?}", other.map(|outcome| outcome.about)),
    };
    for (line, expected) in [
        ("--mode window", "mode window: how many particles leave"),
        (
            "--mode partitioned",
            "mode partitioned: how many particles leave",
        ),
        (
            "--mode processes --threads 1,2,1",
            "mode processes has one thread",
        ),
        ("--procs 2,1,1", "2 processes, but there are 1 ranks"),
        ("--threads 2,1", "3 axes"),
        (
            "--size 5 --threads 1,1,2 --speed 3",
            "5 cells in 2 patches along z give some 2, expected at least 3",
        ),
        (
            "--mode endpoint --threads 1,5,13",
            "65 threads in a process",
        ),
        (
            "--fault lost-particle",
            "1 process hands no particles to others",
        ),
    ] {
        let why = why(run_threads(&world, &options(line)));
        assert!(why.contains(expected), "{line}: {why}");
    }
    for line in ["--mode endpoint", "--threads 1,1,2"] {
        assert!(why(run_alone(&world, &options(line))).contains("a universe for any thread"));
    }
    Ok(())
}
