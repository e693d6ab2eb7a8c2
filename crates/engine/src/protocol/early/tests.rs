// SPDX-License-Identifier: MIT OR Apache-2.0
//! RTS with data: receivers that wait or are late, messages whole and truncated, between all layouts; and how often it is used.
#![expect(unsafe_code, reason = "messages are addresses")]

use fabric::counters::Counter;
use layout::{Layout, SharedLayout};
use sys::sync::Ordering;

use super::sender::RTS_ONLY_AFTER_WASTE;
use crate::ErrorClass;
use crate::comm::Process;
use crate::completion::{cancel, wait};
use crate::identity::PeerIndex;
use crate::p2p::probe::probe;
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::request::RequestId;
use crate::settings::Settings;
use crate::testing::on_ranks_with;

const DATA: i32 = 5;
const WORD: i32 = 6;

/// Ranks whose messages all use the ring, those of more than 32 KiB by rendezvous.
fn on_ranks<R: Send>(size: u32, body: impl Fn(&'static Process) -> R + Sync) -> Vec<R> {
    let settings = Settings {
        cma: 0,
        eager_bytes: 32 << 10,
        ..Settings::default()
    };
    on_ranks_with(&settings, size, body)
}

fn begun(process: &'static Process) -> [u64; 2] {
    process.vci().enter().publish_counts();
    let board = process.node().board(PeerIndex::new(process.rank()));
    [Counter::SendsBegun, Counter::SendsBegunInVain]
        .map(|counter| board.counters[counter as usize].load(Ordering::Relaxed))
}

/// Starts to send `data`, which outlives the request.
fn start(process: &'static Process, data: &[u8], memory: Memory<'_>, mode: Mode) -> RequestId {
    assert!(memory.bytes <= data.len());
    // SAFETY: the caller waits for the request while `data` lives.
    unsafe { isend(process.world(), memory, 1, DATA, mode) }.unwrap()
}

fn bytes_of(data: &[u8]) -> Memory<'_> {
    Memory::contiguous(data.as_ptr().cast_mut(), data.len())
}

fn end(process: &'static Process, mut request: RequestId) -> Option<ErrorClass> {
    let ended = wait(process.vci(), &mut request, "test");
    ended.err().map(|error| error.class())
}

/// Tells the other rank something, or hears it.
fn tell(process: &'static Process) {
    let mut word = [1u8];
    let memory = Memory::contiguous(word.as_mut_ptr(), 1);
    // SAFETY: `word` lives until the request is complete.
    let sent = unsafe {
        isend(
            process.world(),
            memory,
            1 - process.rank() as i32,
            WORD,
            Mode::Standard,
        )
    };
    assert_eq!(end(process, sent.unwrap()), None);
}

fn hear(process: &'static Process) {
    let mut word = [0u8];
    let memory = Memory::contiguous(word.as_mut_ptr(), 1);
    // SAFETY: `word` lives until the request is complete.
    let heard = unsafe { irecv(process.world(), memory, 1 - process.rank() as i32, WORD) };
    assert_eq!(end(process, heard.unwrap()), None);
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + at / 253) as u8).collect()
}

/// Receives into `capacity` bytes, posted before the message is sent or after it arrived, and checks what came of `sent`.
fn receive(process: &'static Process, sent: &[u8], capacity: usize, is_posted: bool) {
    let mut buffer = vec![0xee; capacity + 64];
    let memory = Memory::contiguous(buffer.as_mut_ptr(), capacity);
    // SAFETY: `buffer` lives until the request is complete.
    let post = || unsafe { irecv(process.world(), memory, 0, DATA) }.unwrap();
    let request = if is_posted {
        let request = post();
        tell(process);
        request
    } else {
        hear(process);
        post()
    };
    let error = end(process, request);
    let truncated = (capacity < sent.len()).then_some(ErrorClass::ERR_TRUNCATE);
    assert_eq!(error, truncated);
    let fitting = capacity.min(sent.len());
    assert!(
        buffer[..fitting] == sent[..fitting],
        "{fitting} bytes differ"
    );
    assert!(buffer[fitting..].iter().all(|&byte| byte == 0xee));
}

#[test]
fn begun_messages_arrive_whole_or_truncated_early_and_late() {
    for bytes in [65_537, 70_000, 131_073, 300_001] {
        let data = pattern(bytes);
        on_ranks(2, |process| {
            for capacity in [
                0,
                1,
                8_192,
                8_193,
                10_000,
                65_536,
                100_000,
                bytes,
                bytes + 7,
            ] {
                for is_posted in [true, false] {
                    for mode in [Mode::Standard, Mode::Synchronous] {
                        if process.rank() == 1 {
                            receive(process, &data, capacity, is_posted);
                            continue;
                        }
                        if is_posted {
                            hear(process);
                        }
                        let request = start(process, &data, bytes_of(&data), mode);
                        if !is_posted {
                            tell(process);
                        }
                        assert_eq!(end(process, request), None);
                    }
                }
            }
        });
    }
}

#[test]
fn strided_data_are_begun_too() {
    let double = Layout::named(8, 8);
    let strided = SharedLayout::from(Layout::vector(30_000, 1, 2, &double).unwrap());
    let data = pattern(60_000 * 8);
    let mut packed = vec![0u8; 240_000];
    // SAFETY: `data` holds the vector, `packed` its elements.
    unsafe { strided.pack(data.as_ptr(), 0..240_000, packed.as_mut_ptr()) };
    let begun = on_ranks(2, |process| {
        for _ in 0..3 {
            if process.rank() == 1 {
                receive(process, &packed, 240_000, true);
            } else {
                hear(process);
                let memory = Memory::laid_out(data.as_ptr().cast_mut(), 1, &strided).unwrap();
                let request = start(process, &data, memory, Mode::Standard);
                assert_eq!(end(process, request), None);
            }
        }
        begun(process)
    });
    assert_eq!(begun, [[3, 0], [0, 0]]);
}

#[test]
fn after_one_in_vain_messages_send_the_rts_only_for_a_while() {
    let data = pattern(100_000);
    let late = 2 + u64::from(RTS_ONLY_AFTER_WASTE);
    let begun = on_ranks(2, |process| {
        for _ in 0..late {
            if process.rank() == 1 {
                receive(process, &data, data.len(), false);
            } else {
                let request = start(process, &data, bytes_of(&data), Mode::Standard);
                tell(process);
                assert_eq!(end(process, request), None);
            }
        }
        begun(process)
    });
    assert_eq!(begun[0], [2, 2]);
}

#[test]
fn one_message_at_a_time_is_begun() {
    let data = pattern(100_000);
    let begun = on_ranks(2, |process| {
        if process.rank() == 1 {
            hear(process);
            probe(process.world(), 0, DATA).unwrap();
            (0..5).for_each(|_| {
                let mut buffer = vec![0u8; data.len()];
                let memory = Memory::contiguous(buffer.as_mut_ptr(), buffer.len());
                // SAFETY: `buffer` lives until the request is complete.
                let request = unsafe { irecv(process.world(), memory, 0, DATA) }.unwrap();
                assert_eq!(end(process, request), None);
                assert!(buffer == data);
            });
        } else {
            let requests: Vec<RequestId> = (0..5)
                .map(|_| start(process, &data, bytes_of(&data), Mode::Standard))
                .collect();
            tell(process);
            for request in requests {
                assert_eq!(end(process, request), None);
            }
        }
        begun(process)
    });
    assert_eq!(begun[0], [1, 1]);
}

#[test]
fn a_begun_message_that_nobody_took_is_called_back() {
    let data = pattern(100_000);
    on_ranks(2, |process| {
        if process.rank() == 1 {
            tell(process);
            hear(process);
            // The second message is the first one that is there.
            receive(process, &data[..80_000], 80_000, false);
        } else {
            hear(process);
            let mut request = start(process, &data, bytes_of(&data), Mode::Standard);
            cancel(process.vci(), request).unwrap();
            let status = wait(process.vci(), &mut request, "test").unwrap();
            assert!(status.cancelled);
            tell(process);
            let request = start(process, &data, bytes_of(&data[..80_000]), Mode::Standard);
            tell(process);
            assert_eq!(end(process, request), None);
        }
    });
}
