// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two processes, a ring each way, and everything that may happen to them: rings of all sizes, chunks of all lengths, sleep,
//! stops, and death at any moment. Every message is compared byte by byte and counted.
//!
//! [`pair`] starts and watches the processes, [`player`] is what they do, [`traffic`] what they send.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod pair;
mod player;
mod traffic;

use std::time::{Duration, Instant};

use pair::{Case, Pair};
use sys::sync::Ordering;
use traffic::Random;

use fabric::identity::{PeerIndex, VciIndex};

/// Numbers of ranks whose rings differ in size: cells 256, 64 or 32, payload areas of 256 to 16 KiB.
const GEOMETRIES: [u32; 7] = [2, 16, 17, 23, 32, 64, 100];

/// The body of one of the processes: not a test by itself.
#[test]
#[ignore = "a process of the other tests"]
fn player() {
    player::play();
}

#[test]
fn chunks_of_all_lengths_pass_each_other_in_rings_of_all_sizes() {
    for ranks in GEOMETRIES {
        for seed in 1..=2 {
            let case = Case {
                ranks,
                seed,
                messages: 4000,
                ..Case::default()
            };
            Pair::start(case).finish();
        }
    }
}

#[test]
fn who_only_receives_makes_room_for_who_only_sends() {
    for ranks in GEOMETRIES {
        let case = Case {
            ranks,
            messages: 5000,
            back: 0,
            ..Case::default()
        };
        Pair::start(case).finish();
    }
}

#[test]
fn sleepers_are_woken_for_messages_and_for_room() {
    for ranks in GEOMETRIES {
        let case = Case {
            ranks,
            messages: 3000,
            spins: 0,
            ..Case::default()
        };
        let sleeps = Pair::start(case).finish();
        assert!(sleeps > 0, "nobody slept on rings of {ranks} ranks");
    }
}

#[test]
fn longest_chunks_only_go_through_the_smallest_rings() {
    for ranks in [17, 32, 64, 100] {
        for spins in [0, 200] {
            let case = Case {
                ranks,
                spins,
                messages: 2000,
                longest_only: true,
                ..Case::default()
            };
            Pair::start(case).finish();
        }
    }
}

#[test]
fn a_process_that_is_stopped_goes_on_where_it_was() {
    for (ranks, spins) in [(2, 200), (17, 0), (64, 200)] {
        let case = Case {
            ranks,
            spins,
            messages: 40_000,
            may_be_late: true,
            ..Case::default()
        };
        let mut pair = Pair::start(case);
        let mut random = Random::new(u64::from(ranks));
        let mut stops = 0;
        while !pair.has_ended() && stops < 40 {
            let who = random.below(2) as usize;
            pair.signal(who, libc::SIGSTOP);
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
            pair.signal(who, libc::SIGCONT);
            std::thread::sleep(Duration::from_micros(random.below(5_000)));
            stops += 1;
        }
        pair.finish();
        assert!(stops > 0);
    }
}

#[test]
fn what_a_killed_process_has_sent_is_whole() {
    let mut random = Random::new(7);
    for round in 0..12 {
        let case = Case {
            ranks: GEOMETRIES[round % GEOMETRIES.len()],
            seed: round as u64,
            spins: if round % 2 == 0 { 200 } else { 0 },
            messages: u64::MAX / 2,
            may_be_late: true,
            ..Case::default()
        };
        let mut pair = Pair::start(case);
        pair.wait_until_both_talk();
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        let dies = random.below(2) as usize;
        pair.signal(dies, libc::SIGKILL);
        // The launcher does the same when it sees the death.
        let death = &pair.segment.header().death;
        death.store(1 + dies as u32, Ordering::Relaxed);
        pair.segment
            .board(PeerIndex::new(1 - dies as u32))
            .ring(VciIndex::of_bits(0), true);
        let start = Instant::now();
        let received = pair.finish_survivor(1 - dies);
        assert!(received > 0, "round {round}");
        assert!(start.elapsed() < Duration::from_secs(30), "round {round}");
    }
}
