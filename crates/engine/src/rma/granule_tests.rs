// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of windows whose memory safe code accesses.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use super::granule::Granule;
use crate::comm::ThreadLevel;
use crate::datatype::{Datatype, Memory, Predefined, predefined};
use crate::errors::ErrorClass;
use crate::op::Operator;
use crate::p2p::NoPromise;
use crate::rma::{self, Elements, Remote, Spot, Window, WindowHints, passive};
use crate::settings::{RmaPath, Settings};
use crate::testing::{Member, on_members, on_members_at_level};

/// Elements of a window: enough for accumulates that take the lock.
const ELEMENTS: usize = 40;
const THREADS: u64 = 3;
/// Operations of each thread; fewer under ThreadSanitizer would do, too.
const TIMES: u64 = 150;

fn word() -> &'static Arc<Datatype> {
    Predefined::find(predefined::UINT64_T).unwrap().datatype()
}

fn allocate(member: &Member) -> Arc<Window> {
    let (bytes, element) = (8 * ELEMENTS as u64, (8, Granule::Eight));
    rma::allocate_elements(
        member.world(),
        bytes,
        element,
        WindowHints::default(),
        "test",
    )
    .unwrap()
}

/// A number that every operation here keeps: both halves are the same.
const fn twice(half: u64) -> u64 {
    half << 32 | half
}

fn check(words: &[u64], what: &str) {
    for &word in words {
        assert_eq!(word >> 32, word & u64::from(u32::MAX), "{what}: {word:#x}");
    }
}

fn operands(words: &[u64]) -> Elements<'static> {
    let datatype = word();
    let memory = datatype.memory(words.as_ptr().cast_mut().cast(), words.len());
    Elements {
        memory: memory.unwrap(),
        count: words.len(),
        datatype,
    }
}

/// One operation of a kind on elements of rank 0, complete when it returns.
fn operate(window: &Window, kind: u64, count: usize, at: usize) {
    let words = vec![twice(1); count];
    let mut back = vec![0u64; count];
    let bytes = 8 * count;
    let remote = Remote {
        rank: 0,
        disp: at as i64,
        unit: None,
        count,
        datatype: word(),
    };
    let place = (Spot::Displacement(at as i64), Granule::Eight);
    let (from, to) = (words.as_ptr().cast(), back.as_mut_ptr().cast::<u8>());
    let (origin, result) = (operands(&words), operands(&back));
    let memory = |base: *mut u8| Memory::contiguous(base, bytes);
    // SAFETY: the words and the results live until the flush.
    unsafe {
        match kind {
            0 if rma::put_now::<NoPromise>(window, from, bytes, 0, place) => {}
            0 => rma::put(window, &memory(from.cast_mut()), &remote).unwrap(),
            1 if rma::get_now::<NoPromise>(window, to, bytes, 0, place) => {}
            1 => rma::get(window, &memory(to), &remote).unwrap(),
            2 => rma::accumulate(window, &origin, &remote, Operator::Sum).unwrap(),
            3 => rma::get_accumulate(window, &origin, &result, &remote, Operator::NoOp).unwrap(),
            4 => rma::get_accumulate(window, &origin, &result, &remote, Operator::Max).unwrap(),
            _ => {
                let compare = (&raw const words[0]).cast();
                rma::compare_and_swap(window, from, compare, to, word(), 0, at as i64).unwrap();
            }
        }
    }
    passive::flush(window, 0).unwrap();
    check(&back, "an operation");
}

/// Loads and stores of an owner beside the operations of others.
fn use_own(window: &Window, time: u64) {
    let mut own = vec![0u64; ELEMENTS];
    let base = window.base();
    let bytes = size_of_val(&*own);
    // SAFETY: the window's memory, accessed by its granule.
    unsafe {
        Granule::Eight.load(base, own.as_mut_ptr().cast(), bytes);
        check(&own, "own elements");
        let word = twice(time);
        let at = base.wrapping_add(8 * (time as usize % ELEMENTS));
        Granule::Eight.store((&raw const word).cast(), at, 8);
    }
}

#[test]
fn threads_and_ranks_use_one_element_at_once() {
    for rma_path in [RmaPath::Best, RmaPath::Message] {
        let settings = Settings {
            rma_path,
            ..Settings::from_environment().0
        };
        on_members_at_level(&settings, ThreadLevel::Multiple, 3, |member| {
            let window = allocate(member);
            passive::lock_all(&window, 0, "test").unwrap();
            std::thread::scope(|threads| {
                for thread in 0..THREADS {
                    let window = &window;
                    threads.spawn(move || {
                        for time in 0..TIMES {
                            let kind = (time + thread) % 6;
                            operate(window, kind, 1, time as usize % 3);
                            let (count, at) = (16 + thread as usize, thread as usize);
                            operate(window, kind, count, at);
                            use_own(window, time);
                        }
                    });
                }
            });
            passive::unlock_all(&window).unwrap();
            window.free("test").unwrap();
        });
    }
}

#[test]
fn elements_that_differ_are_refused_at_all_members() {
    for ranks in [2, 3] {
        on_members(ranks, |member| {
            let make = |unit, granule| {
                let hints = WindowHints::default();
                rma::allocate_elements(member.world(), 64, (unit, granule), hints, "test")
            };
            let is_last = member.rank() == ranks - 1;
            let (short, long) = ((4, Granule::Four), (8, Granule::Eight));
            let (unit, granule) = if is_last { short } else { long };
            let error = make(unit, granule).map(drop).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_DISP);
            let expected = format!("ranks 0 and {} have elements of 8 and 4 bytes", ranks - 1);
            assert!(error.to_string().contains(&expected), "{error}");
            let granule = if is_last {
                Granule::Two
            } else {
                Granule::Eight
            };
            make(8, granule).map(drop).unwrap_err();
            make(8, Granule::Eight).unwrap().free("test").unwrap();
        });
    }
}

#[test]
fn a_granule_divides_size_and_alignment() {
    assert_eq!(Granule::of::<u8>(), Granule::One);
    assert_eq!(Granule::of::<[u8; 8]>(), Granule::One);
    assert_eq!(Granule::of::<[u16; 4]>(), Granule::Two);
    assert_eq!(Granule::of::<[f32; 3]>(), Granule::Four);
    assert_eq!(Granule::of::<f64>(), Granule::Eight);
    assert_eq!(Granule::of::<u128>(), Granule::Eight);
    assert_eq!(Granule::of::<[u64; 0]>(), Granule::Eight);
    assert!(Granule::Any.divides(3) && Granule::One.divides(3));
    assert!(Granule::Four.divides(12) && !Granule::Eight.divides(12));
}
