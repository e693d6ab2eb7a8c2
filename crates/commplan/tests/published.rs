// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the source, and those that enumeration gives instead.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

use commplan::{ByClass, Exposed, Grid, Kind, MIN_TAG_UB, Plan, Spread, Stencil, printed_formula};

fn grid(stencil: Stencil, threads: &[usize]) -> Grid {
    let processes = vec![2; threads.len()];
    Grid::new(stencil, threads, &processes)
        .unwrap()
        .all_periodic()
}

fn interior(grid: &Grid, kind: Kind) -> Plan {
    Plan::new(&grid.interior(), kind, i32::MAX).unwrap()
}

#[test]
fn communicators_of_a_27_point_stencil() {
    // Threads, printed, enumerated, lower bound, threads at the border, endpoints.
    let rows = [
        ([1, 1, 1], 34, 26, 1, 1, 1),
        ([2, 2, 2], 184, 152, 32, 8, 8),
        ([3, 3, 3], 442, 386, 158, 26, 27),
        ([2, 2, 5], 388, 332, 104, 20, 20),
        ([4, 4, 4], 808, 728, 392, 56, 64),
    ];
    for (threads, printed, enumerated, bound, border, endpoints) in rows {
        let grid = grid(Stencil::TwentySeven, &threads);
        assert_eq!(printed_formula(threads).all(), printed, "{threads:?}");
        assert_eq!(grid.leaving().all(), enumerated, "{threads:?}");
        assert_eq!(grid.lower_bound(), bound, "{threads:?}");
        assert_eq!(grid.border_threads(), border, "{threads:?}");
        assert_eq!(
            interior(&grid, Kind::Endpoint).objects(),
            endpoints,
            "{threads:?}"
        );
        let edge = interior(&grid, Kind::Edge);
        assert_eq!(edge.objects() as u64, enumerated, "{threads:?}");
        assert_eq!(edge.objects_of([1; 3]).len(), edge.objects(), "{threads:?}");
    }
}

#[test]
fn classes_of_four_by_four_by_four_threads() {
    let by = |faces, corners, edges| ByClass {
        faces,
        edges,
        corners,
    };
    assert_eq!(printed_formula([4; 3]), by(96, 376, 336));
    assert_eq!(
        grid(Stencil::TwentySeven, &[4; 3]).leaving(),
        by(96, 296, 336)
    );
}

#[test]
fn messages_and_bound_follow_their_formulas() {
    for threads in grids(5) {
        let [x, y, z] = threads.map(|extent| extent as u64);
        let grid = grid(Stencil::TwentySeven, &threads);
        // 3x - 2 pairs of neighbours along an axis, with a thread as its own.
        let inside = (3 * x - 2) * (3 * y - 2) * (3 * z - 2) - x * y * z;
        assert_eq!(grid.leaving().all(), 26 * x * y * z - inside);
        if x == y && y == z && x >= 2 {
            let n = x - 2;
            assert_eq!(grid.lower_bound(), 54 * n * n + 72 * n + 32);
        }
        if z == 1 {
            let nine = self::grid(Stencil::Nine, &threads[..2]);
            assert_eq!(nine.leaving().all(), 6 * (x + y) - 4);
            let five = self::grid(Stencil::Five, &threads[..2]);
            assert_eq!(five.leaving().all(), 2 * (x + y));
        }
    }
}

fn grids(most: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..most.pow(3))
        .map(move |index| [index % most, index / most % most, index / most.pow(2)].map(|at| at + 1))
}

#[test]
fn communicators_of_two_dimensional_stencils() {
    // Threads of a row; objects of the plan `edge`, and of `merged`: used by a process and in all.
    for (n, edge, used, all) in [(3, 12, 8, 8), (4, 16, 12, 12)] {
        let grid = grid(Stencil::Five, &[n, n]);
        assert_eq!(interior(&grid, Kind::Edge).objects(), edge);
        let merged = interior(&grid, Kind::Merged);
        assert_eq!(
            (merged.objects_of([1, 1, 0]).len(), merged.objects()),
            (used, all)
        );
        assert_eq!(grid.lower_bound(), used as u64);
    }
    for (n, edge, used, all) in [(3, 32, 20, 24), (4, 44, 32, 36), (8, 92, 80, 84)] {
        let grid = grid(Stencil::Nine, &[n, n]);
        assert_eq!(interior(&grid, Kind::Edge).objects(), edge);
        let merged = interior(&grid, Kind::Merged);
        assert_eq!(
            (merged.objects_of([1, 1, 0]).len(), merged.objects()),
            (used, all)
        );
        assert_eq!(grid.lower_bound(), used as u64);
    }
}

#[test]
fn merged_plans_follow_their_formulas() {
    for [x, y, _] in grids(6).filter(|extents| extents[2] == 1) {
        let five = grid(Stencil::Five, &[x, y]);
        if x >= 2 && y >= 2 {
            assert_eq!(interior(&five, Kind::Merged).objects(), 2 * (x + y) - 4);
        }
        let nine = grid(Stencil::Nine, &[x, y]);
        if x >= 3 && y >= 3 {
            let merged = interior(&nine, Kind::Merged);
            assert_eq!(merged.objects(), 6 * (x + y) - 12);
            assert_eq!(
                merged.objects_of([2, 1, 0]).len() as u64,
                nine.lower_bound()
            );
        }
    }
}

#[test]
fn the_naive_map_exposes_less_than_half() {
    let rows = [
        (Stencil::Five, 3, "3/8"),
        (Stencil::Five, 4, "5/12"),
        (Stencil::Five, 5, "7/16"),
        (Stencil::Nine, 3, "1/8"),
        (Stencil::Nine, 4, "2/12"),
        (Stencil::Nine, 5, "4/16"),
    ];
    for (stencil, n, share) in rows {
        let grid = grid(stencil, &[n, n]);
        let exposed = |kind| {
            let plan = Plan::new(&grid, kind, MIN_TAG_UB).unwrap();
            Exposed::of(&plan).unwrap().unwrap()
        };
        assert_eq!(exposed(Kind::Naive).to_string(), share);
        for kind in [Kind::Edge, Kind::Merged, Kind::Tag, Kind::Endpoint] {
            let all = exposed(kind);
            assert!(
                all.is_exact && all.independent == all.threads,
                "{kind:?}: {all}"
            );
        }
    }
}

#[test]
fn up_to_six_threads_use_one_communicator_of_the_naive_map() {
    let grid = grid(Stencil::Nine, &[3, 3]).interior();
    let plan = Plan::new(&grid, Kind::Naive, MIN_TAG_UB).unwrap();
    let uses = plan.uses_of([1, 1, 0]);
    let users = |object: usize| uses.iter().filter(|used| used.1 == object).count();
    assert_eq!((0..plan.objects()).map(users).max(), Some(6));
}

#[test]
fn objects_on_contexts() {
    let grid = grid(Stencil::TwentySeven, &[4; 3]);
    let spread = |objects: u64| Spread::round_robin(objects as usize, 160).to_string();
    assert_eq!(
        spread(printed_formula([4; 3]).all()),
        "8 with 6 + 152 with 5"
    );
    assert_eq!(spread(grid.leaving().all()), "88 with 5 + 72 with 4");
}

#[test]
fn volume_that_needs_no_mpi() {
    let share = |(all, inside): (u128, u128)| format!("{:.2}", 100.0 * inside as f64 / all as f64);
    let grid = Grid::new(Stencil::TwentySeven, &[4; 3], &[2; 3]).unwrap();
    let interior = grid.interior_volume();
    assert_eq!((interior.inside.all(), interior.all.all()), (936, 1664));
    assert_eq!(share((1664, 936)), "56.25");
    let cells = [8, 16, 32, 64].map(|size| share(interior.cells(size)));
    assert_eq!(cells, ["70.77", "72.78", "73.86", "74.42"]);
    let closed = grid.domain_volume();
    assert_eq!((closed.inside.all(), closed.all.all()), (7488, 10136));
    assert_eq!(share((10136, 7488)), "73.88");
    let cells = [8, 16, 32, 64].map(|size| share(closed.cells(size)));
    assert_eq!(cells, ["83.25", "84.43", "85.06", "85.38"]);
}
