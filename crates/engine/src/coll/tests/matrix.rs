// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every operation by every algorithm: all rank counts, lengths around the limits of messages, dense and strided data,
//! operations that commute and that do not, against the definition; and the messages and bytes that each rank sends against
//! what the algorithm promises ([`::algorithms::sent`]).

use ::algorithms::{
    Algorithm, Allgather, Allreduce, Alltoall, Barrier, Bcast, Case, Gather, Operation, Reduce,
    ReduceScatter, Scan, Scatter, Sent, Table, Typed,
};
use fabric::counters::Counter;
use sys::sync::Ordering;

use super::*;
use crate::settings::VirtualNodes;

const SIZES: [u32; 9] = [1, 2, 3, 4, 5, 7, 8, 13, 16];
/// Longs: none, one, an odd number, one less and one more than an eager message holds, and many.
const COUNTS: [usize; 6] = [0, 1, 37, 8191, 8193, 20_011];
/// The same for a block of each rank.
const BLOCKS: [usize; 5] = [0, 1, 37, 255, 2049];

/// An operation that one algorithm is forced upon.
struct Forced {
    table: Arc<Table>,
    algorithm: Algorithm,
}

/// The messages and bytes that a rank has sent so far.
fn sent_so_far(member: &'static Member) -> Sent {
    let counts = member.vci().enter().all_counts();
    let value = |counter: Counter| counts[counter as usize];
    let kinds = [
        Counter::SendsInject,
        Counter::SendsEager,
        Counter::SendsRendezvous,
    ];
    Sent {
        messages: kinds.into_iter().map(value).sum(),
        bytes: value(Counter::BytesSent),
    }
}

impl Forced {
    /// Runs `work` and compares what the rank sends with what the algorithm promises for its rank relative to the root.
    fn run<A: Typed, T>(
        &self,
        member: &'static Member,
        (case, relative): (Case, u32),
        work: impl Future<Output = Result<T>>,
    ) where
        Algorithm: From<A>,
    {
        let before = sent_so_far(member);
        now(member, work);
        let after = sent_so_far(member);
        let choice = self.table.choose::<A>(&case);
        let chosen = Algorithm::from(choice.algorithm);
        let hindered = self.algorithm.obstacle(&case).is_some();
        assert_eq!(chosen != self.algorithm, hindered, "{case:?}");
        // Nodes of a test are not those of the case; virtual ones are made of processes.
        let of_endpoints = endpoints_of_a_process().is_some() && case.nodes > 1;
        if crate::settings::test_nodes().is_some() || of_endpoints {
            return;
        }
        // Rounds of the shared area become messages where ranks share no memory.
        if !shares_memory()
            && (chosen.name().starts_with("shared") || chosen.name() == "hierarchical")
        {
            return;
        }
        let mut difference = Sent {
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
        };
        let mut promised = ::algorithms::sent(chosen, choice.parameter, &case, relative);
        if chosen.name() == "hierarchical" {
            // Promised for roots that are the first of their node, and operands that can be published within one.
            if relative != member.rank() || !case.dense {
                return;
            }
            // And, where blocks of nodes differ in length, of messages only.
            if !case.ranks.is_multiple_of(case.nodes) && A::OPERATION == Operation::Allgather {
                (difference.bytes, promised.bytes) = (0, 0);
            }
        }
        assert_eq!(difference, promised, "{} of {case:?}", chosen.name());
    }
}

/// Runs `body` on every rank of jobs of all sizes with every algorithm of an operation, and returns how many cases it ran.
fn every_algorithm<A: Typed>(body: impl Fn(&'static Member, &Forced) + Sync) {
    for algorithm in Algorithm::of(A::OPERATION) {
        let number = match algorithm.name() {
            "knomial" => ":3",
            "chain" => ":1K",
            "linear" if algorithm.parameter().is_some() => ":3",
            _ => "",
        };
        let name = A::OPERATION.name();
        let (table, problems) =
            Table::with("test", &format!("{name} use={}{number}", algorithm.name()));
        assert_eq!(problems, []);
        let table = Arc::new(table);
        let forced = Forced {
            table: table.clone(),
            algorithm,
        };
        let settings = Settings {
            algorithms: table,
            ..Settings::default()
        };
        let on_several = match algorithm.name() {
            "hierarchical" => [4, 8, 13, 16].map(|size| (size, 3)).to_vec(),
            _ => vec![(8, 2)],
        };
        let on_one = SIZES.map(|size| (size, 1));
        for (size, nodes) in on_one.into_iter().chain(on_several) {
            let virtual_nodes = match nodes {
                1 => VirtualNodes::One,
                nodes => VirtualNodes::Blocks(nodes),
            };
            let settings = Settings {
                virtual_nodes,
                ..settings.clone()
            };
            on_members_with(&settings, size, |member| {
                // The members agree on what they share.
                now(member, barrier(world(member)));
                now(member, barrier(world(member)));
                body(member, &forced);
            });
        }
    }
}

fn case_of<A: Typed>(member: &'static Member, bytes: usize) -> Case {
    let nodes = match member.settings().virtual_nodes {
        VirtualNodes::Blocks(nodes) => nodes,
        _ => 1,
    };
    Case::new(A::OPERATION, member.size(), bytes, nodes)
}

/// Roots to try: the first, and one in the middle.
fn roots(size: u32) -> impl Iterator<Item = u32> {
    [0, size / 2].into_iter().take(size.min(2) as usize)
}

/// The rank relative to the root.
fn relative_rank(member: &'static Member, root: u32) -> u32 {
    (member.rank() + member.size() - root) % member.size()
}

#[test]
fn every_barrier_holds() {
    use sys::sync::AtomicU32;
    let arrived = SIZES.map(|_| AtomicU32::new(0));
    let left = SIZES.map(|_| AtomicU32::new(0));
    every_algorithm::<Barrier>(|member, forced| {
        let size = member.size();
        let index = SIZES.iter().position(|&one| one == size).unwrap();
        for _ in 0..5 {
            let case = case_of::<Barrier>(member, 0);
            let before = left[index].load(Ordering::SeqCst);
            arrived[index].fetch_add(1, Ordering::SeqCst);
            let work = barrier(world(member));
            forced.run::<Barrier, _>(member, (case, member.rank()), work);
            // All that had not left the last one yet have arrived at this one.
            assert!(arrived[index].load(Ordering::SeqCst) >= before / size * size + size);
            left[index].fetch_add(1, Ordering::SeqCst);
            now(member, barrier(world(member)));
        }
    });
}

#[test]
fn every_broadcast_reaches_everyone() {
    every_algorithm::<Bcast>(|member, forced| {
        for (root, count) in roots(member.size()).flat_map(|root| COUNTS.map(|c| (root, c))) {
            for holes in [false, true] {
                let mine = if member.rank() == root {
                    vector(root, count)
                } else {
                    vec![0; count]
                };
                let mut numbers = Numbers::new(&mine, holes);
                let case = case_of::<Bcast>(member, 8 * count);
                let work = bcast(world(member), numbers.block(), root);
                forced.run::<Bcast, _>(member, (case, relative_rank(member, root)), work);
                assert_eq!(numbers.values(), vector(root, count));
            }
        }
    });
}

fn everything(size: u32, count: usize) -> Vec<i64> {
    (0..size).flat_map(|rank| vector(rank, count)).collect()
}

#[test]
fn every_gather_collects() {
    every_algorithm::<Gather>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        for (root, count) in roots(size).flat_map(|root| BLOCKS.map(|c| (root, c))) {
            for (holes, sizes) in [
                (false, Sizes::Equal),
                (true, Sizes::Equal),
                (true, Sizes::Varying),
            ] {
                let mut mine = Numbers::new(&vector(rank, count), holes);
                let mut all = Numbers::new(&vec![0; count * size as usize], !holes);
                let counts = vec![count; size as usize];
                let receive = (rank == root).then(|| all.blocks(&counts));
                let case = Case {
                    equal: sizes == Sizes::Equal,
                    ..case_of::<Gather>(member, 8 * count)
                };
                let work = gather(world(member), Some(mine.block()), receive, root, sizes);
                forced.run::<Gather, _>(member, (case, relative_rank(member, root)), work);
                if rank == root {
                    assert_eq!(all.values(), everything(size, count));
                }
            }
        }
    });
}

#[test]
fn every_scatter_distributes() {
    every_algorithm::<Scatter>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        for (root, count) in roots(size).flat_map(|root| BLOCKS.map(|c| (root, c))) {
            for (holes, sizes) in [
                (false, Sizes::Equal),
                (true, Sizes::Equal),
                (true, Sizes::Varying),
            ] {
                let mut all = Numbers::new(&everything(size, count), holes);
                let mut mine = Numbers::new(&vec![0; count], !holes);
                let counts = vec![count; size as usize];
                let send = (rank == root).then(|| all.blocks(&counts));
                let case = Case {
                    equal: sizes == Sizes::Equal,
                    ..case_of::<Scatter>(member, 8 * count)
                };
                let work = scatter(world(member), send, Some(mine.block()), root, sizes);
                forced.run::<Scatter, _>(member, (case, relative_rank(member, root)), work);
                assert_eq!(mine.values(), vector(rank, count));
            }
        }
    });
}

#[test]
fn every_allgather_collects_everywhere() {
    every_algorithm::<Allgather>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        for count in BLOCKS {
            for holes in [false, true] {
                let mut mine = Numbers::new(&vector(rank, count), !holes);
                let mut all = Numbers::new(&vec![0; count * size as usize], holes);
                let counts = vec![count; size as usize];
                let case = case_of::<Allgather>(member, 8 * count);
                let work = allgather(world(member), Some(mine.block()), all.blocks(&counts));
                forced.run::<Allgather, _>(member, (case, rank), work);
                assert_eq!(all.values(), everything(size, count));
                // In place, with blocks of other lengths.
                let counts: Vec<usize> = (0..size as usize).map(|r| (r % 3) * count).collect();
                let first: usize = counts[..rank as usize].iter().sum();
                let expected: Vec<i64> = (0..size)
                    .flat_map(|r| vector(r, counts[r as usize]))
                    .collect();
                let mut values = vec![0; expected.len()];
                let own = counts[rank as usize];
                values[first..first + own].copy_from_slice(&expected[first..first + own]);
                let mut all = Numbers::new(&values, holes);
                now(member, allgather(world(member), None, all.blocks(&counts)));
                assert_eq!(all.values(), expected);
            }
        }
    });
}

#[test]
fn every_all_to_all_transposes() {
    every_algorithm::<Alltoall>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        let element = |from: u32, to: u32, index: usize| value(from, index) * 31 + i64::from(to);
        for count in [0, 1, 37, 255, 1025] {
            let own = |to| (0..count).map(move |index| element(rank, to, index));
            let for_me = |from| (0..count).map(move |index| element(from, rank, index));
            let sent: Vec<i64> = (0..size).flat_map(own).collect();
            let expected: Vec<i64> = (0..size).flat_map(for_me).collect();
            let counts = vec![count; size as usize];
            for (holes, sizes) in [
                (false, Sizes::Equal),
                (true, Sizes::Equal),
                (true, Sizes::Varying),
            ] {
                for in_place in [false, true] {
                    let case = Case {
                        equal: sizes == Sizes::Equal,
                        in_place,
                        ..case_of::<Alltoall>(member, 8 * count)
                    };
                    let mut out = Numbers::new(&sent, holes);
                    let start = if in_place {
                        sent.clone()
                    } else {
                        vec![0; sent.len()]
                    };
                    let mut into = Numbers::new(&start, !holes);
                    let send = (!in_place).then(|| out.blocks(&counts));
                    let work = alltoall(world(member), send, into.blocks(&counts), sizes);
                    forced.run::<Alltoall, _>(member, (case, rank), work);
                    assert_eq!(into.values(), expected);
                }
            }
        }
    });
}

/// Operands of a reduction: their type, and how they are combined.
#[derive(Clone, Copy)]
struct Kind {
    holes: bool,
    commutes: bool,
}

impl Kind {
    /// A predefined operation on a predefined type, a user's that does not commute, and one on a derived type.
    const ALL: [Self; 3] = [
        Self {
            holes: false,
            commutes: true,
        },
        Self {
            holes: false,
            commutes: false,
        },
        Self {
            holes: true,
            commutes: false,
        },
    ];

    /// Every kind with every count.
    fn each<const N: usize>(counts: [usize; N]) -> impl Iterator<Item = (Self, usize)> {
        let with = move |kind| counts.map(|count| (kind, count));
        Self::ALL.into_iter().flat_map(with)
    }

    fn op(self) -> Reduction {
        match (self.commutes, self.holes) {
            (true, _) => sum(),
            (false, holes) => composition(&if holes { sparse() } else { long() }),
        }
    }

    fn operand(self, rank: u32, count: usize) -> Vec<i64> {
        if self.commutes {
            vector(rank, count)
        } else {
            maps(rank, count)
        }
    }

    fn result(self, ranks: std::ops::Range<u32>, count: usize) -> Vec<i64> {
        if self.commutes {
            let total = |index| ranks.clone().map(|rank| value(rank, index)).sum();
            (0..count).map(total).collect()
        } else {
            composed(ranks, count)
        }
    }

    fn case<A: Typed>(self, member: &'static Member, bytes: usize) -> Case {
        let case = case_of::<A>(member, bytes);
        let elements = case.total / 8;
        Case {
            elements,
            commutative: self.commutes,
            // A single element is one run of bytes.
            dense: !self.holes || elements <= 1,
            ..case
        }
    }
}

#[test]
fn every_reduce_combines_in_rank_order() {
    every_algorithm::<Reduce>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        for (kind, count) in Kind::each(COUNTS) {
            let expected = kind.result(0..size, count);
            for root in roots(size) {
                let mut mine = Numbers::new(&kind.operand(rank, count), kind.holes);
                let mut result = Numbers::new(&vec![0; count], kind.holes);
                let receive = (rank == root).then(|| result.block());
                let work = reduce(world(member), mine.block(), receive, kind.op(), root);
                if root == 0 {
                    let case = kind.case::<Reduce>(member, 8 * count);
                    forced.run::<Reduce, _>(member, (case, rank), work);
                } else {
                    now(member, work);
                }
                if rank == root {
                    assert_eq!(result.values(), expected);
                }
                assert_eq!(mine.values(), kind.operand(rank, count));
                // In place.
                let receive = (rank == root).then(|| mine.block());
                now(
                    member,
                    reduce(world(member), mine.block(), receive, kind.op(), root),
                );
                if rank == root {
                    assert_eq!(mine.values(), expected);
                }
            }
        }
    });
}

#[test]
fn every_allreduce_combines_everywhere() {
    every_algorithm::<Allreduce>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        for (kind, count) in Kind::each(COUNTS) {
            let expected = kind.result(0..size, count);
            let case = kind.case::<Allreduce>(member, 8 * count);
            let mut mine = Numbers::new(&kind.operand(rank, count), kind.holes);
            let mut result = Numbers::new(&vec![0; count], kind.holes);
            let work = allreduce(world(member), mine.block(), result.block(), kind.op());
            forced.run::<Allreduce, _>(member, (case, rank), work);
            assert_eq!(result.values(), expected);
            let both = mine.block();
            let work = allreduce(world(member), both.clone(), both, kind.op());
            forced.run::<Allreduce, _>(member, (case, rank), work);
            assert_eq!(mine.values(), expected);
        }
    });
}

#[test]
fn every_reduce_scatter_gives_parts() {
    every_algorithm::<ReduceScatter>(|member, forced| {
        let (rank, size) = (member.rank(), member.size());
        for (kind, count) in Kind::each(BLOCKS) {
            let case = kind.case::<ReduceScatter>(member, 8 * count);
            for equal in [true, false] {
                let part = |r: usize| if equal { count } else { (r + 1) % 3 * count };
                let counts: Vec<usize> = (0..size as usize).map(part).collect();
                let (total, own) = (counts.iter().sum(), counts[rank as usize]);
                let first: usize = counts[..rank as usize].iter().sum();
                let expected = kind.result(0..size, total)[first..first + own].to_vec();
                let mut all = Numbers::new(&kind.operand(rank, total), kind.holes);
                let mut mine = Numbers::new(&vec![0; own], kind.holes);
                let (send, receive) = (all.block(), mine.block());
                let work = reduce_scatter(world(member), send, receive, counts.clone(), kind.op());
                if equal {
                    forced.run::<ReduceScatter, _>(member, (case, rank), work);
                } else {
                    now(member, work);
                }
                assert_eq!(mine.values(), expected);
                assert_eq!(all.values(), kind.operand(rank, total));
                // In place: the part comes where the vector begins.
                let (send, receive) = (all.block(), all.block().part(0, own));
                let work = reduce_scatter(world(member), send, receive, counts, kind.op());
                now(member, work);
                assert_eq!(all.values()[..own], expected);
            }
        }
    });
}

#[test]
fn every_scan_covers_the_ranks_below() {
    every_algorithm::<Scan>(|member, forced| {
        let rank = member.rank();
        for (kind, count) in Kind::each(COUNTS) {
            let case = kind.case::<Scan>(member, 8 * count);
            let mut mine = Numbers::new(&kind.operand(rank, count), kind.holes);
            let mut result = Numbers::new(&vec![5; count], kind.holes);
            let work = scan(world(member), mine.block(), result.block(), kind.op());
            forced.run::<Scan, _>(member, (case, rank), work);
            assert_eq!(result.values(), kind.result(0..rank + 1, count));
            let mut both = Numbers::new(&kind.operand(rank, count), kind.holes);
            let block = both.block();
            now(member, scan(world(member), block.clone(), block, kind.op()));
            assert_eq!(both.values(), kind.result(0..rank + 1, count));
            let mut result = Numbers::new(&vec![5; count], kind.holes);
            let work = exscan(world(member), mine.block(), result.block(), kind.op());
            forced.run::<Scan, _>(member, (case, rank), work);
            let expected = if rank == 0 {
                vec![5; count]
            } else {
                kind.result(0..rank, count)
            };
            assert_eq!(result.values(), expected);
        }
    });
}
