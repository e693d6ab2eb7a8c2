// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitions that a receiver on another node has offered memory for: who sends which cells in which order, eager messages in between, and
//! cells that cannot be. Orders are forced: a rank makes progress only where the test says so.
#![expect(unsafe_code, reason = "cells are written by hand")]

use std::sync::Barrier;

use fabric::counters::Counter;
use sys::sync::{AtomicU32, AtomicU64, Ordering};

use super::super::messages::{CHANNELS, data_word};
use super::exchanges::*;
use crate::identity::{LinkIndex, Rank};
use crate::p2p::{Mode, irecv, isend, send_at_once};
use crate::protocol::send_control;
use crate::settings::{self, Rendezvous};
use crate::vci::cell::{Cell, FarOffer, Fin, Landed, Taken};
use crate::vci::offers::Moment;

const PARTITIONS: usize = 3;
const LONG: usize = 100_000;
const BYTES: usize = PARTITIONS * LONG;
const TAG: i32 = 5;

/// Runs `body` on two ranks on two nodes, where tests have some.
fn on_nodes(body: impl Fn(&'static Member, &Barrier) + Sync) {
    if settings::test_nodes().is_none_or(|nodes| nodes < 2) {
        return;
    }
    let settings = Settings {
        rendezvous: Rendezvous::Write,
        eager_bytes: 4 << 10,
        ..Settings::from_environment().0
    };
    let meet = Barrier::new(2);
    on_members_at_level(&settings, ThreadLevel::Single, 2, |member| {
        body(member, &meet);
    });
}

fn peer(comm: &Comm) -> LinkIndex {
    comm.peer(Rank::new(1 - comm.rank() as u32))
}

fn moments(comm: &Comm) -> Vec<u64> {
    let mut guard = comm.vci().enter();
    let stored = guard.stored.of(peer(comm));
    stored.map_or_else(Vec::new, |stored| stored.moments())
}

/// Makes progress until offers of all partitions are stored here that are newer than those of the last round.
fn await_offers(comm: &Comm, last: u64) {
    let is_new = |moments: &[u64]| moments.iter().filter(|&&moment| moment > last).count();
    while is_new(&moments(comm)) != PARTITIONS {
        comm.vci().enter().progress();
    }
}

const COUNTED: [Counter; 5] = [
    Counter::Requests,
    Counter::Pulls,
    Counter::OffersSent,
    Counter::OffersUsed,
    Counter::Landed,
];

/// Of a rank: RTS sent, CTS sent, receives offered, offers used, messages landed, offers of no use.
type Counts = [u64; COUNTED.len() + 1];

fn counts(comm: &Comm) -> Counts {
    let guard = comm.vci().enter();
    let [requests, pulls, sent, used, landed] = COUNTED.map(|counter| guard.counted(counter));
    let dead = guard.posted.withdrawn();
    [requests, pulls, sent, used, landed, dead]
}

fn since(comm: &Comm, before: Counts) -> Counts {
    let now = counts(comm);
    std::array::from_fn(|at| now[at] - before[at])
}

/// A buffer between canaries.
struct Target(Vec<u8>);

const MARGIN: usize = 128;
const CANARY: u8 = 0xa7;

impl Target {
    fn new() -> Self {
        Self(vec![CANARY; BYTES + 2 * MARGIN])
    }

    fn data(&mut self) -> &mut [u8] {
        &mut self.0[MARGIN..MARGIN + BYTES]
    }

    fn check(&mut self, round: usize, text: &str) {
        let data = std::hint::black_box(&self.0);
        let outside = data[..MARGIN].iter().chain(&data[MARGIN + BYTES..]);
        assert!(outside.copied().all(|byte| byte == CANARY), "{text}");
        check(self.data(), round, text);
        self.data().fill(0);
    }
}

/// One round in which both sides know each other, so that the rings exist.
fn first_round(comm: &Comm, request: &mut RequestId) {
    start(comm.vci(), *request).unwrap();
    if comm.rank() == 0 {
        ready_range(comm.vci(), *request, 0, PARTITIONS as i32 - 1).unwrap();
    }
    end(comm, request).unwrap();
}

fn make_ready(comm: &Comm, request: RequestId) {
    start(comm.vci(), request).unwrap();
    ready_range(comm.vci(), request, 0, PARTITIONS as i32 - 1).unwrap();
}

/// A round whose receive is started and offered first.
fn receiver_first(comm: &Comm, request: &mut RequestId, meet: &Barrier) -> Counts {
    let before = counts(comm);
    if comm.rank() == 0 {
        let last = moments(comm).into_iter().max().unwrap_or_default();
        meet.wait();
        meet.wait();
        await_offers(comm, last);
        make_ready(comm, *request);
    } else {
        meet.wait();
        start(comm.vci(), *request).unwrap();
        meet.wait();
    }
    end(comm, request).unwrap();
    since(comm, before)
}

/// A round whose partitions are announced before the sender hears of an offer.
fn crossing(comm: &Comm, request: &mut RequestId, meet: &Barrier) -> Counts {
    let before = counts(comm);
    if comm.rank() == 0 {
        meet.wait();
        make_ready(comm, *request);
        meet.wait();
    } else {
        start(comm.vci(), *request).unwrap();
        meet.wait();
        meet.wait();
    }
    end(comm, request).unwrap();
    since(comm, before)
}

#[test]
fn partitions_go_into_offered_memory_where_the_receiver_is_first() {
    on_nodes(|member, meet| {
        let comm = member.world();
        let (mut source, mut target) = (vec![0; BYTES], Target::new());
        let mut request = match comm.rank() {
            0 => sends(comm, &source, PARTITIONS, 1, TAG),
            _ => receives(comm, target.data(), PARTITIONS, 0, TAG),
        };
        let many = PARTITIONS as u64;
        for round in 0..6 {
            fill(&mut source, round);
            if round == 0 {
                first_round(comm, &mut request);
            } else {
                let is_crossing = round % 2 == 0;
                let counted = match is_crossing {
                    true => crossing(comm, &mut request, meet),
                    false => receiver_first(comm, &mut request, meet),
                };
                let expected = match (comm.rank(), is_crossing) {
                    (0, false) => [0, 0, 0, many, 0, 0],
                    (0, true) => [many, 0, 0, 0, 0, 0],
                    (_, false) => [0, 0, many, 0, many, 0],
                    (_, true) => [0, many, many, 0, 0, many],
                };
                assert_eq!(counted, expected, "rank {}, round {round}", comm.rank());
            }
            if comm.rank() == 1 {
                target.check(round, "a round");
            }
            meet.wait();
        }
        release(comm, request);
    });
}

#[test]
fn eager_messages_that_take_offered_receives_end_the_offers() {
    on_nodes(|member, meet| {
        let comm = member.world();
        let (mut source, mut target) = (vec![0; BYTES], Target::new());
        let mut request = match comm.rank() {
            0 => sends(comm, &source, PARTITIONS, 1, TAG),
            _ => receives(comm, target.data(), PARTITIONS, 0, TAG),
        };
        let many = PARTITIONS as u64;
        first_round(comm, &mut request);
        target.data().fill(0);
        fill(&mut source, 1);
        meet.wait();
        let before = counts(comm);
        if comm.rank() == 0 {
            let last = moments(comm).into_iter().max().unwrap_or_default();
            meet.wait();
            meet.wait();
            await_offers(comm, last);
            let channel = comm.process().next_channel(CHANNELS) - 1;
            let mut text = *b"an eager message with the key of a partition";
            for number in 0..PARTITIONS {
                let memory = Memory::contiguous(text.as_mut_ptr(), text.len());
                let (peer, word) = (peer(comm), data_word(channel, number));
                let mut guard = comm.vci().enter();
                // SAFETY: `text` is readable.
                assert!(unsafe { send_at_once(&mut guard, memory, peer, word) });
            }
            // The partitions themselves meet the receives of the next round.
            make_ready(comm, request);
            end(comm, &mut request).unwrap();
            assert_eq!(since(comm, before), [many, 0, 0, 0, 0, 0]);
        } else {
            meet.wait();
            start(comm.vci(), request).unwrap();
            meet.wait();
            end(comm, &mut request).unwrap();
            let offered = since(comm, before);
            assert_eq!(offered[2..], [many, 0, 0, many]);
            for partition in target.data().chunks(LONG) {
                assert_eq!(&partition[..8], b"an eager");
                assert!(partition[48..].iter().all(|&byte| byte == 0));
            }
            start(comm.vci(), request).unwrap();
            end(comm, &mut request).unwrap();
            assert_eq!(since(comm, before)[4], 0);
            target.check(1, "behind eager messages");
        }
        meet.wait();
        release(comm, request);
    });
}

#[test]
fn cells_of_offers_that_cannot_be_are_faults_of_their_sender() {
    let (receive, bytes) = (u64::MAX, 1 << 40);
    let offer = FarOffer {
        word: data_word(3, 0),
        receive: 7,
        capacity: 1 << 20,
        address: 4096,
        key: 7,
        consumed: 1 << 40,
    };
    let moment = Moment::NONE;
    let cells: [Cell; 3] = [
        offer.into(),
        Taken { receive, bytes }.into(),
        Landed {
            moment,
            receive,
            bytes,
        }
        .into(),
    ];
    for cell in cells {
        let told = AtomicU32::new(0);
        on_nodes(|member, _| {
            let comm = member.world();
            if comm.rank() == 0 {
                let mut guard = comm.vci().enter();
                let peer = peer(comm);
                let state = &mut *guard;
                state.links.connect(&mut state.transport, peer).unwrap();
                send_control(state, peer, cell);
                while told.load(Ordering::Relaxed) == 0 {
                    state.progress();
                }
            } else {
                let fault = loop {
                    let mut guard = comm.vci().enter();
                    guard.progress();
                    if let Some(fault) = guard.fault.take() {
                        break fault;
                    }
                };
                told.store(1, Ordering::Relaxed);
                assert_eq!(fault.class(), ErrorClass::ERR_INTERN, "{fault}");
                assert!(fault.to_string().contains("rank 0"), "{fault}");
            }
        });
    }
}

/// A receiver that says it has all while the network still reads the sender's memory.
#[test]
fn an_end_of_a_put_that_has_not_ended_is_a_fault_of_its_receiver() {
    // The network acknowledges its parts, for which the receiver has to poll.
    const LONG: usize = 4 << 20;
    let (put, told) = (AtomicU64::new(0), AtomicU32::new(0));
    on_nodes(|member, _| {
        let comm = member.world();
        let mut bytes = vec![1 - comm.rank() as u8; LONG];
        let memory = Memory::contiguous(bytes.as_mut_ptr(), LONG);
        if comm.rank() == 0 {
            // SAFETY: the bytes live until the send is complete.
            let mut send = unsafe { isend(comm, memory, 1, TAG, Mode::Standard) }.unwrap();
            let fault = loop {
                let mut guard = comm.vci().enter();
                guard.progress();
                if guard.transport.is_putting(send.0) {
                    put.store(send.0, Ordering::Relaxed);
                }
                if let Some(fault) = guard.fault.take() {
                    break fault;
                }
                assert!(!guard.is_complete(send), "the put has ended");
            };
            told.store(1, Ordering::Relaxed);
            assert!(fault.to_string().contains("rank 1"), "{fault}");
            wait(comm.vci(), &mut send, "test").unwrap();
        } else {
            // SAFETY: the bytes live until the receive is complete.
            let mut receive = unsafe { irecv(comm, memory, 0, TAG) }.unwrap();
            let peer = peer(comm);
            while put.load(Ordering::Relaxed) == 0 {
                comm.vci().enter().progress();
            }
            let mut guard = comm.vci().enter();
            let sender = put.load(Ordering::Relaxed);
            send_control(&mut guard, peer, Fin { sender });
            drop(guard);
            while told.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
            }
            wait(comm.vci(), &mut receive, "test").unwrap();
            assert!(bytes.iter().all(|&byte| byte == 1));
        }
    });
}
