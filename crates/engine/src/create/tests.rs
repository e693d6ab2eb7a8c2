// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators on ranks that are threads of one program.

use std::sync::Arc;

use fabric::board::{ContextText, NAMED};
use sys::sync::Ordering;

use super::inter;
use super::members as create;
use super::members::{UNDEFINED, create_from_group, create_group, dup, idup, split};
use crate::coll;
use crate::comm::Comm;
use crate::comm::Process;
use crate::completion;
use crate::errors::ErrorClass;
use crate::group::{Comparison, Group};
use crate::identity::{LinkIndex, PeerIndex, Rank};
use crate::task::block_on;
use crate::testing::on_ranks;

fn members(comm: &Comm) -> Vec<u32> {
    comm.group().members().to_vec()
}

/// Everyone's word, which shows that the members agree on the context.
fn words(comm: &Arc<Comm>, word: u64) -> Vec<u64> {
    block_on(
        comm.vci(),
        "test",
        coll::gather_words(comm.clone(), &[word]),
    )
    .unwrap()
}

/// Checks that a communicator has these members and works.
fn check(process: &'static Process, comm: &Arc<Comm>, expected: &[u32]) {
    assert_eq!(members(comm), expected);
    assert_eq!(expected[comm.rank() as usize], process.rank());
    let told: Vec<u64> = expected.iter().map(|&member| u64::from(member)).collect();
    assert_eq!(words(comm, u64::from(process.rank())), told);
    let contexts = words(comm, u64::from(comm.context()));
    assert!(contexts.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn split_orders_by_key_and_rank() {
    for size in [1, 2, 5, 8] {
        on_ranks(size, |process| {
            let (rank, world) = (process.rank(), process.world());
            let color = (rank % 3) as i32;
            let made = split(world, color, -((rank / 3) as i32), "test").unwrap();
            let mut expected: Vec<u32> = (0..size).filter(|r| r % 3 == rank % 3).collect();
            expected.reverse();
            check(process, &made.unwrap(), &expected);
            let color = if rank == 0 { UNDEFINED } else { 7 };
            let rest = split(world, color, 0, "test").unwrap();
            assert_eq!(rest.is_none(), rank == 0);
            if let Some(rest) = rest {
                check(process, &rest, &(1..size).collect::<Vec<_>>());
            }
            let error = split(world, -5, 0, "test").err().unwrap();
            assert_eq!(error.class(), ErrorClass::ERR_ARG);
        });
    }
}

/// The text for this process's communicator in reports.
fn told(process: &Process, context: u32) -> Option<String> {
    let board = process.node().board(PeerIndex::new(process.rank()));
    let held = |place: &&ContextText| place.word.load(Ordering::Relaxed) & !NAMED;
    let place = board
        .contexts
        .iter()
        .find(|place| held(place) == u64::from(context) + 1)?;
    let words = place
        .text
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
    let len = place.len.load(Ordering::Relaxed) as usize;
    Some(String::from_utf8(words.take(len).collect()).unwrap())
}

#[test]
fn reports_know_names_and_origins_until_a_communicator_is_gone() {
    on_ranks(4, |process| {
        let world = process.world();
        let twin = dup(world, "MPI_Comm_dup").unwrap();
        let tell = |comm: &Arc<Comm>| told(process, comm.context());
        assert_eq!(tell(&twin).unwrap(), "dup of MPI_COMM_WORLD, 4 ranks");
        twin.set_name("solver");
        assert_eq!(tell(&twin).unwrap(), "solver");
        let color = (process.rank() == 3).into();
        let part = split(&twin, color, 0, "MPI_Comm_split").unwrap().unwrap();
        let expected = ["split of solver, 3 ranks", "split of solver, 1 rank"];
        assert_eq!(tell(&part).unwrap(), expected[color as usize]);
        let group = Group::new(vec![0, 1, 2, 3]);
        let made = create_group(
            &part,
            &Group::new(vec![process.rank()]),
            1,
            "MPI_Comm_create_group",
        );
        let made = made.unwrap().unwrap();
        let of = format!("create_group of context {}, 1 rank", part.context());
        assert_eq!(tell(&made).unwrap(), of);
        let context = made.context();
        made.free();
        assert_eq!(told(process, context), None);
        // Texts of what comes and goes do not fill the board.
        for _ in 0..100 {
            dup(world, "MPI_Comm_dup").unwrap().free();
        }
        let again = create_from_group(process, &group, "again", "MPI_Comm_create_from_group");
        let (again, mut request) = idup(&again.unwrap().unwrap()).unwrap();
        completion::wait(process.vci(), &mut request, "test").unwrap();
        assert!(tell(&again).unwrap().starts_with("dup of context "));
    });
}

#[test]
fn duplicates_are_congruent_and_many() {
    on_ranks(4, |process| {
        let world = process.world();
        let mut made = vec![dup(world, "test").unwrap()];
        for _ in 0..50 {
            let next = dup(&made[made.len() - 1], "test").unwrap();
            check(process, &next, &[0, 1, 2, 3]);
            assert_eq!(next.compare(world), Comparison::Congruent);
            assert_eq!(next.compare(&next), Comparison::Identical);
            made.push(next);
        }
        let contexts: std::collections::HashSet<u32> =
            made.iter().map(|comm| comm.context()).collect();
        assert_eq!(contexts.len(), made.len());
        made.iter().for_each(|comm| comm.free());
    });
}

#[test]
fn nonblocking_duplicates_agree_while_others_do() {
    on_ranks(4, |process| {
        let mut parents = vec![process.world().clone(), halves(process, 4, 1)];
        parents.push(dup(process.world(), "test").unwrap());
        let mut started: Vec<_> = (0..6).map(|n| idup(&parents[n % 3]).unwrap()).collect();
        if process.rank() % 2 == 1 {
            started.reverse();
        }
        for (_, request) in &mut started {
            completion::wait(process.vci(), request, "test").unwrap();
        }
        if process.rank() % 2 == 1 {
            started.reverse();
        }
        for (n, (comm, _)) in started.iter().enumerate() {
            if n % 3 == 1 {
                let merged = inter::merge(comm, process.rank() > 0, "test").unwrap();
                check(process, &merged, &[0, 1, 2, 3]);
            } else {
                check(process, comm, &[0, 1, 2, 3]);
            }
        }
    });
}

#[test]
fn groups_make_communicators() {
    on_ranks(6, |process| {
        let (rank, world) = (process.rank(), process.world());
        // Disjoint groups in one call.
        let half: Vec<u32> = (0..6).rev().filter(|r| r % 2 == rank % 2).collect();
        let made = create::create(world, &Group::new(half.clone()), "test").unwrap();
        check(process, &made.unwrap(), &half);
        let some = Group::new([4, 0, 3]);
        let made = create::create(world, &some, "test").unwrap();
        assert_eq!(made.is_some(), some.rank_of(rank).is_some());
        if let Some(comm) = made {
            check(process, &comm, &[4, 0, 3]);
            // Only the members call these.
            let pair = Group::new([3, 4]);
            if let Some(comm) = create_group(&comm, &pair, 9, "test").unwrap() {
                check(process, &comm, &[3, 4]);
            }
            let comm = create_from_group(process, &some, "org.example.some", "test");
            check(process, &comm.unwrap().unwrap(), &[4, 0, 3]);
            let outsider = create::create(&comm_of(process), &Group::new([1]), "test");
            assert_eq!(outsider.is_err(), rank != 1);
        }
    });
}

fn comm_of(process: &'static Process) -> Arc<Comm> {
    process.itself().clone()
}

/// The two halves of the world, connected.
fn halves(process: &'static Process, size: u32, low: u32) -> Arc<Comm> {
    let (rank, world) = (process.rank(), process.world());
    let upper = rank >= low;
    let local = split(world, i32::from(upper), 0, "test").unwrap().unwrap();
    let local_leader = local.size() - 1;
    let remote_leader = if upper { low - 1 } else { size - 1 };
    let peer = (local.rank() == local_leader).then(|| Ok((world.clone(), remote_leader as i32)));
    let connected = inter::create(&local, local_leader, peer, 12, "test").unwrap();
    local.free();
    connected
}

#[test]
fn intercommunicators_connect_merge_and_split() {
    for (size, low) in [(2, 1), (5, 2), (7, 6)] {
        on_ranks(size, |process| {
            let rank = process.rank();
            let (lower, upper): (Vec<u32>, Vec<u32>) = (0..size).partition(|&r| r < low);
            let (mine, theirs) = if rank < low {
                (&lower, &upper)
            } else {
                (&upper, &lower)
            };
            let first = halves(process, size, low);
            let copy = dup(&first, "test").unwrap();
            assert_eq!(copy.compare(&first), Comparison::Congruent);
            for comm in [&first, &copy] {
                assert_eq!(&members(comm), mine);
                assert_eq!(comm.remote_group().unwrap().members(), &theirs[..]);
                for high_side in [false, true] {
                    let high = (rank < low) == high_side;
                    let merged = inter::merge(comm, high, "test").unwrap();
                    let expected = if high_side {
                        [&upper[..], &lower[..]].concat()
                    } else {
                        [&lower[..], &upper[..]].concat()
                    };
                    check(process, &merged, &expected);
                }
                let merged = inter::merge(comm, true, "test").unwrap();
                check(process, &merged, &(0..size).collect::<Vec<_>>());
            }
            let part = split(&copy, (rank % 2) as i32, 0, "test").unwrap();
            let same = |ranks: &[u32]| -> Vec<u32> {
                let same = ranks.iter().copied().filter(|r| r % 2 == rank % 2);
                same.collect()
            };
            assert_eq!(part.is_some(), !same(theirs).is_empty());
            if let Some(part) = part {
                assert_eq!(members(&part), same(mine));
                assert_eq!(part.remote_group().unwrap().members(), same(theirs));
                let merged = inter::merge(&part, false, "test").unwrap();
                assert_eq!(
                    merged.size() as usize,
                    same(mine).len() + same(theirs).len()
                );
            }
            assert!(inter::merge(process.world(), false, "test").is_err());
            copy.free();
            first.free();
        });
    }
}

#[test]
fn groups_connect_without_a_common_communicator() {
    on_ranks(5, |process| {
        let (low, high) = (Group::new([1, 0]), Group::new([4, 3, 2]));
        let (mine, theirs) = if process.rank() < 2 {
            ((&low, 1), (&high, 2))
        } else {
            ((&high, 2), (&low, 1))
        };
        let comm = inter::create_from_groups(process, mine, theirs, "org.example", "test").unwrap();
        assert_eq!(comm.group(), mine.0);
        assert_eq!(comm.remote_group(), Some(theirs.0));
        let merged = inter::merge(&comm, process.rank() >= 2, "test").unwrap();
        check(process, &merged, &[1, 0, 4, 3, 2]);
    });
}

/// Messages from a process with any rank are told by the rank in the communicator they came on.
#[test]
fn ranks_of_peers_are_found_in_every_kind_of_map() {
    on_ranks(8, |process| {
        for ranks in [
            vec![0, 1, 2, 3, 4, 5, 6, 7],
            vec![7, 6, 5, 4, 3, 2, 1, 0],
            vec![6, 4, 2, 0, 1, 3, 5, 7],
        ] {
            let group = Group::new(ranks.clone());
            let comm = create::create(process.world(), &group, "test")
                .unwrap()
                .unwrap();
            for (rank, peer) in (0..)
                .map(Rank::new)
                .zip(ranks.iter().map(|&it| LinkIndex::new(it)))
            {
                assert_eq!(comm.rank_of_peer(peer), rank.to_mpi());
                assert_eq!(comm.peer(rank), peer);
            }
        }
        let evens = split(process.world(), (process.rank() % 2) as i32, 0, "test");
        let evens = evens.unwrap().unwrap();
        let other = (process.rank() + 1) % 2;
        assert_eq!(evens.rank_of_peer(LinkIndex::new(other)), -1);
        assert_eq!(
            evens.rank_of_peer(LinkIndex::new(process.rank())),
            evens.rank()
        );
    });
}

#[test]
fn duplicates_that_come_and_go_leave_nothing() {
    on_ranks(3, |process| {
        let world = process.world();
        let before = process.alive();
        for cycle in 0..10_000 {
            let made = dup(world, "test").unwrap();
            if cycle % 100 == 0 {
                // Used often enough to get memory that the members share.
                for _ in 0..3 {
                    words(&made, cycle);
                }
            }
            made.free();
        }
        assert_eq!(process.alive(), before);
        let contexts: std::collections::HashSet<u32> = (0..5000)
            .map(|_| {
                let made = dup(world, "test").unwrap();
                made.free();
                made.context()
            })
            .collect();
        assert_eq!(contexts.len(), 4096);
    });
}

#[test]
fn ten_thousand_communicators_are_alive_at_once() {
    on_ranks(2, |process| {
        let world = process.world();
        let made: Vec<_> = (0..10_000).map(|_| dup(world, "test").unwrap()).collect();
        for (number, comm) in made.iter().enumerate() {
            assert_eq!(words(comm, number as u64), [number as u64; 2]);
        }
        // In an order that is neither that of their making nor its reverse.
        for start in 0..7 {
            made.iter()
                .skip(start)
                .step_by(7)
                .for_each(|comm| comm.free());
        }
        assert_eq!(process.alive(), 2);
    });
}

#[test]
fn many_nonblocking_duplicates_are_in_progress_at_once() {
    on_ranks(3, |process| {
        let world = process.world();
        let mut started: Vec<_> = (0..300).map(|_| idup(world).unwrap()).collect();
        for iteration in 0..300 {
            // Each rank waits in another order.
            let index = (iteration * 7 + process.rank() as usize * 100) % 300;
            completion::wait(process.vci(), &mut started[index].1, "test").unwrap();
        }
        let contexts: std::collections::HashSet<u32> =
            started.iter().map(|(comm, _)| comm.context()).collect();
        assert_eq!(contexts.len(), 300);
        for (number, (comm, _)) in started.iter().enumerate() {
            assert_eq!(words(comm, number as u64), [number as u64; 3]);
            comm.free();
        }
    });
}

/// The leaders of communicators that are made where members have one number left, two, and none.
#[test]
fn the_next_member_leads_where_one_has_used_up_its_numbers() {
    on_ranks(3, |process| {
        let (rank, world) = (process.rank(), process.world());
        let contexts = &process.contexts;
        contexts.leave([1, 2, 0][rank as usize]);
        let leader = |comm: &Comm| contexts.leader(comm.context());
        let first = dup(world, "test").unwrap();
        let second = split(world, 0, 0, "test").unwrap().unwrap();
        let third = create::create(world, world.group(), "test")
            .unwrap()
            .unwrap();
        assert_eq!(
            [&first, &second, &third].map(|comm| leader(comm)),
            [0, 1, 1]
        );
        for comm in [&first, &second, &third] {
            check(process, comm, &[0, 1, 2]);
        }
        let refused = |outcome: crate::errors::Result<Option<Arc<Comm>>>| {
            assert_eq!(outcome.err().unwrap().class(), ErrorClass::ERR_NO_MEM);
        };
        refused(dup(world, "test").map(Some));
        refused(split(world, 0, 0, "test"));
        second.free();
        // Only those members miss a communicator who have no number among them.
        let part = split(world, i32::from(rank != 1), 0, "test");
        match rank {
            1 => check(process, &part.unwrap().unwrap(), &[1]),
            _ => refused(part),
        }
        first.free();
        let again = dup(world, "test").unwrap();
        assert_eq!(leader(&again), 0);
        check(process, &again, &[0, 1, 2]);
    });
}

/// Both sides of an intercommunicator find a number, whichever of their members has it.
#[test]
fn any_member_of_a_side_leads_its_intercommunicator() {
    on_ranks(4, |process| {
        let (rank, world) = (process.rank(), process.world());
        let side = split(world, (rank / 2) as i32, 0, "test").unwrap().unwrap();
        let contexts = &process.contexts;
        contexts.leave([0, 9, 0, 9][rank as usize]);
        let peer = side.rank() == 0;
        let peer = peer.then(|| Ok((world.clone(), if rank < 2 { 2 } else { 0 })));
        let comm = inter::create(&side, 0, peer, 3, "test").unwrap();
        assert_eq!(contexts.leader(comm.context()), 1);
        let both = inter::merge(&comm, rank >= 2, "test").unwrap();
        check(process, &both, &[0, 1, 2, 3]);
        let part = split(&comm, 0, 0, "test").unwrap().unwrap();
        let merged = inter::merge(&part, rank >= 2, "test").unwrap();
        check(process, &merged, &[0, 1, 2, 3]);
    });
}
