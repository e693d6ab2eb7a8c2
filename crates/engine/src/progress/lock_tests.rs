// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of how often calls take the lock of a VCI.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Barrier;

use fabric::counters::Counter;
use sys::sync::{Ordering, spin_loop};

use super::Vci;
use crate::comm::{Comm, Process, ThreadLevel};
use crate::completion::{test, wait};
use crate::datatype::{Predefined, predefined};
use crate::identity::PeerIndex;
use crate::p2p::{self, Injected, Memory, Mode, Posted};
use crate::request::RequestId;
use crate::rma::{self, Remote, WindowHints, passive};
use crate::settings::{LockModel, RmaPath, Settings};
use crate::testing::{on_ranks_at_level, shares_memory};

const TAG: i32 = 1;
/// Longer than messages that are injected.
const EAGER: usize = 1000;
/// A put whose request leaves at once.
const LONG_PUT: usize = 5000;

fn taken(vci: &Vci) -> u64 {
    vci.enter().counted(Counter::LocksTaken)
}

/// How often a call takes the lock of a communicator's VCI, and its result.
fn locks_of<R>(comm: &Comm, call: impl FnOnce() -> R) -> (u64, R) {
    let before = taken(comm.vci());
    let result = call();
    (taken(comm.vci()) - before - 1, result)
}

fn memory(data: &mut [u8]) -> Memory<'_> {
    Memory::contiguous(data.as_mut_ptr(), data.len())
}

fn send(comm: &Comm, data: &mut [u8]) -> Injected {
    // SAFETY: the data live while the call runs.
    unsafe {
        p2p::send_now::<p2p::NoPromise>(comm, data.as_ptr(), data.len(), 1 - comm.rank(), TAG)
    }
}

fn post(comm: &Comm, data: &mut [u8]) -> RequestId {
    let (base, bytes) = (data.as_mut_ptr(), data.len());
    // SAFETY: callers wait for the request while the data live.
    match unsafe { p2p::post_now::<p2p::NoPromise>(comm, base, bytes, 1 - comm.rank(), TAG) } {
        Posted::Posted(id) => id,
        // SAFETY: as above.
        _ => unsafe { p2p::irecv(comm, memory(data), 1 - comm.rank(), TAG) }.unwrap(),
    }
}

fn wait_for(comm: &Comm, mut request: RequestId) {
    wait(comm.vci(), &mut request, "test").unwrap();
}

/// What rank 0 does while rank 1 sends it a message at each step and receives what comes.
fn count(comm: &Comm, step: &Barrier) {
    let (mut out, mut into, mut long) = ([1], [0], [0; EAGER]);
    let arrival = |comm: &Comm| {
        step.wait();
        assert_eq!(send(comm, &mut [0]), Injected::Sent);
        step.wait();
    };
    if comm.rank() == 1 {
        for _ in 0..6 {
            arrival(comm);
        }
        for length in [1, EAGER, 1] {
            let mut data = vec![0; length];
            wait_for(comm, post(comm, &mut data));
        }
        return;
    }
    let arrive = || {
        step.wait();
        step.wait();
    };
    let (locks, request) = locks_of(comm, || post(comm, &mut into));
    assert_eq!(locks, 1, "Irecv");
    arrive();
    assert_eq!(locks_of(comm, || wait_for(comm, request)).0, 2, "Wait");

    let mut request = post(comm, &mut into);
    let (locks, status) = locks_of(comm, || test(comm.vci(), &mut request).unwrap());
    assert!(locks == 3 && status.is_none(), "Test in vain");
    arrive();
    let (locks, status) = locks_of(comm, || test(comm.vci(), &mut request).unwrap());
    assert!(locks == 3 && status.is_some(), "Test with a message");

    let mut request = post(comm, &mut into);
    arrive();
    comm.vci().enter().progress();
    let (locks, status) = locks_of(comm, || test(comm.vci(), &mut request).unwrap());
    assert!(locks == 1 && status.is_some(), "Test of what is complete");

    arrive();
    // SAFETY: the memory lives while the call runs.
    let receive = || unsafe { p2p::receive_soon(comm, memory(&mut into), 1, TAG) };
    let (locks, status) = locks_of(comm, receive);
    assert!(locks == 1 && status.is_some(), "Recv");

    arrive();
    let (locks, sent) = locks_of(comm, || {
        let (send, receive) = (memory(&mut out), memory(&mut into));
        // SAFETY: as above.
        unsafe { p2p::exchange_soon(comm, (send, 1, TAG), (receive, 1, TAG)) }
    });
    assert!(
        locks == 2 && sent.is_some_and(|one| one.is_some()),
        "Sendrecv"
    );

    arrive();
    comm.vci().enter().progress();
    // SAFETY: as above, and the request is waited for.
    let post = || unsafe { p2p::irecv(comm, memory(&mut into), 1, TAG) };
    let (locks, request) = locks_of(comm, post);
    assert_eq!(locks, 1, "Irecv of an unexpected message");
    wait_for(comm, request.unwrap());

    // SAFETY: the data live while the call runs.
    let isend = || unsafe { p2p::isend(comm, memory(&mut long), 1, TAG, Mode::Standard) };
    let (locks, request) = locks_of(comm, isend);
    assert_eq!(locks, 1, "Isend of an eager message");
    let locks = locks_of(comm, || wait_for(comm, request.unwrap())).0;
    assert_eq!(locks, 0, "Wait of a send that is complete");
    assert_eq!(
        locks_of(comm, || send(comm, &mut out)),
        (1, Injected::Sent),
        "immediate Isend"
    );
}

/// Lock models and numbers of VCIs.
const MODELS: [(LockModel, u64); 3] = [
    (LockModel::Vci, 2),
    (LockModel::Vci, 1),
    (LockModel::Global, 2),
];

#[test]
fn calls_take_the_locks_that_the_table_states() {
    if !shares_memory() {
        return;
    }
    for (locks, vcis) in MODELS {
        let step = Barrier::new(2);
        let settings = Settings {
            locks,
            vcis,
            ..Settings::default()
        };
        on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
            let comm = crate::create::dup(process.world(), "test").unwrap();
            let mut word = [0];
            // The first messages connect the ranks.
            let request = post(&comm, &mut word);
            let peer = 1 - comm.rank();
            // SAFETY: the word outlives the request.
            let sent = unsafe { p2p::isend(&comm, memory(&mut [0]), peer, TAG, Mode::Standard) };
            wait_for(&comm, sent.unwrap());
            wait_for(&comm, request);
            count(&comm, &step);
        });
    }
}

/// How often a call takes the lock of any VCI of a process, and its result.
fn locks_of_all<R>(process: &'static Process, call: impl FnOnce() -> R) -> (u64, R) {
    let all = || process.vcis().iter().map(taken).sum::<u64>();
    let before = all();
    let result = call();
    (
        all() - before - process.vcis().iter().count() as u64,
        result,
    )
}

/// How often rank 0 takes locks for a put of a byte, which by messages starts the task that sends it, and for a longer one to rank 1.
fn count_puts(process: &'static Process) -> [u64; 2] {
    let hints = WindowHints::default();
    let window = rma::allocate(process.world(), LONG_PUT as u64, 1, hints, "test").unwrap();
    let byte = Predefined::find(predefined::BYTE).unwrap().datatype();
    let mut data = [7; LONG_PUT];
    let mut put = |bytes: usize| {
        let there = Remote {
            unit: None,
            rank: 1,
            disp: 0,
            count: bytes,
            datatype: byte,
        };
        // SAFETY: the data live until the window is flushed.
        unsafe { rma::put(&window, &memory(&mut data[..bytes]), &there) }.unwrap();
    };
    let mut counts = [0; 2];
    if process.rank() == 0 {
        passive::lock(&window, rma::LockKind::Shared, 1, 0, "test").unwrap();
        // The first messages connect the ranks.
        put(1);
        for (count, bytes) in counts.iter_mut().zip([1, LONG_PUT]) {
            passive::flush(&window, 1).unwrap();
            *count = locks_of_all(process, || put(bytes)).0;
        }
        passive::unlock(&window, 1).unwrap();
    }
    window.free("test").unwrap();
    counts
}

#[test]
fn puts_take_the_locks_that_the_table_states() {
    if !shares_memory() {
        return;
    }
    for (rma_path, expected) in [(RmaPath::Direct, [0, 0]), (RmaPath::Message, [2, 1])] {
        for (locks, vcis) in MODELS {
            let settings = Settings {
                locks,
                vcis,
                rma_path,
                ..Settings::default()
            };
            let counts = on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, count_puts);
            assert_eq!(counts[0], expected, "{rma_path:?} {locks:?}");
        }
    }
}

#[test]
fn failed_tries_and_global_rounds_reach_the_board_as_sums() {
    let settings = Settings {
        vcis: 2,
        ..Settings::default()
    };
    on_ranks_at_level(&settings, ThreadLevel::Multiple, 1, |process| {
        let comms = [(); 2].map(|()| crate::create::dup(process.world(), "test").unwrap());
        let failed = |vci: &Vci| vci.locks_failed.load(Ordering::Relaxed);
        for vci in comms.iter().map(|comm| comm.vci()) {
            let guard = vci.enter();
            assert!(vci.try_enter().is_none());
            std::thread::scope(|scope| {
                let other = scope.spawn(|| drop(vci.enter()));
                while failed(vci) != 2 {
                    spin_loop();
                }
                drop(guard);
                other.join().unwrap();
            });
            let before = vci.global_rounds.load(Ordering::Relaxed);
            vci.progress_others();
            assert_eq!(vci.global_rounds.load(Ordering::Relaxed), before + 1);
        }
        let vcis = || process.vcis().iter();
        let taken = vcis().map(taken).sum::<u64>();
        vcis().for_each(|vci| vci.enter().publish_counts());
        let board = process.node().board(PeerIndex::new(0));
        let counted = |counter: Counter| board.counters[counter as usize].load(Ordering::Relaxed);
        assert_eq!(counted(Counter::LocksFailed), 4);
        assert_eq!(counted(Counter::GlobalRounds), {
            let rounds = vcis().map(|vci| vci.global_rounds.load(Ordering::Relaxed));
            rounds.sum::<u64>()
        });
        assert_eq!(counted(Counter::LocksTaken), taken + vcis().count() as u64);
    });
}

/// A thread that finds the lock taken waits before it tries again: by then the owner has left. A try that follows at once would fail, too.
#[test]
fn a_send_that_finds_the_lock_taken_lets_the_owner_go_on() {
    let settings = Settings {
        vcis: 2,
        ..Settings::default()
    };
    on_ranks_at_level(&settings, ThreadLevel::Multiple, 1, |process| {
        let comm = crate::create::dup(process.world(), "test").unwrap();
        let vci = comm.vci();
        let failed = || vci.locks_failed.load(Ordering::Relaxed);
        let send = || {
            let mut data = [0];
            // SAFETY: the data outlive the calls; a message that fits a cell leaves with the second one.
            unsafe {
                let sent = p2p::send_now::<p2p::NoPromise>(&comm, data.as_ptr(), 1, 0, TAG);
                if sent == Injected::Refused {
                    let sent = p2p::isend(&comm, memory(&mut data), 0, TAG, Mode::Standard);
                    wait_for(&comm, sent.unwrap());
                }
            }
        };
        // The first message connects the rank with itself.
        send();
        // The system may stop the owner for longer than the other thread waits.
        let tries = (0..100).map(|_| {
            let (before, guard) = (failed(), vci.enter());
            std::thread::scope(|scope| {
                let other = scope.spawn(send);
                while !vci.is_contended() {
                    spin_loop();
                }
                drop(guard);
                other.join().unwrap();
            });
            let mut data = [1];
            wait_for(&comm, {
                // SAFETY: the data outlive the request.
                unsafe { p2p::irecv(&comm, memory(&mut data), 0, TAG) }.unwrap()
            });
            failed() - before
        });
        assert!(tries.into_iter().any(|failed| failed == 1));
        let mut data = [1];
        // SAFETY: the data outlive the request.
        let last = unsafe { p2p::irecv(&comm, memory(&mut data), 0, TAG) };
        wait_for(&comm, last.unwrap());
    });
}

#[test]
fn what_needs_no_lock_counts_none() {
    let (settings, level) = (Settings::default(), ThreadLevel::Serialized);
    let taken = on_ranks_at_level(&settings, level, 1, |process| taken(process.vci()));
    assert_eq!(taken, [0]);
}

#[test]
fn locks_of_vcis_have_cache_lines_of_their_own() {
    let settings = Settings {
        vcis: 3,
        ..Settings::default()
    };
    on_ranks_at_level(&settings, ThreadLevel::Multiple, 1, |process| {
        let comms = [(); 2].map(|()| crate::create::dup(process.world(), "test").unwrap());
        let [one, other] = [0, 1].map(|index: usize| comms[index].vci().lock_address());
        assert!(one.abs_diff(other) >= 64);
        assert_eq!(std::ptr::from_ref(comms[0].vci()).addr() % 64, 0);
    });
}
