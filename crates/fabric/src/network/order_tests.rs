// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames that come in another order than they were sent in, as from providers that fetch long messages from their sender.

use std::io;
use std::ptr::null;

use super::Network;
use super::frame::{Header, Kind};
use super::net::{Net, RING_CELLS, RING_PAYLOAD_BYTES};
use super::tests::{THERE, pair};
use crate::identity::PeerIndex;
use crate::ring::{Feedback, RingReceiver, RingSender, mirrored_sender};

/// Payload of a frame in bytes: some is lent where it comes in its turn.
const BYTES: u32 = 3000;

/// The first frames that rank 0 sends to VCI 3 of rank 1, each with one cell and payload.
fn frames(net: &Network, count: u32) -> Vec<Vec<u8>> {
    let (rank, book) = (PeerIndex::new(0), &net.book);
    let token = book.tokens(rank, &book.card(rank).unwrap()).1;
    let (mut sender, mut source) = mirrored_sender(RING_CELLS, RING_PAYLOAD_BYTES).unwrap();
    let one = |sequence: u32| {
        let (_, location) = sender.reserve(BYTES, null()).unwrap();
        assert!(sender.put_words(1, 0, sequence.into(), &[location, BYTES.into()]));
        let header = Header {
            token,
            sender: 0,
            vcis: [0, 3],
            sequence,
            kind: Kind::Cells,
            cells: 1,
            feedback: Feedback::default(),
        };
        let mut frame = header.to_bytes().to_vec();
        frame.extend(source.words(0).into_iter().flat_map(u64::to_ne_bytes));
        frame.extend([sequence as u8; BYTES as usize]);
        source.advance(1);
        frame
    };
    (0..count).map(one).collect()
}

fn give(net: &Network, frame: &[u8]) -> io::Result<()> {
    let mut net = net.lock(THERE.get());
    let Net { endpoint, state } = &mut *net;
    state.polling = Some(THERE);
    let arrived = state.arrived(endpoint, frame);
    net.take_back();
    arrived
}

#[test]
fn frames_are_taken_in_the_order_in_which_they_were_sent() {
    let Some(nets) = pair() else { return };
    let frames = frames(nets[1], 8);
    for number in [2, 0, 4, 3, 1, 7, 6, 5] {
        give(nets[1], &frames[number]).unwrap();
    }
    let (_, mut receiver): (_, RingReceiver) = nets[1].lock(THERE.get()).accept(THERE).remove(0);
    let mut reverse = RingSender::unconnected();
    for number in 0..8 {
        assert!(receiver.peek().is_some());
        assert_eq!(receiver.match_word(), number);
        let location = receiver.word(0);
        let start = receiver.payload(location, BYTES, &reverse).unwrap();
        #[expect(unsafe_code, reason = "payload is an address")]
        // SAFETY: checked by the ring.
        let data = unsafe { std::slice::from_raw_parts(start.as_ptr(), BYTES as usize) };
        assert!(data.iter().all(|&byte| u64::from(byte) == number));
        receiver.release_payload(location, BYTES, &mut reverse);
        receiver.advance();
    }
    assert!(receiver.peek().is_none());
}

#[test]
fn frames_that_come_twice_or_much_too_early_are_refused() {
    let Some(nets) = pair() else { return };
    let frames = frames(nets[1], 3);
    for number in [0, 2] {
        give(nets[1], &frames[number]).unwrap();
    }
    let mut early = Header::parse(&frames[1]).unwrap();
    early.sequence = 3 * RING_CELLS;
    let early = [&early.to_bytes()[..], &frames[1][early.to_bytes().len()..]].concat();
    for (frame, came) in [(&frames[0], 0), (&frames[2], 2), (&early, 3 * RING_CELLS)] {
        let refused = give(nets[1], frame).unwrap_err().to_string();
        let expected = format!("rank 0 on host one: number {came} came, 1 was due");
        assert!(refused.ends_with(&expected), "{refused}");
    }
}
