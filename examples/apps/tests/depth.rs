// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deep halos: the field of shallow ones, by fewer exchanges.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod page;

use apps::Failure;
use apps::halo::{App, Options, Outcome, run_threads};
use clap::Parser;
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

const MESSAGES: [&str; 6] = ["serial", "naive", "comm", "tag", "endpoint", "partitioned"];
const WINDOWS: [&str; 3] = ["serial", "window", "endpoint"];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("halo").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

fn exchanged(world: &Communicator<'_, AnyThread>, app: App, line: &str) -> Outcome {
    let outcome = run_threads(world, &options(line), app).unwrap();
    let wrong = &outcome.total.first_wrong;
    assert_eq!(outcome.total.wrong, 0, "{app:?} {line}: {wrong:?}");
    assert!(outcome.total.verified > 0 && outcome.is_whole, "{line}");
    outcome
}

/// Compares a case with deep halos in some modes with the same with shallow ones, and counts exchanges.
fn compare(
    world: &Communicator<'_, AnyThread>,
    app: App,
    (depth, modes): (u64, &[&str]),
    line: &str,
) {
    const STEPS: u64 = 5;
    let line = format!("{line} --third-class --steps {STEPS}");
    let shallow = exchanged(world, app, &format!("--mode serial {line}")).total;
    let mut of_an_exchange = None;
    for mode in modes {
        let line = format!("--mode {mode} --depth {depth} {line}");
        let total = exchanged(world, app, &line).total;
        assert_eq!(total.checksum, shallow.checksum, "{app:?} {line}");
        let exchanges = STEPS.div_ceil(depth);
        let all = (total.messages_away, total.messages_inside);
        let all = (all.0 / exchanges, all.1 / exchanges);
        assert_eq!(all.0 * exchanges, total.messages_away, "{line}");
        assert_eq!(*of_an_exchange.get_or_insert(all), all, "{app:?} {line}");
    }
}

#[rankpoint::test(ranks = [1, 3, 4], timeout = 300)]
fn deep_halos_have_the_field_of_shallow_ones() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let ranks = world.size();
    for periodic in ["", "--periodic"] {
        let pencils = format!("--threads 1,3 --procs 1,{ranks} --size 3 {periodic}");
        compare(&world, App::Halo2d, (2, &MESSAGES), &pencils);
        let faces = format!("--threads 2,1 --procs 1,{ranks} --size 3 {periodic}");
        let modes = ["tag", "partitioned"];
        compare(&world, App::Halo2d, (3, &modes), &faces);
        let corners = format!("--stencil 9 --threads 2,2 --procs {ranks},1 --size 4 {periodic}");
        let modes = ["comm", "endpoint"];
        compare(&world, App::Halo2d, (3, &modes), &corners);
        let line = format!("--threads 1,2,1 --procs 1,1,{ranks} --size 3 {periodic}");
        compare(&world, App::Halo3d, (2, &["naive", "endpoint"]), &line);
        compare(&world, App::Uintah, (3, &["tag"]), &line);
    }
    let line = format!("--threads 1,2,1 --procs 1,1,{ranks} --size 3");
    compare(&world, App::Mailbox, (2, &WINDOWS), &line);
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let (line, printed) = page::example("halo2d --depth");
    let line = format!("--depth {line}");
    let text = exchanged(&universe.world(), App::Halo2d, &line).text();
    assert_eq!(page::exact(&text), printed);
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn halos_are_no_deeper_than_patches() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let line = "--size 3 --depth 4";
    match run_threads(&world, &options(line), App::Halo2d) {
        Err(Failure::Refused(why)) => {
            assert!(why.contains(
                "--depth 4: a patch has 3 cells along each axis, expected at most so many"
            ))
        }
        other => panic!("{:?}", other.map(|outcome| outcome.about)),
    }
    let line = "--size 4 --depth 3 --steps 4 --fault wrong-direction";
    let total = run_threads(&world, &options(line), App::Halo2d);
    assert!(total.unwrap().total.wrong > 0);
    let line = "--mode serial --size 3 --depth 3 --steps 3 --fault early-reuse";
    match run_threads(&world, &options(line), App::Mailbox) {
        Err(Failure::Refused(why)) => assert!(why.contains("1 exchanges, expected at least 2")),
        other => panic!("{:?}", other.map(|outcome| outcome.about)),
    }
    Ok(())
}
