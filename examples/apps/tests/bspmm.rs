// SPDX-License-Identifier: MIT OR Apache-2.0
//! The product of block-sparse matrices in all modes: exact counts, and the tiles of the serial product.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use apps::Failure;
use apps::bspmm::{Options, Outcome, run_alone, run_threads};
use clap::Parser;
use rankpoint::{AccumulateOrder, AnyThread, Communicator, ErrorMode, Result, Universe};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("bspmm").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn multiply(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line)).unwrap();
    assert!(outcome.is_right(), "{}", outcome.text());
    assert_eq!(outcome.wrong_tiles, 0);
    outcome
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_have_the_serial_product_and_exact_counts() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in ["processes", "serial", "window", "endpoint"] {
        for threads in 1..=if mode == "processes" { 1 } else { 4 } {
            let workers = (threads * world.size()) as u64;
            for (band, kept, units) in [(1, [22, 22, 34], 62), (8, [64; 3], 512)] {
                let line = format!("--mode {mode} --threads {threads} --band {band} --edge 3");
                let outcome = multiply(&world, &line);
                let Outcome {
                    kept: found,
                    total,
                    next,
                    ..
                } = outcome;
                assert_eq!((found, total.units, total.gets), (kept, units, 2 * units));
                assert_eq!((total.fetches, next), (units + workers, units + workers));
                let alone = kept[2] as u64;
                let most = if workers == 1 { alone } else { units };
                assert_eq!(outcome.accumulates(), alone..=most);
                assert!((alone..=most).contains(&total.accumulates));
            }
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2])]
fn only_counts_that_each_run_repeats_are_exact() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let workers = 3 * world.size() as u64;
    let outcome = multiply(&world, "--mode window --threads 3");
    let (text, count) = (outcome.text(), outcome.total.accumulates);
    for line in [
        format!("exact  124 gets, {} fetches", 62 + workers),
        format!("varies {count} accumulates, expected 34 to 62"),
    ] {
        assert!(text.lines().any(|it| it == line), "{text}");
    }
    let all: serde_json::Value = serde_json::from_str(&outcome.json()).unwrap();
    assert_eq!(all["varies"]["accumulates"], count);
    assert!(all["exact"]["accumulates"].is_null());
    Ok(())
}

#[rankpoint::test(ranks = [1, 2])]
fn accumulates_may_lose_their_order() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    for mode in ["serial", "window", "endpoint"] {
        for (word, order) in [
            ("ordered", AccumulateOrder::OfCalls),
            ("unordered", AccumulateOrder::Any),
        ] {
            let line = format!("--mode {mode} --threads 2 --band 8 --edge 3 --accumulate {word}");
            assert_eq!(multiply(&world, &line).order, order);
        }
    }
    for (line, reason) in [
        ("--accumulate window", "not atomic"),
        ("--mode tag", "a get has no tag"),
    ] {
        match run_threads(&world, &options(line)) {
            Err(Failure::Refused(why)) => assert!(why.contains(reason), "{why}"),
            other => panic!("{line}: {:?}", other.map(|it| it.text())),
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for mode in ["processes", "serial", "window"] {
        let outcome = run_alone(&world, &options(&format!("--mode {mode}"))).unwrap();
        assert!(outcome.is_right(), "{}", outcome.text());
    }
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn a_unit_that_is_computed_twice_is_found() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    for mode in ["serial", "window", "endpoint"] {
        let line = format!("--mode {mode} --threads 2 --fault doubled-unit");
        let outcome = run_threads(&world, &options(&line)).unwrap();
        assert!(!outcome.is_right() && outcome.text().contains("\nwrong\n"));
        assert_eq!((outcome.wrong_tiles, outcome.total.units), (1, 63));
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
    assert!(refused("--mode comm").contains("windows, no messages"));
    assert!(refused("--mode processes --threads 2").contains("one thread in each process"));
    for line in ["--mode endpoint", "--threads 2"] {
        assert!(why(run_alone(&world, &options(line))).contains("a universe for any thread"));
    }
    for line in ["--threads 65", "--edge 0", "--tiles 201", "--mode fast"] {
        let words = ["bspmm"].into_iter().chain(line.split(' '));
        assert!(Line::try_parse_from(words).is_err(), "{line}");
    }
    Ok(())
}
