// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of windows whose puts and gets by messages use several VCIs (the hint `rankpoint_num_vcis`).
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::{Arc, Mutex};

use super::endpoint_tests::{WORDS, at, fetch_and_add, get, put, use_window, word};
use super::message::thread_number;
use crate::comm::{Process, ThreadLevel};
use crate::completion;
use crate::datatype::Memory;
use crate::op::Operator;
use crate::rma::epoch::assertion::NOSUCCEED;
use crate::rma::{self, Elements, Window, WindowHints, active, fence, passive};
use crate::settings::{LockModel, ProgressModel, RmaPath, Settings};
use crate::testing::on_ranks_at_level;

const THREADS: usize = 3;
const SIZES: [u32; 3] = [1, 2, 4];

/// Words of each member: those of [`use_window`], and one for each thread of each member.
const ALL_WORDS: usize = WORDS + THREADS * 4;

fn hints(vcis: usize) -> WindowHints {
    WindowHints::of(|key| (key == "rankpoint_num_vcis").then(|| vcis.to_string()))
}

/// The same of a window whose accumulates need no order.
fn unordered(vcis: usize) -> WindowHints {
    WindowHints::of(|key| match key {
        "accumulate_ordering" => Some("none".to_owned()),
        _ => hints(vcis).get(key),
    })
}

fn on_processes(sizes: &[u32], level: ThreadLevel, body: impl Fn(&'static Process) + Sync) {
    let settings = Settings {
        rma_path: RmaPath::Message,
        ..Settings::from_environment().0
    };
    for &size in sizes {
        on_ranks_at_level(&settings, level, size, &body);
    }
}

fn window_with(process: &'static Process, hints: WindowHints) -> Arc<Window> {
    let bytes = 8 * ALL_WORDS as u64;
    rma::allocate(process.world(), bytes, 1, hints, "test").unwrap()
}

fn window(process: &'static Process, vcis: usize) -> Arc<Window> {
    window_with(process, hints(vcis))
}

/// Runs `body` on threads with their numbers.
fn on_threads(body: impl Fn(usize) + Sync) {
    let body = &body;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || body(thread));
        }
    });
}

/// The word of a thread of this member at every other one.
fn place(process: &'static Process, thread: usize) -> i64 {
    8 * (WORDS + process.rank() as usize * THREADS + thread) as i64
}

#[test]
fn synchronisation_completes_what_travels_on_any_vci() {
    for vcis in [2, 5] {
        on_processes(&SIZES, ThreadLevel::Multiple, |process| {
            let window = window(process, vcis);
            let starts = vec![0; process.size() as usize];
            use_window(process.world(), &window, &starts);
            window.free("test").unwrap();
        });
    }
}

#[test]
fn threads_flush_what_they_and_others_have_put() {
    on_processes(&SIZES, ThreadLevel::Multiple, |process| {
        use_among_threads(process, &window(process, THREADS));
    });
}

#[test]
fn accumulates_on_several_vcis_are_atomic() {
    on_processes(&SIZES, ThreadLevel::Multiple, |process| {
        use_among_threads(process, &window_with(process, unordered(THREADS)));
    });
}

/// Threads put and get, and add to a counter.
fn use_among_threads(process: &'static Process, window: &Window) {
    let size = process.size();
    passive::lock_all(window, 0, "test").unwrap();
    on_threads(|thread| {
        let place = place(process, thread);
        for round in 0..100 {
            let target = (round as u32 + thread as u32) % size;
            put(window, &round, target, place);
            match round % 2 {
                0 => passive::flush(window, target as i32).unwrap(),
                _ => passive::flush_all(window).unwrap(),
            }
            let (mut found, mut old) = (-1, 0);
            get(window, &mut found, target, place);
            fetch_and_add(window, &1, &mut old, 0, 0);
            passive::flush_all(window).unwrap();
            assert_eq!(found, round);
        }
    });
    passive::unlock_all(window).unwrap();
    fence::fence(window, 0, "test").unwrap();
    let mut total = 0;
    get(window, &mut total, 0, 0);
    fence::fence(window, NOSUCCEED, "test").unwrap();
    assert_eq!(total, 100 * THREADS as i64 * i64::from(size));
    window.free("test").unwrap();
}

#[test]
fn a_fence_and_an_epoch_of_start_complete_the_puts_of_all_threads() {
    on_processes(&SIZES, ThreadLevel::Multiple, |process| {
        let window = window(process, THREADS + 1);
        let (size, everyone) = (process.size(), window.group().clone());
        let check = |round: i64| {
            for rank in 0..size as usize {
                for thread in 0..THREADS {
                    let index = WORDS + rank * THREADS + thread;
                    // SAFETY: inside the window's memory, which no operation writes now.
                    let found = unsafe { window.base().cast::<i64>().add(index).read_volatile() };
                    assert_eq!(found, round, "of thread {thread} of rank {rank}");
                }
            }
        };
        let put_everywhere = |round: i64| {
            on_threads(|thread| {
                let place = place(process, thread);
                (0..size).for_each(|rank| put(&window, &round, rank, place));
            });
        };
        for round in 0..20 {
            fence::fence(&window, 0, "test").unwrap();
            put_everywhere(2 * round);
            fence::fence(&window, NOSUCCEED, "test").unwrap();
            check(2 * round);
            active::post(&window, &everyone, 0).unwrap();
            active::start(&window, &everyone, 0, "test").unwrap();
            put_everywhere(2 * round + 1);
            active::complete(&window).unwrap();
            active::wait(&window, "test").unwrap();
            check(2 * round + 1);
        }
        window.free("test").unwrap();
    });
}

#[test]
fn requests_of_threads_end_on_their_vcis() {
    on_processes(&SIZES, ThreadLevel::Multiple, |process| {
        let window = window(process, THREADS);
        let size = process.size();
        passive::lock_all(&window, 0, "test").unwrap();
        on_threads(|thread| {
            let place = place(process, thread);
            for round in 0..50i64 {
                let target = at((round as u32 + thread as u32) % size, place);
                let mut found = -1;
                let from = Memory::contiguous((&raw const round).cast_mut().cast(), 8);
                let into = Memory::contiguous((&raw mut found).cast(), 8);
                // SAFETY: both numbers live until the requests are complete.
                unsafe {
                    let mut request = rma::rput(&window, &from, &target).unwrap();
                    completion::wait(process.vci(), &mut request, "test").unwrap();
                    passive::flush(&window, target.rank).unwrap();
                    let mut request = rma::rget(&window, &into, &target).unwrap();
                    completion::wait(process.vci(), &mut request, "test").unwrap();
                }
                assert_eq!(found, round);
            }
        });
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn a_thread_puts_on_its_vci_and_accumulates_there_if_that_needs_no_order() {
    for is_ordered in [true, false] {
        on_processes(&[2], ThreadLevel::Multiple, |process| {
            let hints = if is_ordered { hints } else { unordered };
            let window = window_with(process, hints(VCIS));
            use_one_by_one(process, &window, is_ordered);
            window.free("test").unwrap();
        });
    }
}

const VCIS: usize = 3;

/// Threads one after the other put and accumulate, and compare on which VCIs requests leave.
fn use_one_by_one(process: &'static Process, window: &Window, is_ordered: bool) {
    let (other, only, one) = (1 - process.rank(), Mutex::new(()), 1i64);
    let counts = || window.channel.as_ref().unwrap().counts();
    let grown = |action: &dyn Fn()| {
        let before = counts();
        action();
        let grown = before
            .iter()
            .zip(counts())
            .map(|(before, now)| now - before);
        grown.collect::<Vec<_>>()
    };
    assert_eq!(counts().len(), VCIS);
    passive::lock_all(window, 0, "test").unwrap();
    // Takes the lock.
    put(window, &one, other, 0);
    on_threads(|thread| {
        let _only = only.lock().unwrap();
        let mut expected = [0; VCIS];
        expected[thread_number() as usize % VCIS] = 1;
        let place = place(process, thread);
        assert_eq!(grown(&|| put(window, &one, other, place)), expected);
        let origin = Elements {
            memory: Memory::contiguous((&raw const one).cast_mut().cast(), 8),
            count: 1,
            datatype: word(),
        };
        let add = || {
            // SAFETY: the number lives until the epoch is over.
            unsafe { rma::accumulate(window, &origin, &at(other, 8), Operator::Sum) }.unwrap();
        };
        if is_ordered {
            expected = [1, 0, 0];
        }
        assert_eq!(grown(&add), expected);
    });
    passive::unlock_all(window).unwrap();
}

#[test]
fn a_window_has_as_many_vcis_as_every_member_can_serve() {
    let vcis_of = |process: &'static Process, vcis: usize| {
        let window = window(process, vcis);
        let told = window.hints.pairs();
        let told = told.iter().find(|(key, _)| *key == "rankpoint_num_vcis");
        let told: usize = told.unwrap().1.parse().unwrap();
        // A window that exists keeps its VCIs.
        window
            .hints
            .set(|key| (key == "rankpoint_num_vcis").then(|| "7".to_owned()));
        assert_eq!(window.hints.number("rankpoint_num_vcis"), told as u64);
        let channel = window.channel.as_ref().unwrap();
        assert_eq!(channel.counts().len(), told);
        window.free("test").unwrap();
        told
    };
    on_processes(&[3], ThreadLevel::Multiple, |process| {
        assert_eq!(vcis_of(process, 2 + process.rank() as usize), 2);
        assert_eq!(vcis_of(process, 65), 1);
    });
    on_processes(&[2], ThreadLevel::Single, |process| {
        assert_eq!(vcis_of(process, 4), 1);
    });
    let usual = Settings {
        rma_path: RmaPath::Message,
        ..Settings::from_environment().0
    };
    let mut checked = usual.clone();
    checked.check.rma = true;
    for settings in [
        checked,
        Settings {
            progress: ProgressModel::Vci,
            ..usual.clone()
        },
        Settings {
            locks: LockModel::Global,
            ..usual
        },
    ] {
        on_ranks_at_level(&settings, ThreadLevel::Multiple, 2, |process| {
            assert_eq!(vcis_of(process, 4), 1);
        });
    }
}
