// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties of a simulated network whose ranks are threads.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use super::messages::{CHUNK, INJECT, PAYLOAD_RULES, poll, run, send_chunk, settings, take};
use crate::identity::{LinkIndex, PeerIndex, VciIndex};
use crate::peers::Peers;
use crate::ring::{RingReceiver, RingSender};
use crate::sim::{
    Death, Explored, Fate, Port, Schedule, SimError, SimNet, SimSettings, for_each_schedule,
};

/// Each rank sends each one, itself too, `messages` messages of several lengths; all must come in
/// the order of their pair. Returns, for each rank, whom its messages came from.
fn all_to_all(net: &Arc<SimNet>, ranks: u32, messages: u64) -> Vec<Vec<u32>> {
    run(net, ranks, |port, rank| {
        let mut senders: Vec<_> = (0..ranks)
            .map(|peer| port.connect(LinkIndex::new(peer)).unwrap())
            .collect();
        let mut sent = vec![0; ranks as usize];
        let mut rings: Vec<(u32, RingReceiver, u64)> = Vec::new();
        let mut sources = Vec::new();
        while sources.len() < (u64::from(ranks) * messages) as usize
            || sent.iter().any(|&count| count < messages)
        {
            for (sender, count) in senders.iter_mut().zip(&mut sent) {
                let bytes = (*count as usize * 97 + rank as usize * 13) % 2000;
                let is_sent = *count < messages
                    && match *count % 3 {
                        0 => sender.put_words(INJECT, 0, !*count, &[*count]),
                        _ => send_chunk(sender, *count, bytes),
                    };
                *count += u64::from(is_sent);
            }
            while (rings.len() as u32) < port.accept_count() {
                let (peer, ring) = port.accept().unwrap();
                rings.push((peer.get(), ring, 0));
            }
            for (peer, ring, next) in &mut rings {
                if let Some(number) = take(ring, &mut senders[*peer as usize]) {
                    assert_eq!(number, *next, "from rank {peer}");
                    *next += 1;
                    sources.push(*peer);
                }
            }
            poll(&port);
        }
        sources
    })
}

#[test]
fn a_pair_keeps_its_order_whatever_the_seed() {
    let mut interleavings = BTreeSet::new();
    for seed in 0..60 {
        let (reorder, early) = (seed % 2, seed % 3 * 30);
        let text = format!("seed={seed},cells=4,payload=8192,reorder={reorder},early={early}");
        let net = SimNet::new(3, settings(&text), PAYLOAD_RULES).unwrap();
        interleavings.insert(all_to_all(&net, 3, 12));
    }
    assert!(interleavings.len() > 50, "{}", interleavings.len());
}

#[test]
fn a_seed_stands_for_one_trace() {
    let hash = |seed: u64| {
        let text = format!("seed={seed},cells=8,reorder=1,early=20");
        let net = SimNet::new(4, settings(&text), PAYLOAD_RULES).unwrap();
        let sources = all_to_all(&net, 4, 5);
        (net.trace_hash(), net.now_ns(), sources)
    };
    let first: Vec<_> = (0..20).map(hash).collect();
    assert!((0..20).map(hash).eq(first.iter().cloned()));
    let different: BTreeSet<_> = first.iter().map(|(hash, ..)| *hash).collect();
    assert_eq!(different.len(), 20);
}

#[test]
fn latency_gap_and_bandwidth_add_up() {
    // 500 bytes a microsecond: 2 ns a byte.
    let text = "latency=1000,gap=30,bandwidth=500,payload=65536";
    let net = SimNet::new(1, settings(text), PAYLOAD_RULES).unwrap();
    let port = net.port(0).unwrap();
    let mut sender = port.connect(LinkIndex::new(0)).unwrap();
    let (_, mut ring) = port.accept().unwrap();
    let mut arrivals = Vec::new();
    let mut wait_for = |ring: &mut RingReceiver, sender: &mut RingSender| {
        while take(ring, sender).is_none() {
            poll(&port);
        }
        arrivals.push(port.now_ns());
    };
    // A cell of 8 bytes takes 16 ns; one of 24 bytes with 1000 of payload takes 2048.
    assert!(sender.put_words(INJECT, 0, !0, &[0]));
    assert!(sender.put_words(INJECT, 0, !1, &[1]));
    assert!(send_chunk(&mut sender, 2, 1000));
    assert!(sender.put_words(INJECT, 0, !3, &[3]));
    for _ in 0..4 {
        wait_for(&mut ring, &mut sender);
    }
    // A wire that has been free for long adds nothing.
    for _ in 0..3 {
        poll(&port);
    }
    assert!(sender.put_words(INJECT, 0, !4, &[4]));
    wait_for(&mut ring, &mut sender);
    let first = 16 + 1000;
    let second = 16 + 30 + 16 + 1000;
    let third = 2 * (16 + 30) + 2048 + 1000;
    let fourth = 2 * (16 + 30) + 2048 + 30 + 16 + 1000;
    assert_eq!(arrivals, [first, second, third, fourth, fourth + 16 + 1000]);
}

#[test]
fn pairs_do_not_delay_each_other() {
    let text = "latency=500,gap=0,bandwidth=1";
    let net = SimNet::new(3, settings(text), PAYLOAD_RULES).unwrap();
    let arrivals = run(&net, 3, |port, rank| {
        if rank < 2 {
            let mut sender = port.connect(LinkIndex::new(2)).unwrap();
            assert!(sender.put_words(INJECT, 0, !0, &[0]));
            poll(&port);
            return vec![];
        }
        let (mut rings, mut arrivals) = (Vec::new(), Vec::new());
        while arrivals.len() < 2 {
            poll(&port);
            rings.extend(port.accept());
            for (_, ring) in &mut rings {
                if take(ring, &mut RingSender::unconnected()).is_some() {
                    arrivals.push(port.now_ns());
                }
            }
        }
        arrivals
    });
    assert_eq!(arrivals[2], [8500, 8500]);
}

#[test]
fn a_receiver_that_takes_nothing_stops_its_sender_and_loses_nothing() {
    for cells in [1, 2, 4, 16] {
        let text = format!("cells={cells},payload=8192,early=50,seed={cells}");
        let net = SimNet::new(2, settings(&text), PAYLOAD_RULES).unwrap();
        run(&net, 2, |port, rank| {
            if rank == 0 {
                let mut sender = port.connect(LinkIndex::new(1)).unwrap();
                let send = |sender: &mut RingSender, number: u64| match number % 2 {
                    0 => sender.put_words(INJECT, 0, !number, &[number]),
                    _ => send_chunk(sender, number, 100),
                };
                let (mut number, mut refused) = (0, 0);
                while number < 200 {
                    let is_sent = send(&mut sender, number);
                    number += u64::from(is_sent);
                    refused += u64::from(!is_sent);
                    // Two rings and the wire between them, until the receiver begins to take.
                    let is_full = refused == 0 || number >= cells;
                    assert!(
                        is_full,
                        "refused with {number} cells under way of {cells} a ring"
                    );
                    assert!(
                        refused != 0 || number <= 3 * cells,
                        "{number} of {cells} a ring"
                    );
                    poll(&port);
                }
                assert_ne!(refused, 0);
            } else {
                for _ in 0..200 {
                    poll(&port);
                }
                let (_, mut ring) = port.accept().unwrap();
                let mut next = 0;
                while next < 200 {
                    if let Some(number) = take(&mut ring, &mut RingSender::unconnected()) {
                        assert_eq!(number, next);
                        next += 1;
                    }
                    poll(&port);
                }
            }
        });
    }
}

#[test]
fn what_the_receiver_says_takes_the_latency() {
    let net = SimNet::new(1, settings("latency=700"), PAYLOAD_RULES).unwrap();
    let port = net.port(0).unwrap();
    let sender = port.connect(LinkIndex::new(0)).unwrap();
    let (_, ring) = port.accept().unwrap();
    poll(&port);
    ring.set_throttle(true);
    ring.set_preferences(5);
    assert_eq!((sender.is_throttled(), sender.preferences()), (false, 0));
    while !sender.is_throttled() {
        poll(&port);
    }
    assert_eq!((port.now_ns(), sender.preferences()), (700, 5));
    ring.set_throttle(false);
    while sender.is_throttled() {
        poll(&port);
    }
    assert_eq!((port.now_ns(), sender.preferences()), (1400, 5));
}

#[test]
fn a_dead_rank_takes_its_messages_along_and_blocks_nobody() {
    let text = "latency=1000,gap=0,bandwidth=0,cells=2,death=1@1500";
    let net = SimNet::new(3, settings(text), PAYLOAD_RULES).unwrap();
    let received = run(&net, 3, |port, rank| {
        if rank == 1 {
            let mut sender = port.connect(LinkIndex::new(2)).unwrap();
            let mut number = 0;
            let mut start = 0;
            loop {
                // Something leaves at 0 and at 1000; only what left at 0 arrives before 1500.
                if (number == 0 || port.now_ns() != start)
                    && sender.put_words(INJECT, 0, !number, &[number])
                {
                    (number, start) = (number + 1, port.now_ns());
                }
                match port.poll() {
                    Ok(Fate::Alive) => {}
                    other => {
                        assert_eq!((other, port.now_ns()), (Ok(Fate::Dead), 1500));
                        // Cells of a dying rank are lost.
                        assert!(sender.put_words(INJECT, 0, !7, &[7]));
                        assert_eq!(port.poll(), Ok(Fate::Dead));
                        return vec![];
                    }
                }
            }
        }
        let mut to_dead = port.connect(LinkIndex::new(1)).unwrap();
        let (mut rings, mut numbers, mut sent) = (Vec::new(), Vec::new(), 0);
        while sent < 50 {
            sent += u64::from(to_dead.put_words(INJECT, 0, !sent, &[sent]));
            rings.extend(port.accept());
            for (_, ring) in &mut rings {
                numbers.extend(take(ring, &mut to_dead));
            }
            poll(&port);
        }
        numbers
    });
    assert_eq!(received, [vec![], vec![], vec![0]]);
}

#[test]
fn a_rank_that_panics_leaves() {
    let net = SimNet::new(2, SimSettings::default(), PAYLOAD_RULES).unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run(&net, 2, |port, rank| {
            assert_ne!(rank, 0, "on purpose");
            let mut sender = port.connect(LinkIndex::new(0)).unwrap();
            for number in 0..500 {
                while !sender.put_words(INJECT, 0, !number, &[number]) {
                    poll(&port);
                }
            }
        });
    }));
    assert!(outcome.is_err());
}

/// Each VCI of each rank sends its name to each one, and knows by the number of its peer who sent what.
#[test]
fn each_vci_of_a_rank_has_connections_of_its_own() {
    const VCIS: usize = 3;
    let text = settings("seed=4,cells=4,payload=8192,reorder=1");
    let net = SimNet::with_vcis(2, VCIS as u8, text, PAYLOAD_RULES).unwrap();
    run(&net, 2, |port, rank| {
        let name = |process: PeerIndex, vci: VciIndex| {
            u64::from(process.get()) << 8 | u64::from(vci.get())
        };
        let vcis = || VciIndex::all().take(VCIS);
        let others = vcis()
            .skip(1)
            .map(|vci| net.port_of_vci(rank, vci).unwrap());
        let ports: Vec<Port> = std::iter::once(port).chain(others).collect();
        let processes = || (0..2).map(PeerIndex::new);
        let everyone = || processes().flat_map(|process| vcis().map(move |vci| (process, vci)));
        let me = PeerIndex::new(rank);
        let mut senders = Vec::new();
        for (port, vci) in ports.iter().zip(vcis()) {
            for (to, other) in everyone() {
                let peer = Peers::new(2, vci).link(to, other);
                let mut sender = port.connect(peer).unwrap();
                assert!(sender.put_words(INJECT, 0, name(to, other), &[name(me, vci)]));
                senders.push(sender);
            }
            let fourth = VciIndex::of_bits(VCIS as u32);
            let none = Peers::new(2, vci).link(PeerIndex::new(0), fourth);
            let expected = SimError::NoSuchRank {
                rank: none.get(),
                ranks: 2,
            };
            assert_eq!(port.connect(none).err(), Some(expected));
        }
        let mut rings: Vec<Vec<(LinkIndex, RingReceiver)>> =
            ports.iter().map(|_| Vec::new()).collect();
        let mut seen = BTreeSet::new();
        while seen.len() < everyone().count() * VCIS {
            for ((port, vci), rings) in ports.iter().zip(vcis()).zip(&mut rings) {
                rings.extend(std::iter::from_fn(|| port.accept()));
                for (peer, ring) in rings {
                    let Some(arrival) = ring.peek() else { continue };
                    let peers = Peers::new(2, vci);
                    let source = name(peers.process(*peer), peers.vci(*peer));
                    assert_eq!(ring.contents(arrival).match_word, name(me, vci));
                    assert_eq!(ring.word(0), source);
                    ring.advance();
                    assert!(seen.insert((vci, source)));
                }
            }
            poll(&ports[0]);
        }
        assert!(
            net.port_of_vci(rank, VciIndex::of_bits(VCIS as u32))
                .is_err()
        );
    });
    assert!(net.port_of_vci(0, VciIndex::of_bits(1)).is_err());
}

#[test]
fn a_network_without_messages_is_quiet() {
    let net = SimNet::new(
        2,
        settings("latency=1000,gap=0,bandwidth=160"),
        PAYLOAD_RULES,
    )
    .unwrap();
    run(&net, 2, |port, rank| {
        let mut sender = port.connect(LinkIndex::new(1 - rank)).unwrap();
        assert!(sender.put_words(INJECT, 0, !0, &[0]));
        assert!(!net.is_quiet());
        while !net.is_quiet() {
            poll(&port);
        }
        assert_eq!(net.now_ns(), 1050);
    });
}

#[test]
fn misuse_is_an_error() {
    let new = |text: &str| SimNet::new(2, settings(text), PAYLOAD_RULES).map(|_| ());
    let expected = SimError::NoSuchRank { rank: 2, ranks: 2 };
    assert_eq!(new("death=2@5"), Err(expected.clone()));
    let odd = SimSettings {
        cells: 3,
        ..SimSettings::default()
    };
    assert!(
        matches!(SimNet::new(1, odd, PAYLOAD_RULES), Err(SimError::Setting(text)) if text.contains("cells=3"))
    );
    let net = SimNet::new(2, SimSettings::default(), PAYLOAD_RULES).unwrap();
    assert_eq!(net.port(2).err(), Some(expected.clone()));
    let port = net.port(0).unwrap();
    assert_eq!(net.port(0).err(), Some(SimError::NoPort { rank: 0 }));
    assert_eq!(port.connect(LinkIndex::new(2)).err(), Some(expected));
    assert!(port.connect(LinkIndex::new(1)).is_ok());
    let twice = SimError::AlreadyConnected {
        source: 0,
        target: 1,
    };
    assert_eq!(port.connect(LinkIndex::new(1)).err(), Some(twice));
    net.leave(1);
    assert_eq!(net.port(1).err(), Some(SimError::NoPort { rank: 1 }));
    net.leave(0);
    assert_eq!(port.poll(), Err(SimError::NoPort { rank: 0 }));
}

#[test]
fn payload_outside_its_ring_is_reported_to_all() {
    let net = SimNet::new(2, settings("payload=8192"), PAYLOAD_RULES).unwrap();
    let outcomes = run(&net, 2, |port, rank| {
        if rank == 0 {
            // Rank 1 has its port by now.
            (0..5).for_each(|_| poll(&port));
            let mut sender = port.connect(LinkIndex::new(1)).unwrap();
            assert!(sender.put_words(CHUNK, 0, 0, &[0, 64, 8150]));
        }
        loop {
            match port.poll() {
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    });
    let expected = SimError::BadChunk {
        source: 0,
        target: 1,
        kind: CHUNK,
        location: 64,
        bytes: 8150,
    };
    assert_eq!(outcomes, [expected.clone(), expected]);
}

/// One side of `rounds` exchanges: the first rank sends, the other one answers.
fn play(port: &Port, rank: u32, rounds: u64) {
    let mut sender = port.connect(LinkIndex::new(1 - rank)).unwrap();
    let mut incoming = None;
    for number in 0..rounds {
        if rank == 0 {
            assert!(sender.put_words(INJECT, 0, !number, &[number]));
        }
        loop {
            poll(port);
            incoming = incoming.or_else(|| port.accept());
            if let Some((_, ring)) = &mut incoming
                && let Some(seen) = take(ring, &mut sender)
            {
                assert_eq!(seen, number);
                break;
            }
        }
        if rank == 1 {
            assert!(sender.put_words(INJECT, 0, !number, &[number]));
        }
    }
}

#[test]
fn all_schedules_of_a_ping_pong_are_visited_once() {
    for wake in ["receiver", "all"] {
        let mut traces = BTreeSet::new();
        let explored = for_each_schedule(20_000, |choices| {
            let settings = SimSettings {
                schedule: Schedule::Enumerate {
                    choices: choices.to_vec(),
                },
                ..settings(&format!("wake={wake}"))
            };
            let net = SimNet::new(2, settings, PAYLOAD_RULES).unwrap();
            run(&net, 2, |port, rank| play(&port, rank, 2));
            assert!(traces.insert(net.trace_hash()), "{choices:?} once more");
            net.options()
        });
        let explored = explored.unwrap();
        assert!(explored.is_complete, "{explored:?}");
        assert_eq!(explored.schedules, traces.len());
        assert!(explored.schedules > 20, "{explored:?}");
    }
}

#[test]
fn enumerations_find_both_orders_of_a_race() {
    let orders = Mutex::new(BTreeSet::new());
    for (reorder, expected) in [(0, 1), (1, 2)] {
        orders.lock().unwrap().clear();
        let explored = for_each_schedule(5_000, |choices| {
            let settings = SimSettings {
                schedule: Schedule::Enumerate {
                    choices: choices.to_vec(),
                },
                ..settings(&format!("wake=receiver,reorder={reorder}"))
            };
            let net = SimNet::new(3, settings, PAYLOAD_RULES).unwrap();
            run(&net, 3, |port, rank| {
                // Rank 1 sends only after rank 0 has: without reordering, rank 0's arrives first.
                if rank < 2 {
                    while rank == 1 && !net.trace_text().contains("0 -> 2") {
                        poll(&port);
                    }
                    let mut sender = port.connect(LinkIndex::new(2)).unwrap();
                    assert!(sender.put_words(INJECT, 0, !0, &[0]));
                    poll(&port);
                    return;
                }
                let (mut rings, mut order) = (Vec::new(), Vec::new());
                while order.len() < 2 {
                    poll(&port);
                    rings.extend(port.accept());
                    for (peer, ring) in &mut rings {
                        if take(ring, &mut RingSender::unconnected()).is_some() {
                            order.push(*peer);
                        }
                    }
                }
                orders.lock().unwrap().insert(order);
            });
            net.options()
        });
        let seen = orders.lock().unwrap().len();
        assert_eq!(seen, expected, "{explored:?}");
        assert!(explored.unwrap().is_complete);
    }
}

#[test]
fn enumerations_let_a_rank_die_at_any_moment() {
    let received = Mutex::new(BTreeSet::new());
    let explored = for_each_schedule(5_000, |choices| {
        let settings = SimSettings {
            schedule: Schedule::Enumerate {
                choices: choices.to_vec(),
            },
            death: Some(Death { rank: 0, at_ns: 0 }),
            ..settings("wake=receiver,reorder=1")
        };
        let net = SimNet::new(2, settings, PAYLOAD_RULES).unwrap();
        run(&net, 2, |port, rank| {
            if rank == 0 {
                let mut sender = port.connect(LinkIndex::new(1)).unwrap();
                for number in 0..2 {
                    assert!(sender.put_words(INJECT, 0, !number, &[number]));
                    if port.poll() == Ok(Fate::Dead) {
                        return;
                    }
                }
                while port.poll() == Ok(Fate::Alive) {}
                return;
            }
            let (mut ring, mut count) = (None, 0);
            while !net.is_quiet() {
                poll(&port);
                ring = ring.or_else(|| port.accept());
                if let Some((_, ring)) = &mut ring {
                    count += u32::from(take(ring, &mut RingSender::unconnected()).is_some());
                }
            }
            received.lock().unwrap().insert(count);
        });
        net.options()
    });
    assert!(explored.unwrap().is_complete);
    assert_eq!(*received.lock().unwrap(), BTreeSet::from([0, 1, 2]));
}

#[test]
fn an_enumeration_without_choices_is_one_schedule() {
    let explored = for_each_schedule(10, |choices| {
        let settings = SimSettings {
            schedule: Schedule::Enumerate {
                choices: choices.to_vec(),
            },
            ..SimSettings::default()
        };
        let net = SimNet::new(1, settings, PAYLOAD_RULES).unwrap();
        drop(net.port(0));
        net.options()
    });
    let one = Explored {
        schedules: 1,
        is_complete: true,
    };
    assert_eq!(explored, Ok(one));
}
