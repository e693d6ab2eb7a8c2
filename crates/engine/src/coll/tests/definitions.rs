// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every collective against its definition.

use super::*;

#[test]
fn barrier_holds_everyone_until_the_last_has_come() {
    use sys::sync::{AtomicU32, Ordering};
    for size in RANKS {
        let arrived = AtomicU32::new(0);
        on_members(size, |member| {
            for coll in 1..=20 {
                arrived.fetch_add(1, Ordering::Relaxed);
                now(member, barrier(world(member)));
                assert!(arrived.load(Ordering::Relaxed) >= coll * size);
                now(member, barrier(world(member)));
            }
        });
    }
}

#[test]
fn broadcast_reaches_everyone() {
    for size in RANKS {
        on_members(size, |member| {
            for root in 0..size {
                for (count, holes) in [
                    (0, false),
                    (1, true),
                    (1000, false),
                    (20_011, true),
                    (20_011, false),
                ] {
                    let mine = if member.rank() == root {
                        vector(root, count)
                    } else {
                        vec![0; count]
                    };
                    let mut numbers = Numbers::new(&mine, holes);
                    now(member, bcast(world(member), numbers.block(), root));
                    assert_eq!(numbers.values(), vector(root, count));
                }
            }
        });
    }
}

#[test]
fn gather_and_scatter_are_inverse() {
    for size in RANKS {
        on_members(size, |member| {
            let rank = member.rank();
            for root in 0..size {
                for (count, holes) in [(0, false), (3, false), (3, true), (700, true)] {
                    let everything: Vec<i64> =
                        (0..size).flat_map(|rank| vector(rank, count)).collect();
                    let mut mine = Numbers::new(&vector(rank, count), holes);
                    let mut all = Numbers::new(&vec![0; count * size as usize], !holes);
                    let at_root = rank == root;
                    let counts = vec![count; size as usize];
                    let receive = at_root.then(|| all.blocks(&counts));
                    let send = Some(mine.block());
                    now(
                        member,
                        gather(world(member), send, receive, root, Sizes::Equal),
                    );
                    if at_root {
                        assert_eq!(all.values(), everything);
                    }
                    let mut back = Numbers::new(&vec![0; count], holes);
                    let (send, receive) =
                        (at_root.then(|| all.blocks(&counts)), Some(back.block()));
                    now(
                        member,
                        scatter(world(member), send, receive, root, Sizes::Equal),
                    );
                    assert_eq!(back.values(), vector(rank, count));
                }
            }
        });
    }
}

#[test]
fn root_may_gather_and_scatter_in_place() {
    for size in [1, 4, 7] {
        on_members(size, |member| {
            let rank = member.rank();
            for (root, count) in [(0, 2), (size - 1, 2), (size / 2, 400)] {
                let at_root = rank == root;
                let counts = vec![count; size as usize];
                let mut all = vec![0; count * size as usize];
                all[root as usize * count..][..count].copy_from_slice(&vector(root, count));
                let mut all = Numbers::new(&all, false);
                let mut mine = Numbers::new(&vector(rank, count), false);
                let send = (!at_root).then(|| mine.block());
                let receive = at_root.then(|| all.blocks(&counts));
                now(
                    member,
                    gather(world(member), send, receive, root, Sizes::Equal),
                );
                let mut back = Numbers::new(&vec![0; count], false);
                let send = at_root.then(|| all.blocks(&counts));
                let receive = (!at_root).then(|| back.block());
                now(
                    member,
                    scatter(world(member), send, receive, root, Sizes::Equal),
                );
                if at_root {
                    let all = all.values();
                    assert!((0..size).all(|r| all[r as usize * count] == value(r, 0)));
                } else {
                    assert_eq!(back.values(), vector(rank, count));
                }
            }
        });
    }
}

#[test]
fn blocks_may_differ_in_length() {
    for size in RANKS {
        on_members(size, |member| {
            let rank = member.rank();
            for scale in [0, 1, 900] {
                let counts: Vec<usize> = (0..size as usize)
                    .map(|r| (r * 5 + 3) % 4 * scale)
                    .collect();
                let count = counts[rank as usize];
                let everything: Vec<i64> = (0..size)
                    .flat_map(|r| vector(r, counts[r as usize]))
                    .collect();
                let mut mine = Numbers::new(&vector(rank, count), true);
                let mut all = Numbers::new(&vec![0; everything.len()], false);
                let send = Some(mine.block());
                now(member, allgather(world(member), send, all.blocks(&counts)));
                assert_eq!(all.values(), everything);

                let root = size / 2;
                let mut all = Numbers::new(&vec![0; everything.len()], true);
                let receive = (rank == root).then(|| all.blocks(&counts));
                let send = Some(mine.block());
                now(
                    member,
                    gather(world(member), send, receive, root, Sizes::Varying),
                );
                if rank == root {
                    assert_eq!(all.values(), everything);
                }
                let mut back = Numbers::new(&vec![0; count], false);
                let (send, receive) = (
                    (rank == root).then(|| all.blocks(&counts)),
                    Some(back.block()),
                );
                now(
                    member,
                    scatter(world(member), send, receive, root, Sizes::Varying),
                );
                assert_eq!(back.values(), vector(rank, count));
            }
        });
    }
}

#[test]
fn allgather_in_place_keeps_the_own_block() {
    for size in RANKS {
        on_members(size, |member| {
            for count in [1, 3000] {
                let rank = member.rank();
                let mut all = vec![0; count * size as usize];
                all[rank as usize * count..][..count].copy_from_slice(&vector(rank, count));
                let mut all = Numbers::new(&all, false);
                let blocks = all.blocks(&vec![count; size as usize]);
                now(member, allgather(world(member), None, blocks));
                let everything: Vec<i64> = (0..size).flat_map(|r| vector(r, count)).collect();
                assert_eq!(all.values(), everything);
            }
        });
    }
}

#[test]
fn all_to_all_transposes() {
    for size in [1, 2, 3, 8, 9, 13, 16] {
        on_members(size, |member| {
            let rank = member.rank();
            let element =
                |from: u32, to: u32, index: usize| value(from, index) * 31 + i64::from(to);
            for (count, holes) in [
                (0, false),
                (1, false),
                (5, true),
                (900, true),
                (9000, false),
            ] {
                let counts = vec![count; size as usize];
                let sent: Vec<i64> = (0..size)
                    .flat_map(|to| (0..count).map(move |index| element(rank, to, index)))
                    .collect();
                let expected: Vec<i64> = (0..size)
                    .flat_map(|from| (0..count).map(move |index| element(from, rank, index)))
                    .collect();
                let mut out = Numbers::new(&sent, holes);
                let mut into = Numbers::new(&vec![0; sent.len()], false);
                for sizes in [Sizes::Equal, Sizes::Varying] {
                    into.memory.fill(0);
                    let (send, receive) = (Some(out.blocks(&counts)), into.blocks(&counts));
                    now(member, alltoall(world(member), send, receive, sizes));
                    assert_eq!(into.values(), expected);
                    let mut swapped = Numbers::new(&sent, holes);
                    let receive = swapped.blocks(&counts);
                    now(member, alltoall(world(member), None, receive, sizes));
                    assert_eq!(swapped.values(), expected);
                }
            }
        });
    }
}

#[test]
fn all_to_all_blocks_may_differ() {
    for size in [2, 5, 8] {
        on_members(size, |member| {
            let rank = member.rank();
            let count = |from: u32, to: u32| ((from * 3 + to * 5) % 4 * 50) as usize;
            let counts_out: Vec<usize> = (0..size).map(|to| count(rank, to)).collect();
            let counts_in: Vec<usize> = (0..size).map(|from| count(from, rank)).collect();
            let sent: Vec<i64> = (0..size)
                .flat_map(|to| vector(rank * 100 + to, count(rank, to)))
                .collect();
            let expected: Vec<i64> = (0..size)
                .flat_map(|from| vector(from * 100 + rank, count(from, rank)))
                .collect();
            let mut out = Numbers::new(&sent, true);
            let mut into = Numbers::new(&vec![0; expected.len()], false);
            let (send, receive) = (Some(out.blocks(&counts_out)), into.blocks(&counts_in));
            now(
                member,
                alltoall(world(member), send, receive, Sizes::Varying),
            );
            assert_eq!(into.values(), expected);
        });
    }
}

/// Counts on both sides of the thresholds of reductions, with and without holes.
const LENGTHS: [(usize, bool); 6] = [
    (0, false),
    (1, false),
    (2, true),
    (1000, false),
    (8200, true),
    (8203, false),
];

#[test]
fn reductions_combine_in_rank_order() {
    for size in RANKS {
        on_members(size, |member| {
            let rank = member.rank();
            for (count, holes) in LENGTHS {
                let datatype = if holes { sparse() } else { long() };
                let (op, expected) = (composition(&datatype), composed(0..size, count));
                let mut mine = Numbers::new(&maps(rank, count), holes);
                let mut result = Numbers::new(&vec![0; count], holes);
                now(
                    member,
                    allreduce(world(member), mine.block(), result.block(), op.clone()),
                );
                assert_eq!(result.values(), expected, "allreduce of {count}");
                for root in 0..size {
                    let mut result = Numbers::new(&vec![0; count], holes);
                    let receive = (rank == root).then(|| result.block());
                    now(
                        member,
                        reduce(world(member), mine.block(), receive, op.clone(), root),
                    );
                    let expected = if rank == root {
                        expected.clone()
                    } else {
                        vec![0; count]
                    };
                    assert_eq!(result.values(), expected, "reduce of {count} to {root}");
                }
                assert_eq!(mine.values(), maps(rank, count));
            }
        });
    }
}

#[test]
fn reductions_work_in_place() {
    for size in RANKS {
        on_members(size, |member| {
            let rank = member.rank();
            for (count, _) in LENGTHS {
                let expected: Vec<i64> = (0..count)
                    .map(|index| (0..size).map(|rank| value(rank, index)).sum())
                    .collect();
                let mut both = Numbers::new(&vector(rank, count), false);
                let block = both.block();
                now(
                    member,
                    allreduce(world(member), block.clone(), block, sum()),
                );
                assert_eq!(both.values(), expected);
                let root = size - 1;
                let mut both = Numbers::new(&vector(rank, count), false);
                let receive = (rank == root).then(|| both.block());
                now(
                    member,
                    reduce(world(member), both.block(), receive, sum(), root),
                );
                if rank == root {
                    assert_eq!(both.values(), expected);
                }
            }
        });
    }
}

#[test]
fn reduce_scatter_gives_everyone_a_part() {
    for size in RANKS {
        on_members(size, |member| {
            let rank = member.rank() as usize;
            for (scale, holes) in [(0, false), (1, false), (1, true), (600, true), (600, false)] {
                let counts: Vec<usize> = (0..size as usize).map(|r| (r + 2) % 4 * scale).collect();
                let (total, own) = (counts.iter().sum(), counts[rank]);
                let first: usize = counts[..rank].iter().sum();
                let datatype = if holes { sparse() } else { long() };
                let expected = composed(0..size, total)[first..first + own].to_vec();
                let mut all = Numbers::new(&maps(rank as u32, total), holes);
                let mut part = Numbers::new(&vec![0; own], holes);
                let (send, receive) = (all.block(), part.block());
                let op = composition(&datatype);
                let work = reduce_scatter(
                    world(member),
                    send.clone(),
                    receive,
                    counts.clone(),
                    op.clone(),
                );
                now(member, work);
                assert_eq!(part.values(), expected);
                assert_eq!(all.values(), maps(rank as u32, total));
                let in_place = send.part(0, own);
                now(
                    member,
                    reduce_scatter(world(member), send, in_place, counts, op),
                );
                assert_eq!(all.values()[..own], expected);
            }
        });
    }
}

#[test]
fn prefixes_cover_the_ranks_below() {
    for size in RANKS {
        on_members(size, |member| {
            let rank = member.rank();
            for (count, holes) in [(0, false), (1, true), (5000, false)] {
                let datatype = if holes { sparse() } else { long() };
                let op = composition(&datatype);
                let mut mine = Numbers::new(&maps(rank, count), holes);
                let mut result = Numbers::new(&vec![5; count], holes);
                now(
                    member,
                    scan(world(member), mine.block(), result.block(), op.clone()),
                );
                assert_eq!(result.values(), composed(0..rank + 1, count));
                result = Numbers::new(&vec![5; count], holes);
                now(
                    member,
                    exscan(world(member), mine.block(), result.block(), op.clone()),
                );
                let expected = if rank == 0 {
                    vec![5; count]
                } else {
                    composed(0..rank, count)
                };
                assert_eq!(result.values(), expected);
            }
        });
    }
}
