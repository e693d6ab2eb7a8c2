// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both ends of each message find the same communicator, and no two threads of a process share one.

#![expect(clippy::panic, reason = "a failure fails the test")]

use commplan::{Checked, Error, Grid, Kind, MIN_TAG_UB, Neighbour, Plan, Stencil};

/// The variable with which `cargo xtask test` tells tests their scope.
const SCOPE: &str = "RANKPOINT_TEST_SCOPE";

#[expect(
    clippy::disallowed_methods,
    reason = "the tests have no settings module"
)]
fn is_thorough() -> bool {
    std::env::var(SCOPE).is_ok_and(|scope| scope == "thorough")
}

/// Grids with extents from a list, of two or three axes.
fn grids(axes: usize, extents: &[usize]) -> Vec<Vec<usize>> {
    (0..axes).fold(vec![Vec::new()], |grids, _| {
        let longer = |grid: &Vec<usize>| {
            let grid = grid.clone();
            extents
                .iter()
                .map(move |&extent| [&grid[..], &[extent]].concat())
        };
        grids.iter().flat_map(longer).collect()
    })
}

fn check(grid: &Grid, kind: Kind) -> Option<Checked> {
    match Plan::new(grid, kind, i32::MAX) {
        Ok(plan) => plan.check(),
        Err(Error::NoPlan { .. }) => None,
        Err(error) => panic!("{grid:?}: {error}"),
    }
}

/// Checks all plans of a grid; the number of messages.
fn check_all(grid: &Grid) -> u64 {
    let volume = grid.domain_volume();
    let mut messages = 0;
    for kind in Kind::ALL {
        let Some(found) = check(grid, kind) else {
            continue;
        };
        assert!(found.agrees(), "{kind:?} {grid:?}: {found:?}");
        assert_eq!(found.messages, volume.all.all() - volume.inside.all());
        if kind != Kind::Naive {
            assert_eq!(found.shared, 0, "{kind:?} {grid:?}");
        }
        messages += found.messages;
    }
    messages
}

#[test]
fn even_grids_of_processes() {
    let (threads, processes): (&[usize], &[usize]) = match is_thorough() {
        true => (&[1, 2, 3, 4], &[2, 4]),
        false => (&[1, 2, 4], &[2]),
    };
    let mut messages = 0;
    for stencil in Stencil::ALL {
        for threads in grids(stencil.axes(), threads) {
            for processes in grids(stencil.axes(), processes) {
                let grid = Grid::new(stencil, &threads, &processes).unwrap();
                messages += check_all(&grid) + check_all(&grid.all_periodic());
            }
        }
    }
    assert!(messages > 100_000, "{messages}");
}

#[test]
fn mixed_borders_single_processes_and_odd_rings() {
    let (threads, processes): (&[usize], &[usize]) = match is_thorough() {
        true => (&[1, 2, 3], &[1, 2, 3]),
        false => (&[1, 3], &[1, 3]),
    };
    for stencil in Stencil::ALL {
        for threads in grids(stencil.axes(), threads) {
            for processes in grids(stencil.axes(), processes) {
                for periodic in [[false; 3], [true, false, false], [false, true, false]] {
                    let grid = Grid::new(stencil, &threads, &processes).unwrap();
                    check_all(&grid.periodic(periodic).unwrap().third_class());
                }
            }
        }
    }
}

#[test]
fn many_processes_have_the_names_of_those_that_differ() {
    for (processes, is_odd) in [([8, 10], false), ([9, 11], true)] {
        let grid = Grid::new(Stencil::Nine, &[3, 4], &processes).unwrap();
        let periodic = grid.clone().all_periodic();
        let periodic = if is_odd {
            periodic.third_class()
        } else {
            periodic
        };
        for grid in [grid, periodic] {
            assert!(check_all(&grid) > 0);
            let plan = Plan::new(&grid, Kind::Edge, MIN_TAG_UB).unwrap();
            let all =
                (0..grid.process_count()).flat_map(|rank| plan.objects_of(grid.process_of(rank)));
            let used: std::collections::BTreeSet<usize> = all.collect();
            assert_eq!(
                used.len(),
                plan.objects(),
                "no communicator is created in vain"
            );
        }
    }
}

#[test]
fn the_check_finds_threads_that_share() {
    let grid = Grid::new(Stencil::Five, &[3, 3], &[2, 2])
        .unwrap()
        .all_periodic();
    let naive = check(&grid, Kind::Naive).unwrap();
    assert!(naive.agrees());
    // Each of the 8 communicators has the threads of opposite edges.
    assert_eq!(naive.shared, 4 * 8);
}

#[test]
fn odd_periodic_axes_need_a_third_class() {
    let grid = Grid::new(Stencil::Nine, &[2, 2], &[2, 3])
        .unwrap()
        .all_periodic();
    let error = Plan::new(&grid, Kind::Edge, MIN_TAG_UB).unwrap_err();
    assert_eq!(
        error,
        Error::OddPeriodic {
            axis: 1,
            processes: 3
        }
    );
    assert!(
        error
            .to_string()
            .contains("3 processes along the periodic axis y")
    );
    assert!(Plan::new(&grid, Kind::Naive, MIN_TAG_UB).is_ok());
    assert!(Plan::new(&grid.third_class(), Kind::Edge, MIN_TAG_UB).is_ok());
}

#[test]
fn wrong_grids_are_refused_with_a_sentence() {
    let told = |threads: &[usize], processes: &[usize]| {
        let grid = Grid::new(Stencil::TwentySeven, threads, processes);
        grid.unwrap_err().to_string()
    };
    assert_eq!(
        told(&[4, 0, 4], &[2, 2, 2]),
        "threads: 0 along y, expected at least 1"
    );
    assert_eq!(
        told(&[4, 4, 4], &[2, 2]),
        "processes: 2 given, but a 27-point stencil has 3 axes"
    );
    assert_eq!(
        told(&[usize::MAX, 4, 4], &[2, 2, 2]),
        "threads: more than 1048576 in all"
    );
    let flat = Grid::new(Stencil::Five, &[2, 2], &[2, 2]).unwrap();
    let error = flat.periodic([true; 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "periodic along z, which a 5-point stencil does not have"
    );
    let small = Grid::new(Stencil::Nine, &[2, 3], &[2, 2]).unwrap();
    let error = Plan::new(&small, Kind::Merged, MIN_TAG_UB)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "the plan 'merged' for a 9-point stencil needs at least 3 threads along each axis"
    );
    let solid = Grid::new(Stencil::Seven, &[4, 4, 4], &[2, 2, 2]).unwrap();
    let error = Plan::new(&solid, Kind::Merged, MIN_TAG_UB)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "no plan 'merged' is known for a 7-point stencil");
    let wide = Grid::new(Stencil::TwentySeven, &[100, 100, 100], &[4, 4, 4]).unwrap();
    let error = Plan::new(&wide, Kind::Edge, MIN_TAG_UB).unwrap_err();
    assert!(matches!(error, Error::TooManyMessages { .. }), "{error}");
}

#[test]
fn neighbours_wrap_around_or_end() {
    let grid = Grid::new(Stencil::Five, &[2, 2], &[2, 1]).unwrap();
    let corner = grid.places([0; 3]).next().unwrap();
    let [down, left, right, _] = <[_; 4]>::try_from(Stencil::Five.directions()).unwrap();
    assert_eq!(grid.neighbour(corner, left), Neighbour::Outside);
    assert_eq!(grid.neighbour(corner, right), Neighbour::Inside([1, 0, 0]));
    let ring = grid.all_periodic();
    let Neighbour::Away(away) = ring.neighbour(corner, left) else {
        panic!("another process lies there");
    };
    assert_eq!((away.process, away.thread), ([1, 0, 0], [1, 0, 0]));
    assert_eq!(ring.neighbour(corner, down), Neighbour::Inside([0, 1, 0]));
}
