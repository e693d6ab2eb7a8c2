// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the publication: its partitions, its shares of traffic, and its assignments within a node.
#![expect(clippy::expect_used, reason = "tests")]

use stencil_plan::assignment::{Square, assign, cost};
use stencil_plan::{Boundary, Placement, Plan, Problem, Radius, Share};

fn problem(grid: [usize; 3], boundary: Boundary) -> Problem {
    Problem {
        grid,
        radius: Radius::constant(3),
        boundary: [boundary; 3],
    }
}

fn plan(grid: [usize; 3], nodes: usize, each: usize, placement: Placement) -> Plan {
    let nodes: Vec<u32> = (0..nodes * each).map(|rank| (rank / each) as u32).collect();
    let problem = problem(grid, Boundary::Periodic);
    Plan::new(problem, &nodes, placement, None, None).expect("a plan")
}

#[test]
fn the_grid_is_cut_at_its_smallest_interfaces() {
    let four = plan([600; 3], 4, 6, Placement::Optimised);
    assert_eq!(four.dims(), [4, 2, 3]);
    let two = plan([586; 3], 2, 6, Placement::Optimised);
    assert_eq!(two.dims(), [2, 3, 2]);
    assert_eq!(two.box_of(0).sides(), [293, 196, 293]);
    assert_eq!(two.box_of(11).sides(), [293, 195, 293]);
}

/// Percent of the bytes that stay on a node, without those of ranks to themselves, and those.
fn percents(plan: &Plan) -> (f64, f64) {
    let traffic = plan.traffic();
    let part = |points: usize| 100.0 * points as f64 / traffic.points() as f64;
    (part(traffic.node), part(traffic.own))
}

#[test]
fn shares_of_traffic_are_those_of_the_published_runs() {
    // Nodes with 6 ranks each, grid, percent on the node by the rule and with ranks in order, percent of ranks to themselves.
    let rows = [
        (1, [768, 512, 256], 67.4, 67.4, 32.6),
        (2, [1536, 512, 256], 56.1, 33.3, 32.6),
        (4, [1536, 1024, 256], 39.1, 33.3, 32.6),
        (8, [1536, 1024, 512], 62.4, 32.6, 0.0),
        (16, [3072, 1024, 512], 62.4, 27.1, 0.0),
        (32, [3072, 2048, 512], 62.4, 27.1, 0.0),
        (64, [3072, 2048, 1024], 46.6, 27.1, 0.0),
        (128, [6144, 2048, 1024], 46.6, 27.1, 0.0),
        (256, [6144, 4096, 1024], 46.6, 27.1, 0.0),
        (512, [6144, 4096, 2048], 46.6, 27.1, 0.0),
    ];
    for (nodes, grid, by_rule, in_order, own) in rows {
        let found = percents(&plan(grid, nodes, 6, Placement::Optimised));
        assert!((found.0 - by_rule).abs() < 0.1, "{nodes} nodes: {found:?}");
        assert!((found.1 - own).abs() < 0.1, "{nodes} nodes: {found:?}");
        let found = percents(&plan(grid, nodes, 6, Placement::Trivial));
        assert!(
            (found.0 - in_order).abs() < 0.1,
            "{nodes} nodes, in order: {found:?}"
        );
    }
}

/// Weights of the six ranks of a node.
fn weights(plan: &Plan) -> Square {
    let mut weights = Square::zeros(6);
    for message in (0..6).flat_map(|rank| plan.messages_from(rank)) {
        if plan.share(&message) == Share::Node {
            weights.add(message.from, message.to, message.points as f64);
        }
    }
    weights
}

/// Two groups of three places, so far apart within and across.
fn two_triplets(within: f64, across: f64) -> Square {
    let mut distances = Square::zeros(6);
    for (one, other) in (0..6).flat_map(|one| (0..6).map(move |other| (one, other))) {
        if one != other {
            let far = if one / 3 == other / 3 { within } else { across };
            distances.add(one, other, far);
        }
    }
    distances
}

fn permutations(rest: &mut Vec<usize>, made: &mut Vec<usize>, action: &mut impl FnMut(&[usize])) {
    if rest.is_empty() {
        action(made);
    }
    for index in 0..rest.len() {
        made.push(rest.remove(index));
        permutations(rest, made, action);
        rest.insert(index, made.pop().expect("one was pushed"));
    }
}

#[test]
fn assignments_within_a_node_gain_what_was_published() {
    let of = |grid, boundary| {
        let problem = problem(grid, boundary);
        Plan::new(problem, &[0; 6], Placement::Optimised, None, None).expect("a plan")
    };
    let periodic = weights(&of([768, 512, 256], Boundary::Periodic));
    let open = weights(&of([768, 512, 256], Boundary::Open));
    let tall = of([384, 512, 512], Boundary::Open);
    assert_eq!(tall.dims(), [1, 3, 2]);
    let tall = weights(&tall);
    // Worst and mean over best for three pairs of distances, and how many assignments are best.
    type Row<'w> = (&'w Square, [(f64, f64); 3], usize);
    let rows: [Row<'_>; 3] = [
        (&periodic, [(1.14, 1.04), (1.49, 1.15), (1.17, 1.05)], 432),
        (&open, [(1.26, 1.08), (1.95, 1.29), (1.30, 1.09)], 144),
        (&tall, [(1.31, 1.12), (2.29, 1.52), (1.37, 1.15)], 72),
    ];
    let pairs = [
        (1.0 / 100.0, 1.0 / 64.0),
        (1.0, 7.0),
        (1.0 / 47.0, 1.0 / 27.8),
    ];
    for (weights, ratios, optima) in rows {
        for ((within, across), (worst, mean)) in pairs.into_iter().zip(ratios) {
            let distances = two_triplets(within, across);
            let mut costs = Vec::new();
            permutations(&mut (0..6).collect(), &mut Vec::new(), &mut |places| {
                costs.push(cost(weights, &distances, places));
            });
            let best = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let all: f64 = costs.iter().sum();
            let highest = costs.iter().copied().fold(0.0, f64::max);
            assert!(
                (highest / best - worst).abs() < 0.006,
                "{} {worst}",
                highest / best
            );
            assert!(
                (all / 720.0 / best - mean).abs() < 0.006,
                "{} {mean}",
                all / 720.0 / best
            );
            let are_best = costs
                .iter()
                .filter(|cost| **cost <= best * (1.0 + 1e-9))
                .count();
            assert_eq!(are_best, optima);
            let found = cost(weights, &distances, &assign(weights, &distances));
            assert!(found <= best * (1.0 + 1e-9), "{found} {best}");
        }
    }
}
