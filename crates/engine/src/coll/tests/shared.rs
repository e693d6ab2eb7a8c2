// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives through memory that members share: many rounds, two ways into the same round, members that disagree, and
//! memory that is used again.

use ::algorithms::shared::buffer_bytes;
use sys::sync::Ordering;

use super::*;
use crate::coll::fast::Span;

/// More rounds than there are places, of roots that run ahead and of members that meet.
#[test]
fn rounds_of_all_kinds_follow_each_other() {
    for size in [2, 3, 8] {
        on_members(size, |member| {
            let (rank, comm) = (member.rank(), world(member));
            for number in 0..300 {
                let root = number % size;
                let count = [1, 6, 7, 700, 20_000][number as usize % 5];
                let mut block = Numbers::new(&vector(rank + number, count), false);
                match number % 4 {
                    0 => now(member, barrier(comm.clone())),
                    1 => {
                        now(member, bcast(comm.clone(), block.block(), root));
                        assert_eq!(block.values(), vector(root + number, count));
                    }
                    2 => {
                        let mut result = Numbers::new(&vec![0; count], false);
                        let receive = (rank == root).then(|| result.block());
                        let work = reduce(comm.clone(), block.block(), receive, sum(), root);
                        now(member, work);
                        let total = |index| (0..size).map(|r| value(r + number, index)).sum();
                        if rank == root {
                            assert!(result.values().iter().copied().eq((0..count).map(total)));
                        }
                    }
                    _ => {
                        let both = block.block();
                        now(member, allreduce(comm.clone(), both.clone(), both, sum()));
                        let total = |index| (0..size).map(|r| value(r + number, index)).sum();
                        assert!(block.values().iter().copied().eq((0..count).map(total)));
                    }
                }
            }
        });
    }
}

/// Lengths around those at which each of two members begins to combine half, and at which there is one step more.
#[test]
fn two_members_combine_half_each() {
    let most = buffer_bytes(2) / 8;
    on_members(2, |member| {
        let (rank, comm) = (member.rank(), world(member));
        now(member, barrier(comm.clone()));
        for multiple in [1, 2, 3, 4, 5, 8, 16, 17] {
            for count in [multiple * most - 1, multiple * most, multiple * most + 1] {
                for in_place in [false, true] {
                    let mut given = Numbers::new(&vector(rank, count), false);
                    let mut result = Numbers::new(&vec![0; count], false);
                    let send = given.block();
                    let receive = if in_place {
                        send.clone()
                    } else {
                        result.block()
                    };
                    now(member, allreduce(comm.clone(), send, receive, sum()));
                    let values = if in_place {
                        given.values()
                    } else {
                        result.values()
                    };
                    let total = |index| value(0, index) + value(1, index);
                    assert!(values.iter().copied().eq((0..count).map(total)), "{count}");
                    assert!(in_place || given.values() == vector(rank, count));
                }
            }
        }
    });
}

/// Short blocking collectives on the fast path mix with those that are futures.
#[test]
fn fast_paths_and_futures_meet_in_the_same_rounds() {
    for size in [2, 3, 7] {
        on_members(size, |member| {
            let (rank, comm) = (member.rank(), world(member));
            for number in 0..200_u32 {
                let fast = (rank + number).is_multiple_of(2);
                let mut mine = [value(rank, number as usize)];
                let mut all = [0i64];
                let send = Span::new(mine.as_mut_ptr().cast(), 8).unwrap();
                let receive = Span::new(all.as_mut_ptr().cast(), 8);
                // SAFETY: both hold one number.
                let done = fast
                    .then(|| unsafe {
                        fast::now::reduce("test", &comm, send, receive, 1, &sum(), None)
                    })
                    .flatten();
                match done {
                    Some(outcome) => outcome.unwrap(),
                    None => {
                        let datatype = long();
                        // SAFETY: as above.
                        let [send, receive] =
                            [mine.as_mut_ptr(), all.as_mut_ptr()].map(|at| unsafe {
                                Block::new(at.cast(), 1, datatype.shared_layout().clone())
                            });
                        now(member, allreduce(comm.clone(), send, receive, sum()));
                    }
                }
                let expected: i64 = (0..size).map(|r| value(r, number as usize)).sum();
                assert_eq!(all[0], expected);
            }
        });
    }
}

/// The same where the last member to arrive combines for all, and for blocks that take a part of a buffer or all of it.
#[test]
fn fast_paths_and_futures_meet_in_rounds_with_more_data() {
    for size in [2, 3, 8] {
        on_members(size, |member| {
            let (rank, comm) = (member.rank(), world(member));
            let mut fast_ones = 0;
            for number in 0..120_u32 {
                let count = [40, 256, 1, 129, 255][number as usize % 5];
                let fast = !(rank + number).is_multiple_of(3);
                let exchanges = number.is_multiple_of(2);
                let blocks = if exchanges { size as usize } else { 1 };
                let mut mine = vector(rank + number, count * blocks);
                let mut all = vec![-1i64; count * blocks];
                let bytes = 8 * count * blocks;
                let send = Span::new(mine.as_mut_ptr().cast(), bytes).unwrap();
                let receive = Span::new(all.as_mut_ptr().cast(), bytes).unwrap();
                // SAFETY: both hold as many numbers.
                let done = fast
                    .then(|| unsafe {
                        if exchanges {
                            fast::now::alltoall("test", &comm, send, receive)
                        } else {
                            let into = Some(receive);
                            fast::now::reduce("test", &comm, send, into, count, &sum(), None)
                        }
                    })
                    .flatten();
                fast_ones += u32::from(done.is_some());
                let datatype = long();
                // SAFETY: as above.
                let [send, receive] = [mine.as_mut_ptr(), all.as_mut_ptr()].map(|at| unsafe {
                    Block::new(at.cast(), count * blocks, datatype.shared_layout().clone())
                });
                match done {
                    Some(outcome) => outcome.unwrap(),
                    None if exchanges => {
                        let [send, receive] =
                            [send, receive].map(|block| Blocks::equal(&block, count, size));
                        let work = alltoall(comm.clone(), Some(send), receive, Sizes::Equal);
                        now(member, work);
                    }
                    None => now(member, allreduce(comm.clone(), send, receive, sum())),
                }
                let expected: Vec<i64> = if exchanges {
                    let own = rank as usize * count;
                    let blocks = (0..size).map(|from| vector(from + number, count * blocks));
                    blocks
                        .flat_map(|block| block[own..own + count].to_vec())
                        .collect()
                } else {
                    let total = |index| (0..size).map(|from| value(from + number, index)).sum();
                    (0..count).map(total).collect()
                };
                assert_eq!(all, expected, "{number} on rank {rank} of {size}");
            }
            // Two thirds of all but the first ones, which come before the area.
            let has_area = member.settings().shared_collectives != 0;
            assert_eq!(fast_ones > 70, has_area, "{fast_ones}");
        });
    }
}

/// The same for what goes from member to member, of which those below run ahead: more rounds than there are lines, with data
/// beside the stamp and longer ones.
#[test]
fn fast_paths_and_futures_pass_on_the_same_rounds() {
    for size in [2, 3, 7] {
        on_members(size, |member| {
            let (rank, comm) = (member.rank(), world(member));
            for number in 0..400_u32 {
                let count = [1, 7, 40, 200][number as usize % 4];
                let inclusive = number % 3 > 0;
                let fast = (rank + number).is_multiple_of(2);
                let mut mine = vector(rank + number, count);
                let mut result = vec![-1i64; count];
                let send = Span::new(mine.as_mut_ptr().cast(), 8 * count).unwrap();
                let receive = Span::new(result.as_mut_ptr().cast(), 8 * count).unwrap();
                let op = sum();
                // SAFETY: both hold as many numbers.
                let done = fast
                    .then(|| unsafe {
                        fast::now::prefix("test", &comm, send, receive, count, &op, inclusive)
                    })
                    .flatten();
                match done {
                    Some(outcome) => outcome.unwrap(),
                    None => {
                        let datatype = long();
                        // SAFETY: as above.
                        let [send, receive] =
                            [mine.as_mut_ptr(), result.as_mut_ptr()].map(|at| unsafe {
                                Block::new(at.cast(), count, datatype.shared_layout().clone())
                            });
                        if inclusive {
                            now(member, scan(comm.clone(), send, receive, op));
                        } else {
                            now(member, exscan(comm.clone(), send, receive, op));
                        }
                    }
                }
                let below = rank + u32::from(inclusive);
                let total = |index| match below {
                    0 => -1,
                    _ => (0..below).map(|r| value(r + number, index)).sum(),
                };
                assert!(result.iter().copied().eq((0..count).map(total)), "{number}");
            }
        });
    }
}

/// The same for blocks that a root publishes together, and each at the place of its member.
#[test]
fn fast_paths_and_futures_scatter_in_the_same_rounds() {
    for size in [2, 3, 7] {
        on_members(size, |member| {
            let (rank, comm) = (member.rank(), world(member));
            for number in 0..400_u32 {
                let count = [1, 2, 7, 40, 200][number as usize % 5];
                let root = number / 7 % size;
                let whole = |of: u32| (0..size).flat_map(move |r| vector(r + of, count));
                let mut blocks = Numbers::new(&whole(number).collect::<Vec<_>>(), false);
                let mut mine = Numbers::new(&vec![0; count], false);
                let bytes = 8 * count;
                let (all, own) = (blocks.block(), mine.block());
                let send = Span::new(all.base.0, bytes * size as usize);
                let receive = Span::new(own.base.0, bytes);
                let send = send.filter(|_| rank == root);
                // SAFETY: both hold as many numbers.
                let done = (rank + number)
                    .is_multiple_of(2)
                    .then(|| unsafe { fast::now::scatter("test", &comm, send, receive, root) })
                    .flatten();
                match done {
                    Some(outcome) => outcome.unwrap(),
                    None => {
                        let counts = vec![count; size as usize];
                        let send = (rank == root).then(|| blocks.blocks(&counts));
                        let work = scatter(comm.clone(), send, Some(own), root, Sizes::Equal);
                        now(member, work);
                    }
                }
                assert_eq!(mine.values(), vector(rank + number, count), "{number}");
            }
        });
    }
}

#[test]
fn members_that_disagree_are_told_so() {
    if !shares_memory() {
        return;
    }
    on_members_with(&Settings::default(), 3, |member| {
        let comm = world(member);
        now(member, barrier(comm.clone()));
        now(member, barrier(comm.clone()));
        let count = if member.rank() == 1 { 3 } else { 4 };
        let mut numbers = Numbers::new(&vector(0, count), false);
        let block = numbers.block();
        let work = allreduce(comm.clone(), block.clone(), block, sum());
        let error = task::block_on(member.vci(), "test", work).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_TRUNCATE);
        // Rank 1 names whom it met first.
        let (others, told): (&[u32], _) = match member.rank() {
            1 => (&[0, 2], "takes part with 32 bytes, this rank with 24"),
            _ => (&[1], "takes part with 24 bytes, this rank with 32"),
        };
        let text = error.to_string();
        let is_told = |other| text.contains(&format!("rank {other} {told}"));
        assert!(others.iter().any(is_told), "{error}");
        let outcome = if member.rank() == 2 {
            let work = bcast(comm.clone(), numbers.block(), 2);
            task::block_on(member.vci(), "test", work)
        } else {
            task::block_on(member.vci(), "test", barrier(comm.clone()))
        };
        match outcome {
            Ok(()) => assert_eq!(member.rank(), 2),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("rank 2 is in another collective"), "{text}");
            }
        }
        now(member, barrier(comm));
    });
}

/// The memory of a freed communicator serves the next one.
#[test]
fn areas_are_used_again() {
    on_members_with(&Settings::default(), 2, |member| {
        let comm = world(member);
        let mut used = Vec::new();
        for _ in 0..200 {
            let twin = crate::create::dup(&comm, "test").unwrap();
            for _ in 0..3 {
                now(member, barrier(twin.clone()));
            }
            twin.free();
            drop(twin);
            now(member, barrier(comm.clone()));
            let top = member.node().header().heap_top.load(Ordering::Relaxed);
            used.push(top);
        }
        // The first ones need rings and pages of their own.
        assert_eq!(used[20], used[199]);
    });
}
