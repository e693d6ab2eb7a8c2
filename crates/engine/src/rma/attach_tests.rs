// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of windows over private memory, and of dynamic windows.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use fabric::board::PAGE_BYTES;
use sys::cma;
use sys::sync::Ordering;

use crate::datatype::{Datatype, Predefined, Width, predefined};
use crate::op::Operator;
use crate::rma::{self, Elements, Remote, Window, WindowHints, attach, fence, passive};
use crate::settings::{RmaPath, Settings};
use crate::testing::{Member, on_members, on_members_with, shares_memory};
use crate::{ErrorClass, Result};

fn named(code: u32) -> &'static Arc<Datatype> {
    Predefined::find(code).unwrap().datatype()
}

/// Whether ranks can reach each other's private memory.
fn may_attach() -> bool {
    let word = 5u64;
    let (pid, address) = (std::process::id(), (&raw const word) as u64);
    shares_memory() && cma::verify(cma::Remote { pid, address }, 5)
}

/// A window over private memory of longs.
fn window_over(member: &'static Member, memory: &mut [i64]) -> Arc<Window> {
    let (base, bytes) = (memory.as_mut_ptr().cast(), size_of_val(memory) as u64);
    let hints = WindowHints::default();
    // SAFETY: the caller keeps the memory until the window is freed.
    unsafe { rma::create(member.world(), base, bytes, 8, hints, "test") }.unwrap()
}

fn elements(memory: &[i64], count: usize, datatype: &'static Datatype) -> Elements<'static> {
    let memory = datatype.memory(memory.as_ptr().cast_mut().cast(), count);
    Elements {
        memory: memory.unwrap(),
        count,
        datatype,
    }
}

/// The same for what an operation stores.
fn results(memory: &mut [i64], datatype: &'static Datatype) -> Elements<'static> {
    let count = memory.len();
    let memory = datatype.memory(memory.as_mut_ptr().cast(), count);
    Elements {
        memory: memory.unwrap(),
        count,
        datatype,
    }
}

fn remote(rank: u32, disp: i64, count: usize, datatype: &Datatype) -> Remote<'_> {
    let rank = rank as i32;
    Remote {
        unit: None,
        rank,
        disp,
        count,
        datatype,
    }
}

#[test]
fn private_memory_is_put_and_got() {
    if !may_attach() {
        return;
    }
    for ranks in [1, 2, 3, 4, 7] {
        on_members(ranks, |member| {
            let long: &'static Datatype = named(predefined::INT64_T);
            let mut memory = vec![-1i64; 4 * ranks as usize];
            let window = window_over(member, &mut memory);
            let me = member.rank();
            fence::fence(&window, 0, "test").unwrap();
            let mine: Vec<i64> = (0..4).map(|index| i64::from(10 * me) + index).collect();
            for rank in 0..ranks {
                let origin = elements(&mine, 4, long).memory;
                // SAFETY: the vector lives through the call.
                unsafe { rma::put(&window, &origin, &remote(rank, i64::from(4 * me), 4, long)) }
                    .unwrap();
            }
            fence::fence(&window, 0, "test").unwrap();
            for rank in 0..ranks {
                let mut got = vec![0i64; 4 * ranks as usize];
                let origin = results(&mut got, long).memory;
                // SAFETY: as above.
                unsafe { rma::get(&window, &origin, &remote(rank, 0, got.len(), long)) }.unwrap();
                let expected =
                    (0..ranks).flat_map(|rank| (0..4).map(move |i| i64::from(10 * rank) + i));
                assert!(got.iter().copied().eq(expected), "{got:?}");
            }
            fence::fence(&window, 0, "test").unwrap();
            window.free("test").unwrap();
        });
    }
}

#[test]
fn layouts_of_both_sides_may_differ_and_be_long() {
    if !may_attach() {
        return;
    }
    on_members(2, |member| {
        let int: &'static Arc<Datatype> = named(predefined::INT32_T);
        // 30,000 ints: every second one here, two of three there.
        let here = Datatype::vector(30_000, 1, 2, int, Width::Int).unwrap();
        let there = Datatype::vector(15_000, 2, 3, int, Width::Int).unwrap();
        here.commit();
        there.commit();
        let mut memory = vec![-1i64; 30_000];
        let window = window_over(member, &mut memory);
        fence::fence(&window, 0, "test").unwrap();
        if member.rank() == 0 {
            let numbers: Vec<i32> = (0..60_000).collect();
            let origin = here.memory(numbers.as_ptr().cast_mut().cast(), 1).unwrap();
            // SAFETY: the vectors live through the calls.
            unsafe { rma::put(&window, &origin, &remote(1, 1, 1, &there)) }.unwrap();
            let mut back = vec![0i32; 60_000];
            let origin = here.memory(back.as_mut_ptr().cast(), 1).unwrap();
            // SAFETY: as above.
            unsafe { rma::get(&window, &origin, &remote(1, 1, 1, &there)) }.unwrap();
            for (found, sent) in back.into_iter().zip(0..) {
                assert_eq!(found, if sent % 2 == 0 { sent } else { 0 });
            }
        }
        fence::fence(&window, 0, "test").unwrap();
        if member.rank() == 1 {
            for index in 0..45_000usize {
                // SAFETY: inside the window, which nobody changes now.
                let found = unsafe { window.base().add(8).cast::<i32>().add(index).read() };
                let expected = match index % 3 {
                    2 => -1,
                    place => 2 * (index / 3 * 2 + place) as i32,
                };
                assert_eq!(found, expected, "{index}");
            }
        }
        fence::fence(&window, 0, "test").unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn accumulates_on_private_memory_lose_nothing() {
    if !may_attach() {
        return;
    }
    for ranks in [1, 2, 4, 7] {
        on_members(ranks, |member| {
            const ROUNDS: i64 = 100;
            let long: &'static Datatype = named(predefined::INT64_T);
            let pair: &'static Datatype = named(predefined::DOUBLE_INT);
            // Two longs, a counter of swaps, one of tickets, and a pair.
            let mut memory = vec![0i64; 16];
            let window = window_over(member, &mut memory);
            passive::lock_all(&window, 0, "test").unwrap();
            let home = ranks - 1;
            let ones = [1i64, 2];
            let (sum, lowest) = (Operator::Sum, Operator::Minloc);
            for round in 0..ROUNDS {
                let from = elements(&ones, 2, long);
                // SAFETY: all memory lives through the calls.
                unsafe {
                    rma::accumulate(&window, &from, &remote(home, 0, 2, long), sum).unwrap();
                    let mut old = [0i64; 2];
                    let into = results(&mut old, long);
                    let target = remote(home, 0, 2, long);
                    rma::get_accumulate(&window, &from, &into, &target, sum).unwrap();
                    assert_eq!(2 * old[0], old[1]);
                    let (one, old) = (ones.as_ptr().cast(), old.as_mut_ptr().cast());
                    rma::fetch_and_op(&window, one, old, long, home as i32, 2, sum).unwrap();
                    count_by_swaps(&window, long, home);
                    // The lowest value is negative and grows with the rank.
                    let value = -f64::from(member.rank() + 1) - round as f64;
                    let offer = [value.to_bits() as i64, i64::from(member.rank())];
                    let from = elements(&offer, 1, pair);
                    rma::accumulate(&window, &from, &remote(home, 4, 1, pair), lowest).unwrap();
                }
            }
            passive::unlock_all(&window).unwrap();
            fence::fence(&window, 0, "test").unwrap();
            if member.rank() == home {
                let total = ROUNDS * i64::from(ranks);
                let lowest = (-f64::from(ranks) - (ROUNDS - 1) as f64).to_bits() as i64;
                let expected = [2 * total, 4 * total, total, total, lowest, i64::from(home)];
                // SAFETY: inside the window, which nobody changes now.
                let found: [i64; 6] = unsafe { window.base().cast::<[i64; 6]>().read() };
                assert_eq!(found, expected);
            }
            fence::fence(&window, 0, "test").unwrap();
            window.free("test").unwrap();
        });
    }
}

fn count_by_swaps(window: &Window, long: &Datatype, home: u32) {
    let mut seen = 0i64;
    loop {
        let (new, mut old) = (seen + 1, 0i64);
        let (origin, compare) = ((&raw const new).cast(), (&raw const seen).cast());
        let result = (&raw mut old).cast();
        // SAFETY: all numbers live through the call.
        let outcome =
            unsafe { rma::compare_and_swap(window, origin, compare, result, long, home as i32, 3) };
        outcome.unwrap();
        if old == seen {
            return;
        }
        seen = old;
    }
}

/// Tells everybody the address of this rank's memory.
fn addresses(member: &'static Member, address: u64) -> Vec<u64> {
    let comm = member.world().clone();
    let own = [address];
    let gathered = crate::coll::gather_words(comm.clone(), &own);
    crate::task::block_on(comm.vci(), "test", gathered).unwrap()
}

#[test]
fn attached_memory_is_reached_by_its_address() {
    if !may_attach() {
        return;
    }
    for rma_path in [RmaPath::Best, RmaPath::Attach, RmaPath::Message] {
        attached_memory_is_reached(rma_path);
    }
}

fn attached_memory_is_reached(rma_path: RmaPath) {
    let settings = Settings {
        rma_path,
        ..Settings::from_environment().0
    };
    for ranks in [1, 2, 3, 4, 7] {
        on_members_with(&settings, ranks, |member| {
            let long: &'static Datatype = named(predefined::INT64_T);
            let hints = WindowHints::default();
            let window = rma::create_dynamic(member.world(), hints, "test").unwrap();
            let mut private = vec![0i64; 8];
            let shared = member.allocate_shared(64).unwrap();
            let bases = [private.as_mut_ptr().cast::<u8>(), shared];
            for base in bases {
                // SAFETY: the memory lives until the window is freed.
                unsafe { window.attach(base, 64) }.unwrap();
            }
            for base in bases {
                let everybody = addresses(member, base as u64);
                passive::lock_all(&window, 0, "test").unwrap();
                let me = member.rank();
                for (rank, &address) in (0..).zip(&everybody) {
                    let one = [i64::from(me) + 1];
                    let disp = address as i64 + 8 * i64::from(me);
                    let origin = elements(&one, 1, long);
                    // SAFETY: the number lives through the calls.
                    unsafe {
                        rma::put(&window, &origin.memory, &remote(rank, disp, 1, long)).unwrap();
                        let last = remote(rank, address as i64 + 56, 1, long);
                        rma::accumulate(&window, &origin, &last, Operator::Sum).unwrap();
                        let mut got = [0i64];
                        let into = results(&mut got, long).memory;
                        rma::get(&window, &into, &remote(rank, disp, 1, long)).unwrap();
                        passive::flush(&window, rank as i32).unwrap();
                        assert_eq!(got, one);
                        let beyond = remote(rank, address as i64 + 60, 1, long);
                        let outcome = rma::put(&window, &into, &beyond);
                        let outcome = outcome.and_then(|()| passive::flush(&window, rank as i32));
                        let error = outcome.unwrap_err();
                        assert_eq!(error.class(), ErrorClass::ERR_RMA_RANGE);
                        let text = error.to_string();
                        assert!(text.contains(&format!("rank {rank}")), "{text}");
                        assert!(text.contains(&format!("{:#x}", address + 60)), "{text}");
                    }
                }
                passive::unlock_all(&window).unwrap();
                fence::fence(&window, 0, "test").unwrap();
                // SAFETY: both memories hold eight longs.
                let found: [i64; 8] = unsafe { base.cast::<[i64; 8]>().read() };
                let mut expected: Vec<_> = (1..=i64::from(ranks)).collect();
                expected.resize(7, 0);
                expected.push((1..=i64::from(ranks)).sum());
                assert_eq!(found[..], expected);
                fence::fence(&window, 0, "test").unwrap();
            }
            for base in bases {
                window.detach(base).unwrap();
            }
            window.free("test").unwrap();
            // SAFETY: nobody uses it any more.
            assert!(unsafe { member.release_shared(shared, 64) });
        });
    }
}

#[test]
fn a_long_accumulate_takes_two_system_calls_for_64_kib() {
    if !may_attach() {
        return;
    }
    /// Longs of 64 KiB, and of 1 MiB and a part of 64 KiB.
    const CHUNK: usize = 8192;
    const ALL: usize = 16 * CHUNK + 5;
    let attach = Settings {
        rma_path: RmaPath::Attach,
        ..Settings::from_environment().0
    };
    on_members_with(&attach, 2, |member| {
        let long: &'static Datatype = named(predefined::INT64_T);
        let mut memory: Vec<i64> = (0..ALL as i64).collect();
        let window = window_over(member, &mut memory);
        passive::lock_all(&window, 0, "test").unwrap();
        if member.rank() == 0 {
            let numbers: Vec<i64> = (0..ALL as i64).map(|number| 3 * number).collect();
            let mut got = vec![0i64; ALL];
            for (count, chunks) in [(1, 1), (CHUNK, 1), (CHUNK + 1, 2), (ALL, 17)] {
                let there = remote(1, 0, count, long);
                let before = attach::COPIES.get();
                // SAFETY: the vectors live through the calls.
                unsafe {
                    let origin = elements(&numbers, count, long);
                    rma::accumulate(&window, &origin, &there, Operator::Sum).unwrap();
                }
                assert_eq!(attach::COPIES.get() - before, 2 * chunks);
                let into = results(&mut got[..count], long);
                // SAFETY: as above.
                unsafe {
                    let none = elements(&numbers, count, long);
                    rma::get_accumulate(&window, &none, &into, &there, Operator::NoOp).unwrap();
                }
                assert_eq!(attach::COPIES.get() - before, 3 * chunks);
            }
            let times = |index: usize| match index {
                0 => 4,
                1..CHUNK => 3,
                CHUNK => 2,
                _ => 1,
            };
            let expected = (0..ALL).map(|index| index as i64 * (1 + 3 * times(index)));
            assert!(got.iter().copied().eq(expected));
        }
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn regions_are_checked_and_many() {
    if !may_attach() {
        return;
    }
    on_members(2, |member| {
        let long: &'static Datatype = named(predefined::INT64_T);
        let hints = WindowHints::default();
        let window = rma::create_dynamic(member.world(), hints, "test").unwrap();
        let mut memory = vec![1i64; 1000];
        let start = memory.as_mut_ptr();
        let at = |index: usize| start.wrapping_add(index).cast::<u8>();
        let refused = |outcome: Result<()>, class: ErrorClass| {
            assert_eq!(outcome.unwrap_err().class(), class);
        };
        // Every second long, in an order that is not sorted.
        for index in (0..500).map(|index| 2 * (index * 7 % 500)) {
            // SAFETY: the memory lives until the window is freed.
            unsafe { window.attach(at(index), 8) }.unwrap();
        }
        // SAFETY: as above.
        unsafe {
            refused(window.attach(at(4), 8), ErrorClass::ERR_RMA_ATTACH);
            refused(window.attach(at(5), 16), ErrorClass::ERR_RMA_ATTACH);
            window.attach(at(5), 0).unwrap();
        }
        window.detach(at(5)).unwrap();
        refused(window.detach(at(5)), ErrorClass::ERR_RMA_ATTACH);
        window.detach(at(8)).unwrap();
        let everybody = addresses(member, at(0) as u64);
        fence::fence(&window, 0, "test").unwrap();
        for (rank, &address) in (0..).zip(&everybody) {
            for index in 0..1000u64 {
                let mut got = [0i64];
                let into = results(&mut got, long).memory;
                let target = remote(rank, (address + 8 * index) as i64, 1, long);
                // SAFETY: the number lives through the call.
                let outcome = unsafe { rma::get(&window, &into, &target) };
                if index % 2 == 0 && index != 8 {
                    outcome.unwrap();
                    assert_eq!(got, [1]);
                } else {
                    refused(outcome, ErrorClass::ERR_RMA_RANGE);
                }
            }
        }
        fence::fence(&window, 0, "test").unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn windows_that_are_freed_leave_their_memory_to_others() {
    if !shares_memory() {
        return;
    }
    on_members(2, |member| {
        let make = || {
            let hints = WindowHints::default();
            let window = rma::allocate(member.world(), 100, 1, hints, "test").unwrap();
            // SAFETY: the window has 100 bytes.
            let memory = unsafe { std::slice::from_raw_parts_mut(window.base(), 100) };
            assert!(memory.iter().all(|byte| *byte == 0));
            memory.fill(1);
            window.free("test").unwrap();
        };
        let top = || member.node().header().heap_top.load(Ordering::Relaxed);
        for _ in 0..10 {
            make();
        }
        let before = top();
        let cycles = if cfg!(debug_assertions) {
            2_000
        } else {
            100_000
        };
        for _ in 0..cycles {
            make();
        }
        // Areas of two windows exist at once when a rank makes the next one before the other has left the last one.
        assert!(top() - before < cycles * PAGE_BYTES as u64);
    });
}
