// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of windows on several ranks.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use crate::datatype::{Datatype, Memory, Predefined, predefined};
use crate::errors::{Error, ErrorClass};
use crate::rma::epoch::assertion;
use crate::rma::{self, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::Settings;
use crate::testing::{Member, endpoints_of_a_process, on_members, on_members_with};

use std::sync::Arc;

fn bytes_type() -> &'static Datatype {
    Predefined::find(predefined::BYTE).unwrap().datatype()
}

fn allocate(member: &'static Member, bytes: u64) -> Arc<Window> {
    rma::allocate(member.world(), bytes, 1, WindowHints::default(), "test").unwrap()
}

fn put_word(window: &Window, word: u64, rank: i32, disp: i64) -> crate::Result<()> {
    let datatype = bytes_type();
    let origin = Memory::contiguous((&raw const word).cast_mut().cast(), 8);
    let remote = Remote {
        unit: None,
        rank,
        disp,
        count: 8,
        datatype,
    };
    // SAFETY: the word lives through the call, which completes or copies it.
    unsafe { rma::put(window, &origin, &remote) }
}

fn own_word(window: &Window, index: usize) -> u64 {
    // SAFETY: inside the window's memory, which no operation writes now.
    unsafe { window.base().cast::<u64>().add(index).read_volatile() }
}

#[test]
fn a_fence_shows_what_the_other_ranks_put() {
    for ranks in [1, 2, 3, 4, 7] {
        on_members(ranks, |member| {
            let window = allocate(member, 8 * u64::from(ranks));
            for round in 0..20 {
                fence::fence(&window, 0, "test").unwrap();
                for rank in 0..ranks {
                    let word = u64::from(1000 * round + member.rank());
                    put_word(&window, word, rank as i32, 8 * i64::from(member.rank())).unwrap();
                }
                fence::fence(&window, 0, "test").unwrap();
                for rank in 0..ranks {
                    assert_eq!(
                        own_word(&window, rank as usize),
                        u64::from(1000 * round + rank)
                    );
                }
            }
            window.free("test").unwrap();
        });
    }
}

#[test]
fn reports_name_the_call_that_made_a_window() {
    for ranks in [1, 2, 3] {
        on_members(ranks, |member| {
            const CALL: &str = "MPI_Win_allocate";
            let hints = WindowHints::default();
            let window = rma::allocate(member.world(), 8, 1, hints, CALL).unwrap();
            let told = window.comm.describe();
            let parent = match endpoints_of_a_process() {
                None => "of MPI_COMM_WORLD, ",
                Some(_) => "of context ",
            };
            assert!(told.contains(&format!("{CALL} {parent}")), "{told}");
            let expected = format!(", {ranks} rank");
            assert!(told.contains(&expected), "{told}");
            window.free("test").unwrap();
        });
    }
}

#[test]
fn a_member_that_declines_makes_all_members_fail() {
    for ranks in [1, 2, 3] {
        on_members(ranks, |member| {
            let world = member.world();
            for full in 0..ranks {
                let is_full = member.rank() == full;
                let made = if is_full {
                    let error = Error::new(ErrorClass::ERR_NO_MEM, "no handle");
                    rma::decline(world, error, "test")
                } else {
                    rma::allocate(world, 8, 1, WindowHints::default(), "test")
                };
                let error = made.map(drop).unwrap_err();
                assert_eq!(error.class(), ErrorClass::ERR_NO_MEM);
                let told = match is_full {
                    true => "no handle".to_owned(),
                    false => format!("rank {full} could not take part in test"),
                };
                assert!(error.to_string().contains(&told), "{error}");
            }
            allocate(member, 8).free("test").unwrap();
        });
    }
}

#[test]
fn members_that_break_a_promise_about_sizes_make_no_window_where_that_is_checked() {
    let mut settings = Settings::from_environment().0;
    settings.check.hints = true;
    for ranks in [2, 3] {
        on_members_with(&settings, ranks, |member| {
            let world = member.world();
            let is_last = member.rank() == ranks - 1;
            let hints = |promised: &'static str| {
                WindowHints::of(move |key| (key == promised).then(|| "true".to_owned()))
            };
            let bytes = if is_last { 16 } else { 8 };
            let made = rma::allocate(world, bytes, 1, hints("same_size"), "test");
            let error = made.map(drop).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_SIZE);
            let told = format!("ranks 0 and {} have windows of 8 and 16 bytes", ranks - 1);
            assert!(error.to_string().contains(&told), "{error}");
            let unit = if is_last { 4 } else { 2 };
            let made = rma::allocate(world, 8, unit, hints("same_disp_unit"), "test");
            let error = made.map(drop).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_DISP);
            let told = format!(
                "ranks 0 and {} have displacement units of 2 and 4",
                ranks - 1
            );
            assert!(error.to_string().contains(&told), "{error}");
            // What is not promised may differ.
            let made = rma::allocate(world, bytes, 1, hints("same_disp_unit"), "test");
            made.unwrap().free("test").unwrap();
        });
    }
}

#[test]
fn exclusive_locks_are_served_one_after_the_other() {
    for ranks in [1, 2, 3, 4, 7] {
        on_members(ranks, |member| {
            let window = allocate(member, 8);
            fence::fence(&window, 0, "test").unwrap();
            for _ in 0..100 {
                passive::lock(&window, LockKind::Exclusive, 0, 0, "test").unwrap();
                let datatype = bytes_type();
                let mut word = 0u64;
                let origin = Memory::contiguous((&raw mut word).cast(), 8);
                let remote = Remote {
                    unit: None,
                    rank: 0,
                    disp: 0,
                    count: 8,
                    datatype,
                };
                // SAFETY: the word lives through the call.
                unsafe { rma::get(&window, &origin, &remote) }.unwrap();
                passive::flush(&window, 0).unwrap();
                put_word(&window, word + 1, 0, 0).unwrap();
                passive::unlock(&window, 0).unwrap();
            }
            fence::fence(&window, 0, "test").unwrap();
            if member.rank() == 0 {
                assert_eq!(own_word(&window, 0), 100 * u64::from(ranks));
            }
            window.free("test").unwrap();
        });
    }
}

#[test]
fn a_target_waits_for_the_origins_to_which_it_posted() {
    for ranks in [2, 3, 4, 7] {
        on_members(ranks, |member| {
            let window = allocate(member, 8 * u64::from(ranks));
            let me = member.rank();
            let one = |rank: u32| window.group().include(&[rank as i32]).unwrap();
            let (to, from) = (one((me + 1) % ranks), one((me + ranks - 1) % ranks));
            for round in 0..50 {
                active::post(&window, &from, 0).unwrap();
                active::start(&window, &to, 0, "test").unwrap();
                put_word(&window, round, ((me + 1) % ranks) as i32, 0).unwrap();
                active::complete(&window).unwrap();
                active::wait(&window, "test").unwrap();
                assert_eq!(own_word(&window, 0), round);
            }
            window.free("test").unwrap();
        });
    }
}

#[test]
fn operations_outside_an_epoch_or_a_window_are_refused() {
    on_members(2, |member| {
        let window = allocate(member, 16);
        let class = |outcome: crate::Result<()>| outcome.unwrap_err().class();
        assert_eq!(
            class(put_word(&window, 1, 1, 0)),
            crate::ErrorClass::ERR_RMA_SYNC
        );
        fence::fence(&window, 0, "test").unwrap();
        assert_eq!(
            class(put_word(&window, 1, 1, 9)),
            crate::ErrorClass::ERR_RMA_RANGE
        );
        assert_eq!(
            class(put_word(&window, 1, 1, -1)),
            crate::ErrorClass::ERR_DISP
        );
        assert_eq!(
            class(put_word(&window, 1, 2, 0)),
            crate::ErrorClass::ERR_RANK
        );
        assert_eq!(
            class(passive::unlock(&window, 1)),
            crate::ErrorClass::ERR_RMA_SYNC
        );
        assert_eq!(
            class(active::complete(&window)),
            crate::ErrorClass::ERR_RMA_SYNC
        );
        fence::fence(&window, 0, "test").unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn a_window_with_operations_that_no_fence_ended_is_not_freed() {
    for ranks in [1, 2, 3] {
        on_members(ranks, |member| {
            let window = allocate(member, 64);
            let refused = || {
                let error = window.free("test").unwrap_err();
                assert_eq!(error.class(), ErrorClass::ERR_RMA_SYNC, "{error}");
            };
            // A fence alone begins no epoch, as no operation follows it.
            fence::fence(&window, 0, "test").unwrap();
            put_word(&window, 1, member.rank() as i32, 0).unwrap();
            refused();
            fence::fence(&window, assertion::NOSUCCEED, "test").unwrap();
            passive::lock(&window, LockKind::Shared, 0, 0, "test").unwrap();
            refused();
            passive::unlock(&window, 0).unwrap();
            fence::fence(&window, 0, "test").unwrap();
            window.free("test").unwrap();
        });
    }
}
