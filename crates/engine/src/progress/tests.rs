// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of several VCIs in one process.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Barrier;
use std::time::Duration;

use crate::comm::{Comm, Process, Spread, ThreadLevel};
use crate::completion::{Any, complete_some, test, test_all, test_any, wait, wait_all, wait_any};
use crate::errors::ErrorClass;
use crate::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode, irecv, isend, probe};
use crate::request::{RequestId, Status};
use crate::settings::{LockModel, ProgressModel, Settings};
use crate::testing::on_ranks_at_level;

/// Longer than messages that are injected.
const LONG: usize = 1000;

fn settings(vcis: u64) -> Settings {
    Settings {
        vcis,
        ..Settings::from_environment().0
    }
}

fn dup(comm: &std::sync::Arc<Comm>) -> std::sync::Arc<Comm> {
    crate::create::dup(comm, "test").unwrap()
}

fn start_send(comm: &Comm, data: &[u8], peer: u32, mode: Mode) -> RequestId {
    let memory = Memory::contiguous(data.as_ptr().cast_mut(), data.len());
    // SAFETY: callers wait for the request while the data live.
    unsafe { isend(comm, memory, peer as i32, 1, mode) }.unwrap()
}

fn start_receive(comm: &Comm, data: &mut [u8], peer: u32) -> RequestId {
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: as above.
    unsafe { irecv(comm, memory, peer as i32, 1) }.unwrap()
}

fn send(comm: &Comm, data: &[u8], peer: u32) {
    let mut request = start_send(comm, data, peer, Mode::Standard);
    wait(comm.vci(), &mut request, "test").unwrap();
}

fn receive(comm: &Comm, data: &mut [u8], peer: u32) {
    let mut request = start_receive(comm, data, peer);
    wait(comm.vci(), &mut request, "test").unwrap();
}

fn indices(process: &'static Process, count: usize) -> Vec<u8> {
    let world = process.world();
    let comms: Vec<_> = (0..count).map(|_| dup(world)).collect();
    let indices = comms.iter().map(|comm| comm.vci().index().get()).collect();
    comms.iter().for_each(|comm| comm.free());
    indices
}

#[test]
fn duplicates_take_the_vcis_round_robin_and_all_ranks_agree() {
    let found = on_ranks_at_level(&settings(3), ThreadLevel::Multiple, 3, |process| {
        indices(process, 7)
    });
    let expected = vec![1, 2, 0, 1, 2, 0, 1];
    assert_eq!(found, [expected.clone(), expected.clone(), expected]);
}

#[test]
fn below_multiple_and_with_a_global_lock_there_is_one_vci() {
    let global = Settings {
        locks: LockModel::Global,
        ..settings(3)
    };
    for (settings, level) in [
        (settings(3), ThreadLevel::Serialized),
        (global, ThreadLevel::Multiple),
    ] {
        let found = on_ranks_at_level(&settings, level, 2, |process| indices(process, 4));
        assert_eq!(found, [[0; 4], [0; 4]]);
    }
}

#[test]
fn intercommunicators_and_their_parts_have_vcis_too() {
    on_ranks_at_level(&settings(4), ThreadLevel::Multiple, 4, |process| {
        let (world, me) = (process.world(), process.rank());
        let half = crate::create::split(world, (me % 2) as i32, 0, "test")
            .unwrap()
            .unwrap();
        let leader = 1 - (me % 2) as i32;
        let bridge = Some(Ok((world.clone(), leader)));
        let inter = crate::create::inter::create(&half, 0, bridge, 3, "test").unwrap();
        let twin = dup(&inter);
        for comm in [&inter, &twin] {
            let peer = me / 2;
            let (mut data, own) = ([0; LONG], [me as u8 + 1; LONG]);
            let mut arrival = start_receive(comm, &mut data, peer);
            send(comm, &own, peer);
            wait(comm.vci(), &mut arrival, "test").unwrap();
            assert_eq!(data[0], (me ^ 1) as u8 + 1);
        }
        let merged = crate::create::inter::merge(&twin, me % 2 == 1, "test").unwrap();
        let mut word = [0];
        match merged.rank() {
            0 => send(&merged, &[7], 3),
            3 => {
                receive(&merged, &mut word, 0);
                assert_eq!(word, [7]);
            }
            _ => {}
        }
    });
}

#[test]
fn a_wait_for_a_lost_peer_says_that_a_process_aborted() {
    use std::io::{Error, ErrorKind};
    let kinds = [ErrorKind::ConnectionAborted, ErrorKind::Other];
    let told = with_comms(1, |_, comms| {
        kinds.map(|kind| {
            let mut data = [0; 1];
            let mut request = start_receive(&comms[0], &mut data, 1);
            let vci = comms[0].vci();
            vci.enter()
                .fail(&Error::new(kind, "rank 1 on host two is away"));
            let error = wait(vci, &mut request, "test").unwrap_err();
            vci.enter().fault = None;
            crate::completion::cancel(vci, request).unwrap();
            wait(vci, &mut request, "test").unwrap();
            assert!(error.to_string().contains("is away"), "{error}");
            error.class()
        })
    });
    let classes = [ErrorClass::ERR_PROC_ABORTED, ErrorClass::ERR_INTERN];
    assert_eq!(told, [classes, classes]);
}

/// Two ranks with a communicator for each of several VCIs.
fn with_comms<R: Send>(
    vcis: usize,
    body: impl Fn(u32, &[std::sync::Arc<Comm>]) -> R + Sync,
) -> Vec<R> {
    on_ranks_at_level(
        &settings(vcis as u64),
        ThreadLevel::Multiple,
        2,
        |process| {
            let comms: Vec<_> = (0..vcis).map(|_| dup(process.world())).collect();
            body(process.rank(), &comms)
        },
    )
}

#[test]
fn requests_of_several_vcis_are_completed_together() {
    with_comms(3, |me, comms| {
        let peer = 1 - me;
        for round in 0..50u8 {
            let out: Vec<_> = (0..9u8)
                .map(|index| [round.wrapping_add(index); LONG])
                .collect();
            let mut into = [[0; LONG]; 9];
            let mut arrivals: Vec<_> = into
                .iter_mut()
                .zip(comms.iter().cycle())
                .map(|(data, comm)| start_receive(comm, data, peer))
                .collect();
            let departures = out.iter().zip(comms.iter().cycle());
            let mut departures: Vec<_> = departures
                .map(|(data, comm)| start_send(comm, data, peer, Mode::Synchronous))
                .collect();
            let vci = comms[round as usize % 3].vci();
            let mut left = 9;
            while left > 0 {
                match round % 4 {
                    0 => {
                        wait_all(vci, &mut arrivals, "test", &mut |_, _| left -= 1).unwrap();
                    }
                    1 => match wait_any(vci, &mut arrivals, "test").unwrap() {
                        Any::Done(index, status) => {
                            assert_eq!(
                                (status.source, arrivals[index]),
                                (peer as i32, RequestId::NULL)
                            );
                            left -= 1;
                        }
                        _ => panic!("none is active, or one has failed"),
                    },
                    2 => {
                        let mut each =
                            |_: usize, status: Status| assert_eq!(status.bytes, LONG as u64);
                        let waits = left % 2 == 0;
                        let done = complete_some(vci, &mut arrivals, "test", waits, &mut each);
                        left -= done.unwrap().unwrap();
                    }
                    _ if left == 9 => {
                        if let Any::Done(..) = test_any(vci, &mut arrivals).unwrap() {
                            left -= 1;
                        }
                    }
                    _ => {
                        if test_all(vci, &mut arrivals, &mut |_, _| ()).unwrap() {
                            left = 0;
                        }
                    }
                }
            }
            wait_all(vci, &mut departures, "test", &mut |_, _| ()).unwrap();
            assert!(
                arrivals
                    .iter()
                    .chain(&departures)
                    .all(|id| *id == RequestId::NULL)
            );
            for (index, data) in into.iter().enumerate() {
                assert_eq!(data, &[round.wrapping_add(index as u8); LONG]);
            }
        }
        let mut none = [RequestId::NULL; 2];
        assert!(matches!(
            wait_any(comms[0].vci(), &mut none, "test"),
            Ok(Any::NoneActive)
        ));
    });
}

#[test]
fn a_stale_request_of_another_vci_is_named_by_its_index() {
    with_comms(3, |me, comms| {
        let mut data = [0; 4];
        if me == 1 {
            send(&comms[0], &data, 0);
            return;
        }
        let id = start_receive(&comms[0], &mut data, 1);
        wait(comms[2].vci(), &mut { id }, "test").unwrap();
        let error = wait(comms[1].vci(), &mut { id }, "test").unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_REQUEST);
        let mut ids = [RequestId::NULL, RequestId::SENT, id];
        let error = wait_all(comms[1].vci(), &mut ids, "test", &mut |_, _| ()).unwrap_err();
        assert!(error.to_string().contains("at index 2"), "{error}");
    });
}

#[test]
fn threads_with_communicators_of_their_own_exchange_messages_of_all_lengths() {
    const LENGTHS: [usize; 7] = [0, 1, 48, 49, 5000, 200_000, 1 << 20];
    with_comms(4, |me, comms| {
        std::thread::scope(|scope| {
            for (thread, comm) in comms.iter().enumerate() {
                scope.spawn(move || {
                    for round in 0..40 {
                        let length = LENGTHS[(round + thread) % LENGTHS.len()];
                        let (own, theirs) = ((me + 1) as u8, (2 - me) as u8);
                        let out = vec![own ^ round as u8; length];
                        let mut into = vec![0; length];
                        let mut arrival = start_receive(comm, &mut into, 1 - me);
                        send(comm, &out, 1 - me);
                        wait(comm.vci(), &mut arrival, "test").unwrap();
                        assert!(into.iter().all(|&byte| byte == theirs ^ round as u8));
                    }
                });
            }
        });
    });
}

#[test]
fn threads_call_collectives_of_their_own_communicators_at_once() {
    with_comms(3, |_, comms| {
        std::thread::scope(|scope| {
            for comm in comms {
                scope.spawn(move || {
                    for _ in 0..200 {
                        let barrier = crate::coll::barrier(comm.clone());
                        crate::task::block_on(comm.vci(), "test", barrier).unwrap();
                    }
                });
            }
        });
    });
}

/// A correct program that hangs if each wait advances its own VCI only (Zambre 2020, section 4.2.3): rank 0 sends synchronously on the
/// first communicator, then on the second. At rank 1 a thread waits for the message on the second one, while another one, who has
/// posted the receive on the first, waits for that thread: for `patience`, then it completes its receive, which frees both. True if
/// the first thread had its message before. `is_long` makes the messages wait for their receivers by their length.
fn ends_by_itself(progress: ProgressModel, is_long: bool, patience: Duration) -> bool {
    let settings = Settings {
        progress,
        // Sleeps begin soon.
        yields: 50,
        ..settings(3)
    };
    let ended = on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
        let comms = [dup(process.world()), dup(process.world())];
        let length = if is_long { 1 << 21 } else { 8 };
        let mode = if is_long {
            Mode::Standard
        } else {
            Mode::Synchronous
        };
        let (mut first, mut second) = (vec![0; length], vec![0; length]);
        if process.rank() == 0 {
            for (comm, data) in comms.iter().zip([&first, &second]) {
                let mut request = start_send(comm, data, 1, mode);
                wait(comm.vci(), &mut request, "test").unwrap();
            }
            return true;
        }
        let posted = Barrier::new(2);
        let (finish, finished) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut request = start_receive(&comms[1], &mut second, 0);
                posted.wait();
                wait(comms[1].vci(), &mut request, "test").unwrap();
                finish.send(()).unwrap();
            });
            let mut request = start_receive(&comms[0], &mut first, 0);
            posted.wait();
            let ended = finished.recv_timeout(patience).is_ok();
            wait(comms[0].vci(), &mut request, "test").unwrap();
            ended
        })
    });
    ended[1]
}

#[test]
fn a_wait_on_one_vci_advances_the_others() {
    for progress in [ProgressModel::Hybrid, ProgressModel::Global] {
        for is_long in [false, true] {
            assert!(ends_by_itself(progress, is_long, Duration::from_secs(60)));
        }
    }
}

#[test]
fn a_wait_that_advances_its_own_vci_only_hangs() {
    for is_long in [false, true] {
        let patience = Duration::from_millis(300);
        assert!(!ends_by_itself(ProgressModel::Vci, is_long, patience));
    }
}

/// A rank that only tests the answer has to send a long message on another VCI meanwhile.
#[test]
fn a_thread_that_tests_on_one_vci_advances_the_others() {
    for progress in [ProgressModel::Hybrid, ProgressModel::Global] {
        let settings = Settings {
            progress,
            cma: 0,
            ..settings(3)
        };
        on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
            let comms = [dup(process.world()), dup(process.world())];
            let (mut word, mut long) = ([0; 8], vec![7; 1 << 22]);
            if process.rank() == 1 {
                receive(&comms[0], &mut long, 0);
                return send(&comms[1], &word, 0);
            }
            let mut sent = start_send(&comms[0], &long, 1, Mode::Standard);
            let mut answer = start_receive(&comms[1], &mut word, 1);
            while test(comms[1].vci(), &mut answer).unwrap().is_none() {}
            wait(comms[0].vci(), &mut sent, "test").unwrap();
        });
    }
}

/// A rank with one thread that sleeps on one VCI is woken by messages of another one.
#[test]
fn a_sleeping_thread_is_woken_for_the_vcis_that_it_covers() {
    let settings = Settings {
        yields: 0,
        spin_polls: 10,
        sleep_limit_ms: 60_000,
        ..settings(3)
    };
    on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
        let comms = [dup(process.world()), dup(process.world())];
        let mut word = [0; 8];
        for _ in 0..20 {
            if process.rank() == 0 {
                // The peer sleeps on the second one meanwhile.
                std::thread::sleep(Duration::from_millis(5));
                let mut request = start_send(&comms[0], &word, 1, Mode::Synchronous);
                wait(comms[0].vci(), &mut request, "test").unwrap();
                send(&comms[1], &word, 1);
            } else {
                let mut other = [0; 8];
                let mut request = start_receive(&comms[0], &mut other, 0);
                receive(&comms[1], &mut word, 0);
                wait(comms[0].vci(), &mut request, "test").unwrap();
            }
        }
    });
}

/// Two ranks whose threads share a communicator that is spread over four VCIs: tags are `kind * 16 + sender * 4 + receiver`.
fn with_threads_of_a_spread_communicator(body: impl Fn(u32, &Comm, i32) + Sync) {
    on_ranks_at_level(&settings(2), ThreadLevel::Multiple, 2, |process| {
        let hints = |key: &str| match key {
            "rankpoint_num_vcis" => Some("4".to_owned()),
            "rankpoint_num_tag_bits_for_vci" => Some("2".to_owned()),
            "mpi_assert_no_any_tag" => Some("true".to_owned()),
            _ => None,
        };
        let comm = dup(process.world());
        comm.hints.set(hints);
        comm.spread_over_vcis(Spread::read(hints).unwrap().unwrap());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (body, comm) = (&body, &comm);
                scope.spawn(move || body(process.rank(), comm, thread));
            }
        });
        comm.free();
    });
}

#[test]
fn a_spread_communicator_gives_each_pair_of_threads_their_vcis() {
    const LENGTHS: [usize; 5] = [0, 8, 49, 3000, 400_000];
    with_threads_of_a_spread_communicator(|me, comm, thread| {
        let peer = 1 - me as i32;
        for (round, length) in LENGTHS.into_iter().cycle().take(25).enumerate() {
            let partner = (thread + round as i32) % 4;
            let (to, from) = (
                thread * 4 + partner,
                (4 + thread - round as i32 % 4) % 4 * 4 + thread,
            );
            let out = vec![thread as u8 + 1; length];
            let mut into = vec![0; length];
            let memory = Memory::contiguous(into.as_mut_ptr(), length);
            let source = if round % 2 == 0 {
                peer
            } else {
                ANY_SOURCE_RANK
            };
            // SAFETY: the request is waited for below.
            let mut arrival = unsafe { irecv(comm, memory, source, from) }.unwrap();
            let base = u32::from(comm.vci().index().get());
            assert_eq!(u32::from(arrival.vci().get()), (base + thread as u32) % 64);
            let memory = Memory::contiguous(out.as_ptr().cast_mut(), length);
            // SAFETY: as above.
            let sent = unsafe { isend(comm, memory, peer, to, Mode::Standard) };
            let status = wait(comm.vci(), &mut arrival, "test").unwrap();
            assert_eq!(
                (status.source, status.tag, status.bytes),
                (peer, from, length as u64)
            );
            assert!(into.iter().all(|&byte| i32::from(byte) == from / 4 + 1));
            wait(comm.vci(), &mut sent.unwrap(), "test").unwrap();
        }
    });
}

#[test]
fn a_spread_communicator_probes_and_keeps_order_in_each_tag() {
    with_threads_of_a_spread_communicator(|me, comm, thread| {
        let (peer, tag) = (1 - me as i32, thread * 5);
        for number in 0..100u8 {
            let data = [number; 3];
            let memory = Memory::contiguous(data.as_ptr().cast_mut(), 3);
            // SAFETY: injected, so it is complete on return or queued behind others that are waited for.
            let mut request = unsafe { isend(comm, memory, peer, tag, Mode::Standard) }.unwrap();
            wait(comm.vci(), &mut request, "test").unwrap();
        }
        for number in 0..100u8 {
            let source = if number % 3 == 0 {
                ANY_SOURCE_RANK
            } else {
                peer
            };
            let found = probe::probe(comm, source, tag).unwrap();
            assert_eq!((found.source, found.tag, found.bytes), (peer, tag, 3));
            let mut data = [0; 3];
            let memory = Memory::contiguous(data.as_mut_ptr(), 3);
            // SAFETY: waited for at once.
            let mut request = unsafe { irecv(comm, memory, source, tag) }.unwrap();
            wait(comm.vci(), &mut request, "test").unwrap();
            assert_eq!(data, [number; 3]);
        }
        let error = probe::probe(comm, peer, ANY_TAG_VALUE).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_TAG);
    });
}
