// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls and clocks.

use std::time::Instant;

use crate::entry::Entry;
use crate::kernels::{keep, opaque};
use crate::session::{Outcome, Session, cost, time};

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let row = |name: &'static str, title: &str, call: fn() -> u64| {
        Entry::new(name, title, move |session, name| {
            measure(session, name, call)
        })
        .quick()
    };
    vec![
        row(
            "call/syscall",
            "a system call that does nothing (getppid)",
            || {
                // SAFETY: a call without arguments that cannot fail.
                unsafe { libc::syscall(libc::SYS_getppid) as u64 }
            },
        ),
        row("call/clock", "clock_gettime(CLOCK_MONOTONIC)", || {
            // The place of the value counts as its use: it stays where the call wrote it.
            std::ptr::from_ref(&Instant::now()).addr() as u64
        }),
        row(
            "call/ticks",
            "the processor's time-stamp counter",
            sys::clock::ticks,
        ),
        row(
            "call/chain",
            "16 dependent additions: the clock rate of the core",
            || {
                let mut sum = 1u64;
                for _ in 0..16 {
                    sum = opaque(sum.wrapping_add(1));
                }
                sum
            },
        ),
    ]
}

fn measure(session: &Session, name: &str, call: fn() -> u64) -> Outcome {
    let sample = session.sample(&session.plan(), |repetitions| {
        time(repetitions, || keep(call()))
    });
    Ok(vec![cost(name, sample)])
}
