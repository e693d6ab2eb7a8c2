// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of windows whose members are endpoints, and of several windows over the same memory.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::{Arc, Barrier};

use fabric::counters::Counter;

use crate::coll;
use crate::comm::{Comm, Process, ThreadLevel};
use crate::create::create_endpoints;
use crate::datatype::{Datatype, Memory, Predefined, predefined};
use crate::op::Operator;
use crate::rma::{self, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::{RmaPath, Settings};
use crate::task::block_on;
use crate::testing::{on_ranks_at_level, shares_memory};

/// Runs `body` on every process of jobs of several sizes, on every path.
fn on_processes(sizes: &[u32], body: impl Fn(&'static Process) + Sync) {
    let paths = [RmaPath::Best, RmaPath::Message, RmaPath::Attach];
    for rma_path in paths.into_iter().take(if shares_memory() { 3 } else { 2 }) {
        let settings = Settings {
            rma_path,
            ..Settings::from_environment().0
        };
        for &size in sizes {
            on_ranks_at_level(&settings, ThreadLevel::Multiple, size, &body);
        }
    }
}

/// Endpoints of a process: not all processes have as many.
fn count(process: u32) -> i32 {
    [2, 3, 1][process as usize % 3]
}

pub(super) fn word() -> &'static Arc<Datatype> {
    Predefined::find(predefined::INT64_T).unwrap().datatype()
}

pub(super) fn at(rank: u32, disp: i64) -> Remote<'static> {
    Remote {
        unit: None,
        rank: rank as i32,
        disp,
        count: 1,
        datatype: word(),
    }
}

pub(super) fn put(window: &Window, number: &i64, rank: u32, disp: i64) {
    let origin = Memory::contiguous(std::ptr::from_ref(number).cast_mut().cast(), 8);
    // SAFETY: the caller keeps the number until it has synchronised.
    unsafe { rma::put(window, &origin, &at(rank, disp)) }.unwrap();
}

pub(super) fn get(window: &Window, number: &mut i64, rank: u32, disp: i64) {
    let origin = Memory::contiguous(std::ptr::from_mut(number).cast(), 8);
    // SAFETY: the caller keeps the number until it has synchronised.
    unsafe { rma::get(window, &origin, &at(rank, disp)) }.unwrap();
}

/// Adds a number and stores what was there.
pub(super) fn fetch_and_add(window: &Window, number: &i64, old: &mut i64, rank: u32, disp: i64) {
    let origin = std::ptr::from_ref(number).cast();
    let (result, sum) = (std::ptr::from_mut(old).cast(), Operator::Sum);
    // SAFETY: as above.
    unsafe { rma::fetch_and_op(window, origin, result, word(), rank as i32, disp, sum) }.unwrap();
}

/// Words of each member's window: one for each of up to 8 members, and counters.
pub(super) const WORDS: usize = 16;
const COUNTER: i64 = 8;
const UNDER_LOCK: i64 = 9;

/// Uses a window in all ways; `disps` are the displacements of the members' first words.
pub(super) fn use_window(comm: &Comm, window: &Window, disps: &[i64]) {
    let (me, size) = (comm.rank() as u32, comm.size() as u32);
    let place = |rank: u32, index: i64| disps[rank as usize] + 8 * index;
    for round in 0..10 {
        fence::fence(window, 0, "test").unwrap();
        let number = i64::from(100 * me) + round;
        (0..size).for_each(|rank| put(window, &number, rank, place(rank, i64::from(me))));
        fence::fence(window, 0, "test").unwrap();
        let mut found = vec![0; size as usize];
        for (rank, number) in (0..).zip(&mut found) {
            get(
                window,
                number,
                (me + 1) % size,
                place((me + 1) % size, rank),
            );
        }
        fence::fence(window, 0, "test").unwrap();
        let expected = |rank: u32| i64::from(100 * rank) + round;
        assert!(found.into_iter().eq((0..size).map(expected)));
    }
    let group = |rank: u32| window.group().include(&[rank as i32]).unwrap();
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    for round in 0..20 {
        let number = i64::from(me) - 1000 * round;
        active::post(window, &group(left), 0).unwrap();
        active::start(window, &group(right), 0, "test").unwrap();
        put(window, &number, right, place(right, 0));
        active::complete(window).unwrap();
        active::wait(window, "test").unwrap();
        let mut found = 0;
        passive::lock(window, LockKind::Shared, me as i32, 0, "test").unwrap();
        get(window, &mut found, me, place(me, 0));
        passive::unlock(window, me as i32).unwrap();
        assert_eq!(found, i64::from(left) - 1000 * round);
    }
    const ROUNDS: i64 = 100;
    let mut tickets = Vec::new();
    for _ in 0..ROUNDS {
        let (mut number, last) = (0, size - 1);
        passive::lock(window, LockKind::Exclusive, last as i32, 0, "test").unwrap();
        get(window, &mut number, last, place(last, UNDER_LOCK));
        passive::flush(window, last as i32).unwrap();
        number += 1;
        put(window, &number, last, place(last, UNDER_LOCK));
        passive::unlock(window, last as i32).unwrap();
        passive::lock_all(window, 0, "test").unwrap();
        let mut old = -1;
        fetch_and_add(window, &1, &mut old, 0, place(0, COUNTER));
        passive::unlock_all(window).unwrap();
        tickets.push(old as u64);
    }
    let all = coll::gather_words(window.comm().clone(), &tickets);
    let mut all = block_on(window.comm().vci(), "test", all).unwrap();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..ROUNDS as u64 * u64::from(size)));
    let mut total = 0;
    passive::lock_all(window, 0, "test").unwrap();
    get(window, &mut total, size - 1, place(size - 1, UNDER_LOCK));
    passive::unlock_all(window).unwrap();
    assert_eq!(total, ROUNDS * i64::from(size));
    fence::fence(window, 0, "test").unwrap();
}

/// Runs `body` on a thread for each endpoint.
fn on_endpoints(process: &'static Process, body: impl Fn(Arc<Comm>) + Sync) {
    let count = count(process.rank());
    let endpoints = create_endpoints(process.world(), count, "test").unwrap();
    std::thread::scope(|scope| {
        for endpoint in endpoints {
            scope.spawn(|| body(endpoint));
        }
    });
}

#[test]
fn endpoints_use_windows_of_all_kinds() {
    on_processes(&[1, 2, 3], |process| {
        on_endpoints(process, |comm| {
            let hints = WindowHints::default;
            let (bytes, starts) = (8 * WORDS as u64, vec![0; comm.size() as usize]);
            let window = rma::allocate(&comm, bytes, 1, hints(), "test").unwrap();
            use_window(&comm, &window, &starts);
            window.free("test").unwrap();
            if shares_memory() {
                let window = rma::allocate_shared(&comm, bytes, 1, hints(), "test").unwrap();
                use_window(&comm, &window, &starts);
                window.free("test").unwrap();
            }
            let mut memory = [0i64; WORDS];
            let base = memory.as_mut_ptr().cast();
            // SAFETY: the memory lives until the window is freed.
            let window = unsafe { rma::create(&comm, base, bytes, 1, hints(), "test") }.unwrap();
            use_window(&comm, &window, &starts);
            window.free("test").unwrap();
            memory.fill(0);
            let window = rma::create_dynamic(&comm, hints(), "test").unwrap();
            // SAFETY: as above.
            unsafe { window.attach(base, bytes as usize) }.unwrap();
            let own = [base as u64];
            let told = coll::gather_words(comm.clone(), &own);
            let told = block_on(comm.vci(), "test", told).unwrap();
            let starts: Vec<_> = told.into_iter().map(|address| address as i64).collect();
            use_window(&comm, &window, &starts);
            window.free("test").unwrap();
            assert_ne!(memory[0], 0);
        });
    });
}

#[test]
fn a_process_makes_the_windows_of_its_endpoints_at_once() {
    on_processes(&[1, 3], |process| {
        let mut memory = [0i64; WORDS];
        let base: *mut u8 = memory.as_mut_ptr().cast();
        let base = base as usize;
        for brings_memory in [false, true] {
            let part = |index| {
                Ok(rma::Part {
                    // One member of each process brings the process's memory.
                    base: if brings_memory && index == 0 {
                        base as *mut u8
                    } else {
                        std::ptr::null_mut()
                    },
                    bytes: 8 * WORDS as u64,
                    unit: 1,
                })
            };
            let (world, count, hints) =
                (process.world(), count(process.rank()), WindowHints::default);
            // SAFETY: the memory lives until the windows are freed.
            let made = unsafe { rma::create_endpoints(world, count, part, hints, "test") };
            let made = made.unwrap();
            assert_eq!(made.len(), count as usize);
            std::thread::scope(|scope| {
                for window in made {
                    scope.spawn(move || {
                        let comm = window.comm().clone();
                        use_window(&comm, &window, &vec![0; comm.size() as usize]);
                        window.free("test").unwrap();
                    });
                }
            });
        }
    });
}

#[test]
fn threads_access_node_shared_and_private_memory_without_a_lock_of_a_vci() {
    if !shares_memory() {
        return;
    }
    const THREADS: u32 = 4;
    let settings = Settings::from_environment().0;
    on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
        let mut memory = [0i64; WORDS];
        let (world, bytes) = (process.world(), 8 * WORDS as u64);
        let shared = rma::allocate(world, bytes, 1, WindowHints::default(), "test").unwrap();
        let base = memory.as_mut_ptr().cast();
        let hints = WindowHints::default();
        // SAFETY: the memory lives until the window is freed.
        let private = unsafe { rma::create(world, base, bytes, 1, hints, "test") }.unwrap();
        let other = 1 - process.rank();
        for window in [&shared, &private] {
            if window.channel.is_some() {
                // Cross-memory attach is not allowed here.
                continue;
            }
            passive::lock_all(window, 0, "test").unwrap();
            put(window, &0, other, 0);
            let vcis = [process.vci(), window.comm().vci()];
            let before = vcis.map(|vci| vci.enter().counted(Counter::LocksTaken));
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || {
                        let mut old = 0;
                        for round in 0..500 {
                            put(window, &round, other, 8 * i64::from(1 + thread));
                            fetch_and_add(window, &1, &mut old, other, 8 * COUNTER);
                            passive::flush(window, other as i32).unwrap();
                        }
                    });
                }
            });
            let after = vcis.map(|vci| vci.enter().counted(Counter::LocksTaken));
            // The reading itself takes the lock, and so do the rounds of progress of a thread that waits long for the sum of another
            // one. A lock for each operation would be hundreds.
            for (before, after) in before.into_iter().zip(after) {
                assert!(after - before < u64::from(THREADS) * 50, "{before} {after}");
            }
            passive::unlock_all(window).unwrap();
            fence::fence(window, 0, "test").unwrap();
            let mut found = 0;
            get(window, &mut found, other, 8 * COUNTER);
            fence::fence(window, 0, "test").unwrap();
            assert_eq!(found, 500 * i64::from(THREADS));
        }
        shared.free("test").unwrap();
        private.free("test").unwrap();
    });
}

#[test]
fn threads_that_begin_to_use_a_target_at_once_take_its_lock_once() {
    const THREADS: i64 = 4;
    on_processes(&[1, 2], |process| {
        let bytes = 8 * WORDS as u64;
        let hints = WindowHints::default();
        let window = rma::allocate(process.world(), bytes, 1, hints, "test").unwrap();
        let (window, last) = (&*window, process.size() - 1);
        for _ in 0..20 {
            passive::lock_all(window, 0, "test").unwrap();
            let together = Barrier::new(THREADS as usize);
            let together = &together;
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || {
                        together.wait();
                        put(window, &thread, last, 8 * thread);
                        passive::flush(window, last as i32).unwrap();
                    });
                }
            });
            passive::unlock_all(window).unwrap();
            // A shared lock that nobody gives back would keep this one out.
            passive::lock(window, LockKind::Exclusive, last as i32, 0, "test").unwrap();
            passive::unlock(window, last as i32).unwrap();
        }
        window.free("test").unwrap();
    });
}

#[test]
fn each_thread_has_a_window_over_the_same_memory() {
    on_processes(&[2], |process| {
        const THREADS: usize = 3;
        let bytes = 8 * WORDS as u64;
        let world = process.world();
        let whole = rma::allocate(world, bytes, 1, WindowHints::default(), "test").unwrap();
        let windows: Vec<_> = (0..THREADS)
            .map(|_| {
                let hints = WindowHints::default();
                // SAFETY: the memory is that of the first window, which is freed last.
                unsafe { rma::create(world, whole.base(), bytes, 1, hints, "test") }.unwrap()
            })
            .collect();
        let other = 1 - process.rank();
        std::thread::scope(|scope| {
            for (index, window) in windows.iter().enumerate() {
                scope.spawn(move || {
                    let place = 8 * index as i64;
                    for round in 0..100 {
                        passive::lock(window, LockKind::Shared, other as i32, 0, "test").unwrap();
                        put(window, &round, other, place);
                        passive::flush(window, other as i32).unwrap();
                        let mut found = -1;
                        get(window, &mut found, other, place);
                        passive::unlock(window, other as i32).unwrap();
                        assert_eq!(found, round);
                    }
                });
            }
        });
        for window in windows {
            window.free("test").unwrap();
        }
        whole.free("test").unwrap();
    });
}
