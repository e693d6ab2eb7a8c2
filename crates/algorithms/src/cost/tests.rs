// SPDX-License-Identifier: MIT OR Apache-2.0
//! Costs against the textbook's formulas.

use super::trees::doublings;
use super::{Cost, Sent, sent};
use crate::case::Case;
use crate::names::{
    Algorithm, Allgather, Allreduce, Alltoall, Barrier, Bcast, Gather, Operation, Reduce,
    ReduceScatter, Scan, Scatter,
};
use crate::shared;
use crate::table::Table;

fn cost(algorithm: impl Into<Algorithm>, ranks: u32, bytes: usize) -> Cost {
    let algorithm = algorithm.into();
    let parameter = algorithm
        .parameter()
        .map_or(0, |parameter| parameter.default);
    Cost::of(
        algorithm,
        parameter,
        &Case::new(algorithm.operation(), ranks, bytes, 2),
    )
}

fn parts(cost: Cost) -> (u64, u64, u64) {
    (cost.rounds, cost.most.messages, cost.most.bytes)
}

/// The textbook's formulas, where they are stated: powers of two, and lengths that can be cut.
#[test]
fn costs_are_those_of_the_textbook() {
    for log in 1..7u64 {
        let (p, n) = (1 << log, 1 << 20);
        let ranks = p as u32;
        let bytes = n as usize;
        assert_eq!(parts(cost(Barrier::Dissemination, ranks, 0)), (log, log, 0));
        for tree in [Bcast::Tree, Bcast::Knomial, Bcast::Linear, Bcast::Chain] {
            assert_eq!(cost(tree, ranks, bytes).all.bytes, (p - 1) * n);
        }
        assert_eq!(cost(Bcast::Tree, ranks, bytes).most.messages, log);
        let scattered = (p - 1) * n / p;
        let root = sent(
            Bcast::ScatterRing.into(),
            0,
            &Case::new(Operation::Bcast, ranks, bytes, 2),
            0,
        );
        assert_eq!(root, Sent::of(log + p - 1, 2 * scattered));
        assert_eq!(
            parts(cost(Allgather::Bruck, ranks, bytes)),
            (log, log, (p - 1) * n)
        );
        assert_eq!(
            parts(cost(Allgather::Ring, ranks, bytes)),
            (p - 1, p - 1, (p - 1) * n)
        );
        assert_eq!(
            parts(cost(Alltoall::Bruck, ranks, bytes)),
            (log, log, p / 2 * log * n)
        );
        assert_eq!(
            parts(cost(Alltoall::Pairwise, ranks, bytes)),
            (p - 1, p - 1, (p - 1) * n)
        );
        assert_eq!(
            parts(cost(Allreduce::RecursiveDoubling, ranks, bytes)),
            (log, log, log * n)
        );
        let halved = parts(cost(Allreduce::Rabenseifner, ranks, bytes));
        assert_eq!(halved, (2 * log, 2 * log, 2 * scattered));
        let ring = parts(cost(Allreduce::Ring, ranks, bytes));
        assert_eq!(ring, (2 * (p - 1), 2 * (p - 1), 2 * scattered));
        assert_eq!(
            cost(Reduce::Tree, ranks, bytes).all,
            Sent::of(p - 1, (p - 1) * n)
        );
        let all = cost(Reduce::Rabenseifner, ranks, bytes).all.bytes;
        assert_eq!(all, (p - 1) * n + log * n / 2);
        assert_eq!(
            cost(ReduceScatter::Ring, ranks, bytes).all.bytes,
            p * (p - 1) * n
        );
        assert_eq!(parts(cost(Scan::Linear, ranks, bytes)), (p - 1, 1, n));
        let rounds = n / shared::buffer_bytes(ranks) as u64;
        assert_eq!(
            parts(cost(Scan::SharedChain, ranks, bytes)),
            (rounds + p - 2, 0, 0)
        );
        assert_eq!(
            cost(Gather::Tree, ranks, bytes).all,
            Sent::of(p - 1, p / 2 * log * n)
        );
        assert_eq!(
            cost(Scatter::Tree, ranks, bytes).all,
            Sent::of(p - 1, p / 2 * log * n)
        );
    }
}

/// However many ranks there are, no algorithm sends more than its bound.
#[test]
fn other_numbers_of_ranks_stay_within_the_bounds() {
    for ranks in 2..200u32 {
        let (p, n, log) = (u64::from(ranks), 1 << 16, doublings(ranks));
        for algorithm in [Allgather::Bruck, Allgather::Ring, Allgather::Linear] {
            assert_eq!(cost(algorithm, ranks, n as usize).most.bytes, (p - 1) * n);
        }
        assert_eq!(
            cost(Bcast::Tree, ranks, n as usize).all,
            Sent::of(p - 1, (p - 1) * n)
        );
        let slow: u64 = (1..p).map(|one| u64::from(one.count_ones())).sum();
        assert_eq!(cost(Alltoall::Bruck, ranks, 1).most, Sent::of(log, slow));
        let ring = cost(Allreduce::Ring, ranks, n as usize).all;
        assert_eq!(ring, Sent::of(2 * p * (p - 1), 2 * (p - 1) * n));
        // Folding costs at most one vector more, either way.
        let halved = cost(Allreduce::Rabenseifner, ranks, n as usize).most;
        assert!(
            halved.messages <= 2 * log + 1 && halved.bytes <= 3 * n,
            "{ranks}"
        );
    }
}

/// Between nodes go the messages of one rank of each, by the algorithm that these ranks would use alone.
#[test]
fn leaders_send_what_as_many_ranks_would() {
    for (ranks, nodes) in [(16, 4), (13, 3), (64, 8), (5, 2)] {
        for operation in [
            Operation::Barrier,
            Operation::Bcast,
            Operation::Reduce,
            Operation::Allreduce,
        ] {
            let levels = Algorithm::of(operation).last().unwrap();
            assert_eq!(levels.name(), "hierarchical");
            let case = Case::new(operation, ranks, 64, nodes);
            let alone = Case::new(operation, nodes, 64, nodes);
            let chosen = Table::builtin()
                .examine(operation, &alone)
                .pop()
                .unwrap()
                .rule;
            let leaders = Cost::of(chosen.algorithm, chosen.parameter, &alone);
            let cost = Cost::of(levels, 0, &case);
            assert_eq!(
                (cost.most, cost.all),
                (leaders.most, leaders.all),
                "{operation:?}"
            );
        }
        // Every rank's block but those of the root's node crosses once.
        for operation in [Operation::Gather, Operation::Scatter] {
            let levels = Algorithm::of(operation).last().unwrap();
            let cost = Cost::of(levels, 0, &Case::new(operation, ranks, 64, nodes));
            let home = ranks.div_ceil(nodes);
            let expected = Sent::of(u64::from(nodes) - 1, u64::from(ranks - home) * 64);
            assert_eq!(cost.all, expected, "{operation:?}");
        }
    }
}

/// The rounds of the algorithm that the library's rules choose.
fn chosen_rounds(operation: Operation, ranks: u32, nodes: u32, bytes: usize) -> u64 {
    let case = Case::new(operation, ranks, bytes, nodes);
    let verdicts = Table::builtin().examine(operation, &case);
    let rule = verdicts.last().unwrap().rule;
    Cost::of(rule.algorithm, rule.parameter, &case).rounds
}

/// Where each rank has little, the rounds grow with the logarithm of the number of ranks.
#[test]
fn few_bytes_of_many_ranks_take_few_rounds() {
    const MOST: u64 = 64;
    let shapes = [
        (1 << 20, 1 << 14),
        (1 << 20, 1 << 20),
        (100_000, 100_000),
        (100_000, 1_563),
        (65_536, 65_536),
        (65_536, 1_024),
        (4_096, 4_096),
        (1_000, 1_000),
    ];
    for (ranks, nodes) in shapes {
        let each = |bytes: usize| bytes * ranks as usize;
        for (operation, bytes) in [
            (Operation::Barrier, 0),
            (Operation::Bcast, 8),
            (Operation::Bcast, 256 << 10),
            (Operation::Bcast, each(64) / (ranks / nodes) as usize),
            (Operation::Allgather, 8),
            (Operation::Allgather, 16),
            (Operation::Reduce, each(8)),
            (Operation::Allreduce, 8),
            (Operation::Allreduce, each(8)),
            (Operation::ReduceScatter, 8),
            (Operation::ReduceScatter, 64),
            (Operation::Scan, 8),
        ] {
            let rounds = chosen_rounds(operation, ranks, nodes, bytes);
            let name = operation.name();
            assert!(
                rounds <= MOST,
                "{name} of {bytes} bytes on {ranks} ranks, {nodes} nodes: {rounds} rounds"
            );
        }
    }
}

/// Where each rank has much, data go round the ranks, each byte once.
#[test]
fn many_bytes_of_few_ranks_go_round() {
    for (operation, bytes, expected) in [
        (Operation::Bcast, 1 << 20, "scatter_ring"),
        (Operation::Allgather, 256 << 10, "ring"),
        (Operation::ReduceScatter, 256 << 10, "pairwise"),
    ] {
        for ranks in [3, 8, 24, 64] {
            let case = Case::new(operation, ranks, bytes, ranks);
            let verdicts = Table::builtin().examine(operation, &case);
            let chosen = verdicts.last().unwrap().rule.algorithm;
            assert_eq!(chosen.name(), expected, "{ranks} ranks");
        }
    }
}
