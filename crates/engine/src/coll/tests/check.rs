// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=collectives`: members that disagree all get the same error, which names them, and can go on.

use super::*;
use crate::call::CallName;
use crate::completion;
use crate::create;
use crate::errors::Error;

fn checked(size: u32, body: impl Fn(&'static Member) + Sync) {
    let settings = Settings {
        check: Checks {
            collectives: true,
            ..Checks::default()
        },
        ..Settings::default()
    };
    on_members_with(&settings, size, |member| {
        body(member);
        // Nobody is left waiting.
        now(member, barrier(world(member)));
        now(member, barrier(world(member)));
    });
}

fn attempt(member: &'static Member, work: impl Future<Output = Result<()>>) -> Error {
    task::block_on(member.vci(), "test", work).unwrap_err()
}

/// The error has the class and says all the words.
fn tells(error: &Error, class: ErrorClass, words: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.class(), class, "{text}");
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

/// Longs that say that they are longs.
fn longs(numbers: &mut [i64]) -> Block {
    // SAFETY: the test keeps the numbers until the collective is complete.
    unsafe { Block::of(numbers.as_mut_ptr().cast(), numbers.len(), &long()) }
}

/// The same memory as doubles.
fn doubles(numbers: &mut [i64]) -> Block {
    let double = Predefined::find(predefined::DOUBLE).unwrap().datatype();
    // SAFETY: as above.
    unsafe { Block::of(numbers.as_mut_ptr().cast(), numbers.len(), double) }
}

#[test]
fn another_operation_is_named() {
    checked(3, |member| {
        let mut data = [0; 2];
        let error = match member.rank() {
            1 => attempt(member, barrier(world(member))),
            _ => attempt(member, bcast(world(member), longs(&mut data), 0)),
        };
        let words = [
            "the ranks disagree about the operation",
            "ranks 0, 2 said MPI_Bcast",
            "rank 1 said MPI_Barrier",
        ];
        tells(&error, ErrorClass::ERR_OTHER, &words);
    });
}

#[test]
fn another_root_is_named() {
    checked(4, |member| {
        let root = u32::from(member.rank() == 3);
        let mut data = [0; 2];
        let error = attempt(member, bcast(world(member), longs(&mut data), root));
        let words = ["root", "ranks 0..2 said 0", "rank 3 said 1"];
        tells(&error, ErrorClass::ERR_ROOT, &words);
    });
}

#[test]
fn another_reduction_is_named() {
    checked(2, |member| {
        let mut data = [1; 2];
        let both = longs(&mut data);
        let op = if member.rank() == 0 {
            sum()
        } else {
            composition(&long())
        };
        let error = attempt(member, allreduce(world(member), both.clone(), both, op));
        let words = [
            "rank 0 said MPI_SUM",
            "rank 1 said a user's operation that does not",
        ];
        tells(&error, ErrorClass::ERR_OP, &words);
    });
}

#[test]
fn another_count_is_named_and_another_type() {
    checked(5, |member| {
        let rank = member.rank();
        let mut data = vec![1; if rank == 4 { 3 } else { 2 }];
        let both = longs(&mut data);
        let error = attempt(member, scan(world(member), both.clone(), both, sum()));
        let words = [
            "amount of data",
            "ranks 0..3 said 2 of MPI_AINT (16 bytes)",
            "rank 4 said 3 of",
        ];
        tells(&error, ErrorClass::ERR_COUNT, &words);
        let mut data = [0; 2];
        let block = if rank == 2 {
            doubles(&mut data)
        } else {
            longs(&mut data)
        };
        let error = attempt(member, bcast(world(member), block, 0));
        let words = [
            "type signature",
            "rank 2 said 2 of MPI_DOUBLE",
            "ranks 0..1, 3..4 said",
        ];
        tells(&error, ErrorClass::ERR_TYPE, &words);
    });
}

#[test]
fn blocks_that_only_two_ranks_know_are_compared() {
    checked(4, |member| {
        let (rank, comm) = (member.rank(), world(member));
        let counts = [1usize, 2, 3, 4];
        // Rank 2 gives less than the root expects, and takes less than the root has.
        let own = if rank == 2 { 2 } else { counts[rank as usize] };
        let mut mine = vec![7; own];
        let mut all = Numbers::new(&[0; 10], false);
        let blocks = (rank == 1).then(|| all.blocks(&counts));
        let send = Some(longs(&mut mine));
        let work = gather(comm.clone(), send, blocks.clone(), 1, Sizes::Varying);
        let words = ["rank 2 said 2 of", "rank 1 said 24 bytes"];
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);
        let work = scatter(
            comm.clone(),
            blocks,
            Some(longs(&mut mine)),
            1,
            Sizes::Varying,
        );
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);
        // Rank 0 thinks another length of rank 3's block in an allgather.
        let known = if rank == 0 { [1, 2, 3, 5] } else { counts };
        let mut mine = vec![7; counts[rank as usize]];
        let mut all = Numbers::new(&[0; 11], false);
        let work = allgather(comm.clone(), Some(longs(&mut mine)), all.blocks(&known));
        let words = [
            "block of rank 3",
            "rank 0 said 40 bytes",
            "ranks 1..3 said 32 bytes",
        ];
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);
        // Rank 3 expects more of rank 0 than that sends.
        let out = [1usize; 4];
        let into = if rank == 3 { [2, 1, 1, 1] } else { out };
        let (mut sent, mut got) = (Numbers::new(&[0; 5], false), Numbers::new(&[0; 5], false));
        let (send, receive) = (Some(sent.blocks(&out)), got.blocks(&into));
        let work = alltoall(comm, send, receive, Sizes::Varying);
        let words = ["rank 0 said 8 bytes", "rank 3 said 16 bytes"];
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);
    });
}

#[test]
fn nonblocking_ones_are_compared_too() {
    checked(2, |member| {
        let comm = world(member);
        let mut data = [0; 2];
        let work = bcast(comm.clone(), longs(&mut data), member.rank());
        let mut wrong = task::spawn_collective(&comm, CallName::of("MPI_Ibcast"), work).unwrap();
        let mut right =
            task::spawn_collective(&comm, CallName::OTHER, barrier(comm.clone())).unwrap();
        completion::wait(member.vci(), &mut right, "test").unwrap();
        let error = completion::wait(member.vci(), &mut wrong, "test").unwrap_err();
        tells(
            &error,
            ErrorClass::ERR_ROOT,
            &[
                "MPI_Ibcast: the ranks disagree",
                "rank 0 said 0",
                "rank 1 said 1",
            ],
        );
    });
}

#[test]
fn one_that_is_in_progress_does_not_change_what_the_next_one_is() {
    for size in [2, 3] {
        checked(size, |member| {
            for _ in 0..100 {
                let comm = create::dup(&world(member), "test").unwrap();
                let (mut first, mut second) = ([1], [2]);
                let block = longs(&mut first);
                let work = allreduce(comm.clone(), block.clone(), block, sum());
                let mut request = task::spawn_collective(&comm, CallName::OTHER, work).unwrap();
                let block = longs(&mut second);
                now(member, allreduce(comm.clone(), block.clone(), block, sum()));
                completion::wait(member.vci(), &mut request, "test").unwrap();
                let size = i64::from(size);
                assert_eq!((first, second), ([size], [2 * size]));
                comm.free();
            }
        });
    }
}

#[test]
fn members_that_agree_get_what_they_want() {
    for size in [1, 2, 5, 8] {
        checked(size, |member| {
            let (rank, comm) = (member.rank(), world(member));
            let every = vec![2; size as usize];
            for _ in 0..3 {
                let mut data = vec![i64::from(rank); 2];
                let both = longs(&mut data);
                now(member, allreduce(comm.clone(), both.clone(), both, sum()));
                let total = i64::from(size * (size - 1) / 2);
                assert_eq!(data, [total; 2]);
                let both = longs(&mut data);
                let first = (rank == 0).then(|| both.clone());
                now(member, reduce(comm.clone(), both.clone(), first, sum(), 0));
                now(
                    member,
                    scan(comm.clone(), both.clone(), both.clone(), sum()),
                );
                now(member, exscan(comm.clone(), both.clone(), both, sum()));
                let mut all = vec![0; 2 * size as usize];
                let whole = longs(&mut all);
                let blocks = Blocks::equal(&whole, 2, size);
                for sizes in [Sizes::Equal, Sizes::Varying] {
                    let own = Some(longs(&mut data));
                    let root = (rank == size - 1).then(|| blocks.clone());
                    now(
                        member,
                        gather(comm.clone(), own.clone(), root.clone(), size - 1, sizes),
                    );
                    now(member, scatter(comm.clone(), root, own, size - 1, sizes));
                    now(member, alltoall(comm.clone(), None, blocks.clone(), sizes));
                }
                now(
                    member,
                    allgather(comm.clone(), Some(longs(&mut data)), blocks),
                );
                let part = longs(&mut data);
                let counts = every.clone();
                now(
                    member,
                    reduce_scatter(comm.clone(), whole, part, counts, sum()),
                );
            }
        });
    }
}

#[test]
fn makers_of_communicators_are_compared() {
    checked(3, |member| {
        let comm = member.world();
        let error = if member.rank() == 2 {
            attempt(member, barrier(comm.clone()))
        } else {
            crate::create::dup(comm, "test").err().unwrap()
        };
        let words = [
            "ranks 0..1 said a call that makes a communicator",
            "rank 2 said MPI_Barrier",
        ];
        tells(&error, ErrorClass::ERR_OTHER, &words);
        let made = crate::create::dup(comm, "test").unwrap();
        now(member, barrier(made));
    });
}

/// The lower and the upper half of the world.
fn two_groups(member: &'static Member) -> Arc<Comm> {
    use crate::create::{self, inter};
    let (rank, size) = (member.rank(), member.size());
    let comm = member.world();
    let upper = rank >= size / 2;
    let local = create::split(comm, i32::from(upper), 0, "test")
        .unwrap()
        .unwrap();
    let remote = if upper { 0 } else { size / 2 };
    let peer = (local.rank() == 0).then(|| Ok((comm.clone(), remote as i32)));
    inter::create(&local, 0, peer, 5, "test").unwrap()
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "the same two groups, operation by operation"
)]
fn two_groups_compare_their_data() {
    checked(5, |member| {
        let (rank, comm) = (member.rank(), two_groups(member));
        let upper = rank >= 2;
        let theirs: u32 = if upper { 2 } else { 3 };
        let mut data = [i64::from(rank); 9];
        let mut got = [0; 9];
        let block = |data: &mut [i64; 9], count: usize| longs(&mut data[..count]);

        // Allreduce: both groups have as much.
        let count = if upper { 3 } else { 2 };
        let work = allreduce(
            comm.clone(),
            block(&mut data, count),
            block(&mut got, count),
            sum(),
        );
        let words = ["groups disagree about the data", "2 of", "3 of", "24 bytes"];
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);
        // One rank of a group.
        let count = if rank == 1 { 3 } else { 2 };
        let work = allreduce(
            comm.clone(),
            block(&mut data, count),
            block(&mut got, count),
            sum(),
        );
        let error = attempt(member, work);
        if upper {
            tells(
                &error,
                ErrorClass::ERR_OTHER,
                &["ranks of the other group disagree"],
            );
        } else {
            let words = [
                "ranks disagree about the data",
                "rank 0 said 2 of",
                "rank 1 said 3 of",
            ];
            tells(&error, ErrorClass::ERR_COUNT, &words);
        }

        // Root 1 of the lower group broadcasts two; the upper one expects three.
        let root = match (upper, rank) {
            (true, _) => Root::Rank(1),
            (false, 1) => Root::Here,
            (false, _) => Root::Elsewhere,
        };
        let count = if upper { 3 } else { 2 };
        let work = bcast(comm.clone(), block(&mut data, count), root);
        let words = ["groups disagree about the data", "2 of", "3 of"];
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);

        // Rank 2 of the upper group gives the root two instead of one.
        let count = if rank == 4 { 2 } else { 1 };
        let blocks = Blocks::equal(&block(&mut got, 9), 1, 3);
        let receive = (rank == 1).then_some(blocks);
        let send = upper.then(|| block(&mut data, count));
        let work = gather(comm.clone(), send, receive, root, Sizes::Varying);
        let error = attempt(member, work);
        let giver = if upper {
            "rank 2 of this group said 2 of"
        } else {
            "rank 2 of the other group said 2 of"
        };
        tells(
            &error,
            ErrorClass::ERR_COUNT,
            &[giver, "rank 1 of", "said 1 of"],
        );

        // Everybody gives one; rank 0 of the lower group expects two of rank 1 of the upper one.
        let mut counts = vec![1; theirs as usize];
        if rank == 0 {
            counts[1] = 2;
        }
        let mut first = 0;
        let whole = block(&mut got, 9);
        let blocks = counts.iter().map(|&count| {
            first += count;
            whole.part(first as i64 - count as i64, count)
        });
        let blocks = Blocks(blocks.collect());
        let work = allgather(comm.clone(), Some(block(&mut data, 1)), blocks.clone());
        let error = attempt(member, work);
        let words = if upper {
            [
                "rank 1 of this group said 1 of",
                "rank 0 of the other one said 2 of",
            ]
        } else {
            [
                "rank 1 of the other group said 1 of",
                "rank 0 of this one said 2 of",
            ]
        };
        tells(&error, ErrorClass::ERR_COUNT, &words);
        let given = Blocks::equal(&block(&mut data, 9), 1, theirs);
        let work = alltoall(comm.clone(), Some(given), blocks, Sizes::Varying);
        tells(&attempt(member, work), ErrorClass::ERR_COUNT, &words);

        // Members that agree get the data.
        let blocks = Blocks::equal(&block(&mut got, 9), 1, theirs);
        now(
            member,
            allgather(comm.clone(), Some(block(&mut data, 1)), blocks),
        );
        let first = if upper { 0 } else { 2 };
        assert!((0..theirs).all(|index| got[index as usize] == i64::from(first + index)));
        now(member, barrier(comm));
    });
}

#[test]
fn two_groups_compare_calls_operations_and_roots() {
    checked(5, |member| {
        let (rank, comm) = (member.rank(), two_groups(member));
        let upper = rank >= 2;
        let mut data = [i64::from(rank); 2];
        // Another call in the upper group: all of both groups are told.
        let error = if upper {
            attempt(member, barrier(comm.clone()))
        } else {
            let both = longs(&mut data);
            attempt(member, allreduce(comm.clone(), both.clone(), both, sum()))
        };
        let words = [
            "the groups disagree about the operation",
            "MPI_Barrier",
            "MPI_Allreduce",
        ];
        tells(&error, ErrorClass::ERR_OTHER, &words);
        // One rank of the upper group alone.
        let mut got = [0; 2];
        let op = if rank == 3 {
            composition(&long())
        } else {
            sum()
        };
        let work = allreduce(comm.clone(), longs(&mut data), longs(&mut got), op);
        let error = attempt(member, work);
        if upper {
            let words = ["ranks 0, 2 said MPI_SUM", "rank 1 said a user's operation"];
            tells(&error, ErrorClass::ERR_OP, &words);
        } else {
            tells(
                &error,
                ErrorClass::ERR_OTHER,
                &["ranks of the other group disagree"],
            );
        }
        // The root is rank 1 of the lower group; the upper one names rank 0.
        let root = |named: u32| match (upper, rank) {
            (true, _) => Root::Rank(named),
            (false, 1) => Root::Here,
            (false, _) => Root::Elsewhere,
        };
        let work = bcast(comm.clone(), longs(&mut data), root(0));
        let words = [
            "groups disagree about the root",
            "MPI_ROOT at its rank 1",
            "rank 0 of the other",
        ];
        tells(&attempt(member, work), ErrorClass::ERR_ROOT, &words);
        // Members that agree get the data.
        now(member, bcast(comm.clone(), longs(&mut data), root(1)));
        assert_eq!(data[0], if upper { 1 } else { i64::from(rank) });
        let receive = (rank == 1).then(|| longs(&mut got));
        let op = if rank == 0 {
            composition(&long())
        } else {
            sum()
        };
        now(
            member,
            reduce(comm.clone(), longs(&mut data), receive, op, root(1)),
        );
        if rank == 1 {
            assert_eq!(got, [3; 2]);
        }
        now(member, barrier(comm));
    });
}
