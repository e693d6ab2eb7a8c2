// SPDX-License-Identifier: MIT OR Apache-2.0
//! All divisions of a buffer, orders, sizes around the thresholds of the protocols, and threads.
#![expect(unsafe_code, reason = "buffers are addresses")]

use std::sync::Arc;

pub(super) use layout::{Layout, SharedLayout};

pub(super) use super::super::{arrived, ready, ready_list, ready_range, recv_init, send_init};
pub(super) use crate::coll;
pub(super) use crate::comm::{Comm, ThreadLevel};
pub(super) use crate::completion::{Any, free, peek, test, test_all, wait, wait_all, wait_any};
pub(super) use crate::create;
pub(super) use crate::errors::{Error, ErrorClass};
pub(super) use crate::p2p::persistent::start;
pub(super) use crate::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, PROC_NULL, probe};
pub(super) use crate::request::{RequestId, Status};
pub(super) use crate::settings::Settings;
pub(super) use crate::task::block_on;
pub(super) use crate::testing::{Member, on_members_at_level};

/// VCIs over which sends are spread where threads may be in MPI at once.
const VCIS: u32 = 5;

pub(super) const DIVISIONS: [usize; 7] = [1, 2, 3, 4, 7, 8, 16];

/// Runs `body` on `size` ranks with one VCI, and with partitions spread over several.
pub(super) fn on_members(size: u32, body: impl Fn(&'static Member) + Sync) {
    let settings = Settings::from_environment().0;
    for level in [ThreadLevel::Single, ThreadLevel::Multiple] {
        on_members_at_level(&settings, level, size, &body);
    }
}

pub(super) fn byte(at: usize, round: usize) -> u8 {
    (at * 7 + at / 251 + 1 + round * 13) as u8
}

pub(super) fn fill(data: &mut [u8], round: usize) {
    let numbered = data.iter_mut().enumerate();
    numbered.for_each(|(at, target)| *target = byte(at, round));
}

pub(super) fn check(data: &[u8], round: usize, text: &str) {
    let wrong = (0..data.len()).find(|&at| data[at] != byte(at, round));
    assert_eq!(wrong, None, "{text}, round {round}");
}

/// The tests keep the data while the request exists.
pub(super) fn sends(comm: &Comm, data: &[u8], partitions: usize, dest: i32, tag: i32) -> RequestId {
    let memory = Memory::contiguous(data.as_ptr().cast_mut(), data.len());
    // SAFETY: callers keep the data, and change them between rounds only.
    unsafe { send_init(comm, memory, partitions as i32, dest, tag, VCIS) }.unwrap()
}

pub(super) fn receives(
    comm: &Comm,
    data: &mut [u8],
    partitions: usize,
    source: i32,
    tag: i32,
) -> RequestId {
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: as in `sends`.
    unsafe { recv_init(comm, memory, partitions as i32, source, tag) }.unwrap()
}

pub(super) fn meet(comm: &Arc<Comm>) {
    let everyone = coll::barrier(comm.clone());
    block_on(comm.vci(), "test", everyone).unwrap();
}

pub(super) fn end(comm: &Comm, request: &mut RequestId) -> Result<Status, Error> {
    wait(comm.vci(), request, "test")
}

pub(super) fn release(comm: &Comm, mut request: RequestId) {
    free(comm.vci(), &mut request).unwrap();
    assert_eq!(request, RequestId::NULL);
}

/// Numbers in an order that depends on a seed.
pub(super) fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for at in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(at, (state % (at as u64 + 1)) as usize);
    }
    order
}

/// Rank 0 sends `bytes` bytes in `sent` partitions, rank 1 receives them in `received` ones, several times.
pub(super) fn exchange(member: &'static Member, bytes: usize, (sent, received): (usize, usize)) {
    let text = format!("{bytes} bytes, {sent} to {received} partitions");
    let comm = member.world();
    let mut data = vec![0; bytes];
    if member.rank() == 0 {
        let mut request = sends(comm, &data, sent, 1, 5);
        for round in 0..3 {
            fill(&mut data, round);
            start(comm.vci(), request).unwrap();
            for partition in shuffled(sent, (round + bytes) as u64) {
                ready(comm.vci(), request, partition as i32).unwrap();
            }
            assert_eq!(end(comm, &mut request).unwrap(), Status::EMPTY);
        }
        return release(comm, request);
    }
    let mut request = receives(comm, &mut data, received, 0, 5);
    for round in 0..3 {
        start(comm.vci(), request).unwrap();
        for partition in shuffled(received, round as u64) {
            while !arrived(comm.vci(), request, partition as i32).unwrap() {}
            let part = bytes / received;
            let here = partition * part..(partition + 1) * part;
            let mut expected = vec![0; bytes];
            fill(&mut expected, round);
            assert!(data[here.clone()] == expected[here], "{text}, {partition}");
        }
        let status = end(comm, &mut request).unwrap();
        let of_message = (status.source, status.tag, status.bytes);
        assert_eq!(of_message, (0, 5, bytes as u64));
        check(&data, round, &text);
        assert!(arrived(comm.vci(), request, 0).unwrap());
        data.fill(0);
    }
    release(comm, request);
}

#[test]
fn every_division_meets_every_other_one() {
    on_members(2, |member| {
        for sent in DIVISIONS {
            for received in DIVISIONS {
                for bytes in [0, 336, 336 * 40, 336 * 600] {
                    exchange(member, bytes, (sent, received));
                }
            }
        }
    });
}

#[test]
fn partitions_of_every_length_arrive() {
    on_members(2, |member| {
        for part in [1, 48, 49, 4096, (128 << 10) + 1, 1 << 20] {
            for (sent, received) in [(1, 1), (4, 4), (4, 2), (2, 4), (3, 1)] {
                let bytes = part * sent * received;
                exchange(member, bytes, (sent, received));
            }
        }
    });
}

#[test]
fn partitions_arrive_one_by_one_even_without_bytes() {
    on_members(2, |member| {
        let comm = member.world();
        for bytes in [0, 64, 400_000] {
            let mut data = vec![0; bytes];
            if member.rank() == 0 {
                fill(&mut data, 0);
                let mut request = sends(comm, &data, 4, 1, 0);
                start(comm.vci(), request).unwrap();
                for partition in [2, 0, 3, 1] {
                    meet(comm);
                    ready(comm.vci(), request, partition).unwrap();
                    meet(comm);
                }
                end(comm, &mut request).unwrap();
                release(comm, request);
                continue;
            }
            let mut request = receives(comm, &mut data, 4, 0, 0);
            start(comm.vci(), request).unwrap();
            let mut here = [false; 4];
            for partition in [2, 0, 3, 1] {
                for other in 0..4 {
                    let is_here = arrived(comm.vci(), request, other).unwrap();
                    assert_eq!(is_here, here[other as usize], "{other} of {here:?}");
                }
                assert_eq!(test(comm.vci(), &mut request).unwrap(), None);
                assert_eq!(peek(comm.vci(), request).unwrap(), None);
                meet(comm);
                while !arrived(comm.vci(), request, partition).unwrap() {}
                here[partition as usize] = true;
                meet(comm);
            }
            let status = end(comm, &mut request).unwrap();
            assert_eq!(status.bytes, bytes as u64);
            check(&data, 0, "one by one");
            release(comm, request);
        }
    });
}

#[test]
fn receivers_may_be_late_and_early() {
    on_members(2, |member| {
        let comm = member.world();
        for bytes in [40, 4000, 300_000] {
            for late in [false, true] {
                let mut data = vec![0; bytes];
                if member.rank() == 0 {
                    if !late {
                        meet(comm);
                    }
                    let mut request = sends(comm, &data, 4, 1, 9);
                    for round in 0..2 {
                        fill(&mut data, round);
                        start(comm.vci(), request).unwrap();
                        ready_range(comm.vci(), request, 1, 2).unwrap();
                        ready_list(comm.vci(), request, &[3, 0]).unwrap();
                        if late && round == 0 {
                            meet(comm);
                        }
                        end(comm, &mut request).unwrap();
                    }
                    release(comm, request);
                    continue;
                }
                if late {
                    meet(comm);
                }
                let mut request = receives(comm, &mut data, 2, 0, 9);
                start(comm.vci(), request).unwrap();
                assert!(late || !arrived(comm.vci(), request, 0).unwrap());
                if !late {
                    meet(comm);
                }
                for round in 0..2 {
                    end(comm, &mut request).unwrap();
                    check(&data, round, "early or late");
                    if round == 0 {
                        start(comm.vci(), request).unwrap();
                    }
                }
                release(comm, request);
            }
        }
    });
}

#[test]
fn requests_with_one_tag_are_matched_in_the_order_of_their_making() {
    on_members(2, |member| {
        let comm = member.world();
        let mut data: Vec<Vec<u8>> = (0..4).map(|_| vec![0; 64]).collect();
        if member.rank() == 0 {
            let mut requests: Vec<_> = data.iter().map(|it| sends(comm, it, 2, 1, 3)).collect();
            // A request that is freed takes its partner with it.
            release(comm, requests.remove(1));
            for (index, data) in data.iter_mut().enumerate() {
                fill(data, index);
            }
            for request in requests.iter().rev() {
                start(comm.vci(), *request).unwrap();
                ready_range(comm.vci(), *request, 0, 1).unwrap();
            }
            wait_all(comm.vci(), &mut requests, "test", &mut |_, _| {}).unwrap();
            requests.into_iter().for_each(|it| release(comm, it));
            return;
        }
        let mut requests: Vec<_> = data
            .iter_mut()
            .map(|it| receives(comm, it, 4, 0, 3))
            .collect();
        release(comm, requests.remove(1));
        for &request in &requests {
            start(comm.vci(), request).unwrap();
        }
        let mut left = requests.len();
        while left > 0 {
            match wait_any(comm.vci(), &mut requests, "test").unwrap() {
                Any::Done(index, status) => {
                    let whose = index + usize::from(index > 0);
                    check(&data[whose], whose, "in order");
                    assert_eq!(status.bytes, 64);
                    left -= 1;
                }
                _ => panic!("a request failed"),
            }
        }
        requests.into_iter().for_each(|it| release(comm, it));
    });
}

#[test]
fn nothing_of_the_program_meets_partitions() {
    on_members(2, |member| {
        let comm = member.world();
        let mut data = [0; 8];
        if member.rank() == 0 {
            fill(&mut data, 0);
            let mut request = sends(comm, &data, 2, 1, 7);
            start(comm.vci(), request).unwrap();
            ready_range(comm.vci(), request, 0, 1).unwrap();
            end(comm, &mut request).unwrap();
            meet(comm);
            release(comm, request);
            return;
        }
        meet(comm);
        for tag in [ANY_TAG_VALUE, 7] {
            let found = probe::iprobe(comm, ANY_SOURCE_RANK, tag).unwrap();
            assert_eq!(found, None);
        }
        let mut request = receives(comm, &mut data, 2, 0, 7);
        start(comm.vci(), request).unwrap();
        end(comm, &mut request).unwrap();
        check(&data, 0, "beside the program");
        release(comm, request);
    });
}

#[test]
fn ranks_send_to_themselves_and_to_nobody() {
    on_members(1, |member| {
        let comm = member.world();
        for bytes in [12, 600_000] {
            let (mut out, mut into) = (vec![0; bytes], vec![0; bytes]);
            fill(&mut out, 0);
            let send = sends(comm, &out, 3, 0, 0);
            let receive = receives(comm, &mut into, 4, 0, 0);
            let mut requests = [send, receive];
            for round in 0..3 {
                into.fill(0);
                start(comm.vci(), receive).unwrap();
                assert!(!arrived(comm.vci(), receive, 0).unwrap());
                start(comm.vci(), send).unwrap();
                ready_range(comm.vci(), send, 0, 2).unwrap();
                if round == 1 {
                    while !test_all(comm.vci(), &mut requests, &mut |_, _| {}).unwrap() {}
                } else {
                    wait_all(comm.vci(), &mut requests, "test", &mut |_, _| {}).unwrap();
                }
                check(&into, 0, "to itself");
            }
            requests.into_iter().for_each(|it| release(comm, it));
        }
        let mut data = [1; 4];
        let mut send = sends(comm, &data, 2, PROC_NULL, 0);
        let mut receive = receives(comm, &mut data, 2, PROC_NULL, 0);
        for _ in 0..2 {
            start(comm.vci(), send).unwrap();
            start(comm.vci(), receive).unwrap();
            assert!(arrived(comm.vci(), receive, 1).unwrap());
            assert_eq!(end(comm, &mut receive).unwrap(), Status::PROC_NULL);
            ready(comm.vci(), send, 1).unwrap();
            assert_eq!(test(comm.vci(), &mut send).unwrap(), None);
            ready(comm.vci(), send, 0).unwrap();
            assert_eq!(end(comm, &mut send).unwrap(), Status::EMPTY);
        }
        release(comm, send);
        release(comm, receive);
        assert_eq!(data, [1; 4]);
    });
}

#[test]
fn requests_without_partitions_complete_at_once() {
    on_members(1, |member| {
        let comm = member.world();
        let mut send = sends(comm, &[], 0, 0, 0);
        let mut receive = receives(comm, &mut [], 0, 0, 0);
        for _ in 0..2 {
            start(comm.vci(), send).unwrap();
            start(comm.vci(), receive).unwrap();
            assert_eq!(end(comm, &mut receive).unwrap().bytes, 0);
            end(comm, &mut send).unwrap();
        }
        let error = arrived(comm.vci(), receive, 0).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ERR_ARG);
        release(comm, send);
        release(comm, receive);
    });
}

#[test]
fn elements_with_holes_arrive_however_they_are_divided() {
    let word = Layout::named(8, 8);
    let pair = SharedLayout::from(Layout::vector(2, 1, 2, &word).unwrap());
    let step = pair.extent() as usize;
    on_members(2, |member| {
        let comm = member.world();
        // Messages of whole elements of the receiver, of parts of them, and of one and a half.
        for (sent, received) in [(2, 3), (6, 2), (12, 3), (24, 2), (8, 4), (1, 12)] {
            for scale in [1, 400] {
                let (words, pairs) = (24 * scale, 12 * scale);
                if member.rank() == 0 {
                    let mut data = vec![0; words * 8];
                    fill(&mut data, 0);
                    let mut request = sends(comm, &data, sent, 1, 0);
                    for _ in 0..2 {
                        start(comm.vci(), request).unwrap();
                        for partition in shuffled(sent, 5) {
                            ready(comm.vci(), request, partition as i32).unwrap();
                        }
                        end(comm, &mut request).unwrap();
                    }
                    release(comm, request);
                    // The other way: holes at the sender.
                    let mut holes = vec![0; pairs * step];
                    // SAFETY: the memory holds the elements.
                    unsafe { pair.unpack(holes.as_mut_ptr(), 0..words * 8, data.as_ptr()) };
                    let memory = Memory::laid_out(holes.as_mut_ptr(), pairs, &pair).unwrap();
                    // SAFETY: the memory lives until the request is freed.
                    let mut request =
                        unsafe { send_init(comm, memory, received, 1, 0, VCIS) }.unwrap();
                    start(comm.vci(), request).unwrap();
                    ready_range(comm.vci(), request, 0, received - 1).unwrap();
                    end(comm, &mut request).unwrap();
                    release(comm, request);
                    continue;
                }
                let mut holes = vec![0u8; pairs * step];
                let memory = Memory::laid_out(holes.as_mut_ptr(), pairs, &pair).unwrap();
                // SAFETY: the memory lives until the request is freed.
                let mut request = unsafe { recv_init(comm, memory, received, 0, 0) }.unwrap();
                for _ in 0..2 {
                    start(comm.vci(), request).unwrap();
                    while !arrived(comm.vci(), request, 0).unwrap() {}
                    end(comm, &mut request).unwrap();
                    let mut data = vec![0; words * 8];
                    // SAFETY: the memory holds the elements.
                    unsafe { pair.pack(holes.as_ptr(), 0..words * 8, data.as_mut_ptr()) };
                    check(&data, 0, &format!("{sent} to {received} with holes"));
                    holes.fill(0);
                }
                release(comm, request);
                let mut data = vec![0; words * 8];
                let mut request = receives(comm, &mut data, sent, 0, 0);
                start(comm.vci(), request).unwrap();
                end(comm, &mut request).unwrap();
                check(&data, 0, "holes at the sender");
                release(comm, request);
            }
        }
    });
}

#[test]
fn a_small_receive_is_truncated_and_a_large_one_is_not_filled() {
    on_members(2, |member| {
        let comm = member.world();
        for bytes in [8, 60, 70_000, 1_000_000] {
            let mut data = vec![0; 4 * bytes];
            if member.rank() == 0 {
                fill(&mut data, 0);
                for partitions in [4, 2] {
                    let mut request = sends(comm, &data[..partitions * bytes], partitions, 1, 0);
                    for _ in 0..2 {
                        start(comm.vci(), request).unwrap();
                        ready_range(comm.vci(), request, 0, partitions as i32 - 1).unwrap();
                        end(comm, &mut request).unwrap();
                    }
                    release(comm, request);
                }
                continue;
            }
            let small = 5 * bytes / 2;
            let mut request = receives(comm, &mut data[..small], 5, 0, 0);
            for _ in 0..2 {
                start(comm.vci(), request).unwrap();
                let error = end(comm, &mut request).unwrap_err();
                assert_eq!(error.class(), ErrorClass::ERR_TRUNCATE);
                let text = format!(
                    "the sender has 4 partitions of {bytes} bytes, {} bytes in all, the receive buffer holds {small}",
                    4 * bytes
                );
                assert!(error.to_string().contains(&text), "{error}");
                check(&data[..small], 0, "truncated");
                assert!(data[small..].iter().all(|&byte| byte == 0));
                data.fill(0);
            }
            release(comm, request);
            let mut request = receives(comm, &mut data, 4, 0, 0);
            for _ in 0..2 {
                start(comm.vci(), request).unwrap();
                assert_eq!(end(comm, &mut request).unwrap().bytes, 2 * bytes as u64);
                check(&data[..2 * bytes], 0, "shorter");
                assert!(data[2 * bytes..].iter().all(|&byte| byte == 0));
            }
            release(comm, request);
        }
    });
}

#[test]
fn threads_make_their_partitions_ready_at_once() {
    let settings = Settings::from_environment().0;
    on_members_at_level(&settings, ThreadLevel::Multiple, 2, |member| {
        const THREADS: usize = 4;
        let comm = create::dup(member.world(), "test").unwrap();
        for part in [8, 5000, 200_000] {
            let (count, bytes) = (4 * THREADS, 4 * THREADS * part);
            let mut data = vec![0; bytes];
            let mut request = if member.rank() == 0 {
                sends(&comm, &data, count, 1, 2)
            } else {
                receives(&comm, &mut data, THREADS, 0, 2)
            };
            for round in 0..10 {
                if member.rank() == 0 {
                    fill(&mut data, round);
                }
                start(comm.vci(), request).unwrap();
                std::thread::scope(|scope| {
                    for thread in 0..THREADS {
                        let comm = &comm;
                        scope.spawn(move || {
                            if member.rank() == 1 {
                                while !arrived(comm.vci(), request, thread as i32).unwrap() {}
                                return;
                            }
                            for partition in shuffled(4, (thread + round) as u64) {
                                let partition = partition * THREADS + thread;
                                ready(comm.vci(), request, partition as i32).unwrap();
                            }
                        });
                    }
                    // While the threads are at work.
                    end(&comm, &mut request).unwrap();
                });
                if member.rank() == 1 {
                    check(&data, round, "by threads");
                    data.fill(0);
                }
            }
            release(&comm, request);
        }
        comm.free();
    });
}

#[test]
fn many_rounds_of_many_requests_leave_nothing_behind() {
    on_members(3, |member| {
        let comm = create::dup(member.world(), "test").unwrap();
        let (me, size) = (member.rank() as i32, 3);
        let (right, left) = ((me + 1) % size, (me + size - 1) % size);
        for number in 0..30 {
            let mut out = vec![0; 24 * (1 + number * 40)];
            let mut into = vec![0; out.len()];
            let send = sends(&comm, &out, 1 + number % 4, right, 1);
            let receive = receives(&comm, &mut into, 1 + number % 3, left, 1);
            let mut requests = [send, receive];
            for round in 0..number % 4 {
                fill(&mut out, round);
                start(comm.vci(), send).unwrap();
                start(comm.vci(), receive).unwrap();
                ready_range(comm.vci(), send, 0, (number % 4) as i32).unwrap();
                wait_all(comm.vci(), &mut requests, "test", &mut |_, _| {}).unwrap();
                check(&into, round, "in a ring");
            }
            requests.into_iter().for_each(|it| release(&comm, it));
        }
        meet(&comm);
        assert!(comm.is_idle());
        comm.free();
    });
}
