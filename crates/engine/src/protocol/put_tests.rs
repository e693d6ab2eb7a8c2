// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages between two nodes around the limits of eager messages and puts: posted first and last, strided, truncated, and many at once.
#![expect(unsafe_code, reason = "messages are addresses")]

use sys::sync::{AtomicBool, Ordering};

use fabric::counters::Counter;
use layout::{Layout, SharedLayout};

use crate::ErrorClass;
use crate::comm::Process;
use crate::completion::{cancel, wait};
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::request::RequestId;
use crate::settings;
use crate::testing::on_ranks;

const DATA: i32 = 3;
const READY: i32 = 4;
/// Lengths on both sides of each limit, in bytes.
const LENGTHS: [usize; 12] = [
    8_191, 16_384, 16_385, 65_535, 65_536, 65_537, 131_073, 270_335, 270_337, 540_673, 1_048_576,
    4_194_305,
];

fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 31 + at / 253 + seed) as u8)
        .collect()
}

fn bytes_of(data: &[u8]) -> Memory<'_> {
    Memory::contiguous(data.as_ptr().cast_mut(), data.len())
}

fn send(process: &'static Process, memory: Memory<'_>, tag: i32) -> RequestId {
    let to = 1 - process.rank() as i32;
    // SAFETY: callers wait while the memory lives.
    unsafe { isend(process.world(), memory, to, tag, Mode::Standard) }.unwrap()
}

fn post(process: &'static Process, memory: Memory<'_>, tag: i32) -> RequestId {
    let from = 1 - process.rank() as i32;
    // SAFETY: callers wait while the memory lives.
    unsafe { irecv(process.world(), memory, from, tag) }.unwrap()
}

fn tell(process: &'static Process) {
    assert_eq!(end(process, send(process, bytes_of(&[1]), READY)), None);
}

fn await_word(process: &'static Process) {
    let mut word = [0u8];
    let memory = Memory::contiguous(word.as_mut_ptr(), 1);
    assert_eq!(end(process, post(process, memory, READY)), None);
}

fn end(process: &'static Process, mut request: RequestId) -> Option<ErrorClass> {
    let ended = wait(process.vci(), &mut request, "test");
    ended.err().map(|error| error.class())
}

fn puts(process: &'static Process) -> u64 {
    process.vci().enter().counted(Counter::Puts)
}

#[test]
fn long_messages_between_nodes_are_put_and_arrive_whole_or_truncated() {
    if settings::test_nodes().is_none() {
        return;
    }
    let counted = on_ranks(2, |process| {
        let mut expected = 0;
        let eager_bytes = process.vci().enter().node.eager_bytes;
        for bytes in LENGTHS {
            for (is_posted, capacity) in [
                (true, bytes),
                (false, bytes),
                (true, bytes + 64),
                (false, bytes - 4_000),
                (true, 20_000.min(bytes)),
            ] {
                let data = pattern(bytes, capacity);
                if process.rank() == 0 {
                    if is_posted {
                        await_word(process);
                        assert_eq!(end(process, send(process, bytes_of(&data), DATA)), None);
                    } else {
                        let sent = send(process, bytes_of(&data), DATA);
                        tell(process);
                        assert_eq!(end(process, sent), None);
                    }
                } else {
                    let mut target = vec![0xee; capacity + 64];
                    let memory = Memory::contiguous(target.as_mut_ptr(), capacity);
                    let request = if is_posted {
                        let request = post(process, memory, DATA);
                        tell(process);
                        request
                    } else {
                        await_word(process);
                        post(process, memory, DATA)
                    };
                    let error = end(process, request);
                    let truncated = (capacity < bytes).then_some(ErrorClass::ERR_TRUNCATE);
                    assert_eq!(error, truncated, "{bytes} {capacity}");
                    let fitting = capacity.min(bytes);
                    assert!(target[..fitting] == data[..fitting], "{bytes} {capacity}");
                    assert!(target[fitting..].iter().all(|&byte| byte == 0xee));
                }
                expected += u64::from(bytes > eager_bytes && capacity > 70_000);
            }
        }
        (puts(process), expected)
    });
    let (counted, expected) = counted[0];
    assert!(
        counted >= expected && expected > 0,
        "{counted} of {expected}"
    );
}

/// Zero-copy sends do not wait for a receiver that computes, a cancelled one is delivered all the same, and the program may overwrite the data
/// after the wait.
#[test]
fn data_that_leave_the_memory_of_the_program_need_no_receiver_in_a_call() {
    const MESSAGES: usize = 60;
    if settings::test_nodes().is_none_or(|nodes| nodes < 2) {
        return;
    }
    let are_sent = AtomicBool::new(false);
    on_ranks(2, |process| {
        // One chunk, and two.
        let length = |seed| [60_000, 120_000][seed % 2];
        let mut data: Vec<_> = (0..MESSAGES)
            .map(|seed| pattern(length(seed), seed))
            .collect();
        if process.rank() == 0 {
            await_word(process);
            // Connections need both sides.
            tell(process);
            let sends: Vec<_> = data
                .iter()
                .map(|one| send(process, bytes_of(one), DATA))
                .collect();
            cancel(process.vci(), sends[1]).unwrap();
            are_sent.store(true, Ordering::Relaxed);
            for (send, data) in sends.into_iter().zip(&mut data) {
                assert_eq!(end(process, send), None);
                data.fill(0xee);
            }
            await_word(process);
        } else {
            tell(process);
            await_word(process);
            while !are_sent.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            for data in &data {
                let mut target = vec![0xee; data.len()];
                let memory = Memory::contiguous(target.as_mut_ptr(), data.len());
                assert_eq!(end(process, post(process, memory, DATA)), None);
                assert!(target == *data);
            }
            tell(process);
        }
    });
}

#[test]
fn strided_messages_between_nodes_go_to_strided_and_contiguous_memory() {
    if settings::test_nodes().is_none() {
        return;
    }
    const COUNT: usize = 20_000;
    let strided = SharedLayout::from(Layout::vector(COUNT, 1, 2, &Layout::named(8, 8)).unwrap());
    on_ranks(2, |process| {
        let data = pattern(16 * COUNT, 0);
        for (sends_strided, takes_strided) in [(true, true), (true, false), (false, true)] {
            let packed: Vec<u8> = match sends_strided {
                true => data
                    .chunks(16)
                    .flat_map(|pair| pair[..8].to_vec())
                    .collect(),
                false => data[..8 * COUNT].to_vec(),
            };
            let memory = |base: *mut u8, is_strided: bool| match is_strided {
                true => Memory::laid_out(base, 1, &strided).unwrap(),
                false => Memory::contiguous(base, 8 * COUNT),
            };
            if process.rank() == 0 {
                let source = memory(data.as_ptr().cast_mut(), sends_strided);
                assert_eq!(end(process, send(process, source, DATA)), None);
            } else {
                let mut target = vec![0xee; 16 * COUNT];
                let request = post(process, memory(target.as_mut_ptr(), takes_strided), DATA);
                assert_eq!(end(process, request), None);
                let arrived: Vec<u8> = match takes_strided {
                    true => target
                        .chunks(16)
                        .flat_map(|pair| pair[..8].to_vec())
                        .collect(),
                    false => target[..8 * COUNT].to_vec(),
                };
                assert!(arrived == packed, "{sends_strided} {takes_strided}");
            }
        }
    });
}

#[test]
fn many_long_messages_between_nodes_travel_at_once() {
    if settings::test_nodes().is_none() {
        return;
    }
    const MESSAGES: usize = 100;
    const BYTES: usize = 150_001;
    on_ranks(2, |process| {
        let data: Vec<_> = (0..MESSAGES).map(|seed| pattern(BYTES, seed)).collect();
        if process.rank() == 0 {
            let requests: Vec<_> = data
                .iter()
                .map(|data| send(process, bytes_of(data), DATA))
                .collect();
            for request in requests {
                assert_eq!(end(process, request), None);
            }
        } else {
            let mut targets = vec![vec![0u8; BYTES]; MESSAGES];
            let requests: Vec<_> = targets
                .iter_mut()
                .map(|target| {
                    post(
                        process,
                        Memory::contiguous(target.as_mut_ptr(), BYTES),
                        DATA,
                    )
                })
                .collect();
            for request in requests {
                assert_eq!(end(process, request), None);
            }
            assert!(targets == data);
        }
    });
}
