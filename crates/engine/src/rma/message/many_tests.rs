// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of many operations by messages before one flush.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use crate::comm::Process;
use crate::datatype::{Datatype, Predefined, predefined};
use crate::rma::{self, Remote, Window, WindowHints, fence, passive};
use crate::settings::{RmaPath, Settings};
use crate::testing::{on_ranks_with, shares_memory};

/// Gets of each rank; fewer where each message costs many steps.
fn gets() -> usize {
    if shares_memory() { 100_000 } else { 5_000 }
}

const WORDS: usize = 1000;

fn word() -> &'static Arc<Datatype> {
    Predefined::find(predefined::UINT64_T).unwrap().datatype()
}

fn element(rank: u32, index: usize) -> u64 {
    (u64::from(rank) << 32) + index as u64 * 7 + 1
}

fn filled(process: &'static Process) -> Arc<Window> {
    let bytes = (WORDS * 8) as u64;
    let hints = WindowHints::default();
    let window = rma::allocate(process.world(), bytes, 8, hints, "test").unwrap();
    for index in 0..WORDS {
        let there = window.base().cast::<u64>().wrapping_add(index);
        // SAFETY: inside the window's memory, which is aligned and which no operation accesses before the fence.
        unsafe { there.write(element(process.rank(), index)) };
    }
    fence::fence(&window, 0, "test").unwrap();
    window
}

/// Every rank gets from every other one, so each answers while its own gets are under way.
#[test]
fn gets_without_number_end_with_one_flush() {
    let settings = Settings {
        rma_path: RmaPath::Message,
        ..Settings::from_environment().0
    };
    for ranks in [2, 3] {
        on_ranks_with(&settings, ranks, |process| {
            let window = filled(process);
            let others = (0..ranks).filter(|&rank| rank != process.rank());
            let sources: Vec<u32> = others.cycle().take(gets()).collect();
            let mut got = vec![0u64; sources.len()];
            passive::lock_all(&window, 0, "test").unwrap();
            for (index, (into, &rank)) in got.iter_mut().zip(&sources).enumerate() {
                let origin = word().memory(std::ptr::from_mut(into).cast(), 1).unwrap();
                let target = Remote {
                    unit: None,
                    rank: rank as i32,
                    disp: (index % WORDS) as i64,
                    count: 1,
                    datatype: word(),
                };
                // SAFETY: the vector lives until the flush, and nothing else accesses it.
                unsafe { rma::get(&window, &origin, &target) }.unwrap();
            }
            passive::flush_all(&window).unwrap();
            for (index, (&value, &rank)) in got.iter().zip(&sources).enumerate() {
                assert_eq!(value, element(rank, index % WORDS), "get {index}");
            }
            passive::unlock_all(&window).unwrap();
            window.free("test").unwrap();
        });
    }
}
