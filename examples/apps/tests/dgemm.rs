// SPDX-License-Identifier: MIT OR Apache-2.0
//! The product in global arrays in all modes: the same checksum, exact counts, and a seeded error that is found.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::dgemm::{Options, run_alone, run_threads};
use apps::{Failure, Outcome};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("ga-dgemm").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn multiply(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{}", outcome.text());
    outcome
}

/// The checksum of the product with 7 x 7 tiles of 3 x 3 numbers.
const CHECKSUM: u64 = 0xffff_ffff_fffb_2cb7;

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_have_the_serial_product_and_exact_counts() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in ["processes", "serial", "window", "endpoint"] {
        for threads in 1..=if mode == "processes" { 1 } else { 4 } {
            let line = format!("--mode {mode} --threads {threads} --tiles 7 --edge 3");
            let outcome = multiply(&world, &line);
            let count = |name| outcome.count(name).unwrap();
            assert_eq!((count("gets"), count("puts")), (2 * 49, 49));
            // A row of A and a column of B for each tile; each number of C once.
            assert_eq!(count("bytes read"), 2 * 49 * 3 * 21 * 8);
            assert_eq!(count("bytes written"), 21 * 21 * 8);
            let windows = if matches!(mode, "window" | "endpoint") {
                threads
            } else {
                1
            };
            assert_eq!(outcome.created, ("windows", windows));
            assert_eq!(outcome.findings.verified, 21 * 21);
            assert_eq!(outcome.findings.checksum, CHECKSUM, "{mode}");
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [2], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("ga-dgemm");
    let text = multiply(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [1, 3])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for mode in ["processes", "serial", "window"] {
        let line = options(&format!("--mode {mode} --tiles 7 --edge 3"));
        let outcome = run_alone(&world, &line).unwrap();
        assert!(outcome.is_right(), "{}", outcome.text());
        assert_eq!(outcome.findings.checksum, CHECKSUM);
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3])]
fn a_tile_that_is_not_put_is_found() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    for mode in ["serial", "window", "endpoint"] {
        let line = format!("--mode {mode} --threads 2 --fault lost-tile");
        let outcome = run_threads(&world, &options(&line)).unwrap();
        assert_eq!(outcome.count("puts"), Some(63));
        assert!(!outcome.is_right() && outcome.findings.wrong <= 64);
        let text = outcome.findings.first_wrong;
        assert_eq!(text.is_some(), world.rank() == 0);
        assert!(text.is_none_or(|text| text.starts_with("tile 63 of C")));
    }
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn what_cannot_run_is_refused_by_name() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let why = |outcome: std::result::Result<Outcome, Failure>| match outcome {
        Err(Failure::Refused(why)) => why,
        other => format!("{:?}", other.map(|outcome| outcome.about)),
    };
    let refused = |line: &str| why(run_threads(&world, &options(line)));
    assert!(refused("--mode tag").contains("a get has no tag"));
    assert!(refused("--mode comm").contains("there are no messages"));
    assert!(refused("--mode processes --threads 2").contains("one thread in each process"));
    for line in ["--mode endpoint", "--threads 2"] {
        assert!(why(run_alone(&world, &options(line))).contains("a universe for any thread"));
    }
    for line in ["--threads 65", "--edge 0", "--tiles 201", "--mode fast"] {
        let words = ["ga-dgemm"].into_iter().chain(line.split(' '));
        assert!(Line::try_parse_from(words).is_err(), "{line}");
    }
    Ok(())
}
