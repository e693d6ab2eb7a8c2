// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of how many messages operations take.

use fabric::counters::Counter;

use super::tests::{allocate, get, own, put, settings};
use crate::rma::passive;
use crate::testing::{endpoints_of_a_process, on_members_with};

#[test]
fn short_puts_share_messages_and_gets_need_no_flush() {
    if endpoints_of_a_process().is_some() {
        // The other endpoint's rounds of progress send what is gathered so far.
        return;
    }
    on_members_with(&settings(), 2, |member| {
        let window = allocate(member, 8 * 500);
        passive::lock_all(&window, 0, "test").unwrap();
        let sent = || {
            let values = window.comm().vci().enter().values();
            values[Counter::SendsInject as usize] + values[Counter::SendsEager as usize]
        };
        if member.rank() == 0 {
            // Takes the lock.
            put(&window, &[1; 8], 1, 0);
            passive::flush(&window, 1).unwrap();
            let before = sent();
            let numbers: Vec<[u8; 8]> = (0..400u64).map(u64::to_ne_bytes).collect();
            for (index, number) in numbers.iter().enumerate() {
                put(&window, number, 1, 8 * index);
            }
            passive::flush(&window, 1).unwrap();
            // 170 requests of 48 bytes fit into a message, and the flush goes along with the last ones.
            assert_eq!(sent() - before, 3);
            let mut all = vec![0; 8 * 400];
            get(&window, &mut all, 1, 0);
            passive::flush(&window, 1).unwrap();
            assert_eq!(sent() - before, 4);
            assert!(all == numbers.concat());
            // A get is behind what was put before, and both leave together.
            let mut last = [0; 8];
            put(&window, &[9; 8], 1, 8);
            get(&window, &mut last, 1, 8);
            passive::flush_local(&window, 1).unwrap();
            assert_eq!((sent() - before, last), (5, [9; 8]));
        }
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn a_put_that_nothing_follows_leaves_with_the_next_round_of_progress() {
    on_members_with(&settings(), 2, |member| {
        let window = allocate(member, 64);
        passive::lock_all(&window, 0, "test").unwrap();
        for round in 1..=20 {
            if member.rank() == 0 {
                put(&window, &[round], 1, 0);
            } else {
                while own(&window)[0] != round {
                    window.comm().vci().poll();
                }
            }
            // Rank 0 waits here for a rank that waits for its put.
            let barrier = crate::coll::gather_words(member.world().clone(), &[0]);
            crate::task::block_on(member.vci(), "test", barrier).unwrap();
        }
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
    });
}
