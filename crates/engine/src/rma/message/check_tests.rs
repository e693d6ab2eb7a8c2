// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `RANKPOINT_CHECK=rma` on several ranks.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use crate::coll;
use crate::comm::Process;
use crate::completion;
use crate::datatype::{Datatype, Memory, Predefined, predefined};
use crate::errors::{ErrorClass, Result};
use crate::op::Operator;
use crate::p2p::{self, Mode};
use crate::rma::epoch::assertion;
use crate::rma::{self, Elements, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::Settings;
use crate::task::block_on;
use crate::testing::on_ranks_with;

/// Runs `body` on every rank of jobs of several sizes, at least 2, with a window of 64 bytes.
fn with_windows(body: impl Fn(&'static Process, &Window) + Sync) {
    let mut settings = Settings::from_environment().0;
    settings.check.rma = true;
    for ranks in [2, 3, 5] {
        on_ranks_with(&settings, ranks, |process| {
            let hints = WindowHints::default();
            let window = rma::allocate(process.world(), 64, 1, hints, "test").unwrap();
            window.set_name("named");
            body(process, &window);
            window.free("test").unwrap();
        });
    }
}

fn word_type() -> &'static Arc<Datatype> {
    Predefined::find(predefined::INT64_T).unwrap().datatype()
}

static ORIGIN: [i64; 8] = [7; 8];

fn remote(rank: u32, disp: i64) -> Remote<'static> {
    Remote {
        unit: None,
        rank: rank as i32,
        disp,
        count: 1,
        datatype: word_type(),
    }
}

fn origin() -> Memory<'static> {
    Memory::contiguous(ORIGIN.as_ptr().cast_mut().cast(), 8)
}

fn put(window: &Window, rank: u32, disp: i64) {
    // SAFETY: the origin is static.
    unsafe { rma::put(window, &origin(), &remote(rank, disp)) }.unwrap();
}

fn get(window: &Window, rank: u32, disp: i64) -> Box<i64> {
    let mut word = Box::new(0);
    let memory = Memory::contiguous((&raw mut *word).cast(), 8);
    // SAFETY: the caller keeps the box until it has synchronised.
    unsafe { rma::get(window, &memory, &remote(rank, disp)) }.unwrap();
    word
}

fn accumulate(window: &Window, rank: u32, disp: i64, operator: Operator) {
    let origin = Elements {
        memory: origin(),
        count: 1,
        datatype: word_type(),
    };
    // SAFETY: the origin is static.
    unsafe { rma::accumulate(window, &origin, &remote(rank, disp), operator) }.unwrap();
}

/// The text of a conflict, which names the window.
fn told(outcome: Result<()>) -> String {
    let error = outcome.unwrap_err();
    assert_eq!(error.class(), ErrorClass::ERR_RMA_CONFLICT, "{error}");
    let text = error.to_string();
    assert!(text.contains("window named"), "{text}");
    text
}

fn both(text: &str, words: [&str; 2], place: &str) {
    let has = |word: &str| text.contains(word);
    assert!(words.into_iter().all(has) && has(place), "{text}");
}

/// Exchanges a message with a rank, behind all that was sent to it.
fn exchange(process: &'static Process, peer: u32) {
    let (world, mut byte) = (process.world(), [0u8; 2]);
    let [to, from] = [0, 1].map(|index| Memory::contiguous(&raw mut byte[index], 1));
    // SAFETY: the bytes live until the requests are complete.
    let requests = unsafe {
        let receive = p2p::irecv(world, from, peer as i32, 0).unwrap();
        let send = p2p::isend(world, to, peer as i32, 0, Mode::Standard).unwrap();
        [receive, send]
    };
    for mut request in requests {
        completion::wait(world.vci(), &mut request, "test").unwrap();
    }
}

/// Waits for all ranks.
fn meet(process: &'static Process) {
    let world = process.world();
    block_on(world.vci(), "test", coll::barrier(world.clone())).unwrap();
}

fn fenced(window: &Window) -> Result<()> {
    fence::fence(window, 0, "test")
}

#[test]
fn all_members_learn_of_a_conflict_between_fences() {
    with_windows(|process, window| {
        let (me, last) = (process.rank(), process.size() - 1);
        for round in 0..3 {
            fenced(window).unwrap();
            // Each in words of its own.
            put(window, last, 8 * i64::from(me));
            fenced(window).unwrap();
            match me {
                0 => put(window, last, 4),
                1 => accumulate(window, last, 8, Operator::Sum),
                _ => {}
            }
            let text = told(fenced(window));
            let place = format!("bytes 8..12 of the window of rank {last}");
            let accumulate = "an accumulate (MPI_SUM of MPI_INT64_T) of rank 1";
            both(&text, ["a put of rank 0", accumulate], &place);
            if me == 1 && round == 1 {
                put(window, 0, 0);
            }
        }
        fenced(window).unwrap();
    });
}

#[test]
fn gets_and_like_accumulates_do_not_conflict() {
    with_windows(|_, window| {
        fenced(window).unwrap();
        for _ in 0..10 {
            let words: Vec<_> = (0..3).map(|index| get(window, 0, 8 * index)).collect();
            accumulate(window, 1, 8, Operator::Sum);
            fenced(window).unwrap();
            drop(words);
            accumulate(window, 1, 8, Operator::Max);
            fenced(window).unwrap();
        }
    });
}

#[test]
fn holders_of_a_shared_lock_learn_of_their_conflict() {
    with_windows(|process, window| {
        let me = process.rank();
        fence::fence(window, assertion::NOSUCCEED, "test").unwrap();
        if me < 2 {
            passive::lock(window, LockKind::Shared, 0, 0, "test").unwrap();
        }
        let word = match me {
            0 => {
                put(window, 0, 16);
                None
            }
            1 => Some(get(window, 0, 20)),
            _ => None,
        };
        if me < 2 {
            // The target has the accesses of both before an unlock.
            exchange(process, 1 - me);
            let text = told(passive::unlock(window, 0));
            both(
                &text,
                ["a put of rank 0", "a get of rank 1"],
                "bytes 20..24",
            );
        }
        drop(word);
    });
}

#[test]
fn what_an_exclusive_lock_or_a_flush_orders_is_no_conflict() {
    with_windows(|process, window| {
        for _ in 0..10 {
            passive::lock(window, LockKind::Exclusive, 0, 0, "test").unwrap();
            let word = get(window, 0, 0);
            passive::flush_local(window, 0).unwrap();
            put(window, 0, 0);
            passive::flush(window, 0).unwrap();
            accumulate(window, 0, 0, Operator::Sum);
            passive::unlock(window, 0).unwrap();
            drop(word);
        }
        // One rank after the other, with the same lock for all.
        meet(process);
        passive::lock_all(window, 0, "test").unwrap();
        for rank in 0..process.size() {
            if process.rank() == rank {
                put(window, 0, 0);
                passive::flush(window, 0).unwrap();
                let word = get(window, 0, 0);
                passive::flush_local(window, 0).unwrap();
                drop(word);
            }
            meet(process);
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn origin_and_target_learn_of_a_conflict_in_an_exposure_epoch() {
    with_windows(|process, window| {
        let (me, ranks) = (process.rank(), process.size());
        let target = ranks - 1;
        if me == target {
            let others: Vec<_> = (0..ranks as i32 - 1).collect();
            let group = window.group().include(&others).unwrap();
            active::post(window, &group, 0).unwrap();
            let text = told(active::wait(window, "test"));
            let rank = (0..target).find(|rank| text.contains(&format!("put of rank {rank}")));
            let place = format!("of the window of rank {target}");
            assert!(rank.is_some() && text.contains(&place), "{text}");
        } else {
            let group = window.group().include(&[target as i32]).unwrap();
            active::start(window, &group, 0, "test").unwrap();
            put(window, target, 0);
            put(window, target, 4);
            let text = told(active::complete(window));
            assert!(text.contains(&format!("rank {me}")), "{text}");
        }
    });
}

#[test]
fn a_member_learns_that_it_used_its_own_memory_meanwhile() {
    with_windows(|process, window| {
        let (me, ranks) = (process.rank(), process.size());
        fenced(window).unwrap();
        if me == 0 {
            let memory = Memory::contiguous(window.base().wrapping_add(24), 8);
            // SAFETY: inside the window.
            unsafe { rma::put(window, &memory, &remote(ranks - 1, 0)) }.unwrap();
        } else if me == 1 {
            put(window, 0, 16);
            put(window, 0, 28);
        }
        let text = told(fenced(window));
        let own = "an operation of rank 0 that reads its own window";
        both(
            &text,
            [own, "a put of rank 1"],
            "bytes 28..32 of the window of rank 0",
        );
    });
}

#[test]
fn broken_assertions_are_told() {
    with_windows(|process, window| {
        let me = process.rank();
        let promised = if me == 0 { assertion::NOPUT } else { 0 };
        fence::fence(window, promised, "test").unwrap();
        if me == 1 {
            put(window, 0, 0);
        }
        let text = told(fenced(window));
        both(&text, ["a put of rank 1", "MPI_MODE_NOPUT"], "rank 0");
        if me == 1 {
            put(window, 0, 0);
        }
        let outcome = fence::fence(window, assertion::NOPRECEDE, "test");
        assert_eq!(outcome.is_err(), me == 1);
        if let Err(error) = outcome {
            assert_eq!(error.class(), ErrorClass::ERR_ASSERT);
        }
    });
}
