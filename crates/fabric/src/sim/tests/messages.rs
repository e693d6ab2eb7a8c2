// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose receivers know what they contain, and ranks that are threads.

use std::sync::Arc;

use crate::ring::{PayloadRule, RingReceiver, RingSender};
use crate::sim::{Fate, Port, SimNet, SimSettings};

pub(super) const INJECT: u8 = 0;
/// A kind of cells with payload: words = number, location, bytes.
pub(super) const CHUNK: u8 = 1;
pub(super) const PAYLOAD_RULES: &[PayloadRule] = &[PayloadRule {
    kind: CHUNK,
    location_word: 1,
    bytes_word: 2,
}];

/// The byte at `index` of the payload of message `number`.
fn pattern(number: u64, index: usize) -> u8 {
    (number as usize * 31 + index * 7) as u8
}

/// Sends message `number` with `bytes` bytes of payload; false when there is no room.
pub(super) fn send_chunk(sender: &mut RingSender, number: u64, bytes: usize) -> bool {
    let data: Vec<u8> = (0..bytes).map(|index| pattern(number, index)).collect();
    let Some((target, location)) = sender.reserve(bytes as u32, data.as_ptr()) else {
        return false;
    };
    // SAFETY: reserved for `bytes` bytes.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), target.as_ptr(), bytes) };
    assert!(sender.put_words(CHUNK, 9, !number, &[number, location, bytes as u64]));
    true
}

/// Takes the next message, checks its payload, and returns its number.
pub(super) fn take(ring: &mut RingReceiver, reverse: &mut RingSender) -> Option<u64> {
    let arrival = ring.peek()?;
    let number = ring.word(0);
    assert_eq!(ring.match_word(), !number);
    if arrival.kind() == CHUNK {
        assert_eq!((arrival.aux(), arrival.bytes()), (9, 24));
        let (location, bytes) = (ring.word(1), ring.word(2) as usize);
        let data = ring.payload(location, bytes as u32, reverse).unwrap();
        // SAFETY: the sender wrote so many bytes there.
        let data = unsafe { std::slice::from_raw_parts(data.as_ptr(), bytes) };
        let is_whole = data.iter().enumerate();
        assert!(
            is_whole
                .clone()
                .all(|(index, &byte)| byte == pattern(number, index))
        );
        ring.release_payload(location, bytes as u32, reverse);
    }
    ring.advance();
    Some(number)
}

/// Runs `body` on each rank of a network and returns what they return.
pub(super) fn run<R: Send>(
    net: &Arc<SimNet>,
    ranks: u32,
    body: impl Fn(Port, u32) -> R + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let start = |rank| {
            let body = &body;
            scope.spawn(move || {
                let _leave = net.leave_on_drop(rank);
                body(net.port(rank).unwrap(), rank)
            })
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        threads
            .into_iter()
            .map(|rank| rank.join().unwrap())
            .collect()
    })
}

pub(super) fn poll(port: &Port) {
    assert_eq!(port.poll(), Ok(Fate::Alive), "{}", port.net().trace_text());
}

pub(super) fn settings(text: &str) -> SimSettings {
    text.parse().unwrap()
}
