// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random problems: boxes tile the grid, messages of both ends agree, assignments are the best, slabs cover boxes.
#![expect(clippy::expect_used, reason = "tests")]

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use stencil_plan::assignment::{Square, assign, cost};
use stencil_plan::regions::{exterior, interior};
use stencil_plan::{Boundary, Box3, DIRECTIONS, Error, Placement, Plan, Problem, Radius, opposite};

fn radii() -> impl Strategy<Value = Radius> {
    proptest::collection::vec(0..3usize, 26).prop_map(|of| {
        let all = DIRECTIONS.iter().zip(of);
        all.fold(Radius::constant(0), |radius, (&direction, points)| {
            radius.direction(direction, points)
        })
    })
}

fn boundaries() -> impl Strategy<Value = [Boundary; 3]> {
    proptest::array::uniform3(prop_oneof![Just(Boundary::Periodic), Just(Boundary::Open)])
}

fn placements() -> impl Strategy<Value = Placement> {
    prop_oneof![
        Just(Placement::Optimised),
        Just(Placement::Trivial),
        Just(Placement::Random)
    ]
}

fn square(side: usize) -> impl Strategy<Value = Square> {
    proptest::collection::vec(proptest::collection::vec(0.0..10.0f64, side), side)
        .prop_map(|rows| Square::from_rows(&rows).expect("a square"))
}

/// The rank that has a point, and the point inside of the grid, if there is one.
fn owner(plan: &Plan, point: [i64; 3]) -> Option<(usize, [usize; 3])> {
    let problem = plan.problem();
    let mut inside = [0; 3];
    for axis in 0..3 {
        let side = problem.grid[axis] as i64;
        let wraps = problem.boundary[axis] == Boundary::Periodic;
        if !wraps && !(0..side).contains(&point[axis]) {
            return None;
        }
        inside[axis] = point[axis].rem_euclid(side) as usize;
    }
    let rank = (0..plan.ranks()).find(|rank| plan.box_of(*rank).contains(inside))?;
    Some((rank, inside))
}

/// Every halo point of a rank comes from its owner, once, by the messages that the rank knows.
fn check_halos(plan: &Plan, rank: usize) {
    let own = plan.box_of(rank);
    let low = plan.problem().radius.low();
    let mut filled = HashSet::new();
    for message in plan.messages_to(rank) {
        assert_eq!(message.to, rank);
        assert!(plan.messages_from(message.from).contains(&message));
        let mut points = 0;
        for &direction in &message.directions {
            let sent = plan.sent(message.from, direction);
            let received = plan.received(rank, direction);
            assert_eq!(sent.sides(), received.sides());
            let from = plan.box_of(message.from);
            for (source, target) in sent.iter().zip(received.iter()) {
                let global = std::array::from_fn(|axis| {
                    target[axis] as i64 - low[axis] as i64 + own.start[axis] as i64
                });
                let of_sender =
                    std::array::from_fn(|axis| source[axis] - low[axis] + from.start[axis]);
                assert_eq!(owner(plan, global), Some((message.from, of_sender)));
                assert!(filled.insert(target), "{target:?} twice");
                points += 1;
            }
        }
        assert_eq!(points, message.points);
    }
    for (direction, _) in DIRECTIONS.iter().enumerate() {
        let is_wanted = plan.problem().radius.of(direction) != 0;
        for point in plan.received(rank, opposite(direction)).iter() {
            let global = std::array::from_fn(|axis| {
                point[axis] as i64 - low[axis] as i64 + own.start[axis] as i64
            });
            let has_owner = owner(plan, global).is_some();
            assert_eq!(filled.contains(&point), is_wanted && has_owner, "{point:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn boxes_tile_the_grid_and_halos_come_from_their_owners(
        grid in proptest::array::uniform3(1..9usize),
        nodes in 1..4usize,
        each in 1..5usize,
        radius in radii(),
        boundary in boundaries(),
        placement in placements(),
    ) {
        let problem = Problem { grid, radius, boundary };
        let nodes: Vec<u32> = (0..nodes * each).map(|rank| (rank % nodes) as u32).collect();
        let plan = match Plan::new(problem, &nodes, placement, None, None) {
            Ok(plan) => plan,
            Err(Error::TooManyBoxes { .. } | Error::ThinBox { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let points: usize = (0..plan.ranks()).map(|rank| plan.box_of(rank).points()).sum();
        prop_assert_eq!(points, grid.iter().product::<usize>());
        for point in Box3::of_sides(grid).iter() {
            let owners = (0..plan.ranks()).filter(|rank| plan.box_of(*rank).contains(point));
            prop_assert_eq!(owners.count(), 1);
        }
        for rank in 0..plan.ranks() {
            check_halos(&plan, rank);
        }
    }

    #[test]
    fn sides_differ_by_one(
        grid in proptest::array::uniform3(1..400usize),
        nodes in 1..40usize,
        each in 1..9usize,
    ) {
        let problem = Problem { grid, radius: Radius::constant(1), boundary: [Boundary::Open; 3] };
        let nodes: Vec<u32> = (0..nodes * each).map(|rank| (rank / each) as u32).collect();
        if let Ok(plan) = Plan::new(problem, &nodes, Placement::Optimised, None, None) {
            for axis in 0..3 {
                let sides = (0..plan.ranks()).map(|rank| plan.box_of(rank).sides()[axis]);
                let (least, most) = sides.fold((usize::MAX, 0), |(least, most), side| {
                    (least.min(side), most.max(side))
                });
                prop_assert!(most - least <= 1);
            }
        }
    }

    #[test]
    fn slabs_and_the_interior_cover_a_box_once(
        sides in proptest::array::uniform3(1..8usize),
        radius in radii(),
    ) {
        let own = Box3 { start: [2, 3, 4], end: std::array::from_fn(|axis| [2, 3, 4][axis] + sides[axis]) };
        let inner = interior(&own, &radius);
        let mut parts = exterior(&own, &radius);
        prop_assert!(parts.len() <= 6);
        parts.push(inner);
        for point in own.iter() {
            prop_assert_eq!(parts.iter().filter(|part| part.contains(point)).count(), 1);
        }
        prop_assert_eq!(parts.iter().map(Box3::points).sum::<usize>(), own.points());
    }

    #[test]
    fn assignments_of_few_boxes_are_the_best(
        (weights, distances) in (2..7usize).prop_flat_map(|side| (square(side), square(side))),
    ) {
        let side = weights.side();
        let found = cost(&weights, &distances, &assign(&weights, &distances));
        let mut places: Vec<usize> = (0..side).collect();
        let mut best = f64::INFINITY;
        all(&mut places, 0, &mut |places| best = best.min(cost(&weights, &distances, places)));
        prop_assert!(found <= best * (1.0 + 1e-6), "{} {}", found, best);
    }
}

/// The same with more boxes, of which there are too many assignments for a thousand cases.
#[test]
fn assignments_of_eight_boxes_are_the_best() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for side in [7, 8, 8] {
        let mut square = || {
            square(side)
                .new_tree(&mut runner)
                .expect("a value")
                .current()
        };
        let (weights, distances) = (square(), square());
        let found = cost(&weights, &distances, &assign(&weights, &distances));
        let mut best = f64::INFINITY;
        all(&mut (0..side).collect(), 0, &mut |places| {
            best = best.min(cost(&weights, &distances, places));
        });
        assert!(found <= best * (1.0 + 1e-6), "{found} {best}");
    }
}

fn all(places: &mut Vec<usize>, from: usize, action: &mut impl FnMut(&[usize])) {
    if from == places.len() {
        action(places);
    }
    for index in from..places.len() {
        places.swap(from, index);
        all(places, from + 1, action);
        places.swap(from, index);
    }
}

#[test]
fn nodes_with_different_numbers_of_ranks_are_placed_too() {
    let problem = Problem {
        grid: [40, 10, 10],
        radius: Radius::constant(1),
        boundary: [Boundary::Open; 3],
    };
    let nodes = [0, 1, 0, 1, 0];
    let of = |placement| Plan::new(problem.clone(), &nodes, placement, None, None).expect("a plan");
    let (placed, trivial) = (of(Placement::Optimised), of(Placement::Trivial));
    assert_eq!(placed.dims(), [5, 1, 1]);
    assert_eq!(placed.traffic().network, 2 * 100);
    assert_eq!(trivial.traffic().network, 8 * 100);
}

#[test]
fn a_radius_may_be_larger_than_the_grid() {
    let own = Box3::of_sides([4; 3]);
    let wide = Radius::constant(1).edges(usize::MAX);
    assert!(interior(&own, &wide).is_empty());
    assert_eq!(exterior(&own, &wide), [own]);
    // Nobody needs halos beyond an open end.
    let open = Problem {
        grid: [2, 3, 4],
        radius: Radius::constant(9),
        boundary: [Boundary::Open; 3],
    };
    let plan = Plan::new(open, &[0], Placement::Optimised, None, None).expect("a plan");
    assert_eq!(plan.array_sides(0), [20, 21, 22]);
    assert_eq!(plan.traffic().points(), 0);
}

#[test]
fn what_cannot_be_is_refused_with_its_numbers() {
    let of = |grid, radius, ranks: usize, dims| {
        let problem = Problem {
            grid,
            radius: Radius::constant(radius),
            boundary: [Boundary::Periodic; 3],
        };
        let plan = Plan::new(problem, &vec![0; ranks], Placement::Optimised, None, dims);
        plan.expect_err("no plan").to_string()
    };
    assert!(of([0, 4, 4], 1, 2, None).contains("grid 0x4x4"));
    assert!(of([2, 2, 2], 1, 16, None).contains("16 ranks"));
    assert!(of([4, 4, 4], 1, 0, None).contains("ranks: 0"));
    let thin = of([8, 4, 8], 5, 2, None);
    assert!(thin.contains("at least 5x5x5 points"), "{thin}");
    let thin = of([8, 4, 8], 4, 4, Some([4, 1, 1]));
    assert!(thin.contains("has 2 points; expected at least 4"), "{thin}");
    assert!(of([8, 8, 8], 1, 8, Some([2, 2, 1])).contains("product of 8"));
    assert!(
        of([3, 8, 8], 1, 4, Some([4, 1, 1])).contains("4 boxes along x: the thinnest has 0 points")
    );
    assert!(of([usize::MAX, 8, 8], 1, 1, None).contains("fewer bytes"));
    let wide = of([8, 8, 8], usize::MAX, 1, None);
    assert!(
        wide.contains("grid 8x8x8 and 18446744073709551615x"),
        "{wide}"
    );
    // Thin boxes move 26 times as many points as the grid has.
    assert!(of([1 << 20, 1 << 20, 1 << 19], 1 << 14, 1, None).contains("fewer bytes"));
    let open = Problem {
        grid: [8, 1, 8],
        radius: Radius::constant(3),
        boundary: [Boundary::Open; 3],
    };
    let plan = Plan::new(open.clone(), &[0, 0], Placement::Optimised, None, None);
    assert_eq!(plan.map(|plan| plan.dims()), Ok([2, 1, 1]));
    let distances = Square::zeros(3);
    let wrong = Plan::new(open, &[0, 0], Placement::Optimised, Some(&distances), None);
    assert_eq!(wrong, Err(Error::WrongDistances { ranks: 2 }));
}
