// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of accumulates: against a sequential model, and for atomicity.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use crate::comm::ThreadLevel;
use crate::datatype::predefined::{self, PREDEFINED};
use crate::datatype::{Category, Datatype, Number, Predefined, Shape, Width};
use crate::op::{OPERATORS, Operator, Reduction};
use crate::rma::{self, Elements, LockKind, Remote, Window, WindowHints, fence, passive};
use crate::settings::{RmaPath, Settings};
use crate::testing::{Member, on_members_at_level, on_members_with, shares_memory};
use crate::{ErrorClass, Result};

fn named(code: u32) -> &'static Arc<Datatype> {
    Predefined::find(code).unwrap().datatype()
}

/// Every way in which the memory of an allocated window is reached in this run.
fn paths() -> Vec<Settings> {
    let forced = if shares_memory() {
        vec![RmaPath::Best, RmaPath::Attach, RmaPath::Message]
    } else {
        vec![RmaPath::Best]
    };
    let settings = |rma_path| Settings {
        rma_path,
        ..Settings::from_environment().0
    };
    forced.into_iter().map(settings).collect()
}

/// Runs `body` on every rank of jobs that reach windows in every way.
fn on_all_paths(ranks: u32, body: impl Fn(&'static Member) + Sync) {
    for settings in paths() {
        on_members_with(&settings, ranks, &body);
    }
}

/// Completes what was started in the epoch.
fn complete(window: &Window) {
    fence::fence(window, 0, "test").unwrap();
}

fn allocate(member: &'static Member, bytes: u64) -> Arc<Window> {
    rma::allocate(member.world(), bytes, 1, WindowHints::default(), "test").unwrap()
}

/// Elements whose numbers are finite and not too large.
fn numbers(row: &Predefined, seed: usize, count: usize) -> Vec<u8> {
    let one = |number: Number, value: i32| -> Vec<u8> {
        let bits = value as u32;
        match number {
            Number::F32 => (value as f32 / 4.0).to_ne_bytes().to_vec(),
            Number::F64 => (f64::from(value) / 4.0).to_ne_bytes().to_vec(),
            // 1.5 times a small power of two.
            Number::F16 => (0x3e00u16 + ((bits % 8) << 10) as u16)
                .to_ne_bytes()
                .to_vec(),
            Number::F80 => {
                let mut bytes = (3u64 << 62).to_ne_bytes().to_vec();
                bytes.extend((0x3fff + (bits % 8) as u16).to_ne_bytes());
                bytes.resize(16, 0);
                bytes
            }
            Number::F128 => (u128::from(0x3fff_u16 + (bits % 8) as u16) << 112)
                .to_ne_bytes()
                .to_vec(),
            _ => i128::from(value).to_ne_bytes()[..number.size()].to_vec(),
        }
    };
    let mut all = Vec::new();
    for index in 0..count {
        let value = ((seed * 31 + index * 17) % 23) as i32 - 7;
        let mut bytes = match row.shape {
            Shape::One(_) if row.category == Category::Logical => {
                let mut truth = vec![0; row.size()];
                truth[0] = u8::from(value % 2 == 0);
                truth
            }
            Shape::One(number) => one(number, value),
            Shape::Complex(number) => [one(number, value), one(number, value + 1)].concat(),
            Shape::Pair(number, place) => {
                let mut bytes = one(number, value % 3);
                bytes.resize(Shape::index_offset(number, place), 0);
                bytes.extend(one(place, value));
                bytes
            }
        };
        bytes.resize(row.shape.extent(), 0);
        all.extend(bytes);
    }
    all
}

/// The origin's elements, the target's, and what the target's become.
fn model(row: &'static Predefined, operator: Operator, seed: usize, count: usize) -> [Vec<u8>; 3] {
    let (origin, target) = (numbers(row, seed, count), numbers(row, seed + 1, count));
    let mut after = target.clone();
    match operator {
        Operator::Replace => after.copy_from_slice(&origin),
        Operator::NoOp => {}
        _ => {
            let reduction = Reduction::predefined(operator, row.datatype()).unwrap();
            // SAFETY: both vectors hold `count` elements.
            unsafe { reduction.apply(origin.as_ptr(), after.as_mut_ptr(), count) };
        }
    }
    [origin, target, after]
}

fn elements<'a>(base: *const u8, count: usize, datatype: &'a Datatype) -> Elements<'a> {
    Elements {
        memory: datatype.memory(base.cast_mut(), count).unwrap(),
        count,
        datatype,
    }
}

/// What this process's window holds, which no operation changes now.
fn own(window: &Window, disp: usize, bytes: usize) -> Vec<u8> {
    assert!((disp + bytes) as u64 <= window.bytes());
    // SAFETY: inside the window.
    unsafe { std::slice::from_raw_parts(window.base().add(disp), bytes) }.to_vec()
}

/// Stores into this process's window.
fn set_own(window: &Window, disp: usize, bytes: &[u8]) {
    assert!((disp + bytes.len()) as u64 <= window.bytes());
    // SAFETY: inside the window.
    unsafe {
        bytes
            .as_ptr()
            .copy_to_nonoverlapping(window.base().add(disp), bytes.len())
    };
}

fn valid_pairs() -> impl Iterator<Item = (Operator, &'static Predefined)> {
    let all = OPERATORS
        .iter()
        .flat_map(|op| PREDEFINED.iter().map(move |row| (op, row)));
    let valid = all.filter(|(op, row)| op.categories.contains(&row.category));
    valid.map(|(op, row)| (op.operator, row))
}

#[test]
fn every_operation_on_every_type_is_that_of_the_model() {
    on_all_paths(1, |member| {
        let window = allocate(member, 8192);
        fence::fence(&window, 0, "test").unwrap();
        let (mut pairs, count) = (0, 9);
        for (operator, row) in valid_pairs() {
            // Aligned elements, and such that are not.
            for disp in [0usize, 64, 1, 4, 12] {
                let [origin, target, after] = model(row, operator, pairs + disp, count);
                let here = || own(&window, disp, target.len());
                set_own(&window, disp, &target);
                let datatype: &Datatype = row.datatype();
                let rank = 0;
                let remote = Remote {
                    unit: None,
                    rank,
                    disp: disp as i64,
                    count,
                    datatype,
                };
                let from = elements(origin.as_ptr(), count, datatype);
                let mut old = vec![0u8; target.len()];
                let into = elements(old.as_mut_ptr(), count, datatype);
                // SAFETY: the vectors live until the operations are complete.
                unsafe { rma::get_accumulate(&window, &from, &into, &remote, operator) }.unwrap();
                complete(&window);
                assert_eq!(here(), after, "{operator:?} on {} at {disp}", row.name);
                assert_eq!(old, target, "{operator:?} on {} at {disp}", row.name);
                if operator != Operator::NoOp {
                    set_own(&window, disp, &target);
                    // SAFETY: as above.
                    unsafe { rma::accumulate(&window, &from, &remote, operator) }.unwrap();
                    complete(&window);
                    assert_eq!(here(), after, "{operator:?} on {} at {disp}", row.name);
                }
                set_own(&window, disp, &target);
                old.fill(0);
                let (from, into) = (origin.as_ptr(), old.as_mut_ptr());
                let at = disp as i64;
                // SAFETY: as above.
                unsafe { rma::fetch_and_op(&window, from, into, datatype, 0, at, operator) }
                    .unwrap();
                complete(&window);
                let extent = row.shape.extent();
                assert_eq!(
                    here()[..extent],
                    after[..extent],
                    "{operator:?} on {}",
                    row.name
                );
                assert_eq!(here()[extent..], target[extent..]);
                assert_eq!(old[..extent], target[..extent]);
            }
            pairs += 1;
        }
        assert_eq!(pairs, 525);
        fence::fence(&window, 0, "test").unwrap();
        window.free("test").unwrap();
    });
}

/// The elements of `dense`, as a derived type places them.
fn spread(dense: &[u8], row: &'static Predefined, layout: &Datatype, count: usize) -> Vec<u8> {
    let (first, bytes) = layout.layout().span(count).unwrap();
    assert_eq!(first, 0);
    let mut packed = vec![0u8; count * layout.size()];
    let elements = packed.len() / row.size();
    let mut all = vec![0u8; bytes + 64];
    // SAFETY: all vectors are as long as the layouts say.
    unsafe {
        let whole = 0..packed.len();
        let one = row.datatype().layout();
        assert_eq!(dense.len(), elements * row.shape.extent());
        one.pack(dense.as_ptr(), whole.clone(), packed.as_mut_ptr());
        layout
            .layout()
            .unpack(all.as_mut_ptr(), whole, packed.as_ptr());
    }
    all
}

#[test]
fn sides_may_be_laid_out_differently() {
    on_all_paths(1, |member| {
        let window = allocate(member, 1 << 18);
        fence::fence(&window, 0, "test").unwrap();
        for (seed, (operator, row)) in valid_pairs().enumerate() {
            let old = row.datatype();
            // Elements over several steps, once in every so many types.
            let blocks = if seed % 16 == 0 { 600 } else { 6 };
            let there = Datatype::vector(blocks, 2, 3, old, Width::Int).unwrap();
            let here = Datatype::vector(2 * blocks, 1, 2, old, Width::Int).unwrap();
            let result = Datatype::contiguous(blocks, old, Width::Int).unwrap();
            for datatype in [&there, &here, &result] {
                datatype.commit();
            }
            let count = 2 * blocks as usize;
            let [origin, target, after] = model(row, operator, seed, count);
            let origin = spread(&origin, row, &here, 1);
            let before = spread(&target, row, &there, 1);
            let mut old = spread(&target, row, &result, 2);
            let bytes = old.len();
            let expected_old = std::mem::replace(&mut old, vec![0u8; bytes]);
            set_own(&window, 0, &before);
            let remote = Remote {
                unit: None,
                rank: 0,
                disp: 0,
                count: 1,
                datatype: &there,
            };
            let from = elements(origin.as_ptr(), 1, &here);
            let into = elements(old.as_mut_ptr(), 2, &result);
            // SAFETY: the vectors live until the operation is complete.
            unsafe { rma::get_accumulate(&window, &from, &into, &remote, operator) }.unwrap();
            complete(&window);
            let expected = spread(&after, row, &there, 1);
            assert_eq!(
                own(&window, 0, before.len()),
                expected,
                "{operator:?} on {}",
                row.name
            );
            assert_eq!(old, expected_old, "{operator:?} on {}", row.name);
        }
        fence::fence(&window, 0, "test").unwrap();
        window.free("test").unwrap();
    });
}

/// Adds ones to the elements of rank 0 from all ranks and threads, and returns what they become.
fn hammer(member: &'static Member, threads: usize, code: u32, one: &[u8], disp: i64) -> Vec<u8> {
    const ROUNDS: usize = 500;
    let window = allocate(member, 128);
    passive::lock_all(&window, 0, "test").unwrap();
    let datatype: &Datatype = named(code);
    let count = 3;
    let ones = one.repeat(count);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (window, ones) = (&window, &ones);
            scope.spawn(move || {
                let mut old = vec![0u8; ones.len()];
                for round in 0..ROUNDS {
                    let from = elements(ones.as_ptr(), count, datatype);
                    let into = elements(old.as_mut_ptr(), count, datatype);
                    let remote = Remote {
                        unit: None,
                        rank: 0,
                        disp,
                        count,
                        datatype,
                    };
                    let (sum, first) = (Operator::Sum, round % 3);
                    // SAFETY: the vectors live until the operations are complete.
                    unsafe {
                        if (thread + round).is_multiple_of(2) {
                            rma::accumulate(window, &from, &remote, sum).unwrap();
                        } else if round % 4 == 1 {
                            rma::get_accumulate(window, &from, &into, &remote, sum).unwrap();
                        } else {
                            for element in 0..count {
                                let element = (first + element) % count;
                                let disp = disp + (element * ones.len() / count) as i64;
                                let (from, into) = (ones.as_ptr(), old.as_mut_ptr());
                                rma::fetch_and_op(window, from, into, datatype, 0, disp, sum)
                                    .unwrap();
                            }
                        }
                    }
                    // The results of one round need the memory of the other.
                    passive::flush_local(window, 0).unwrap();
                }
            });
        }
    });
    passive::unlock_all(&window).unwrap();
    fence::fence(&window, 0, "test").unwrap();
    let all = own(&window, disp as usize, ones.len());
    fence::fence(&window, 0, "test").unwrap();
    window.free("test").unwrap();
    all
}

#[test]
fn no_addition_is_lost() {
    let long_double = |value: u32| {
        let exponent = 31 - value.leading_zeros();
        let mut bytes = (u64::from(value) << (63 - exponent)).to_ne_bytes().to_vec();
        bytes.extend((0x3fff + exponent as u16).to_ne_bytes());
        bytes.resize(16, 0);
        bytes
    };
    for (ranks, threads) in [(2, 1), (4, 1), (7, 1), (1, 4), (2, 3)] {
        let level = if threads == 1 {
            ThreadLevel::Single
        } else {
            ThreadLevel::Multiple
        };
        let total = (ranks as usize * threads * 500) as u32;
        if threads > 1 && !shares_memory() {
            continue;
        }
        for settings in paths() {
            let sums = on_members_at_level(&settings, level, ranks, |member| {
                let run = |code, one: &[u8], disp| hammer(member, threads, code, one, disp);
                [
                    run(predefined::INT64_T, &1i64.to_ne_bytes(), 0),
                    run(predefined::INT64_T, &1i64.to_ne_bytes(), 4),
                    run(predefined::DOUBLE, &1f64.to_ne_bytes(), 8),
                    run(predefined::INT16_T, &1i16.to_ne_bytes(), 2),
                    run(
                        predefined::C_DOUBLE_COMPLEX,
                        &[1f64.to_ne_bytes(), [0; 8]].concat(),
                        16,
                    ),
                    run(
                        predefined::C_FLOAT_COMPLEX,
                        &[1f32.to_ne_bytes(), [0; 4]].concat(),
                        16,
                    ),
                    run(predefined::LONG_DOUBLE, &long_double(1), 16),
                ]
            });
            let real = f64::from(total).to_ne_bytes();
            let expected = [
                i64::from(total).to_ne_bytes().repeat(3),
                i64::from(total).to_ne_bytes().repeat(3),
                real.repeat(3),
                (total as i16).to_ne_bytes().repeat(3),
                [real, [0; 8]].concat().repeat(3),
                [(total as f32).to_ne_bytes(), [0; 4]].concat().repeat(3),
                long_double(total).repeat(3),
            ];
            assert_eq!(sums[0], expected, "{ranks} ranks, {threads} threads");
        }
    }
}

#[test]
fn fetched_tickets_and_swaps_are_each_of_one_rank() {
    let cases = [1, 2, 3, 4, 7].into_iter();
    for (ranks, settings) in cases.flat_map(|ranks| paths().into_iter().map(move |it| (ranks, it)))
    {
        let tickets = on_members_with(&settings, ranks, |member| {
            let window = allocate(member, 64);
            let int: &Datatype = named(predefined::INT32_T);
            let big: &Datatype = named(predefined::INTEGER16);
            let home = (ranks - 1) as i32;
            passive::lock_all(&window, 0, "test").unwrap();
            let mut mine = Vec::new();
            for _ in 0..300 {
                let (one, mut ticket) = (1i32, -1i32);
                let (from, into) = ((&raw const one).cast(), (&raw mut ticket).cast());
                let sum = Operator::Sum;
                // SAFETY: both numbers live until the flush.
                unsafe { rma::fetch_and_op(&window, from, into, int, home, 4, sum) }.unwrap();
                passive::flush(&window, home).unwrap();
                mine.push(ticket);
                // Counts by swaps, of words and of longer elements.
                add_by_swaps::<i32>(&window, int, home, 8, |value| value + 1);
                add_by_swaps::<i128>(&window, big, home, 16, |value| value + (1 << 70));
            }
            passive::unlock_all(&window).unwrap();
            fence::fence(&window, 0, "test").unwrap();
            if member.rank() as i32 == home {
                let total = 300 * i128::from(ranks);
                assert_eq!(own(&window, 8, 4), (total as i32).to_ne_bytes());
                assert_eq!(own(&window, 16, 16), (total << 70).to_ne_bytes());
            }
            fence::fence(&window, 0, "test").unwrap();
            window.free("test").unwrap();
            mine
        });
        let mut all = tickets.concat();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..300 * ranks as i32));
    }
}

fn add_by_swaps<T: Copy + Default + PartialEq>(
    window: &Window,
    datatype: &Datatype,
    rank: i32,
    disp: i64,
    next: impl Fn(T) -> T,
) {
    let mut seen = T::default();
    loop {
        let (new, mut old) = (next(seen), T::default());
        let operands = ((&raw const new).cast(), (&raw const seen).cast());
        let result = (&raw mut old).cast();
        // SAFETY: all numbers live until the flush.
        let outcome = unsafe {
            rma::compare_and_swap(window, operands.0, operands.1, result, datatype, rank, disp)
        };
        outcome.unwrap();
        passive::flush(window, rank).unwrap();
        if old == seen {
            return;
        }
        seen = old;
    }
}

#[test]
fn wrong_types_and_operations_are_refused() {
    on_all_paths(1, |member| {
        let window = allocate(member, 64);
        let (int, double) = (named(predefined::INT), named(predefined::DOUBLE));
        let types = [int.clone(), double.clone()];
        let record = Datatype::structure(&[1, 1], &[0, 8], &types, Width::Int).unwrap();
        record.commit();
        let buffer = [0u8; 64];
        let call = |origin: &Datatype, counts: (usize, usize), target: &Datatype, operator| {
            let from = elements(buffer.as_ptr(), counts.0, origin);
            let remote = Remote {
                unit: None,
                rank: 0,
                disp: 0,
                count: counts.1,
                datatype: target,
            };
            // SAFETY: the buffer is long enough.
            unsafe { rma::accumulate(&window, &from, &remote, operator) }
        };
        let refused = |outcome: Result<()>, class: ErrorClass, text: &str| {
            let error = outcome.unwrap_err();
            assert_eq!(error.class(), class, "{error}");
            assert!(error.to_string().contains(text), "{error}");
        };
        let sum = Operator::Sum;
        refused(
            call(int, (1, 1), int, sum),
            ErrorClass::ERR_RMA_SYNC,
            "epoch",
        );
        passive::lock(&window, LockKind::Shared, 0, 0, "test").unwrap();
        refused(
            call(int, (2, 1), double, sum),
            ErrorClass::ERR_TYPE,
            "MPI_DOUBLE",
        );
        refused(
            call(&record, (1, 1), &record, sum),
            ErrorClass::ERR_TYPE,
            "single",
        );
        refused(call(int, (1, 2), int, sum), ErrorClass::ERR_ARG, "4 bytes");
        refused(
            call(double, (1, 1), double, Operator::Bor),
            ErrorClass::ERR_OP,
            "MPI_BOR",
        );
        refused(
            call(int, (1, 1), int, Operator::NoOp),
            ErrorClass::ERR_OP,
            "MPI_NO_OP",
        );
        refused(
            call(int, (17, 17), int, sum),
            ErrorClass::ERR_RMA_RANGE,
            "64 bytes",
        );
        call(int, (1, 1), named(predefined::INTEGER), sum).unwrap();
        call(int, (0, 0), int, sum).unwrap();
        let mut result = [0u8; 16];
        let (from, into) = (buffer.as_ptr(), result.as_mut_ptr());
        // SAFETY: both buffers hold an element.
        let swap = unsafe { rma::compare_and_swap(&window, from, from, into, double, 0, 0) };
        refused(swap, ErrorClass::ERR_TYPE, "MPI_DOUBLE");
        // SAFETY: as above.
        let fetch = unsafe { rma::fetch_and_op(&window, from, into, &record, 0, 0, sum) };
        refused(fetch, ErrorClass::ERR_TYPE, "predefined");
        passive::unlock(&window, 0).unwrap();
        window.free("test").unwrap();
    });
}
