// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress thread: what was started goes on while the program is outside MPI. A rank that computes looks at a flag
//! that its peers set when they are through, and enters MPI again only then.

use crate::call::CallName;
use crate::completion;
use std::time::{Duration, Instant};

use ::algorithms::Table;
use sys::sync::{AtomicU32, Ordering};

use super::*;
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::testing::on_ranks_with;

/// Large enough to be described first, and for many blocks and rounds.
const LONGS: usize = 1 << 19;

fn with_thread(rules: &str) -> Settings {
    let (table, problems) = Table::with("test", rules);
    assert_eq!(problems, []);
    Settings {
        progress_thread: 1,
        algorithms: Arc::new(table),
        ..Settings::default()
    }
}

/// Computes, outside MPI, until `through` ranks are; false if they are not in time.
fn computes_until(flag: &AtomicU32, through: u32, time: Duration) -> bool {
    let start = Instant::now();
    while flag.load(Ordering::Acquire) < through {
        if start.elapsed() > time {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

const LONG_TIME: Duration = Duration::from_secs(60);

/// Rank 0 sends a large message; true if it was through before rank 1, which has published the receive, entered MPI again.
fn is_received_meanwhile(settings: &Settings, time: Duration) -> bool {
    let sent = AtomicU32::new(0);
    let outcomes = on_members_with(settings, 2, |member| {
        let (world, vci) = (member.world(), member.vci());
        let mut memory = vec![i64::from(member.rank()) - 7; LONGS];
        let all = Memory::contiguous(memory.as_mut_ptr().cast(), LONGS * 8);
        now(member, barrier(world.clone()));
        if member.rank() == 0 {
            // SAFETY: the memory lives until the request is complete.
            let mut request = unsafe { isend(world, all, 1, 3, Mode::Standard) }.unwrap();
            completion::wait(vci, &mut request, "test").unwrap();
            sent.store(1, Ordering::Release);
            return true;
        }
        // SAFETY: as above.
        let mut request = unsafe { irecv(world, all, 0, 3) }.unwrap();
        let meanwhile = computes_until(&sent, 1, time);
        let status = completion::wait(vci, &mut request, "test").unwrap();
        assert_eq!(status.bytes, LONGS as u64 * 8);
        assert!(memory.iter().all(|&long| long == -7));
        meanwhile
    });
    outcomes[1]
}

#[test]
fn large_messages_arrive_while_the_receiver_computes() {
    for cma in [0, 1] {
        let settings = Settings {
            cma,
            ..with_thread("")
        };
        assert!(is_received_meanwhile(&settings, LONG_TIME));
    }
    // Without the thread they do not, unless another endpoint of the process is in MPI: the test can fail.
    let without = Settings::default();
    let arrives = is_received_meanwhile(&without, Duration::from_millis(50));
    assert!(!arrives || endpoints_of_a_process().is_some());
}

/// Rank 0 receives a large message from rank 1, which computes and has only started the send.
#[test]
fn large_messages_leave_while_the_sender_computes() {
    let settings = Settings {
        cma: 0,
        ..with_thread("")
    };
    let received = AtomicU32::new(0);
    on_members_with(&settings, 2, |member| {
        let (world, vci) = (member.world(), member.vci());
        let mut memory = vec![i64::from(member.rank()); LONGS];
        let all = Memory::contiguous(memory.as_mut_ptr().cast(), LONGS * 8);
        if member.rank() == 1 {
            // SAFETY: the memory lives until the request is complete.
            let mut request = unsafe { isend(world, all, 0, 3, Mode::Standard) }.unwrap();
            assert!(computes_until(&received, 1, LONG_TIME));
            completion::wait(vci, &mut request, "test").unwrap();
            return;
        }
        // SAFETY: as above.
        let mut request = unsafe { irecv(world, all, 1, 3) }.unwrap();
        completion::wait(vci, &mut request, "test").unwrap();
        received.store(1, Ordering::Release);
        assert!(memory.iter().all(|&long| long == 1));
    });
}

/// Starts an allreduce on all ranks; rank `busy` enters MPI again when all others are through, or after `time`.
fn is_reduced_meanwhile(settings: &Settings, size: u32, count: usize, time: Duration) -> bool {
    let busy = size / 2;
    let through = AtomicU32::new(0);
    let outcomes = on_members_with(settings, size, |member| {
        let comm = world(member);
        let rank = member.rank();
        // They agree on what they share.
        now(member, barrier(comm.clone()));
        now(member, barrier(comm.clone()));
        let mut given = Numbers::new(&vector(rank, count), false);
        let mut result = Numbers::new(&vec![0; count], false);
        let work = allreduce(comm.clone(), given.block(), result.block(), sum());
        let mut request = task::spawn_collective(&comm, CallName::OTHER, work).unwrap();
        let meanwhile = rank != busy || computes_until(&through, size - 1, time);
        completion::wait(member.vci(), &mut request, "test").unwrap();
        through.fetch_add(1, Ordering::Release);
        let expected = |index| (0..size).map(|rank| value(rank, index)).sum::<i64>();
        let values = result.values();
        assert!((0..count).all(|index| values[index] == expected(index)));
        meanwhile
    });
    outcomes[busy as usize]
}

#[test]
fn collectives_advance_while_a_member_computes() {
    let algorithms = [
        "shared",
        "recursive_doubling",
        "rabenseifner",
        "ring",
        "chain:4K",
    ];
    for algorithm in algorithms {
        let settings = with_thread(&format!("allreduce use={algorithm}"));
        for (size, count) in [(2, 40_000), (4, 40_000), (5, 300)] {
            let meanwhile = is_reduced_meanwhile(&settings, size, count, LONG_TIME);
            assert!(meanwhile, "{algorithm}, {size} ranks, {count} longs");
        }
    }
    let (table, _) = Table::with("test", "allreduce use=ring");
    let without = Settings {
        algorithms: Arc::new(table),
        ..Settings::default()
    };
    let advances = is_reduced_meanwhile(&without, 4, 40_000, Duration::from_millis(50));
    assert!(!advances || endpoints_of_a_process().is_some());
}

/// Functions of the user run on the progress thread, too, and may ask MPI things.
#[test]
fn operations_of_the_user_run_meanwhile() {
    let settings = with_thread("allreduce use=recursive_doubling");
    let through = AtomicU32::new(0);
    on_members_with(&settings, 2, |member| {
        let comm = world(member);
        let home = std::thread::current().id();
        let elsewhere = Arc::new(AtomicU32::new(0));
        let counted = elsewhere.clone();
        let function = move |input: *const u8, inout: *mut u8, count: usize, _: &Arc<Datatype>| {
            let other = std::thread::current().id() != home;
            counted.fetch_add(u32::from(other), Ordering::Relaxed);
            assert_eq!(member.world().size(), 2);
            for index in 0..count {
                // SAFETY: the operands hold `count` longs.
                unsafe { *inout.cast::<i64>().add(index) += *input.cast::<i64>().add(index) };
            }
        };
        let op = Reduction::new(&Op::user(Box::new(function), true), &long()).unwrap();
        let mut numbers = Numbers::new(&vector(member.rank(), 5), false);
        let block = numbers.block();
        if member.rank() == 0 {
            // The other one has nothing to combine with when it starts.
            std::thread::sleep(Duration::from_millis(20));
        }
        let work = allreduce(comm.clone(), block.clone(), block, op);
        let mut request = task::spawn_collective(&comm, CallName::OTHER, work).unwrap();
        if member.rank() == 1 {
            assert!(computes_until(&through, 1, LONG_TIME));
            let start = Instant::now();
            while elsewhere.load(Ordering::Relaxed) == 0 {
                assert!(start.elapsed() < LONG_TIME);
                std::thread::yield_now();
            }
        }
        completion::wait(member.vci(), &mut request, "test").unwrap();
        through.fetch_add(1, Ordering::Release);
        let sums: Vec<i64> = (0..5)
            .map(|index| value(0, index) + value(1, index))
            .collect();
        assert_eq!(numbers.values(), sums);
    });
}

/// The thread ends with the process and comes back with the next session.
#[test]
fn the_thread_rests_between_sessions() {
    let settings = with_thread("");
    on_ranks_with(&settings, 3, |process| {
        for _ in 0..5 {
            let everyone = barrier(process.world().clone());
            task::block_on(process.vci(), "test", everyone).unwrap();
            finish(process).unwrap();
            assert!(!process.vci().has_background());
            process.resume().unwrap();
            assert!(process.vci().has_background());
        }
    });
}
