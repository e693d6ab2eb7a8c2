// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long accumulates beside short ones: no update is lost while a target's gate moves on, nor after.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use fabric::lock::Manner;
use sys::sync::Ordering;

use crate::comm::{Process, ThreadLevel};
use crate::datatype::predefined::INT64_T;
use crate::datatype::{Datatype, Predefined};
use crate::op::Operator;
use crate::rma::{self, Elements, Remote, Window, WindowHints, fence, passive};
use crate::settings::Settings;
use crate::testing::{on_ranks_at_level, shares_memory};

const ELEMENTS: usize = 48;
const HOME: i32 = 0;

/// How often each thread adds to all elements; messages take longer, and have no gate.
fn rounds() -> usize {
    if shares_memory() { 150 } else { 9 }
}

/// Adds 1 to each element several times: by long accumulates, by short ones, and by swaps.
fn add(window: &Window, long: &Datatype, manner: usize) {
    let ones = [1i64; ELEMENTS];
    let from = Elements {
        memory: long
            .memory(ones.as_ptr().cast_mut().cast(), ELEMENTS)
            .unwrap(),
        count: ELEMENTS,
        datatype: long,
    };
    let remote = Remote {
        unit: None,
        rank: HOME,
        disp: 0,
        count: ELEMENTS,
        datatype: long,
    };
    let sum = Operator::Sum;
    for round in 0..rounds() {
        // SAFETY: all operands live until the flush.
        unsafe {
            match (manner + round) % 3 {
                0 => rma::accumulate(window, &from, &remote, sum).unwrap(),
                1 => {
                    for element in 0..ELEMENTS as i64 {
                        let (one, mut old) = (1i64, -1i64);
                        let (from, into) = ((&raw const one).cast(), (&raw mut old).cast());
                        rma::fetch_and_op(window, from, into, long, HOME, 8 * element, sum)
                            .unwrap();
                        passive::flush_local(window, HOME).unwrap();
                        assert!(old >= 0, "an element that was never negative");
                    }
                }
                _ => (0..ELEMENTS as i64).for_each(|element| swap(window, long, 8 * element)),
            }
        }
        passive::flush(window, HOME).unwrap();
    }
}

fn swap(window: &Window, long: &Datatype, disp: i64) {
    let mut seen = 0i64;
    loop {
        let (next, mut found) = (seen + 1, -1i64);
        let (from, compare) = ((&raw const next).cast(), (&raw const seen).cast());
        let into = (&raw mut found).cast();
        // SAFETY: all operands live until the flush.
        unsafe { rma::compare_and_swap(window, from, compare, into, long, HOME, disp) }.unwrap();
        passive::flush(window, HOME).unwrap();
        if found == seen {
            return;
        }
        seen = found;
    }
}

/// Sums of all members, and how accumulates at the target exclude each other in the end.
fn run(
    process: &'static Process,
    threads: usize,
    hints: WindowHints,
) -> (Vec<i64>, Option<Manner>) {
    let long = Predefined::find(INT64_T).unwrap().datatype();
    let bytes = 8 * ELEMENTS as u64;
    let window = rma::allocate(process.world(), bytes, 1, hints, "test").unwrap();
    passive::lock_all(&window, 0, "test").unwrap();
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let (window, rank) = (&window, process.rank() as usize);
            scope.spawn(move || add(window, long, rank + thread));
        }
        add(&window, long, process.rank() as usize);
    });
    passive::unlock_all(&window).unwrap();
    fence::fence(&window, 0, "test").unwrap();
    // SAFETY: the window's memory, which nobody accesses between the fences.
    let sums = unsafe { std::slice::from_raw_parts(window.base().cast::<i64>(), ELEMENTS) };
    let sums = sums.to_vec();
    let manner = window.targets[HOME as usize].view.map(|view| {
        let gate = &view.board().accumulate;
        let manner = gate.lock();
        gate.unlock();
        manner
    });
    fence::fence(&window, 0, "test").unwrap();
    window.free("test").unwrap();
    (sums, manner)
}

fn hints(granularity: &str) -> WindowHints {
    WindowHints::of(|key| (key == "mpi_accumulate_granularity").then(|| granularity.to_owned()))
}

#[test]
fn long_and_short_accumulates_lose_nothing() {
    let settings = Settings::from_environment().0;
    for (ranks, threads) in [(1, 1), (2, 1), (4, 1), (2, 3), (1, 9)] {
        let level = match threads {
            1 => ThreadLevel::Single,
            _ => ThreadLevel::Multiple,
        };
        for granularity in ["0", "1024"] {
            let found = on_ranks_at_level(&settings, level, ranks, |process| {
                let found = run(process, threads, hints(granularity));
                let fences = process.node().sender_fences().load(Ordering::Relaxed);
                (found, fences == 0)
            });
            let ((sums, manner), has_barrier) = &found[0];
            let total = (ranks as usize * threads * rounds()) as i64;
            assert_eq!(sums, &[total; ELEMENTS], "{ranks} ranks, {threads} threads");
            if let (Some(manner), true, true) = (manner, *has_barrier, shares_memory()) {
                assert_eq!(
                    *manner,
                    Manner::Kernels,
                    "so many long ones move the gate on"
                );
            }
        }
    }
}
