// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of windows in which some targets are reached by messages and others by loads and stores, and of what targets refuse.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use crate::ErrorClass;
use crate::datatype::{Datatype, Memory, Predefined, predefined};
use crate::op::Operator;
use crate::rma::{self, Elements, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::{RmaPath, Settings};
use crate::testing::{Member, on_members_with};

fn settings(rma_path: RmaPath) -> Settings {
    Settings {
        rma_path,
        ..Settings::from_environment().0
    }
}

fn word() -> &'static Arc<Datatype> {
    Predefined::find(predefined::INT64_T).unwrap().datatype()
}

fn at(rank: u32, disp: i64, count: usize) -> Remote<'static> {
    Remote {
        unit: None,
        rank: rank as i32,
        disp,
        count,
        datatype: word(),
    }
}

fn memory(numbers: &[i64]) -> Memory<'static> {
    let base = numbers.as_ptr().cast_mut().cast();
    word().memory(base, numbers.len()).unwrap()
}

/// Adds numbers that live until the test has synchronised.
fn add(window: &Window, numbers: &[i64], rank: u32, disp: i64) -> crate::Result<()> {
    let origin = Elements {
        memory: memory(numbers),
        count: numbers.len(),
        datatype: word(),
    };
    let there = at(rank, disp, numbers.len());
    // SAFETY: callers keep the numbers until they have synchronised.
    unsafe { rma::accumulate(window, &origin, &there, Operator::Sum) }
}

/// A window over node-shared memory at even ranks and over private memory at odd ones.
fn mixed(member: &'static Member, own: &mut [i64], shared: &Window) -> Arc<Window> {
    let bytes = size_of_val(own) as u64;
    let base = if member.rank().is_multiple_of(2) {
        shared.base()
    } else {
        own.as_mut_ptr().cast()
    };
    let (world, hints) = (member.world(), WindowHints::default());
    // SAFETY: both memories outlive the window.
    unsafe { rma::create(world, base, bytes, 8, hints, "test") }.unwrap()
}

#[test]
fn targets_of_one_window_may_have_different_paths() {
    for ranks in [1, 2, 3, 4, 7] {
        on_members_with(&settings(RmaPath::Direct), ranks, |member| {
            let mut own = vec![0i64; 100];
            let world = member.world();
            let shared = rma::allocate(world, 800, 1, WindowHints::default(), "test").unwrap();
            let window = mixed(member, &mut own, &shared);
            let everyone = window.group().clone();
            let (me, all) = (member.rank(), 0..ranks);
            let ones = vec![1i64; 100];
            for round in 0..12 {
                match round % 4 {
                    0 => {
                        fence::fence(&window, 0, "test").unwrap();
                        for rank in all.clone() {
                            add(&window, &ones, rank, 0).unwrap();
                        }
                        let end = rma::epoch::assertion::NOSUCCEED;
                        fence::fence(&window, end, "test").unwrap();
                    }
                    1 => {
                        active::post(&window, &everyone, 0).unwrap();
                        active::start(&window, &everyone, 0, "test").unwrap();
                        for rank in all.clone() {
                            add(&window, &ones, rank, 0).unwrap();
                        }
                        active::complete(&window).unwrap();
                        active::wait(&window, "test").unwrap();
                    }
                    2 => {
                        for rank in all.clone().map(|rank| (rank + me) % ranks) {
                            let kind = LockKind::Exclusive;
                            passive::lock(&window, kind, rank as i32, 0, "test").unwrap();
                            let mut seen = vec![0i64; 100];
                            let into = memory(&seen);
                            // SAFETY: the numbers live until the lock is given back.
                            unsafe { rma::get(&window, &into, &at(rank, 0, 100)) }.unwrap();
                            passive::flush(&window, rank as i32).unwrap();
                            seen.iter_mut().for_each(|number| *number += 1);
                            // SAFETY: as above.
                            unsafe { rma::put(&window, &memory(&seen), &at(rank, 0, 100)) }
                                .unwrap();
                            passive::unlock(&window, rank as i32).unwrap();
                        }
                    }
                    _ => {
                        passive::lock_all(&window, 0, "test").unwrap();
                        for rank in all.clone() {
                            add(&window, &ones, rank, 0).unwrap();
                        }
                        passive::flush_all(&window).unwrap();
                        passive::unlock_all(&window).unwrap();
                    }
                }
                fence::fence(&window, rma::epoch::assertion::NOSUCCEED, "test").unwrap();
                let expected = i64::from(ranks) * (round + 1);
                for index in 0..100 {
                    // SAFETY: inside the window, which no operation writes now.
                    let number = unsafe { window.base().cast::<i64>().add(index).read_volatile() };
                    assert_eq!(number, expected, "round {round}");
                }
                fence::fence(&window, rma::epoch::assertion::NOSUCCEED, "test").unwrap();
            }
            window.free("test").unwrap();
            shared.free("test").unwrap();
        });
    }
}

#[test]
fn a_refusal_is_told_by_the_next_call_that_asks_the_target() {
    on_members_with(&settings(RmaPath::Message), 2, |member| {
        let hints = WindowHints::default();
        let window = rma::create_dynamic(member.world(), hints, "test").unwrap();
        let mut numbers = vec![3i64; 20_000];
        let (base, bytes) = (numbers.as_mut_ptr(), size_of_val(&numbers[..]));
        // SAFETY: the memory lives until the window is freed.
        unsafe { window.attach(base.cast(), bytes) }.unwrap();
        let own = [base as u64];
        let tell = crate::coll::gather_words(member.world().clone(), &own);
        let told = crate::task::block_on(member.vci(), "test", tell).unwrap();
        let (other, there) = (1 - member.rank(), told[1 - member.rank() as usize] as i64);
        let outside = there + bytes as i64 - 8;
        let mut data = vec![4i64; 20_000];
        passive::lock_all(&window, 0, "test").unwrap();
        for count in [2, 20_000] {
            let refused = || {
                let error = passive::flush(&window, other as i32).unwrap_err();
                assert_eq!(error.class(), ErrorClass::ERR_RMA_RANGE, "{error}");
                let text = error.to_string();
                assert!(text.contains(&format!("rank {other} refused")), "{text}");
                passive::flush(&window, other as i32).unwrap();
            };
            let wrong = at(other, outside, count);
            // SAFETY: the data live until the flush.
            unsafe { rma::put(&window, &memory(&data[..count]), &wrong) }.unwrap();
            refused();
            // SAFETY: as above.
            unsafe { rma::get(&window, &memory(&data[..count]), &wrong) }.unwrap();
            refused();
            add(&window, &data[..count], other, outside).unwrap();
            refused();
            // What is right is done afterwards.
            add(&window, &data[..count], other, there).unwrap();
            passive::flush(&window, other as i32).unwrap();
        }
        // SAFETY: as above.
        unsafe { rma::get(&window, &memory(&data), &at(other, there, 20_000)) }.unwrap();
        passive::flush(&window, other as i32).unwrap();
        assert_eq!((data[0], data[1], data[2], data[19_999]), (11, 11, 7, 7));
        data.clear();
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn a_refusal_between_start_and_complete_is_told_by_complete() {
    on_members_with(&settings(RmaPath::Message), 2, |member| {
        let hints = WindowHints::default();
        let window = rma::create_dynamic(member.world(), hints, "test").unwrap();
        let other = 1 - member.rank();
        let group = window.group().include(&[other as i32]).unwrap();
        let data = [4i64; 2];
        for round in 0..4 {
            active::post(&window, &group, 0).unwrap();
            active::start(&window, &group, 0, "test").unwrap();
            if round % 2 == 0 {
                // SAFETY: the data live until the epoch is over; nothing is attached there.
                unsafe { rma::put(&window, &memory(&data), &at(other, 4096, 2)) }.unwrap();
                let error = active::complete(&window).unwrap_err();
                assert_eq!(error.class(), ErrorClass::ERR_RMA_RANGE, "{error}");
            } else {
                active::complete(&window).unwrap();
            }
            active::wait(&window, "test").unwrap();
        }
        window.free("test").unwrap();
    });
}

/// Gets numbers into memory that lives until the test has synchronised.
fn get(window: &Window, into: &mut [i64], rank: u32) {
    let there = at(rank, 0, into.len());
    let memory = word().memory(into.as_mut_ptr().cast(), into.len()).unwrap();
    // SAFETY: the caller keeps the memory until it has synchronised.
    unsafe { rma::get(window, &memory, &there) }.unwrap();
}

#[test]
fn an_epoch_ends_at_its_target_when_long_answers_have_left() {
    const LONG: usize = 50_000;
    const ROUNDS: i64 = 40;
    on_members_with(&settings(RmaPath::Message), 3, |member| {
        let (world, hints) = (member.world(), WindowHints::default());
        let window = rma::allocate(world, 8 * LONG as u64, 8, hints, "test").unwrap();
        let me = member.rank();
        let fill = |number: i64| {
            // SAFETY: the window's own memory, in no epoch of others.
            let memory = unsafe { std::slice::from_raw_parts_mut(window.base().cast(), LONG) };
            memory.fill(number);
        };
        let mut got = vec![0i64; LONG];
        fill(0);
        fence::fence(&window, 0, "test").unwrap();
        fence::fence(&window, 0, "test").unwrap();
        // Rank 2 changes its memory at once when the exposure is over.
        let group = |ranks: &[i32]| window.group().include(ranks).unwrap();
        for round in 0..ROUNDS {
            if me == 2 {
                active::post(&window, &group(&[0, 1]), 0).unwrap();
                active::wait(&window, "test").unwrap();
                fill(round + 1);
            } else {
                active::start(&window, &group(&[2]), 0, "test").unwrap();
                get(&window, &mut got, 2);
                active::complete(&window).unwrap();
                assert!(got.iter().all(|number| *number == round));
            }
        }
        // All ranks write all of the memory of rank 0 with its lock: what one gets is of one writer.
        fence::fence(&window, 0, "test").unwrap();
        for round in 0..ROUNDS {
            let all = vec![10 * round + i64::from(me); LONG];
            passive::lock(&window, LockKind::Exclusive, 0, 0, "test").unwrap();
            get(&window, &mut got, 0);
            passive::unlock(&window, 0).unwrap();
            assert!(got.iter().all(|number| *number == got[0]));
            passive::lock(&window, LockKind::Exclusive, 0, 0, "test").unwrap();
            // SAFETY: the numbers live until the unlock.
            unsafe { rma::put(&window, &memory(&all), &at(0, 0, LONG)) }.unwrap();
            passive::unlock(&window, 0).unwrap();
        }
        window.free("test").unwrap();
    });
}
