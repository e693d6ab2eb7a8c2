// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives of collectives that are offered to members on another node: counts of control messages in forced orders, and data under load.

use std::pin::Pin;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use ::algorithms::Table;
use fabric::counters::Counter;

use super::*;
use crate::call::CallName;
use crate::completion;
use crate::identity::Rank;
use crate::settings::{self, Rendezvous};

/// Longs of a message that is not eager.
const COUNT: usize = 12_500;
/// Longest eager message in these tests, in bytes.
const EAGER_BYTES: u64 = 4 << 10;

/// Runs `body` on members of several nodes, where tests have some that put.
fn on_nodes(size: u32, rendezvous: Rendezvous, body: impl Fn(&'static Member) + Sync) {
    if settings::test_nodes().is_none_or(|nodes| nodes < 2) {
        return;
    }
    let (table, problems) = Table::with("test", "bcast use=tree\nalltoall use=pairwise");
    assert_eq!(problems, []);
    let settings = Settings {
        rendezvous,
        eager_bytes: EAGER_BYTES,
        algorithms: Arc::new(table),
        ..Settings::from_environment().0
    };
    on_members_with(&settings, size, |member| {
        // The rings exist, so that a cell arrives in the next round of progress.
        now(member, barrier(world(member)));
        let mut first = Numbers::new(&vector(0, COUNT), false);
        now(member, bcast(world(member), first.block(), 0));
        body(member);
    });
}

/// Announced messages, answers, receives offered, offers used, messages landed.
fn counts(member: &'static Member) -> [u64; 5] {
    let guard = member.vci().enter();
    [
        Counter::Requests,
        Counter::Pulls,
        Counter::OffersSent,
        Counter::OffersUsed,
        Counter::Landed,
    ]
    .map(|counter| guard.counted(counter))
}

fn since(member: &'static Member, before: [u64; 5]) -> [u64; 5] {
    let now = counts(member);
    std::array::from_fn(|at| now[at] - before[at])
}

/// Offers of member `from` that this one knows of.
fn known(member: &'static Member, from: u32) -> usize {
    let mut guard = member.vci().enter();
    let stored = guard.stored.of(member.world().peer(Rank::new(from)));
    stored.map_or(0, |stored| stored.moments().len())
}

/// A broadcast from member 0 to member 1, whose receive is posted first; the control messages of both.
fn receiver_first(
    rendezvous: Rendezvous,
    puts_unattended: bool,
    is_blocking: bool,
    expected: [[u64; 5]; 2],
) {
    let meet = Barrier::new(2);
    on_nodes(2, rendezvous, |member| {
        let comm = world(member);
        let mut numbers = Numbers::new(&vector(member.rank(), COUNT), false);
        let offers = known(member, 1);
        member.vci().enter().node.can.puts_unattended = puts_unattended;
        meet.wait();
        let before = counts(member);
        if member.rank() == 0 {
            meet.wait();
            let is_offered = expected[1][2] != 0;
            while is_offered && known(member, 1) == offers {
                member.vci().enter().progress();
            }
            now(member, bcast(comm, numbers.block(), 0));
        } else if is_blocking {
            meet.wait();
            now(member, bcast(comm, numbers.block(), 0));
        } else {
            let work = bcast(comm.clone(), numbers.block(), 0);
            let mut request = task::spawn_collective(&comm, CallName::OTHER, work).unwrap();
            meet.wait();
            completion::wait(member.vci(), &mut request, "test").unwrap();
        }
        let rank = member.rank() as usize;
        assert_eq!(since(member, before), expected[rank], "member {rank}");
        assert_eq!(numbers.values(), vector(0, COUNT));
        meet.wait();
    });
}

#[test]
fn a_nonblocking_collective_offers_its_receives_where_puts_are_unattended() {
    let used = used();
    receiver_first(Rendezvous::Write, false, false, used);
    receiver_first(Rendezvous::Auto, true, false, used);
}

#[test]
fn other_collectives_offer_them_where_that_is_asked() {
    let announced = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]];
    receiver_first(Rendezvous::Auto, true, true, announced);
    receiver_first(Rendezvous::Auto, false, false, announced);
    receiver_first(Rendezvous::Write, false, true, used());
}

const fn used() -> [[u64; 5]; 2] {
    [[0, 0, 0, 1, 0], [0, 0, 1, 0, 1]]
}

#[test]
fn collectives_whose_receives_are_offered_deliver_in_any_order() {
    for size in [2, 4] {
        on_nodes(size, Rendezvous::Write, |member| {
            let (rank, comm) = (member.rank(), world(member));
            let blocks = vec![COUNT; size as usize];
            for round in 0..12u32 {
                let value_of = |from: u32| vector(from * 31 + round, COUNT);
                // Each member is late in some rounds.
                if (rank + round) % size == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                let mut all = Numbers::new(&vec![0; COUNT * size as usize], false);
                let mut into = Numbers::new(&vec![0; COUNT * size as usize], false);
                let mut mine = Numbers::new(&value_of(rank), false);
                let own: Vec<i64> = (0..size).flat_map(|_| value_of(rank)).collect();
                let mut out = Numbers::new(&own, false);
                let root = round % size;
                let mut told = Numbers::new(&value_of(rank), false);
                let start = |work: Pin<Box<dyn Future<Output = Result<()>>>>| {
                    task::spawn_collective(&comm, CallName::OTHER, work).unwrap()
                };
                let send = Some(mine.block());
                let gathered = allgather(comm.clone(), send, all.blocks(&blocks));
                let mut requests = vec![start(Box::pin(gathered))];
                let (send, receive) = (Some(out.blocks(&blocks)), into.blocks(&blocks));
                let exchanged = alltoall(comm.clone(), send, receive, Sizes::Equal);
                requests.push(start(Box::pin(exchanged)));
                let broadcast = bcast(comm.clone(), told.block(), root);
                requests.push(start(Box::pin(broadcast)));
                if round % 2 == 1 {
                    requests.reverse();
                }
                for request in &mut requests {
                    completion::wait(member.vci(), request, "test").unwrap();
                }
                let everything: Vec<i64> = (0..size).flat_map(value_of).collect();
                assert_eq!(all.values(), everything, "allgather, round {round}");
                assert_eq!(into.values(), everything, "alltoall, round {round}");
                assert_eq!(told.values(), value_of(root), "bcast, round {round}");
            }
            now(member, barrier(comm));
        });
    }
}
