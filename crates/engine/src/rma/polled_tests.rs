// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of puts and gets of private memory that a target executes while it polls, and of those that it leaves to their origin.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use fabric::lock::RequestCell;
use fabric::window::CELL_BYTES;
use sys::sync::{AtomicU32, Ordering};

use super::target::Path;
use crate::comm::Process;
use crate::datatype::predefined::BYTE;
use crate::datatype::{Datatype, Memory, Predefined};
use crate::rma::{self, LockKind, Remote, Window, WindowHints, fence, passive};
use crate::testing::{on_ranks, shares_memory};

const LENGTHS: [usize; 12] = [
    0,
    1,
    2,
    7,
    8,
    9,
    31,
    32,
    33,
    4096,
    CELL_BYTES,
    CELL_BYTES + 1,
];
const BYTES: usize = 2 * CELL_BYTES;
const TARGET: i32 = 1;

/// A window over private memory of bytes.
fn window_over(process: &'static Process, memory: &mut [u8]) -> Arc<Window> {
    let (base, bytes) = (memory.as_mut_ptr(), memory.len() as u64);
    let hints = WindowHints::default();
    // SAFETY: the caller keeps the memory until the window is freed.
    unsafe { rma::create(process.world(), base, bytes, 1, hints, "test") }.unwrap()
}

fn bytes_at(disp: usize, count: usize) -> Remote<'static> {
    let datatype: &'static Datatype = Predefined::find(BYTE).unwrap().datatype();
    Remote {
        unit: None,
        rank: TARGET,
        disp: disp as i64,
        count,
        datatype,
    }
}

/// Puts bytes that depend on `seed`, and gets them with one on either side.
fn put_and_get(window: &Window, bytes: usize, seed: usize) {
    let mut data: Vec<u8> = (0..bytes).map(|at| (at * 7 + seed) as u8 | 1).collect();
    let mut got = vec![0xaa; bytes + 2];
    let disp = 3 + seed % 5;
    let memory = |data: &mut [u8]| Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: both vectors live through the calls.
    unsafe {
        rma::put(window, &memory(&mut data), &bytes_at(disp, bytes)).unwrap();
        passive::flush(window, TARGET).unwrap();
        let around = bytes_at(disp - 1, bytes + 2);
        rma::get(window, &memory(&mut got), &around).unwrap();
    }
    passive::flush(window, TARGET).unwrap();
    assert_eq!(got[1..=bytes], data, "{bytes} bytes");
    data.fill(0);
    // SAFETY: as above.
    unsafe { rma::put(window, &memory(&mut data), &bytes_at(disp, bytes)) }.unwrap();
    passive::flush(window, TARGET).unwrap();
    assert_eq!((got[0], got[bytes + 1]), (0, 0), "beside {bytes} bytes");
}

fn whole_test(window: &Window) {
    passive::lock(window, LockKind::Shared, TARGET, 0, "test").unwrap();
    for round in 0..20 {
        for (index, bytes) in LENGTHS.into_iter().enumerate() {
            put_and_get(window, bytes, round + 16 * index);
        }
    }
    passive::unlock(window, TARGET).unwrap();
}

/// Whether the target is reached by attach and has a cell, which was used.
fn has_used_cell(window: &Window) -> bool {
    let target = &window.targets[TARGET as usize];
    let view = target.view.filter(|view| view.has_cell());
    target.path == Path::Attach
        && view.is_some_and(|view| view.board().cell.take() != RequestCell::default().take())
}

#[test]
fn a_polling_target_executes_what_is_posted() {
    on_ranks(2, |process| {
        let mut memory = vec![0u8; BYTES];
        let window = window_over(process, &mut memory);
        fence::fence(&window, rma::epoch::assertion::NOSUCCEED, "test").unwrap();
        if process.rank() == 0 {
            whole_test(&window);
            let can_ask = process.world().vci().direct_polls() > 0;
            let has_attach = window.targets[TARGET as usize].path == Path::Attach;
            assert_eq!(has_used_cell(&window), can_ask && has_attach);
        }
        // The target waits here.
        window.free("test").unwrap();
        assert!(memory.iter().all(|&byte| byte == 0));
    });
}

#[test]
fn a_target_that_computes_is_not_needed() {
    let done = AtomicU32::new(0);
    on_ranks(2, |process| {
        let mut memory = vec![0u8; BYTES];
        let window = window_over(process, &mut memory);
        fence::fence(&window, rma::epoch::assertion::NOSUCCEED, "test").unwrap();
        let is_attached = window.targets[TARGET as usize].path == Path::Attach;
        if process.rank() == 0 {
            whole_test(&window);
            // PAIRS: test.done
            done.store(1, Ordering::Release);
        } else if is_attached && shares_memory() {
            // PAIRS: test.done
            while done.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
        }
        window.free("test").unwrap();
        assert!(memory.iter().all(|&byte| byte == 0));
    });
}

#[test]
fn two_members_may_ask_each_other() {
    on_ranks(2, |process| {
        let mut memory = vec![0u64; 2];
        let (base, other) = (memory.as_mut_ptr().cast(), 1 - process.rank() as i32);
        let hints = WindowHints::default();
        // SAFETY: the memory outlives the window.
        let window = unsafe { rma::create(process.world(), base, 16, 8, hints, "test") }.unwrap();
        passive::lock_all(&window, 0, "test").unwrap();
        let remote = |disp| Remote {
            unit: None,
            rank: other,
            disp,
            ..bytes_at(0, 8)
        };
        for round in 0..500u64 {
            let (mut word, mut got) = (round, u64::MAX);
            let memory = |word: &mut u64| Memory::contiguous((&raw mut *word).cast(), 8);
            // SAFETY: both words live through the calls.
            unsafe {
                rma::put(&window, &memory(&mut word), &remote(1)).unwrap();
                passive::flush(&window, other).unwrap();
                rma::get(&window, &memory(&mut got), &remote(1)).unwrap();
            }
            passive::flush(&window, other).unwrap();
            assert_eq!(got, round);
        }
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
        assert_eq!(memory, [0, 499]);
    });
}
