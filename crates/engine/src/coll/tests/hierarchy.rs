// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of ranks that are taken to be on several nodes: uneven ones, ranks in rounds, roots that are not the first
//! of theirs, with and without shared memory within a node; and how many messages pass between nodes.

use ::algorithms::{Operation, Table};

use super::*;
use crate::identity::LinkIndex;
use crate::settings::VirtualNodes;

const OPERATIONS: [&str; 7] = [
    "barrier",
    "bcast",
    "gather",
    "scatter",
    "allgather",
    "reduce",
    "allreduce",
];

fn settings(nodes: VirtualNodes, shared_collectives: u64) -> Settings {
    let rules = OPERATIONS.map(|name| format!("{name} use=hierarchical\n"));
    let (table, problems) = Table::with("test", &rules.concat());
    assert_eq!(problems, []);
    Settings {
        shared_collectives,
        virtual_nodes: nodes,
        algorithms: Arc::new(table),
        ..Settings::default()
    }
}

/// Nodes with different numbers of ranks, with one, and ranks in rounds.
fn layouts() -> Vec<VirtualNodes> {
    let list = |numbers: &[u32]| VirtualNodes::List(numbers.into());
    vec![
        VirtualNodes::Blocks(2),
        VirtualNodes::Blocks(3),
        list(&[0, 1]),
        list(&[7, 7, 7, 7, 2, 5, 5, 5]),
        list(&[0, 1, 1, 0, 2]),
    ]
}

#[expect(clippy::too_many_lines, reason = "one list of operations")]
/// Every operation with a root, by all roots, and every other one, on `count` longs.
fn all_operations(member: &'static Member, count: usize, holes: bool) {
    let (rank, size) = (member.rank(), member.size());
    let counts = vec![count; size as usize];
    let everything: Vec<i64> = (0..size).flat_map(|rank| vector(rank, count)).collect();
    let datatype = if holes { sparse() } else { long() };
    now(member, barrier(world(member)));
    for root in 0..size {
        let at_root = rank == root;
        let given = if at_root {
            vector(root, count)
        } else {
            vec![0; count]
        };
        let mut numbers = Numbers::new(&given, holes);
        now(member, bcast(world(member), numbers.block(), root));
        assert_eq!(numbers.values(), vector(root, count));

        let mut mine = Numbers::new(&vector(rank, count), holes);
        let mut all = Numbers::new(&vec![0; everything.len()], !holes);
        let receive = at_root.then(|| all.blocks(&counts));
        let work = gather(
            world(member),
            Some(mine.block()),
            receive,
            root,
            Sizes::Equal,
        );
        now(member, work);
        if at_root {
            assert_eq!(all.values(), everything);
        }

        let mut back = Numbers::new(&vec![0; count], holes);
        let (send, receive) = (at_root.then(|| all.blocks(&counts)), Some(back.block()));
        now(
            member,
            scatter(world(member), send, receive, root, Sizes::Equal),
        );
        assert_eq!(back.values(), vector(rank, count));

        for in_place in [false, true] {
            let mut mine = Numbers::new(&maps(rank, count), holes);
            let mut result = Numbers::new(&vec![0; count], holes);
            let into = if in_place {
                mine.block()
            } else {
                result.block()
            };
            let receive = at_root.then_some(into);
            let op = composition(&datatype);
            now(
                member,
                reduce(world(member), mine.block(), receive, op, root),
            );
            let got = if in_place { &mine } else { &result };
            if at_root {
                assert_eq!(got.values(), composed(0..size, count));
            }
        }
    }
    let mut mine = Numbers::new(&maps(rank, count), holes);
    let both = mine.block();
    now(
        member,
        allreduce(world(member), both.clone(), both, composition(&datatype)),
    );
    assert_eq!(mine.values(), composed(0..size, count));

    let mut mine = Numbers::new(&vector(rank, count), false);
    let mut result = Numbers::new(&vec![0; count], false);
    now(
        member,
        allreduce(world(member), mine.block(), result.block(), sum()),
    );
    let sums: Vec<i64> = (0..count)
        .map(|index| (0..size).map(|rank| value(rank, index)).sum())
        .collect();
    assert_eq!(result.values(), sums);

    // Blocks of different lengths, some of them empty.
    let counts: Vec<usize> = (0..size as usize).map(|rank| rank % 3 * count).collect();
    let expected: Vec<i64> = (0..size)
        .flat_map(|r| vector(r, counts[r as usize]))
        .collect();
    let mut mine = Numbers::new(&vector(rank, counts[rank as usize]), !holes);
    let mut all = Numbers::new(&vec![0; expected.len()], holes);
    now(
        member,
        allgather(world(member), Some(mine.block()), all.blocks(&counts)),
    );
    assert_eq!(all.values(), expected);
}

#[test]
fn nodes_of_any_size_and_order_give_the_same_results() {
    for layout in layouts() {
        for shared_collectives in [0, 1] {
            let settings = settings(layout.clone(), shared_collectives);
            for size in [1, 2, 3, 5, 8, 11] {
                on_members_with(&settings, size, |member| {
                    for (count, holes) in [
                        (0, false),
                        (1, false),
                        (3, true),
                        (700, false),
                        (9001, true),
                    ] {
                        all_operations(member, count, holes);
                    }
                });
            }
        }
    }
}

/// Members of communicators that are spread over nodes differently.
#[test]
fn parts_of_the_job_have_their_own_nodes() {
    use crate::create::split;
    let settings = settings(VirtualNodes::Blocks(3), 1);
    on_members_with(&settings, 9, |member| {
        let rank = member.rank();
        // The first half backwards, the second one forwards.
        let (color, key) = (
            i32::from(rank > 4),
            if rank > 4 { 1 } else { -1 } * rank as i32,
        );
        for _ in 0..3 {
            let comm = split(member.world(), color, key, "test").unwrap().unwrap();
            for _ in 0..3 {
                let mut numbers = Numbers::new(&vector(rank, 50), false);
                let both = numbers.block();
                now(member, allreduce(comm.clone(), both.clone(), both, sum()));
                let members = if rank > 4 { 5..9 } else { 0..5 };
                let sum = |index| members.clone().map(|rank| value(rank, index)).sum::<i64>();
                assert_eq!(numbers.values(), (0..50).map(sum).collect::<Vec<_>>());
            }
            comm.free();
        }
    });
}

/// Messages to ranks of other nodes, and to ranks of the own.
fn sent_to(member: &'static Member, work: impl Future<Output = Result<()>>) -> [u64; 2] {
    let count = || {
        let guard = member.vci().enter();
        let mut sums = [0; 2];
        for peer in 0..member.size() {
            let link = &guard.links[LinkIndex::new(peer)];
            if !link.sender.is_connected() {
                continue;
            }
            let same = member.node_of(peer) == member.node_of(member.rank());
            sums[usize::from(same)] += link.sender.published();
        }
        sums
    };
    let before = count();
    now(member, work);
    let after = count();
    [after[0] - before[0], after[1] - before[1]]
}

/// Sixteen ranks on four nodes, operands that fit one message: what passes between nodes is what four ranks would send.
#[test]
fn only_leaders_send_and_no_more_than_they_must() {
    // Nodes are divided by processes.
    if !shares_memory() || endpoints_of_a_process().is_some() {
        return;
    }
    let log2_of_nodes = 2;
    let settings = settings(VirtualNodes::Blocks(4), 1);
    on_members_with(&settings, 16, |member| {
        let (rank, leads) = (member.rank(), member.rank().is_multiple_of(4));
        // Only those who talk to all leaders have a list of them.
        for _ in 0..2 {
            now(member, barrier(world(member)));
        }
        let has_list = world(member).node_map().unwrap().has_leaders();
        assert_eq!(has_list, leads, "rank {rank}");
        // The members of each node agree on what they share.
        for _ in 0..2 {
            all_operations(member, 2, false);
        }
        let expect = |work: std::pin::Pin<Box<dyn Future<Output = Result<()>>>>, messages: u64| {
            let expected = if leads { messages } else { 0 };
            assert_eq!(sent_to(member, work), [expected, 0], "rank {rank}");
        };
        let mut numbers = Numbers::new(&vector(rank, 4), false);
        let mut all = Numbers::new(&[0; 64], false);
        let block = numbers.block();
        let counts = [4; 16];
        expect(Box::pin(barrier(world(member))), log2_of_nodes);
        let work = allreduce(world(member), block.clone(), block.clone(), sum());
        expect(Box::pin(work), log2_of_nodes);
        // To two nodes, of which one tells the fourth.
        let children = [2, 0, 1, 0][rank as usize / 4];
        expect(Box::pin(bcast(world(member), block.clone(), 0)), children);
        let receive = (rank == 0).then(|| block.clone());
        let work = reduce(world(member), block.clone(), receive, sum(), 0);
        expect(Box::pin(work), u64::from(rank > 0));
        let work = allgather(world(member), Some(block.clone()), all.blocks(&counts));
        expect(Box::pin(work), log2_of_nodes);
        let receive = (rank == 0).then(|| all.blocks(&counts));
        let work = gather(world(member), Some(block.clone()), receive, 0, Sizes::Equal);
        expect(Box::pin(work), u64::from(rank > 0));
        let send = (rank == 0).then(|| all.blocks(&counts));
        let work = scatter(world(member), send, Some(block), 0, Sizes::Equal);
        expect(Box::pin(work), if rank == 0 { 3 } else { 0 });
    });
}

/// An operation that does not commute takes another algorithm where a node's ranks are not neighbours.
#[test]
fn order_is_kept_where_ranks_are_on_nodes_in_rounds() {
    if endpoints_of_a_process().is_some() {
        return;
    }
    let settings = settings(VirtualNodes::List([0, 1].as_slice().into()), 1);
    on_members_with(&settings, 6, |member| {
        let mut numbers = Numbers::new(&maps(member.rank(), 9), false);
        let block = numbers.block();
        let coll = super::super::primitives::Collective::new(world(member));
        let chosen = |commutative| {
            let case = super::super::select::reduction(&coll, &block, commutative);
            let table = &member.settings().algorithms;
            table.choose::<::algorithms::Allreduce>(&case).algorithm
        };
        assert_eq!(chosen(true), ::algorithms::Allreduce::Hierarchical);
        assert_ne!(chosen(false), ::algorithms::Allreduce::Hierarchical);
        let work = allreduce(
            world(member),
            block.clone(),
            block.clone(),
            composition(&long()),
        );
        now(member, work);
        assert_eq!(numbers.values(), composed(0..6, 9));
    });
}

/// The rules of the library take nodes into account.
#[test]
fn the_library_s_rules_know_nodes() {
    for name in OPERATIONS {
        let operation = Operation::named(name).unwrap();
        let case = ::algorithms::Case::new(operation, 16, 64, 4);
        let verdict = Table::builtin().examine(operation, &case).pop().unwrap();
        assert_eq!(verdict.rule.algorithm.name(), "hierarchical", "{name}");
        for nodes in [1, 16] {
            let case = ::algorithms::Case::new(operation, 16, 64, nodes);
            let verdict = Table::builtin().examine(operation, &case).pop().unwrap();
            assert_ne!(verdict.rule.algorithm.name(), "hierarchical", "{name}");
        }
    }
}
