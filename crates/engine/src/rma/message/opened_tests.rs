// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of puts into the open memory of targets on other nodes.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use fabric::counters::Counter;

use super::tests::{allocate, get, memory, own, put, settings};
use crate::completion;
use crate::datatype::{Predefined, predefined};
use crate::rma::{self, Remote, Window, WindowHints, fence, passive};
use crate::settings::test_nodes;
use crate::testing::{Member, on_members_with};

/// A put that the network takes at once, and one that it takes in parts.
const LENGTHS: [usize; 2] = [100_000, 3_000_000];
const MOST: usize = LENGTHS[1];
static ZEROS: [u8; 20_000] = [0; 20_000];

/// Runs `body` on members of two nodes with a window of [`MOST`] bytes for each, where tests have some.
fn on_nodes(ranks: u32, body: impl Fn(&'static Member, &Window) + Sync) {
    if test_nodes().is_none_or(|nodes| nodes < 2) {
        return;
    }
    on_members_with(&settings(), ranks, |member| {
        let window = allocate(member, (MOST * ranks as usize) as u64);
        body(member, &window);
        window.free("test").unwrap();
    });
}

/// Messages that were announced, and puts of the network.
fn counts(member: &'static Member) -> [u64; 2] {
    let guard = member.vci().enter();
    [Counter::Requests, Counter::Puts].map(|counter| guard.counted(counter))
}

fn since(member: &'static Member, before: [u64; 2]) -> [u64; 2] {
    let now = counts(member);
    std::array::from_fn(|at| now[at] - before[at])
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 7 + at / 253 + seed) as u8)
        .collect()
}

/// Tells the origin how the target's memory is reached.
fn open(window: &Window) {
    put(window, &ZEROS, 1, 0);
    passive::flush(window, 1).unwrap();
}

#[test]
fn long_puts_go_into_open_memory_and_are_there_when_flushed() {
    on_nodes(2, |member, window| {
        passive::lock_all(window, 0, "test").unwrap();
        if member.rank() == 0 {
            open(window);
            for (round, length) in LENGTHS.into_iter().cycle().take(10).enumerate() {
                let (sent, before) = (bytes(length, round), counts(member));
                put(window, &sent, 1, round);
                passive::flush(window, 1).unwrap();
                assert_eq!(since(member, before), [0, 1], "{length}");
                let mut there = vec![0; length];
                get(window, &mut there, 1, round);
                passive::flush(window, 1).unwrap();
                assert!(there == sent, "{length} bytes in round {round}");
            }
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn puts_with_requests_are_there_when_flushed() {
    on_nodes(2, |member, window| {
        let byte = Predefined::find(predefined::BYTE).unwrap().datatype();
        passive::lock_all(window, 0, "test").unwrap();
        if member.rank() == 0 {
            open(window);
            let sent = bytes(MOST, 5);
            let there = Remote {
                unit: None,
                rank: 1,
                disp: 0,
                count: MOST,
                datatype: byte,
            };
            // SAFETY: the bytes live until the put is complete.
            let mut request = unsafe { rma::rput(window, &memory(&sent), &there) }.unwrap();
            passive::flush(window, 1).unwrap();
            let mut found = vec![0; MOST];
            get(window, &mut found, 1, 0);
            passive::flush(window, 1).unwrap();
            assert!(found == sent);
            completion::wait(member.vci(), &mut request, "test").unwrap();
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn a_fence_completes_puts_of_all_to_all() {
    for ranks in [2, 4] {
        on_nodes(ranks, |member, window| {
            let me = member.rank() as usize;
            for round in 0..6 {
                let length = LENGTHS[round % 2];
                let sent = bytes(length, me + round);
                fence::fence(window, 0, "test").unwrap();
                for rank in 0..ranks {
                    put(window, &sent, rank, me * MOST);
                }
                fence::fence(window, 0, "test").unwrap();
                let all = own(window);
                for (from, part) in all.chunks(MOST).enumerate() {
                    assert!(part[..length] == bytes(length, from + round), "from {from}");
                }
            }
        });
    }
}

#[test]
fn windows_that_are_freed_close_their_memory() {
    on_nodes(2, |member, _| {
        // More than can be open at once.
        for round in 0..1100 {
            let hints = WindowHints::default();
            let window = rma::allocate(member.world(), 40_000, 1, hints, "test").unwrap();
            fence::fence(&window, 0, "test").unwrap();
            if member.rank() == 0 {
                open_in_fence(&window);
            }
            fence::fence(&window, 0, "test").unwrap();
            let before = counts(member);
            if member.rank() == 0 {
                open_in_fence(&window);
                assert_eq!(since(member, before)[1], 1, "round {round}");
            }
            fence::fence(&window, rma::epoch::assertion::NOSUCCEED, "test").unwrap();
            window.free("test").unwrap();
        }
    });
}

fn open_in_fence(window: &Window) {
    put(window, &ZEROS, 1, 0);
}
