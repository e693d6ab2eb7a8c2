// SPDX-License-Identifier: MIT OR Apache-2.0
//! Topologies whose ranks are placed on nodes: what crosses nodes, and that each process has the edges of the rank that it plays.

use std::sync::Arc;

use super::{DistGraph, cart, dist_graph, graph};
use crate::coll;
use crate::comm::Comm;
use crate::create;
use crate::settings::{Settings, VirtualNodes};
use crate::task::run_collective;
use crate::testing::{Member, on_members_with};

const RANKS: u32 = 8;

/// Runs ranks that lie on two nodes alternately.
fn scattered(reorder: u64, body: impl Fn(&'static Member) + Sync) {
    let settings = Settings {
        reorder,
        virtual_nodes: VirtualNodes::List([0, 1].into()),
        ..Settings::default()
    };
    on_members_with(&settings, RANKS, body);
}

/// The numbers that the members had in the communicator of all, by rank.
fn old_ranks(member: &Member, made: &Arc<Comm>) -> Vec<u64> {
    let own = [u64::from(member.rank())];
    let all = coll::gather_words(made.clone(), &own);
    run_collective(made, "test", all).unwrap()
}

/// Edges of a ring of the first `size` ranks that lead to another node: processes with even and odd numbers are apart.
fn crossing(old: &[u64], size: usize) -> usize {
    let next = |rank: usize| old[(rank + 1) % size];
    (0..size)
        .filter(|&rank| old[rank] % 2 != next(rank) % 2)
        .count()
}

fn next(rank: u32) -> i32 {
    ((rank + 1) % RANKS) as i32
}

fn before(rank: u32) -> i32 {
    ((rank + RANKS - 1) % RANKS) as i32
}

/// The edges of a rank in a ring, in an order and with weights that differ from rank to rank.
fn given(rank: u32, weighted: bool) -> DistGraph {
    let weight = |from: u32| 1 + (from % 2) as i32;
    let (mut sources, mut incoming) = (
        vec![before(rank), rank as i32],
        vec![weight(before(rank) as u32), 7],
    );
    if rank.is_multiple_of(3) {
        sources.reverse();
        incoming.reverse();
    }
    DistGraph {
        sources,
        destinations: vec![next(rank), rank as i32],
        weights: weighted.then(|| (incoming, vec![weight(rank), 7])),
    }
}

#[test]
fn neighbours_of_an_adjacent_graph_share_nodes_and_keep_their_edges() {
    scattered(1, |member| {
        for weighted in [false, true] {
            let edges = given(member.rank(), weighted);
            let made = graph::create_adjacent(member.world(), edges, true)
                .unwrap()
                .unwrap();
            assert_eq!(crossing(&old_ranks(member, &made), 8), 2);
            let own = dist_graph(&made).unwrap();
            assert_eq!(**own, given(made.rank() as u32, weighted));
        }
    });
}

#[test]
fn edges_from_any_rank_go_to_the_process_that_plays_their_ends() {
    scattered(1, |member| {
        // Each rank gives the edge that leaves the third rank after it.
        let from = (member.rank() + 3) % RANKS;
        let edges = [(from as i32, next(from), 5 + from as i32)];
        let made = graph::create_general(member.world(), &edges, true, true)
            .unwrap()
            .unwrap();
        assert_eq!(crossing(&old_ranks(member, &made), 8), 2);
        let me = made.rank() as u32;
        let expected = DistGraph {
            sources: vec![before(me)],
            destinations: vec![next(me)],
            weights: Some((vec![5 + before(me)], vec![5 + me as i32])),
        };
        assert_eq!(**dist_graph(&made).unwrap(), expected);
    });
}

#[test]
fn grids_and_graphs_are_placed_as_their_maps_say() {
    scattered(1, |member| {
        let world = member.world();
        let ring = cart::Cart::new(&[4], &[true], RANKS).unwrap();
        let rank = cart::rank_played(world, &ring, true);
        let made = cart::create(world, &[4], &[true], true).unwrap();
        assert_eq!(made.is_some(), rank < 4);
        if let Some(made) = made {
            assert_eq!(made.rank(), rank);
            assert_eq!(crossing(&old_ranks(member, &made), 4), 0);
        }
        // A ring of all ranks as a graph.
        let index: Vec<i32> = (1..=RANKS as i32).map(|node| 2 * node).collect();
        let edges: Vec<i32> = (0..RANKS)
            .flat_map(|rank| [before(rank), next(rank)])
            .collect();
        let made = graph::create(world, &index, &edges, true).unwrap().unwrap();
        assert_eq!(crossing(&old_ranks(member, &made), 8), 2);
        let whole = graph::Graph::new(&index, &edges, RANKS).unwrap();
        assert_eq!(made.rank(), graph::rank_played(world, &whole, true));
    });
}

#[test]
fn ranks_stay_without_permission_or_with_the_setting_off() {
    for (setting, reorder) in [(1, false), (0, true)] {
        scattered(setting, |member| {
            let world = member.world();
            let ring = cart::create(world, &[8], &[true], reorder)
                .unwrap()
                .unwrap();
            let edges = given(member.rank(), true);
            let adjacent = graph::create_adjacent(world, edges, reorder)
                .unwrap()
                .unwrap();
            assert_eq!([ring.rank(), adjacent.rank()], [world.rank(); 2]);
        });
    }
}

#[test]
fn parts_of_a_reordered_grid_have_its_coordinates() {
    scattered(1, |member| {
        let grid = cart::create(member.world(), &[4, 2], &[true; 2], true)
            .unwrap()
            .unwrap();
        let column = cart::sub(&grid, &[true, false]).unwrap().unwrap();
        assert_eq!(column.rank(), grid.rank() / 2);
        let again = create::dup(&grid, "test").unwrap();
        assert_eq!(again.rank(), grid.rank());
    });
}
