// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control messages of the long transfers of collectives, of all ranks together: two for each where senders announce them, and one to three
//! where receivers offer their memory, by who is first. A protocol that relied on the promises of collectives (`optimistic`) would take one
//! (docs/decisions/0037).

use std::sync::Mutex;

use ::algorithms::Table;
use fabric::counters::Counter;

use super::*;
use crate::settings::Rendezvous;

const RANKS: u32 = 4;
/// Longs of a block, which is no eager message.
const COUNT: usize = 6_000;
const EAGER_BYTES: u64 = 4 << 10;

const COUNTED: [Counter; 7] = [
    Counter::Requests,
    Counter::Pulls,
    Counter::Dones,
    Counter::OffersSent,
    Counter::OffersUsed,
    Counter::Crossings,
    Counter::Landed,
];

/// A collective by an algorithm with messages, and the long transfers that all ranks need together.
struct Row {
    rule: &'static str,
    transfers: u32,
    run: fn(&'static Member),
}

const ROWS: [Row; 5] = [
    Row {
        rule: "bcast use=tree",
        transfers: RANKS - 1,
        run: |member| {
            let mut numbers = Numbers::new(&vector(0, COUNT), false);
            now(member, bcast(world(member), numbers.block(), 0));
            assert_eq!(numbers.values(), vector(0, COUNT));
        },
    },
    Row {
        rule: "gather use=linear",
        transfers: RANKS - 1,
        run: |member| {
            let mut mine = Numbers::new(&vector(member.rank(), COUNT), false);
            let mut all = Numbers::new(&vec![0; COUNT * RANKS as usize], false);
            let receive = (member.rank() == 0).then(|| all.blocks(&[COUNT; RANKS as usize]));
            let work = gather(world(member), Some(mine.block()), receive, 0, Sizes::Equal);
            now(member, work);
            assert!(member.rank() != 0 || all.values() == everything());
        },
    },
    Row {
        rule: "allgather use=ring",
        transfers: RANKS * (RANKS - 1),
        run: |member| {
            let mut mine = Numbers::new(&vector(member.rank(), COUNT), false);
            let mut all = Numbers::new(&vec![0; COUNT * RANKS as usize], false);
            let into = all.blocks(&[COUNT; RANKS as usize]);
            now(member, allgather(world(member), Some(mine.block()), into));
            assert_eq!(all.values(), everything());
        },
    },
    Row {
        rule: "alltoall use=pairwise",
        transfers: RANKS * (RANKS - 1),
        run: |member| {
            let own: Vec<i64> = (0..RANKS)
                .flat_map(|_| vector(member.rank(), COUNT))
                .collect();
            let mut out = Numbers::new(&own, false);
            let mut into = Numbers::new(&vec![0; own.len()], false);
            let blocks = [COUNT; RANKS as usize];
            let (send, receive) = (Some(out.blocks(&blocks)), into.blocks(&blocks));
            now(member, alltoall(world(member), send, receive, Sizes::Equal));
            assert_eq!(into.values(), everything());
        },
    },
    Row {
        rule: "allreduce use=ring",
        transfers: 2 * RANKS * (RANKS - 1),
        run: |member| {
            let count = COUNT * RANKS as usize;
            let mut mine = Numbers::new(&vector(member.rank(), count), false);
            let mut result = Numbers::new(&vec![0; count], false);
            let work = allreduce(world(member), mine.block(), result.block(), sum());
            now(member, work);
            let first: i64 = (0..RANKS).map(|rank| value(rank, 0)).sum();
            assert_eq!(result.values()[0], first);
        },
    },
];

fn everything() -> Vec<i64> {
    (0..RANKS).flat_map(|rank| vector(rank, COUNT)).collect()
}

/// Runs a row; the counters of all ranks together.
fn counted(row: &Row, rendezvous: Rendezvous) -> [u64; COUNTED.len()] {
    let (table, problems) = Table::with("test", row.rule);
    assert_eq!(problems, []);
    let settings = Settings {
        rendezvous,
        shared_collectives: 0,
        eager_bytes: EAGER_BYTES,
        cma: 2,
        cma_min_bytes: 0,
        algorithms: Arc::new(table),
        ..Settings::default()
    };
    let sum = Mutex::new([0; COUNTED.len()]);
    on_members_with(&settings, RANKS, |member| {
        (row.run)(member);
        let counts = member.vci().enter().all_counts();
        let mut sum = sum.lock().unwrap();
        for (all, counter) in sum.iter_mut().zip(COUNTED) {
            *all += counts[counter as usize];
        }
    });
    sum.into_inner().unwrap()
}

#[test]
fn announced_transfers_of_collectives_cost_two_control_messages() {
    for row in &ROWS {
        let transfers = u64::from(row.transfers);
        for rendezvous in [Rendezvous::Read, Rendezvous::Pipeline, Rendezvous::Auto] {
            let [requests, pulls, dones, offers, used, ..] = counted(row, rendezvous);
            let found = [requests, pulls + dones, offers, used];
            assert_eq!(found, [transfers, transfers, 0, 0], "{}", row.rule);
        }
    }
}

#[test]
fn offered_transfers_of_collectives_cost_one_to_three_control_messages() {
    for row in &ROWS {
        let transfers = u64::from(row.transfers);
        let all = counted(row, Rendezvous::Write);
        let [requests, pulls, dones, offers, used, crossings, landed] = all;
        // Each message is announced, or written without that; and each announcement is answered, unless an offer was the answer.
        assert_eq!(requests + used - crossings, transfers, "{}", row.rule);
        assert_eq!(pulls + dones, requests - crossings, "{}", row.rule);
        assert_eq!(landed, used, "{}", row.rule);
        let control = requests + pulls + dones + offers;
        println!("{}: {control} of {transfers} transfers {all:?}", row.rule);
        if crate::settings::simulated_network().is_some() {
            assert_eq!((control, offers), (2 * transfers, 0), "{}", row.rule);
        } else {
            assert!((transfers..=3 * transfers).contains(&control), "{all:?}");
        }
    }
}
