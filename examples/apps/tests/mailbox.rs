// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mailboxes in all modes: the field of `halo3d`, and exact counts.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::Failure;
use apps::halo::{App, Options, Outcome, run_alone, run_threads};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Op, Result, Universe};

const MODES: [&str; 4] = ["processes", "serial", "window", "endpoint"];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("mailbox").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn exchanged(world: &Communicator<'_, AnyThread>, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line), App::Mailbox).unwrap();
    let wrong = &outcome.total.first_wrong;
    assert_eq!(outcome.total.wrong, 0, "{line}: {wrong:?}");
    assert!(outcome.total.verified > 0 && outcome.is_whole, "{line}");
    outcome
}

#[rankpoint::test(ranks = [8], timeout = 120)]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("mailbox");
    let text = exchanged(&universe.world(), line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_and_grids_have_the_field_of_halo3d() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let ranks = world.size();
    let all = ["1,1,1", "1,2,1", "3,1,1", "2,1,2"];
    for (procs, threads) in [
        (format!("1,1,{ranks}"), &all[..]),
        (format!("{ranks},1,1"), &all[3..]),
    ] {
        for &threads in threads {
            let grids = format!("--threads {threads} --procs {procs} --size 2 --steps 3");
            let line = format!("--mode serial --stencil 27 --periodic {grids}");
            let by_messages = run_threads(&world, &options(&line), App::Halo3d).unwrap();
            for mode in MODES {
                if mode == "processes" && threads != "1,1,1" {
                    continue;
                }
                let total = exchanged(&world, &format!("--mode {mode} {grids}")).total;
                let expected = &by_messages.total;
                assert_eq!(total.checksum, expected.checksum, "{mode} {grids}");
                let borders = (total.messages_away, total.bytes_away);
                assert_eq!(borders, (expected.messages_away, expected.bytes_away));
                assert_eq!(total.flags, 2 * total.messages_away);
            }
        }
    }
    Ok(())
}

#[rankpoint::test(ranks = [8], timeout = 300)]
fn twenty_threads_keep_188_of_520_borders() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in ["serial", "endpoint"] {
        let line = format!("--mode {mode} --threads 2,2,5 --procs 2,2,2 --size 1 --steps 1");
        let total = exchanged(&world, &line).total;
        assert_eq!(total.messages_inside, 8 * 188);
        assert_eq!(total.messages_away, 8 * (520 - 188));
        assert_eq!(total.flags, 2 * total.messages_away);
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn one_thread_needs_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    for mode in ["processes", "serial", "window"] {
        let options = options(&format!("--mode {mode} --size 3 --steps 2"));
        let outcome = run_alone(&world, &options, App::Mailbox).unwrap();
        assert_eq!(outcome.total.wrong, 0, "{}", outcome.text());
    }
    Ok(())
}

#[rankpoint::test(ranks = [2], timeout = 120)]
fn seeded_errors_are_found() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in MODES {
        let threads = if mode == "processes" {
            "1,1,1"
        } else {
            "2,1,1"
        };
        let of = |fault: &str| {
            let line = format!("--mode {mode} --threads {threads} --size 3 --steps 3 {fault}");
            let total = run_threads(&world, &options(&line), App::Mailbox);
            let total = total.unwrap().total;
            assert!(total.wrong > 0, "{mode} {fault}");
            total.first_wrong.unwrap_or_default()
        };
        of("--fault wrong-direction");
        let first = of("--fault early-reuse");
        assert!(first.is_empty() || first.contains("ghost cell"), "{first}");
    }
    let line = "--mode window --size 3 --steps 2 --fault lost-flag --patience 1";
    let total = run_threads(&world, &options(line), App::Mailbox);
    let total = total.unwrap().total;
    assert!(total.wrong > 0, "{total:?}");
    // A rank that misses a flag says so: this one, or the flag of its owner, who waits at the same time. Others find what follows.
    let first = total.first_wrong.unwrap_or_default();
    let misses = u32::from(first.contains("the flag '") && first.contains("after 1 s"));
    assert!(world.all_reduce_value(misses, Op::SUM)? > 0, "{first}");
    Ok(())
}

#[rankpoint::test(ranks = [1])]
fn what_cannot_run_is_refused_with_the_numbers() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let refused = |line: &str, app| match run_threads(&world, &options(line), app) {
        Err(Failure::Refused(why)) => why,
        other => format!("{:?}", other.map(|outcome| outcome.about)),
    };
    for (line, expected) in [
        ("--mode tag", "there are no messages"),
        ("--mode partitioned", "there are no messages"),
        ("--mode serial --stencil 5", "2 axes, this program 3"),
        (
            "--mode endpoint --threads 5,13,1 --size 1",
            "65 threads in a process",
        ),
        (
            "--mode serial --fault early-reuse",
            "1 process has no mailboxes",
        ),
    ] {
        let why = refused(line, App::Mailbox);
        assert!(why.contains(expected), "{line}: {why}");
    }
    let why = refused("--fault lost-flag", App::Uintah);
    assert!(why.contains("uintah has no mailboxes"), "{why}");
    let options = options("--mode endpoint");
    let alone = run_alone(&world, &options, App::Mailbox).unwrap_err();
    assert!(alone.to_string().contains("a universe for any thread"));
    Ok(())
}
