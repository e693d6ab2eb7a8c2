// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings of all sizes: a receiver that drains makes room for chunks of every length.

use std::collections::VecDeque;
use std::ptr::NonNull;

use super::{RingReceiver, RingSender, RingView, private_ring};

const CELLS: u32 = 32;

/// A ring in private memory.
fn view(memory: &mut Vec<u128>, payload_bytes: u32) -> RingView {
    memory.resize(RingView::bytes(CELLS, payload_bytes) as usize / 16 + 4, 0);
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: an address inside the memory is not null; the ring fits behind it (resize), is zero, and the test's own.
    unsafe {
        let base = NonNull::new_unchecked(base.wrapping_add(base.align_offset(64)));
        RingView::at(base, CELLS, payload_bytes)
    }
}

#[test]
fn chunks_of_all_lengths_go_round_in_rings_of_all_sizes() {
    for payload_bytes in [16, 32, 64, 128, 256].map(|kib| kib << 10) {
        let mut memory = Vec::new();
        let view = view(&mut memory, payload_bytes);
        let (mut sender, mut receiver) = (RingSender::new(view), RingReceiver::new(view));
        let mut reverse = RingSender::unconnected();
        let most = sender.largest_payload();
        let lengths = (4..=18).map(|power| 1u32 << power);
        let lengths = lengths.flat_map(|length| [length - 1, length, length + 1]);
        let mut sent = 0u8;
        for length in lengths.filter(|&length| length <= most) {
            for _ in 0..40 {
                // As many as there is room for, at least one, and then all of them out again.
                let mut in_flight = 0;
                while let Some((target, location)) = sender.reserve(length, std::ptr::null()) {
                    // SAFETY: reserved for `length` bytes.
                    unsafe { target.write_bytes(sent, length as usize) };
                    assert!(sender.put_words(1, 0, 0, &[location, u64::from(sent)]));
                    (sent, in_flight) = (sent.wrapping_add(1), in_flight + 1);
                }
                assert_ne!(in_flight, 0, "{length} bytes in a ring of {payload_bytes}");
                for _ in 0..in_flight {
                    assert!(receiver.peek().is_some());
                    let (location, value) = (receiver.word(0), receiver.word(1));
                    let data = receiver.payload(location, length, &reverse).unwrap();
                    // SAFETY: the sender wrote `length` bytes there.
                    let data =
                        unsafe { std::slice::from_raw_parts(data.as_ptr(), length as usize) };
                    assert!(data.iter().all(|&byte| u64::from(byte) == value));
                    receiver.release_payload(location, length, &mut reverse);
                    receiver.advance();
                }
            }
        }
    }
}

/// Both directions between two ranks: two senders, and the receivers of what they send.
struct Pair {
    senders: [RingSender; 2],
    receivers: [RingReceiver; 2],
    _memory: [Vec<u128>; 2],
}

impl Pair {
    fn with_blocks(payload_bytes: u32) -> Self {
        let mut memory = [Vec::new(), Vec::new()];
        let views = memory.each_mut().map(|memory| view(memory, payload_bytes));
        Self {
            senders: views.map(RingSender::new),
            receivers: views.map(RingReceiver::new),
            _memory: memory,
        }
    }

    fn without_blocks(payload_bytes: u32) -> Option<Self> {
        let (first, from_first) = private_ring(CELLS, payload_bytes)?;
        let (second, from_second) = private_ring(CELLS, payload_bytes)?;
        Some(Self {
            senders: [first, second],
            receivers: [from_first, from_second],
            _memory: [Vec::new(), Vec::new()],
        })
    }
}

#[test]
fn promised_room_is_there_and_nothing_is_overwritten() {
    for payload_bytes in [16 << 10, 64 << 10] {
        assert_eq!(send_in_bursts(Pair::with_blocks(payload_bytes)), Some(()));
    }
}

#[test]
fn rings_without_blocks_keep_the_same_promises() {
    for payload_bytes in [16 << 10, 64 << 10] {
        let pair = Pair::without_blocks(payload_bytes).unwrap();
        assert_eq!(send_in_bursts(pair), Some(()));
    }
}

/// Two ranks that send each other messages of all lengths, some in several chunks, in bursts that
/// their receivers take in partly. `None` when a receiver refuses a chunk.
fn send_in_bursts(pair: Pair) -> Option<()> {
    let Pair {
        mut senders,
        mut receivers,
        _memory,
    } = pair;
    let mut next = 12345u32;
    let mut random = move |below: u32| {
        next = next.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (next >> 8) % below
    };
    let mut in_flight = [const { VecDeque::new() }; 2];
    let (mut stamp, mut granted) = (0u8, 0);
    for _ in 0..20_000 {
        let direction = random(2) as usize;
        if random(3) != 0 {
            let (chunks, most) = (
                1 + random(4) as usize,
                [48, 500, 3000, 8192][random(4) as usize],
            );
            let promised = senders[direction].has_room_for(chunks, most);
            granted += usize::from(promised);
            for _ in 0..chunks {
                let length = 1 + random(most);
                let Some((target, location)) = senders[direction].reserve(length, std::ptr::null())
                else {
                    assert!(
                        !promised,
                        "{length} of at most {most} bytes, {chunks} times"
                    );
                    break;
                };
                // SAFETY: reserved for `length` bytes.
                unsafe { target.write_bytes(stamp, length as usize) };
                assert!(senders[direction].put_words(1, 0, 0, &[location]));
                in_flight[direction].push_back((length, stamp));
                stamp = stamp.wrapping_add(1);
            }
        } else {
            for _ in 0..random(12) {
                let Some((length, stamp)) = in_flight[direction].pop_front() else {
                    break;
                };
                assert!(receivers[direction].peek().is_some());
                let location = receivers[direction].word(0);
                let reverse = &mut senders[1 - direction];
                let data = receivers[direction].payload(location, length, reverse)?;
                // SAFETY: the sender wrote `length` bytes there.
                let data = unsafe { std::slice::from_raw_parts(data.as_ptr(), length as usize) };
                assert!(data.iter().all(|&byte| byte == stamp));
                receivers[direction].release_payload(location, length, reverse);
                receivers[direction].advance();
            }
        }
    }
    assert!(granted > 1000);
    Some(())
}
