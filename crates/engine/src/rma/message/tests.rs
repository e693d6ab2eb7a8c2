// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of operations and synchronisation by messages, also where members share memory.
#![expect(unsafe_code, reason = "memory of windows is addresses")]

use std::sync::Arc;

use sys::sync::{AtomicBool, Ordering};

use crate::comm::ThreadLevel;
use crate::completion;
use crate::datatype::{Datatype, Memory, Predefined, Width, predefined};
use crate::op::Operator;
use crate::rma::{self, Elements, LockKind, Remote, Window, WindowHints, active, fence, passive};
use crate::settings::{RmaPath, Settings};
use crate::testing::{Member, on_members_at_level, on_members_with, shares_memory};

pub(super) fn settings() -> Settings {
    Settings {
        rma_path: RmaPath::Message,
        ..Settings::from_environment().0
    }
}

const RANKS: [u32; 5] = [1, 2, 3, 4, 7];

/// Runs `body` on every rank of jobs of several sizes, with a window of so many bytes.
fn with_windows(bytes: u64, body: impl Fn(&'static Member, &Window) + Sync) {
    for ranks in RANKS {
        on_members_with(&settings(), ranks, |member| {
            let window = allocate(member, bytes);
            body(member, &window);
            window.free("test").unwrap();
        });
    }
}

pub(super) fn allocate(member: &'static Member, bytes: u64) -> Arc<Window> {
    rma::allocate(member.world(), bytes, 1, WindowHints::default(), "test").unwrap()
}

fn byte() -> &'static Arc<Datatype> {
    Predefined::find(predefined::BYTE).unwrap().datatype()
}

fn at(rank: u32, disp: usize, count: usize, datatype: &Datatype) -> Remote<'_> {
    Remote {
        unit: None,
        rank: rank as i32,
        disp: disp as i64,
        count,
        datatype,
    }
}

pub(super) fn memory(bytes: &[u8]) -> Memory<'static> {
    Memory::contiguous(bytes.as_ptr().cast_mut(), bytes.len())
}

/// Puts bytes that live until the test has synchronised.
pub(super) fn put(window: &Window, bytes: &[u8], rank: u32, disp: usize) {
    // SAFETY: callers keep the bytes until they have synchronised.
    unsafe { rma::put(window, &memory(bytes), &at(rank, disp, bytes.len(), byte())) }.unwrap();
}

/// Gets into bytes that live until the test has synchronised.
pub(super) fn get(window: &Window, into: &mut [u8], rank: u32, disp: usize) {
    // SAFETY: callers keep the bytes until they have synchronised.
    unsafe { rma::get(window, &memory(into), &at(rank, disp, into.len(), byte())) }.unwrap();
}

pub(super) fn own(window: &Window) -> Vec<u8> {
    let mut bytes = vec![0; window.bytes() as usize];
    for (index, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: inside the window's memory, which no operation writes now.
        *byte = unsafe { window.base().add(index).read_volatile() };
    }
    bytes
}

/// Bytes that differ by origin, target and round.
fn pattern(length: usize, origin: u32, target: u32, round: u32) -> Vec<u8> {
    let seed = origin * 31 + target * 7 + round * 3;
    (0..length as u32)
        .map(|index| (index * 5 + index / 251 + seed) as u8)
        .collect()
}

/// Lengths below and above those that requests hold, and that messages send eagerly.
const LENGTHS: [usize; 7] = [0, 1, 8, 1000, 8192, 40_000, 300_000];

#[test]
fn a_fence_completes_puts_and_gets_of_all_lengths() {
    let places = 7 * 300_000;
    with_windows(places, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        for (round, length) in (0..).zip(LENGTHS) {
            fence::fence(window, 0, "test").unwrap();
            let sent: Vec<_> = (0..ranks)
                .map(|rank| pattern(length, me, rank, round))
                .collect();
            for rank in 0..ranks {
                put(window, &sent[rank as usize], rank, me as usize * 300_000);
            }
            fence::fence(window, 0, "test").unwrap();
            let mut got = vec![vec![0; length]; ranks as usize];
            for rank in 0..ranks {
                get(
                    window,
                    &mut got[rank as usize],
                    rank,
                    ((me + 1) % ranks) as usize * 300_000,
                );
            }
            fence::fence(window, 0, "test").unwrap();
            let memory = own(window);
            for rank in 0..ranks {
                let there = &memory[rank as usize * 300_000..][..length];
                assert!(there == pattern(length, rank, me, round), "put of {length}");
                let expected = pattern(length, (me + 1) % ranks, rank, round);
                assert!(got[rank as usize] == expected, "get of {length}");
            }
        }
    });
}

/// `count` blocks of `block` bytes, `stride` bytes apart.
fn strided(count: usize, block: usize, stride: usize) -> Arc<Datatype> {
    let datatype = Datatype::vector(
        count as i64,
        block as i64,
        stride as i64,
        byte(),
        Width::Int,
    );
    let datatype = datatype.unwrap();
    datatype.commit();
    datatype
}

#[test]
fn layouts_differ_between_origin_and_target() {
    let shapes = [
        (3, 1, 2),
        (500, 16, 40),
        (1000, 3, 7),
        (4, 40_000, 50_000),
        (40, 8000, 9000),
        (3000, 100, 120),
    ];
    with_windows(500_000, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        let (to, from) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        for (round, (count, block, stride)) in (0..).zip(shapes) {
            let spread = strided(count, block, stride);
            let halves = strided(count, block / 2 + block % 2, 2 * block);
            for (origin, elements) in [(byte(), count * block), (&halves, 0), (&spread, 1)] {
                if elements == 0 && block % 2 == 1 {
                    continue;
                }
                // The origin has two halves of each block when it is laid out as `halves`.
                let elements = if elements == 0 { 2 } else { elements };
                let data = pattern(1_300_000, me, to, round);
                let source = origin.memory(data.as_ptr().cast_mut(), elements).unwrap();
                let mut expected = vec![0; count * block];
                let theirs = pattern(1_300_000, from, me, round);
                // SAFETY: both are long enough.
                unsafe {
                    let range = 0..expected.len();
                    origin
                        .layout()
                        .pack(theirs.as_ptr(), range, expected.as_mut_ptr());
                }
                fence::fence(window, 0, "test").unwrap();
                let there = at(to, 11, 1, &spread);
                // SAFETY: the data live until the fence.
                unsafe { rma::put(window, &source, &there) }.unwrap();
                fence::fence(window, 0, "test").unwrap();
                let memory = own(window);
                let mut packed = vec![0; count * block];
                // SAFETY: both are long enough.
                unsafe {
                    let range = 0..packed.len();
                    spread
                        .layout()
                        .pack(memory.as_ptr().add(11), range, packed.as_mut_ptr());
                }
                assert!(packed == expected, "put of {count} blocks of {block}");
                let mut back = vec![0; 1_300_000];
                let into = origin.memory(back.as_mut_ptr(), elements).unwrap();
                // SAFETY: the memory lives until the fence.
                unsafe { rma::get(window, &into, &there) }.unwrap();
                fence::fence(window, 0, "test").unwrap();
                let (mut sent, mut got) = (packed.clone(), packed);
                // SAFETY: all are long enough.
                unsafe {
                    let range = 0..sent.len();
                    origin
                        .layout()
                        .pack(data.as_ptr(), range.clone(), sent.as_mut_ptr());
                    origin.layout().pack(back.as_ptr(), range, got.as_mut_ptr());
                }
                assert!(got == sent, "get of {count} blocks of {block}");
            }
        }
    });
}

#[test]
fn exclusive_locks_keep_others_out() {
    with_windows(8, |member, window| {
        fence::fence(window, 0, "test").unwrap();
        for _ in 0..50 {
            passive::lock(window, LockKind::Exclusive, 0, 0, "test").unwrap();
            let mut word = [0; 8];
            get(window, &mut word, 0, 0);
            passive::flush(window, 0).unwrap();
            let next = (u64::from_ne_bytes(word) + 1).to_ne_bytes();
            put(window, &next, 0, 0);
            passive::unlock(window, 0).unwrap();
        }
        fence::fence(window, 0, "test").unwrap();
        if member.rank() == 0 {
            let total = u64::from_ne_bytes(own(window).try_into().unwrap());
            assert_eq!(total, 50 * u64::from(member.size()));
        }
    });
}

#[test]
fn a_flush_under_shared_locks_completes_gets_and_puts() {
    with_windows(7 * 100_000, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        passive::lock_all(window, 0, "test").unwrap();
        for (round, length) in (0..).zip([8, 5000, 100_000]) {
            let to = (me + round) % ranks;
            let sent = pattern(length, me, to, round);
            put(window, &sent, to, me as usize * 100_000);
            passive::flush(window, to as i32).unwrap();
            let mut got = vec![0; length];
            get(window, &mut got, to, me as usize * 100_000);
            passive::flush_local(window, to as i32).unwrap();
            assert!(got == sent);
            let mut again = vec![0; length];
            get(window, &mut again, to, me as usize * 100_000);
            passive::flush_all(window).unwrap();
            assert!(again == sent);
            passive::flush_local_all(window).unwrap();
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn a_target_waits_for_all_that_its_origins_sent() {
    with_windows(7 * 70_000, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        let others: Vec<_> = (0..ranks as i32)
            .filter(|&rank| rank != me as i32)
            .collect();
        let group = window.group().include(&others).unwrap();
        for (round, length) in (0..).zip([8, 3000, 70_000, 8]) {
            active::post(window, &group, 0).unwrap();
            active::start(window, &group, 0, "test").unwrap();
            let sent: Vec<_> = (0..ranks)
                .map(|rank| pattern(length, me, rank, round))
                .collect();
            for &rank in &others {
                put(
                    window,
                    &sent[rank as usize],
                    rank as u32,
                    me as usize * 70_000,
                );
            }
            active::complete(window).unwrap();
            active::wait(window, "test").unwrap();
            let memory = own(window);
            for &rank in &others {
                let there = &memory[rank as usize * 70_000..][..length];
                assert!(there == pattern(length, rank as u32, me, round));
            }
        }
    });
}

#[test]
fn requests_complete_before_and_after_flushes() {
    with_windows(7 * 100_000, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        let to = (me + 1) % ranks;
        passive::lock_all(window, 0, "test").unwrap();
        for (round, length) in (0..).zip([0, 8, 9000, 100_000]) {
            let sent = pattern(length, me, to, round);
            let there = at(to, me as usize * 100_000, length, byte());
            // SAFETY: the bytes live until the requests are complete.
            let request = unsafe { rma::rput(window, &memory(&sent), &there) };
            let mut request = request.unwrap();
            if round % 2 == 0 {
                completion::wait(member.vci(), &mut request, "test").unwrap();
                passive::flush(window, to as i32).unwrap();
            } else {
                passive::flush(window, to as i32).unwrap();
                completion::wait(member.vci(), &mut request, "test").unwrap();
            }
            let got = vec![0; length];
            // SAFETY: as above.
            let request = unsafe { rma::rget(window, &memory(&got), &there) };
            let mut request = request.unwrap();
            if round % 2 == 0 {
                passive::flush_local(window, to as i32).unwrap();
                assert!(got == sent);
            }
            completion::wait(member.vci(), &mut request, "test").unwrap();
            assert!(got == sent);
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn random_mixes_of_operations_end_as_one_after_the_other() {
    const SLOT: usize = 120_000;
    with_windows(7 * SLOT as u64, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        let mut state = 88_172_645_463_325_252u64 + u64::from(me);
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        // What this rank put into its slot at each target.
        let mut model = vec![vec![0u8; SLOT]; ranks as usize];
        passive::lock_all(window, 0, "test").unwrap();
        for round in 0..60 {
            let to = random(ranks as usize);
            let length = LENGTHS[random(6)];
            let start = random(SLOT - length);
            let data = pattern(length, me, to as u32, round);
            put(window, &data, to as u32, me as usize * SLOT + start);
            model[to][start..][..length].copy_from_slice(&data);
            match random(3) {
                0 => passive::flush(window, to as i32).unwrap(),
                1 => passive::flush_all(window).unwrap(),
                _ => passive::flush_local(window, to as i32).unwrap(),
            }
            let mut got = vec![0; SLOT];
            passive::flush(window, to as i32).unwrap();
            get(window, &mut got, to as u32, me as usize * SLOT);
            passive::flush(window, to as i32).unwrap();
            assert!(got == model[to], "round {round}");
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn a_target_in_another_call_serves_requests() {
    on_members_with(&settings(), 2, |member| {
        let window = allocate(member, 100_000);
        if member.rank() == 0 {
            let sent = pattern(100_000, 0, 1, 0);
            passive::lock(&window, LockKind::Exclusive, 1, 0, "test").unwrap();
            put(&window, &sent, 1, 0);
            let mut got = vec![0; 100_000];
            passive::flush(&window, 1).unwrap();
            get(&window, &mut got, 1, 0);
            passive::unlock(&window, 1).unwrap();
            assert!(got == sent);
        }
        let world = member.world();
        // Rank 1 is in this call only.
        crate::task::block_on(world.vci(), "test", crate::coll::barrier(world.clone())).unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn threads_use_one_window_at_once() {
    on_members_at_level(&settings(), ThreadLevel::Multiple, 3, |member| {
        let window = allocate(member, 4 * 3 * 20_000);
        passive::lock_all(&window, 0, "test").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let window = &window;
                scope.spawn(move || {
                    let me = member.rank();
                    let place = (4 * me as usize + thread) * 20_000;
                    for round in 0..30 {
                        let to = (me + round) % 3;
                        let length = [8, 2000, 20_000][round as usize % 3];
                        let sent = pattern(length, me, thread as u32, round);
                        put(window, &sent, to, place);
                        passive::flush(window, to as i32).unwrap();
                        let mut got = vec![0; length];
                        get(window, &mut got, to, place);
                        passive::flush_local(window, to as i32).unwrap();
                        assert!(got == sent);
                    }
                });
            }
        });
        passive::unlock_all(&window).unwrap();
        window.free("test").unwrap();
    });
}

#[test]
fn windows_that_are_not_freed_do_not_keep_a_process_from_ending() {
    on_members_with(&settings(), 2, |member| {
        let window = allocate(member, 8);
        fence::fence(&window, 0, "test").unwrap();
        put(&window, &[1], 1 - member.rank(), 0);
        fence::fence(&window, 0, "test").unwrap();
        assert_eq!(own(&window)[0], 1);
    });
}

fn word() -> &'static Arc<Datatype> {
    Predefined::find(predefined::INT64_T).unwrap().datatype()
}

fn words(numbers: &[i64], count: usize, datatype: &'static Datatype) -> Elements<'static> {
    Elements {
        memory: datatype
            .memory(numbers.as_ptr().cast_mut().cast(), count)
            .unwrap(),
        count,
        datatype,
    }
}

#[test]
fn accumulates_of_all_lengths_are_in_program_order() {
    const MOST: usize = 100_000;
    with_windows(8 * MOST as u64, |member, window| {
        let (me, ranks) = (member.rank(), member.size());
        let to = (me + 1) % ranks;
        passive::lock_all(window, 0, "test").unwrap();
        for count in [1, 3, 900, 5000, MOST] {
            let factors: Vec<Vec<i64>> = (0..4)
                .map(|round| {
                    (0..count as i64)
                        .map(|index| index % 7 + round + 2)
                        .collect()
                })
                .collect();
            let fetched = vec![vec![0i64; count]; 4];
            let operators = [
                Operator::Replace,
                Operator::Sum,
                Operator::Prod,
                Operator::Sum,
            ];
            let there = at(to, 0, count, word());
            let mut requests = Vec::new();
            for (round, operator) in operators.into_iter().enumerate() {
                let origin = words(&factors[round], count, word());
                let result = words(&fetched[round], count, word());
                // SAFETY: the numbers live until the operations are complete.
                unsafe {
                    match round {
                        0 => rma::accumulate(window, &origin, &there, operator).unwrap(),
                        1 => {
                            let request = rma::raccumulate(window, &origin, &there, operator);
                            requests.push(request.unwrap());
                        }
                        2 => {
                            rma::get_accumulate(window, &origin, &result, &there, operator).unwrap()
                        }
                        _ => {
                            let request =
                                rma::rget_accumulate(window, &origin, &result, &there, operator);
                            requests.push(request.unwrap());
                        }
                    }
                }
            }
            for mut request in requests {
                completion::wait(member.vci(), &mut request, "test").unwrap();
            }
            passive::flush(window, to as i32).unwrap();
            let last = vec![0i64; count];
            let origin = words(&[], 0, word());
            let result = words(&last, count, word());
            // SAFETY: the numbers live until the flush.
            unsafe { rma::get_accumulate(window, &origin, &result, &there, Operator::NoOp) }
                .unwrap();
            passive::flush(window, to as i32).unwrap();
            for index in 0..count {
                let factor = |round: usize| factors[round][index];
                let sum = factor(0) + factor(1);
                assert_eq!(fetched[2][index], sum);
                assert_eq!(fetched[3][index], sum * factor(2));
                assert_eq!(last[index], sum * factor(2) + factor(3));
            }
        }
        passive::unlock_all(window).unwrap();
    });
}

#[test]
fn a_progress_thread_serves_while_the_program_computes() {
    if !shares_memory() {
        return;
    }
    let settings = Settings {
        progress_thread: 1,
        ..settings()
    };
    let is_done = AtomicBool::new(false);
    on_members_with(&settings, 2, |member| {
        let window = allocate(member, 100_000);
        fence::fence(&window, fence_end(), "test").unwrap();
        if member.rank() == 0 {
            let sent = pattern(100_000, 0, 1, 0);
            passive::lock(&window, LockKind::Exclusive, 1, 0, "test").unwrap();
            put(&window, &sent, 1, 0);
            passive::unlock(&window, 1).unwrap();
            // PAIRS: test.served
            is_done.store(true, Ordering::Release);
        } else {
            // Rank 1 makes no call until rank 0 has been served.
            // PAIRS: test.served
            while !is_done.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert!(own(&window) == pattern(100_000, 0, 1, 0));
        }
        window.free("test").unwrap();
    });
}

/// The assertion of a fence that opens no epoch.
const fn fence_end() -> i32 {
    crate::rma::epoch::assertion::NOSUCCEED
}

#[test]
fn many_windows_come_and_go() {
    on_members_with(&settings(), 3, |member| {
        let alive: Vec<_> = (0..40).map(|_| allocate(member, 64)).collect();
        for (index, window) in alive.iter().enumerate() {
            fence::fence(window, 0, "test").unwrap();
            put(window, &[index as u8], (member.rank() + 1) % 3, 5);
        }
        for (index, window) in alive.iter().enumerate() {
            fence::fence(window, 0, "test").unwrap();
            assert_eq!(own(window)[5], index as u8);
            window.free("test").unwrap();
        }
        let are_none = member.vci().has_no_tasks();
        assert!(are_none, "services end with their windows");
        for _ in 0..300 {
            let window = allocate(member, 8);
            if window.comm().rank() == 1 {
                rma::window::let_go(&window);
            } else {
                window.free("test").unwrap();
            }
        }
    });
}

#[test]
fn sixteen_ranks_share_one_exclusive_lock() {
    on_members_with(&settings(), 16, |member| {
        let window = allocate(member, 8);
        let one = [1i64];
        for _ in 0..20 {
            passive::lock(&window, LockKind::Exclusive, 3, 0, "test").unwrap();
            let there = at(3, 0, 1, word());
            // SAFETY: the number lives until the lock is given back.
            unsafe { rma::accumulate(&window, &words(&one, 1, word()), &there, Operator::Sum) }
                .unwrap();
            passive::unlock(&window, 3).unwrap();
        }
        fence::fence(&window, 0, "test").unwrap();
        if member.rank() == 3 {
            assert_eq!(own(&window), (16 * 20i64).to_ne_bytes());
        }
        window.free("test").unwrap();
    });
}
