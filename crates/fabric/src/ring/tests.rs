// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings of all sizes: whatever a piece's length, a receiver that drains makes room for it.

use std::ptr::NonNull;

use super::{RingPlace, RingReceiver, RingSender};

const CELLS: u32 = 32;

/// A ring in private memory.
fn place(memory: &mut Vec<u128>, payload_bytes: u32) -> RingPlace {
    memory.resize(RingPlace::bytes(CELLS, payload_bytes) as usize / 16 + 4, 0);
    let base = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: an address inside the memory is not null; the ring fits behind it (resize), is zero, and the test's own.
    unsafe {
        let base = NonNull::new_unchecked(base.wrapping_add(base.align_offset(64)));
        RingPlace::at(base, CELLS, payload_bytes)
    }
}

#[test]
fn pieces_of_all_lengths_go_round_in_rings_of_all_sizes() {
    for payload_bytes in [16, 32, 64, 128, 256].map(|kib| kib << 10) {
        let mut memory = Vec::new();
        let place = place(&mut memory, payload_bytes);
        let (mut sender, mut receiver) = (RingSender::new(place), RingReceiver::new(place));
        let mut way_back = RingSender::unconnected();
        let most = sender.largest_payload();
        let lengths = (4..=18).map(|power| 1u32 << power);
        let lengths = lengths.flat_map(|length| [length - 1, length, length + 1]);
        let mut sent = 0u8;
        for length in lengths.filter(|&length| length <= most) {
            for _ in 0..40 {
                // As many as there is room for, at least one, and then all of them out again.
                let mut under_way = 0;
                while let Some((target, place)) = sender.reserve(length, std::ptr::null()) {
                    // SAFETY: reserved for `length` bytes.
                    unsafe { target.write_bytes(sent, length as usize) };
                    assert!(sender.put_words(1, 0, 0, &[place, u64::from(sent)]));
                    (sent, under_way) = (sent.wrapping_add(1), under_way + 1);
                }
                assert_ne!(under_way, 0, "{length} bytes in a ring of {payload_bytes}");
                for _ in 0..under_way {
                    assert!(receiver.peek().is_some());
                    let (place, value) = (receiver.word(0), receiver.word(1));
                    let data = receiver.payload(place, length, &way_back).unwrap();
                    // SAFETY: the sender wrote `length` bytes there.
                    let data =
                        unsafe { data.cast::<u8>().as_ptr().add(length as usize - 1).read() };
                    assert_eq!(u64::from(data), value);
                    receiver.release_payload(place, length, &mut way_back);
                    receiver.advance();
                }
            }
        }
    }
}
