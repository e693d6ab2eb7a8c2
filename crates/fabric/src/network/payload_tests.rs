// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payload that passes the rings: sent out of the memory of the program, and read in the receive buffer.
#![expect(unsafe_code, reason = "payload and doorways are addresses")]

use std::ptr::{NonNull, null};

use super::Network;
use super::tests::{HERE, THERE, accept, connect, key, pair, pair_that_shares};
use crate::ofi::Sharing;
use crate::ring::{RingReceiver, RingSender};

/// The bytes of a payload of the peeked cell.
fn payload<'a>(receiver: &'a RingReceiver, reverse: &RingSender) -> &'a [u8] {
    let (location, bytes) = (receiver.word(0), receiver.word(1) as u32);
    let start = receiver.payload(location, bytes, reverse).unwrap();
    // SAFETY: checked by the ring.
    unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes as usize) }
}

/// Long payload stays in the receive buffer for the thread that polls for its VCI; who has not read it by the end of the round finds it in the
/// ring. Meanwhile other threads leave the context alone.
#[test]
fn long_payload_is_lent_to_the_ring_of_the_vci_that_polls() {
    let Some(nets) = pair_that_shares(&[Sharing::Process; 2]) else {
        return;
    };
    let (mut sender, doorway) = connect(nets[0], 1);
    assert!(sender.put_words(0, 0, 0, &[0]));
    // SAFETY: of `connect`; the network is leaked.
    unsafe { Network::ring(doorway) };
    let (_, mut receiver) = accept(nets, nets[1], THERE);
    receiver.advance();
    let mut reverse = RingSender::unconnected();
    let mut send = |value: u8, bytes: u32| {
        let (to, location) = sender.reserve(bytes, null()).unwrap();
        // SAFETY: reserved for this many bytes.
        unsafe { to.write_bytes(value, bytes as usize) };
        assert!(sender.put_words(1, 0, value.into(), &[location, bytes.into()]));
        // SAFETY: as above.
        unsafe { Network::ring(doorway) };
    };
    for (value, bytes, is_read) in [
        (1, 40_000, true),
        (2, 40_000, false),
        (3, 2048, true),
        (4, 2047, true),
    ] {
        send(value, bytes);
        let found = loop {
            nets[0].poll_all();
            let found = nets[1].poll(THERE, 0, false);
            if receiver.peek().is_some() {
                break found;
            }
        };
        assert_eq!(found.is_lent, bytes >= 2048, "{bytes} B");
        // That of another VCI of the context.
        let other = nets[1].poll(HERE, 0, false);
        assert_eq!((other.events, other.is_lent), (0, false));
        let location = receiver.word(0);
        let here = payload(&receiver, &reverse).as_ptr();
        if is_read {
            receiver.release_payload(location, bytes, &mut reverse);
        }
        nets[1].take_back(THERE);
        if !is_read {
            let data = payload(&receiver, &reverse);
            assert_ne!(data.as_ptr(), here);
            assert!(data.iter().all(|&byte| byte == value));
            receiver.release_payload(location, bytes, &mut reverse);
        }
        receiver.advance();
    }
    // No payload at the location of the next one, which comes before it is consumed.
    send(5, 0);
    send(6, 3000);
    let mut is_lent = false;
    while !is_lent {
        nets[0].poll_all();
        is_lent = nets[1].poll(THERE, 0, false).is_lent;
    }
    for (value, bytes) in [(5, 0), (6, 3000)] {
        assert_eq!(receiver.match_word(), value);
        let data = payload(&receiver, &reverse);
        assert!(data.iter().all(|&byte| u64::from(byte) == value));
        receiver.release_payload(receiver.word(0), bytes, &mut reverse);
        receiver.advance();
    }
}

/// Payload out of the program's memory, of which one message is in a frame, between messages whose payload lies in the ring.
#[test]
fn payload_leaves_the_memory_of_the_program_and_its_end_is_told_once() {
    let Some(nets) = pair() else {
        return;
    };
    let to = key(1, THERE, HERE);
    let (mut sender, doorway) = connect(nets[0], 1);
    if !nets[0].sends_zero_copy() {
        return;
    }
    let lengths = [20_000, 30, 40_000, 0, 16_384, 16_384, 700, 50_000];
    let mut memory: Vec<Vec<u8>> = lengths.iter().map(|_| Vec::new()).collect();
    for (number, &bytes) in lengths.iter().enumerate() {
        let (ring, location) = sender.reserve(bytes, null()).unwrap();
        let zero_copy = bytes > 10_000;
        memory[number] = vec![number as u8; bytes as usize];
        let start = NonNull::new(memory[number].as_mut_ptr()).unwrap();
        // SAFETY: the memory stays until the end is told, below; the room in the ring is as long.
        unsafe {
            if zero_copy {
                nets[0].send_zero_copy(to, location, (start, bytes as usize), number as u64);
                assert!(nets[0].is_putting(HERE, number as u64));
            } else {
                ring.copy_from_nonoverlapping(start, bytes as usize);
            }
        }
        assert!(sender.put_words(1, 0, number as u64, &[location, bytes.into()]));
        // The first two together.
        if number != 0 {
            // SAFETY: of `connect`; the network is leaked.
            unsafe { Network::ring(doorway) };
        }
    }
    let mut ended = Vec::new();
    let (_, mut receiver) = accept(nets, nets[1], THERE);
    while ended.len() < 5 {
        nets[1].poll(THERE, 0, false);
        ended.extend(nets[0].poll(HERE, 0, false).ended_puts);
    }
    assert_eq!(ended, [0, 2, 4, 5, 7]);
    assert!(ended.iter().all(|&token| !nets[0].is_putting(HERE, token)));
    // The program may change it now.
    memory.iter_mut().for_each(|memory| memory.fill(0xff));
    let mut reverse = RingSender::unconnected();
    for (number, &bytes) in lengths.iter().enumerate() {
        while receiver.peek().is_none() {
            nets[1].poll(THERE, 0, false);
        }
        assert_eq!(receiver.match_word(), number as u64);
        let data = payload(&receiver, &reverse);
        assert_eq!(data.len(), bytes as usize);
        assert!(data.iter().all(|&byte| byte == number as u8), "{number}");
        receiver.release_payload(receiver.word(0), bytes, &mut reverse);
        receiver.advance();
    }
    assert!(receiver.peek().is_none());
    assert_eq!(nets[0].poll(HERE, 0, false).ended_puts, []);
}
