// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halo exchanges in all modes: the same field as computed serially, on any grid of threads and processes.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use std::collections::BTreeMap;

use apps::Failure;
use apps::halo::options::Fault;
use apps::halo::{App, Mode, Options, Outcome, run_alone, run_threads};
use clap::Parser;
use commplan::{Kind, Stencil};
use rankpoint::testkit::{RankTest, is_rank, run, start};
use rankpoint::{AnyThread, Communicator, ErrorMode, Result, Universe};

/// The variable with which `cargo xtask test` tells tests their scope.
const SCOPE: &str = "RANKPOINT_TEST_SCOPE";

/// Modes of several threads.
const THREADED: [Mode; 6] = [
    Mode::Serial,
    Mode::Naive,
    Mode::Comm,
    Mode::Tag,
    Mode::Endpoint,
    Mode::Partitioned,
];

#[expect(
    clippy::disallowed_methods,
    reason = "the tests have no settings module"
)]
fn is_thorough() -> bool {
    std::env::var(SCOPE).is_ok_and(|scope| scope == "thorough")
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(line: &str) -> Options {
    let words = std::iter::once("halo").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap().options
}

/// What is run: the field's extents, and how it is cut.
#[derive(Clone, Debug)]
struct Case {
    stencil: Stencil,
    threads: Vec<usize>,
    procs: Vec<usize>,
    size: u64,
    is_periodic: bool,
}

impl Case {
    fn options(&self, mode: Mode, plan: Kind) -> Options {
        let list = |extents: &[usize]| {
            extents
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        let periodic = if self.is_periodic {
            "--periodic --third-class"
        } else {
            ""
        };
        options(&format!(
            "--mode {} --plan {} --stencil {} --threads {} --procs {} --size {} --steps 3 {periodic}",
            mode.name(),
            plan.name(),
            self.stencil.points(),
            list(&self.threads),
            list(&self.procs),
            self.size
        ))
    }

    fn run(&self, world: &Communicator<'_, AnyThread>, mode: Mode, plan: Kind) -> Outcome {
        let app = if self.stencil.axes() == 2 {
            App::Halo2d
        } else {
            App::Halo3d
        };
        let options = self.options(mode, plan);
        run_threads(world, &options, app).unwrap()
    }

    /// Cells of the field along each axis, and all else that the checksum depends on.
    fn field(&self) -> (u32, bool, Vec<usize>) {
        let extents = self.threads.iter().zip(&self.procs);
        let extents = extents.map(|(threads, procs)| threads * procs * self.size as usize);
        (self.stencil.points(), self.is_periodic, extents.collect())
    }
}

/// All grids of so many axes with a product in a range.
fn grids(axes: usize, products: std::ops::RangeInclusive<usize>) -> Vec<Vec<usize>> {
    let most = *products.end();
    let all = (0..axes).fold(vec![Vec::new()], |grids: Vec<Vec<usize>>, _| {
        let longer = |grid: &Vec<usize>| {
            let grid = grid.clone();
            (1..=most).map(move |extent| [&grid[..], &[extent]].concat())
        };
        grids.iter().flat_map(longer).collect()
    });
    let is_wanted = |grid: &Vec<usize>| products.contains(&grid.iter().product());
    all.into_iter().filter(is_wanted).collect()
}

fn cases(ranks: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    let stencils: &[Stencil] = match is_thorough() {
        true => &Stencil::ALL,
        false => &[Stencil::Nine, Stencil::Seven],
    };
    for &stencil in stencils {
        let (axes, mut threads) = (stencil.axes(), grids(stencil.axes(), 1..=4));
        let mut procs = grids(stencil.axes(), ranks..=ranks);
        if !is_thorough() {
            threads.retain(|grid| {
                [1, 4].contains(&grid.iter().product()) && grid[0] <= grid[axes - 1]
            });
            procs.truncate(2);
        }
        for (threads, procs) in threads
            .iter()
            .flat_map(|one| procs.iter().map(move |other| (one, other)))
        {
            for is_periodic in [false, true] {
                cases.push(Case {
                    stencil,
                    threads: threads.clone(),
                    procs: procs.clone(),
                    size: 2 + (threads.len() % 2) as u64,
                    is_periodic,
                });
            }
        }
    }
    cases
}

#[rankpoint::test(ranks = [1, 2, 3, 4], timeout = 300)]
fn all_modes_and_grids_have_the_serial_field() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let (mut checksums, mut runs) = (BTreeMap::new(), 0);
    for case in cases(world.size()) {
        let is_alone = case.threads.iter().product::<usize>() == 1;
        for mode in Mode::RUNNING
            .into_iter()
            .filter(|&mode| is_alone || mode != Mode::Processes)
        {
            let outcome = case.run(&world, mode, Kind::Edge);
            let total = outcome.total;
            assert!(total.verified > 0 && outcome.is_whole, "{case:?} {mode:?}");
            assert_eq!(total.wrong, 0, "{case:?} {mode:?}: {:?}", total.first_wrong);
            let checksum = *checksums.entry(case.field()).or_insert(total.checksum);
            assert_eq!(total.checksum, checksum, "{case:?} {mode:?}");
            runs += 1;
        }
    }
    assert!(runs >= 24, "{runs}");
    Ok(())
}

#[rankpoint::test(ranks = [4], timeout = 120)]
fn merged_communicators_carry_the_same_field() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for (stencil, extent, created) in [(Stencil::Five, 2, 4), (Stencil::Nine, 3, 24)] {
        let case = Case {
            stencil,
            threads: vec![extent; 2],
            procs: vec![2; 2],
            size: 3,
            is_periodic: true,
        };
        let merged = case.run(&world, Mode::Comm, Kind::Merged);
        let serial = case.run(&world, Mode::Serial, Kind::Edge);
        assert_eq!((merged.communicators, serial.communicators), (created, 1));
        assert_eq!(
            (merged.total.wrong, merged.total.checksum),
            (0, serial.total.checksum)
        );
    }
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4], timeout = 120)]
fn verification_finds_borders_of_the_wrong_side() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    for mode in THREADED {
        let options = Options {
            fault: Some(Fault::WrongDirection),
            ..options(&format!("--mode {} --threads 2,2 --size 4", mode.name()))
        };
        let total = run_threads(&world, &options, App::Halo2d).unwrap().total;
        assert!(total.wrong > 0 && total.first_wrong.is_some(), "{mode:?}");
        let unseen = Options {
            verify: false,
            ..options
        };
        let total = run_threads(&world, &unseen, App::Halo2d).unwrap().total;
        assert_eq!((total.wrong, total.verified), (0, 0), "{mode:?}");
    }
    Ok(())
}

#[rankpoint::test(ranks = [2], timeout = 60)]
fn of_a_large_field_the_start_is_compared() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let of = |more: &str| {
        let line = format!("--threads 2,1 --size 512 --steps 20 {more}");
        run_threads(&world, &options(&line), App::Halo2d).unwrap()
    };
    let right = of("--barrier");
    // Three interfaces between threads with two sides, where nothing is periodic.
    assert_eq!((right.total.verified, right.is_whole), (3 * 2 * 512, false));
    assert_eq!(right.total.wrong, 0);
    assert!(of("--fault wrong-direction").total.wrong > 0);
    Ok(())
}

#[rankpoint::test(ranks = [1, 2, 4], timeout = 120)]
fn steps_of_the_solver_depend_on_the_sum_over_all_cells() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    world.set_error_mode(ErrorMode::Abort);
    let of = |mode: Mode, app| {
        let line = format!(
            "--mode {} --stencil 27 --threads 2,1,2 --size 3",
            mode.name()
        );
        run_threads(&world, &options(&line), app).unwrap()
    };
    let solved = THREADED.map(|mode| of(mode, App::Uintah).total);
    for total in &solved {
        // The serial computation has the sum, too.
        assert_eq!((total.wrong, total.checksum), (0, solved[0].checksum));
        assert!(total.verified > 0);
    }
    assert_ne!(
        of(Mode::Tag, App::Halo3d).total.checksum,
        solved[0].checksum
    );
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn the_example_of_the_page_is_what_is_printed() -> Result<()> {
    let page = include_str!("../../../docs/mini-apps.md");
    let (_, example) = page
        .split_once("$ mpiexec -n 2 target/release/halo2d ")
        .unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let (line, expected) = example.split_once('\n').unwrap();
    let universe = Universe::init_threaded()?;
    let text = run_threads(&universe.world(), &options(line), App::Halo2d)
        .unwrap()
        .text();
    let is_left_out = |line: &&str| line.starts_with("real") || line.starts_with("VCIs");
    let text: Vec<&str> = text.lines().filter(|line| !is_left_out(line)).collect();
    let expected: Vec<&str> = expected.lines().filter(|line| *line != "...").collect();
    assert_eq!(text, expected);
    Ok(())
}

#[rankpoint::test(ranks = [1, 4])]
fn processes_need_no_threads() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let options = options("--mode processes --size 8 --periodic");
    let outcome = run_alone(&world, &options, App::Halo2d).unwrap();
    assert_eq!(outcome.total.wrong, 0);
    let away = if world.size() == 1 { 0 } else { 4 * 4 * 10 };
    assert_eq!(outcome.total.messages_away, away);
    Ok(())
}

#[rankpoint::test(ranks = [2])]
fn what_cannot_run_is_refused_by_name() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let refused = |line: &str| match run_threads(&world, &options(line), App::Halo2d) {
        Err(Failure::Refused(why)) => why,
        other => format!("{:?}", other.map(|outcome| outcome.about)),
    };
    let endpoint = refused("--mode endpoint --threads 5,13 --size 1");
    assert!(endpoint.contains("65 threads in a process"), "{endpoint}");
    for mode in ["endpoint", "partitioned"] {
        let options = options(&format!("--mode {mode}"));
        let alone = run_alone(&world, &options, App::Halo2d).unwrap_err();
        assert!(alone.to_string().contains("a universe for any thread"));
    }
    assert!(refused("--mode window").contains("no windows"));
    assert!(refused("--mode processes --threads 2,1").contains("one thread"));
    assert!(refused("--procs 3,1").contains("3 processes, but there are 2 ranks"));
    assert!(refused("--stencil 7").contains("3 axes, this program 2"));
    assert!(refused("--plan tag").contains("expected edge or merged"));
    assert!(refused("--threads 2,0").contains("0 along y"));
    assert!(refused("--threads 1,2 --plan merged").contains("at least 2 threads"));
    Ok(())
}

fn counted() -> Result<()> {
    let universe = Universe::init_threaded()?;
    let world = universe.world();
    let options = options("--mode comm --threads 2,2 --periodic --size 16 --steps 5");
    let outcome = run_threads(&world, &options, App::Halo2d).unwrap();
    // Two threads at each of two interfaces between two processes, both ways.
    assert_eq!(outcome.total.messages_away, 5 * 2 * 2 * 2);
    assert_eq!(
        outcome.total.messages_inside,
        5 * (2 * 4 * 4) - outcome.total.messages_away
    );
    assert_eq!(outcome.communicators, 4);
    Ok(())
}

#[test]
fn the_library_counts_the_messages_that_are_told() {
    const TEST: RankTest = RankTest::new(
        concat!(
            module_path!(),
            "::the_library_counts_the_messages_that_are_told"
        ),
        &[2],
    );
    if is_rank() {
        return run(&TEST, counted);
    }
    let passed = start(&TEST).unwrap();
    let ranks = &passed.jobs[0].ranks;
    // Borders of 128 bytes are sent eagerly; all other messages are shorter.
    let eager = ranks
        .iter()
        .map(|rank| rank.counter("sends_eager").unwrap());
    assert_eq!(eager.sum::<u64>(), 5 * 2 * 2 * 2);
}
