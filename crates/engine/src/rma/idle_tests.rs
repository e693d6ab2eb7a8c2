// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of many windows at once: what idle ones cost, and what they leave.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use fabric::board::PAGE_BYTES;
use sys::cma;
use sys::sync::Ordering;

use crate::coll;
use crate::comm::Process;
use crate::datatype::{Memory, Predefined, predefined};
use crate::rma::polled::MOST_HELPERS;
use crate::rma::{self, LockKind, Remote, Window, WindowHints, passive};
use crate::settings::{RmaPath, Settings};
use crate::task::block_on;
use crate::testing::{on_ranks, on_ranks_with, shares_memory};

const MANY: usize = 1000;

fn window_over(process: &'static Process, word: &mut u64) -> Arc<Window> {
    let (world, hints) = (process.world(), WindowHints::default());
    // SAFETY: the caller keeps the word until the window is freed.
    unsafe { rma::create(world, (&raw mut *word).cast(), 8, 8, hints, "test") }.unwrap()
}

/// Puts a word into the window of the next rank.
fn put_next(process: &'static Process, window: &Window, word: u64) {
    let next = (process.rank() + 1) % window.group().size();
    let datatype = Predefined::find(predefined::BYTE).unwrap().datatype();
    let origin = Memory::contiguous((&raw const word).cast_mut().cast(), 8);
    let remote = Remote {
        unit: None,
        rank: next as i32,
        disp: 0,
        count: 8,
        datatype,
    };
    passive::lock(window, LockKind::Shared, next as i32, 0, "test").unwrap();
    // SAFETY: the word lives until the unlock.
    unsafe { rma::put(window, &origin, &remote) }.unwrap();
    passive::unlock(window, next as i32).unwrap();
}

fn barrier(process: &'static Process) {
    let world = process.world();
    block_on(world.vci(), "test", coll::barrier(world.clone())).unwrap();
}

/// Tasks that each round polls, when those that have nothing to do are parked.
fn polled_tasks(window: &Window) -> usize {
    let vci = window.comm.vci();
    for _ in 0..100 {
        vci.poll_tasks();
    }
    vci.polled_tasks()
}

/// Windows for which a process without forced path polls.
fn most_helpers() -> usize {
    let word = 5u64;
    let (pid, address) = (std::process::id(), (&raw const word) as u64);
    match cma::verify(cma::Remote { pid, address }, 5) {
        true => MOST_HELPERS,
        false => 0,
    }
}

/// Makes and uses many windows; each round of progress polls so many tasks for all of them.
fn with_many(process: &'static Process, expected: usize) {
    let mut words = vec![0u64; MANY];
    let windows: Vec<_> = words
        .iter_mut()
        .map(|word| window_over(process, word))
        .collect();
    barrier(process);
    for (number, window) in (1..).zip(&windows).step_by(97) {
        put_next(process, window, number);
    }
    barrier(process);
    assert_eq!(polled_tasks(&windows[0]), expected);
    for window in windows.iter().rev() {
        window.free("test").unwrap();
    }
    for (index, word) in words.iter().enumerate() {
        let expected = if index % 97 == 0 { index as u64 + 1 } else { 0 };
        assert_eq!(*word, expected, "window {index}");
    }
}

#[test]
fn rounds_of_progress_do_not_poll_idle_windows() {
    let settings = |rma_path| Settings {
        rma_path,
        ..Settings::from_environment().0
    };
    on_ranks_with(&settings(RmaPath::Message), 2, |process| {
        with_many(process, 0);
    });
    if !shares_memory() {
        return;
    }
    on_ranks_with(&settings(RmaPath::Attach), 2, |process| {
        with_many(process, 0);
    });
    on_ranks_with(&settings(RmaPath::Best), 2, |process| {
        with_many(process, most_helpers());
        assert_eq!(process.world().vci().helpers(), 0);
    });
}

#[test]
fn many_windows_give_back_memory() {
    if !shares_memory() {
        return;
    }
    for path in [RmaPath::Best, RmaPath::Message] {
        let settings = Settings {
            rma_path: path,
            ..Settings::from_environment().0
        };
        on_ranks_with(&settings, 2, |process| {
            let top = || process.node().header().heap_top.load(Ordering::Relaxed);
            let expected = match path {
                RmaPath::Message => 0,
                _ => most_helpers(),
            };
            with_many(process, expected);
            barrier(process);
            let before = top();
            barrier(process);
            with_many(process, expected);
            barrier(process);
            // Areas of two windows exist at once when a rank makes the next one before the other has left the last one.
            assert!(top() - before < (MANY * PAGE_BYTES) as u64);
            barrier(process);
        });
    }
}

#[test]
fn none_of_64_contenders_for_a_lock_starves() {
    if !shares_memory() {
        return;
    }
    /// Each rank contends until all ranks have had the lock so often.
    const TIMES: u64 = 5;
    const RANKS: u32 = 64;
    on_ranks(RANKS, |process| {
        let world = process.world();
        let window = rma::allocate_shared(world, 8, 8, WindowHints::default(), "test").unwrap();
        let (_, _, first) = window.shared_query(0).unwrap();
        let finished: *mut u64 = first.cast();
        let mut count = 0;
        loop {
            passive::lock(&window, LockKind::Exclusive, 0, 0, "test").unwrap();
            count += 1;
            // SAFETY: a word of the window, read and written with its lock.
            let all = unsafe {
                *finished += u64::from(count == TIMES);
                *finished
            };
            passive::unlock(&window, 0).unwrap();
            if all == u64::from(RANKS) {
                break;
            }
        }
        assert!(count >= TIMES);
        window.free("test").unwrap();
    });
}
