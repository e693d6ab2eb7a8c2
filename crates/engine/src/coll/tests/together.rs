// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several collectives at once, and collectives of which one member fails.

use super::*;
use crate::call::CallName;
use crate::completion;

/// Members start several collectives and complete them in different orders.
#[test]
fn nonblocking_collectives_do_not_mix() {
    for size in [2, 3, 6] {
        on_members(size, |member| {
            let (rank, vci) = (member.rank(), member.vci());
            let comm = world(member);
            let counts = [3, 9000, 1, 2000];
            let mut buffers: Vec<_> = counts
                .iter()
                .map(|&count| Numbers::new(&vector(rank, count), count == 2000))
                .collect();
            let mut requests: Vec<_> = buffers
                .iter_mut()
                .map(|numbers| {
                    let block = numbers.block();
                    let op = if numbers.step == 1 {
                        sum()
                    } else {
                        composition(&sparse())
                    };
                    let work = allreduce(comm.clone(), block.clone(), block, op);
                    task::spawn_collective(&comm, CallName::OTHER, work).unwrap()
                })
                .collect();
            now(member, barrier(comm.clone()));
            if rank % 2 == 1 {
                requests.reverse();
            }
            for request in &mut requests {
                completion::wait(vci, request, "test").unwrap();
            }
            for (numbers, &count) in buffers.iter().zip(&counts).take(3) {
                let expected: Vec<i64> = (0..count)
                    .map(|index| (0..size).map(|rank| value(rank, index)).sum())
                    .collect();
                assert_eq!(numbers.values(), expected);
            }
        });
    }
}

/// A member that expects less than it is sent gets the error; no member waits for ever.
#[test]
fn error_of_one_member_leaves_no_one_waiting() {
    on_members(4, |member| {
        let count = if member.rank() == 2 { 3 } else { 4 };
        let mut numbers = Numbers::new(&vector(0, count), false);
        let work = bcast(world(member), numbers.block(), 0);
        let outcome = task::block_on(member.vci(), "test", work);
        match outcome {
            Err(error) => {
                assert_eq!(member.rank(), 2);
                assert_eq!(error.class(), ErrorClass::ERR_TRUNCATE);
            }
            Ok(()) => assert_ne!(member.rank(), 2),
        }
        now(member, barrier(world(member)));
    });
}

/// Collectives through shared memory and by messages end with an error when a member has died, however often they have
/// looked again meanwhile.
#[test]
fn death_of_a_member_ends_the_waits_of_others() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    // The death of an endpoint is that of its process.
    if endpoints_of_a_process().is_some() {
        return;
    }
    for shared_collectives in [0, 1] {
        let settings = Settings {
            shared_collectives,
            ..Settings::default()
        };
        let seen = std::sync::Mutex::new(Vec::new());
        let job = || {
            on_members_with(&settings, 3, |member| {
                let comm = world(member);
                now(member, barrier(comm.clone()));
                now(member, barrier(comm.clone()));
                assert!(member.rank() != 2, "this rank dies on purpose");
                let error = task::block_on(member.vci(), "test", barrier(comm)).unwrap_err();
                seen.lock().unwrap().push(error.class());
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(job)).is_err());
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen, [ErrorClass::ERR_PROC_ABORTED; 2]);
    }
}
