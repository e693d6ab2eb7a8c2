// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that nobody can foresee: cards, headers, and whole frames of a member of the job.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::card::Card;
use super::frame::{CELL_BYTES, FRAME_BYTES, HEADER_BYTES, Header, MOST_CELLS};
use super::net::Net;
use super::tests::pair;
use crate::identity::PeerIndex;

/// A frame, of which some parts make sense more often than chance allows.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let cell = (any::<u32>(), 0u8..4, any::<[u8; CELL_BYTES - 8]>());
    let cell = cell.prop_map(|(low, kind, rest)| {
        let mut bytes = low.to_ne_bytes().to_vec();
        bytes.extend([kind, 0, 0, 0]);
        bytes.extend(rest);
        bytes
    });
    let cells = proptest::collection::vec(cell, 0..=MOST_CELLS);
    let payload = proptest::collection::vec(any::<u8>(), 0..2000);
    (
        any::<[u8; HEADER_BYTES]>(),
        0u8..6,
        cells,
        payload,
        any::<bool>(),
    )
        .prop_map(|(mut head, kind, cells, payload, tells_cells)| {
            head[16] = kind;
            if tells_cells {
                head[17] = cells.len() as u8;
            }
            [&head[..], &cells.concat(), &payload].concat()
        })
}

proptest! {
    #[test]
    fn headers_are_read_as_written_or_refused(frame in frame()) {
        if let Some(header) = Header::parse(&frame) {
            let cells = usize::from(header.cells);
            prop_assert!(cells <= MOST_CELLS && HEADER_BYTES + cells * CELL_BYTES <= frame.len());
            prop_assert!(frame.len() <= FRAME_BYTES);
            prop_assert_eq!(Header::parse(&[&header.to_bytes()[..], &frame[HEADER_BYTES..]].concat()), Some(header));
        }
    }

    #[test]
    fn cards_are_read_as_written_or_refused(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        right in any::<[bool; 3]>(),
    ) {
        let card = Card { nonce: 7, vcis: 2, contexts: 5, provider: "tcp".to_owned(), address: vec![1; 16] };
        let whole = card.to_bytes().unwrap();
        prop_assert_eq!(Card::parse(&whole), Ok(card));
        for (is_right, part) in right.into_iter().zip([0..8, 16..32, 32..34]) {
            if is_right && part.end <= bytes.len() {
                bytes[part.clone()].copy_from_slice(&whole[part]);
            }
        }
        if let Ok(card) = Card::parse(&bytes) {
            prop_assert!(card.address.len() <= bytes.len());
            prop_assert!((1..=64).contains(&card.contexts));
        }
    }

    #[test]
    fn addresses_of_contexts_differ_from_the_card_in_their_port_only(
        address in proptest::collection::vec(any::<u8>(), 0..40),
        other in proptest::collection::vec(any::<u8>(), 0..40),
        port in any::<[u8; 2]>(),
    ) {
        let card = Card { nonce: 7, vcis: 2, contexts: 5, provider: "tcp".to_owned(), address };
        let mut sibling = card.address.clone();
        if let Some(bytes) = sibling.get_mut(2..4) {
            bytes.copy_from_slice(&port);
            prop_assert_eq!(card.address_of_context(&sibling, true), Some(sibling));
        }
        let differs = |at: usize| card.address.get(at) != other.get(at);
        if (0..40).any(|at| differs(at) && !(2..4).contains(&at)) {
            prop_assert_eq!(card.address_of_context(&other, true), None);
        }
        let is_as_long = other.len() == card.address.len();
        prop_assert_eq!(card.address_of_context(&other, false).is_some(), is_as_long);
    }
}

/// Whatever a member sends, the network tells a failure or takes it, and goes on.
#[test]
fn frames_of_members_do_no_harm() {
    let Some(nets) = pair() else { return };
    let book = &nets[1].book;
    let mut net = nets[1].lock(0);
    let Net { endpoint, state } = &mut *net;
    let rank = PeerIndex::new(0);
    let card = book.card(rank).unwrap();
    let token = book.tokens(rank, &card).1;
    let (mut taken, mut refused) = (0, 0);
    let mut runner = TestRunner::default();
    let given = (frame(), 0u8..2, 0u8..2, any::<bool>(), any::<bool>());
    let mut named = 0;
    for _ in 0..2000 {
        let (mut frame, there, here, is_next, names_port) =
            given.new_tree(&mut runner).unwrap().current();
        frame[0..8].copy_from_slice(&token.to_ne_bytes());
        frame[8..12].copy_from_slice(&0u32.to_ne_bytes());
        (frame[18], frame[19]) = (there, here);
        if is_next {
            let mut peers = state.peers.iter();
            let known =
                peers.find(|peer| (peer.key.there.get(), peer.key.here.get()) == (there, here));
            let sequence = known.map_or(0, |peer| peer.sequence_in);
            frame[12..16].copy_from_slice(&sequence.to_ne_bytes());
        }
        if names_port && matches!(frame[16], 3 | 4) {
            frame[17] = 0;
            let port = [frame[20], frame[21]];
            frame.truncate(HEADER_BYTES);
            frame.extend(&card.address);
            frame[HEADER_BYTES + 2..HEADER_BYTES + 4].copy_from_slice(&port);
        }
        match state.arrived(endpoint, &frame) {
            Ok(()) if names_port && matches!(frame[16], 3 | 4) => named += 1,
            Ok(()) => taken += 1,
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("rank 0 on host one"), "{text}");
            }
        }
    }
    // A context has one address, so only the first one that is named for it is taken, and its repetitions.
    assert!(named > 0, "no address was taken");
    assert!(taken > 0 && refused > 0, "{taken} taken, {refused} refused");
    assert!(state.wanted.len() <= 4, "{:?}", state.wanted);
}
