// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `RANKPOINT_CHECK=rma` on several ranks.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use sys::sync::{AtomicU32, Ordering};

use super::channel::locked;
use crate::coll;
use crate::comm::Process;
use crate::completion;
use crate::datatype::{Datatype, Memory, Predefined, predefined};
use crate::errors::{Error, ErrorClass, Result};
use crate::op::Operator;
use crate::p2p::{self, Mode};
use crate::rma::epoch::assertion;
use crate::rma::{self, Elements, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::Settings;
use crate::task;
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

/// Handles requests until so many accesses to this rank's memory have come that are not complete.
fn wait_for_accesses(process: &'static Process, window: &Window, count: usize) {
    let checked = window.channel.as_ref().unwrap().checked.as_ref().unwrap();
    while locked(&checked.accesses).counts()[0] < count {
        process.world().vci().poll();
    }
}

/// Waits for all ranks.
fn meet(process: &'static Process) {
    let world = process.world();
    task::run_collective(world, "MPI_Barrier", coll::barrier(world.clone())).unwrap();
}

/// Steps of ranks one after the other, of which the library knows nothing.
#[derive(Default)]
struct Steps([AtomicU32; 8]);

impl Steps {
    /// Waits until so many steps are over, and handles what others ask for meanwhile.
    fn wait(&self, process: &'static Process, step: u32) {
        // Jobs have different sizes.
        let over = &self.0[process.size() as usize];
        // PAIRS: test.steps
        while over.load(Ordering::Acquire) < step {
            process.world().vci().poll();
        }
    }

    fn end(&self, process: &'static Process) {
        // PAIRS: test.steps
        self.0[process.size() as usize].fetch_add(1, Ordering::Release);
    }
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
    let steps = Steps::default();
    with_windows(|process, window| {
        let me = process.rank();
        fence::fence(window, assertion::NOSUCCEED, "test").unwrap();
        if me > 1 {
            return;
        }
        passive::lock(window, LockKind::Shared, 0, 0, "test").unwrap();
        let word = (me == 1).then(|| get(window, 0, 20));
        if me == 0 {
            put(window, 0, 16);
            // Both are told by their unlocks only if none of them comes first: not even a message says that of a request to oneself.
            wait_for_accesses(process, window, 2);
            steps.end(process);
        }
        steps.wait(process, 1);
        let text = told(passive::unlock(window, 0));
        both(
            &text,
            ["a put of rank 0", "a get of rank 1"],
            "bytes 20..24",
        );
        drop(word);
    });
}

#[test]
fn what_a_rank_learns_later_does_not_order_its_put_to_its_own_memory() {
    let steps = Steps::default();
    with_windows(|process, window| {
        let get_with_lock = |disp| {
            passive::lock(window, LockKind::Shared, 0, 0, "test").unwrap();
            let word = get(window, 0, disp);
            let ended = passive::unlock(window, 0);
            drop(word);
            ended
        };
        let words = ["a put of rank 0", "a get of rank 1"];
        match process.rank() {
            0 => {
                passive::lock(window, LockKind::Shared, 0, 0, "test").unwrap();
                steps.wait(process, 1);
                put(window, 0, 16);
                // As the receipt of a message does; the request has not been handled.
                window.comm().note_news();
                let ended = passive::unlock(window, 0);
                steps.end(process);
                both(&told(ended), words, "bytes 20..24");
            }
            1 => {
                get_with_lock(20).unwrap();
                steps.end(process);
                steps.wait(process, 2);
                both(&told(get_with_lock(40)), words, "bytes 20..24");
            }
            _ => {}
        }
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

/// Each of the first two ranks puts into the same word of the last rank with a lock, rank 1 long after rank 0; then the outcome of rank 1.
fn put_in_steps(
    (process, window, steps): (&'static Process, &Window, &Steps),
    kinds: [LockKind; 2],
    between: impl Fn(u32),
) -> Option<Result<()>> {
    let (me, last) = (process.rank(), process.size() - 1);
    meet(process);
    // PAIRS: test.steps
    let first = steps.0[process.size() as usize].load(Ordering::Acquire);
    meet(process);
    let mut outcome = None;
    if me < 2 {
        steps.wait(process, first + me);
        if me == 1 {
            between(me);
        }
        passive::lock(window, kinds[me as usize], last as i32, 0, "test").unwrap();
        put(window, last, 40);
        let ended = passive::unlock(window, last as i32);
        if me == 0 {
            ended.unwrap();
            between(me);
        } else {
            outcome = Some(ended);
        }
        steps.end(process);
    }
    steps.wait(process, first + 2);
    outcome
}

#[test]
fn complete_puts_conflict_whatever_the_time_between_them() {
    let steps = Steps::default();
    let mut settings = Settings::from_environment().0;
    settings.check.rma = true;
    for ranks in [2, 3, 5] {
        on_ranks_with(&settings, ranks, |process| {
            let hints = WindowHints::default();
            let window = rma::allocate(process.world(), 64, 1, hints, "test").unwrap();
            window.set_name("named");
            let kinds = [LockKind::Shared; 2];
            let outcome = put_in_steps((process, &window, &steps), kinds, |_| {});
            if let Some(outcome) = outcome {
                let text = told(outcome);
                both(
                    &text,
                    ["a put of rank 0", "a put of rank 1"],
                    "bytes 40..48",
                );
            }
            // The earlier origin learns it with the next answer of the target, here at the latest.
            let freed = window.free("test");
            assert_eq!(freed.is_err(), process.rank() == 0);
        });
    }
}

#[test]
fn whatever_orders_complete_puts_is_seen() {
    let steps = Steps::default();
    with_windows(|process, window| {
        let (me, last) = (process.rank(), process.size() - 1);
        let shared = [LockKind::Shared; 2];
        let exclusive = [LockKind::Exclusive, LockKind::Shared];
        let case = (process, window, &steps);
        let none = |_| {};
        let check = |outcome: Option<Result<()>>| outcome.map_or((), |it| it.unwrap());
        // Locks that exclude each other.
        check(put_in_steps(case, exclusive, none));
        check(put_in_steps(
            case,
            [LockKind::Shared, LockKind::Exclusive],
            none,
        ));
        // A message, or a chain of them.
        check(put_in_steps(case, shared, |_| {
            let world = process.world();
            let mut byte = 0u8;
            let memory = Memory::contiguous(&raw mut byte, 1);
            // SAFETY: the byte lives until the request is complete.
            let request = unsafe {
                match me {
                    0 => p2p::isend(world, memory, 1, 3, Mode::Standard),
                    _ => p2p::irecv(world, memory, 0, 3),
                }
            };
            completion::wait(world.vci(), &mut request.unwrap(), "test").unwrap();
        }));
        // A flag of the target.
        check(put_in_steps(case, shared, |_| {
            passive::lock(window, LockKind::Shared, last as i32, 0, "test").unwrap();
            let word = Box::new([0i64; 2]);
            let at = |index: usize| word.as_ptr().wrapping_add(index).cast_mut().cast();
            let (from, into) = (at(0), at(1));
            let target = (last as i32, 0);
            let datatype = word_type();
            // SAFETY: both words live until the flush.
            unsafe {
                rma::fetch_and_op(
                    window,
                    from,
                    into,
                    datatype,
                    target.0,
                    target.1,
                    Operator::Sum,
                )
            }
            .unwrap();
            passive::flush_local(window, last as i32).unwrap();
            passive::unlock(window, last as i32).unwrap();
        }));
        meet(process);
        // All have met.
        passive::lock_all(window, 0, "test").unwrap();
        for rank in 0..process.size() {
            if rank == me {
                put(window, last, 40);
                passive::flush_all(window).unwrap();
            }
            meet(process);
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn a_lock_of_another_target_orders_too() {
    let steps = Steps::default();
    with_windows(|process, window| {
        let shared = [LockKind::Shared; 2];
        let outcome = put_in_steps((process, window, &steps), shared, |_| {
            passive::lock(window, LockKind::Exclusive, 0, 0, "test").unwrap();
            passive::unlock(window, 0).unwrap();
        });
        if let Some(outcome) = outcome {
            outcome.unwrap();
        }
    });
}

#[test]
fn buffers_of_other_calls_are_loads_and_stores() {
    let steps = Steps::default();
    with_windows(|process, window| {
        let (me, ranks) = (process.rank(), process.size());
        let target = ranks - 1;
        let own = Memory::contiguous(window.base().wrapping_add(8), 16);
        let (call, uses) = ("MPI_Recv", [rma::BufferUse::Read, rma::BufferUse::Written]);
        // Between fences.
        fenced(window).unwrap();
        if me == target {
            rma::note_buffer(process.world().process(), "MPI_Send", &own, uses[0]);
        }
        let word = (me != target).then(|| get(window, target, 8));
        fenced(window).unwrap();
        drop(word);
        if me == target {
            rma::note_buffer(process.world().process(), call, &own, uses[1]);
        }
        if me == 0 {
            put(window, target, 20);
        }
        let what = format!("MPI_Recv of rank {target}, which stores into its own window");
        let text = told(fenced(window));
        both(&text, [&what, "a put of rank 0"], "bytes 20..24");
        fence::fence(window, assertion::NOSUCCEED, "test").unwrap();
        // In steps, with a lock: only the target's load is without one.
        meet(process);
        // PAIRS: test.steps
        let first = steps.0[ranks as usize].load(Ordering::Acquire);
        meet(process);
        if me == 0 && target != 0 {
            passive::lock(window, LockKind::Exclusive, target as i32, 0, "test").unwrap();
            put(window, target, 8);
            passive::unlock(window, target as i32).unwrap();
            steps.end(process);
        }
        steps.wait(process, first + 1);
        if me == target {
            rma::note_buffer(process.world().process(), "MPI_Send", &own, uses[0]);
        }
        meet(process);
        let outcome = fenced(window);
        assert_eq!(outcome.is_err(), me == target || me == 0, "{outcome:?}");
        let text = told(outcome.and(Err(Error::new(
            ErrorClass::ERR_RMA_CONFLICT,
            "window named",
        ))));
        if me == target {
            let what = format!("MPI_Send of rank {target}, which reads its own window");
            both(&text, [&what, "a put of rank 0"], "bytes 8..16");
        }
    });
}
