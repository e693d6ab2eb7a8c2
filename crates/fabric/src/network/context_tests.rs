// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts beyond the first: when they are opened, how their addresses travel, and what happens where they cannot be opened.

use super::Network;
use super::frame::{HEADER_BYTES, Header, Kind};
use super::net::Net;
use super::tests::{key, pair, pair_that_shares, poll};
use crate::identity::{PeerIndex, VciIndex};
use crate::ofi::Sharing;
use crate::ring::{Feedback, RingReceiver};

const FIRST: VciIndex = VciIndex::FIRST;
const FIFTH: VciIndex = VciIndex::of_bits(5);
const CELLS: u64 = 100;

fn opened(nets: [&Network; 2]) -> [u32; 2] {
    nets.map(|net| net.contexts_in_use().opened)
}

/// Sends cells between these VCIs in both directions, all before anything is polled, and takes leave.
fn exchange(nets: [&'static Network; 2], vcis: [VciIndex; 2]) {
    let mut incoming: [Option<RingReceiver>; 2] = [None, None];
    let mut got = [0; 2];
    let keys = [0, 1].map(|me: usize| key(1 - me as u32, vcis[1 - me], vcis[me]));
    let mut senders = [0, 1].map(|me| nets[me].connect(keys[me]).unwrap());
    for (sender, doorway) in &mut senders {
        for number in 0..CELLS {
            assert!(sender.put_words(0, 7, number, &[number]));
            // SAFETY: of `connect`; the network is leaked.
            #[expect(unsafe_code, reason = "doorways are addresses")]
            unsafe {
                Network::ring(*doorway);
            };
        }
    }
    while got != [CELLS; 2] {
        for me in [0, 1] {
            let found = nets[me].poll(vcis[me], 0, true);
            assert_eq!(found.faults, []);
            for (peer, ring) in found.accepted {
                assert_eq!(peer, keys[me]);
                incoming[me] = Some(ring);
            }
            let Some(ring) = &mut incoming[me] else {
                continue;
            };
            while ring.peek().is_some() {
                assert_eq!(ring.match_word(), got[me]);
                ring.advance();
                got[me] += 1;
            }
        }
    }
    while !(nets[0].is_finished() & nets[1].is_finished()) {}
}

#[test]
fn contexts_are_opened_when_a_vci_is_first_used_and_what_waits_for_addresses_keeps_its_order() {
    let Some(nets) = pair() else { return };
    assert_eq!(opened(nets), [1, 1]);
    exchange(nets, [FIRST, FIRST]);
    assert_eq!(opened(nets), [1, 1]);
    exchange(nets, [FIFTH, FIRST]);
    assert_eq!(opened(nets), [2, 1]);
    exchange(nets, [FIFTH, FIFTH]);
    assert_eq!(opened(nets), [2, 2]);
    exchange(nets, [VciIndex::of_bits(2), FIFTH]);
    assert_eq!(opened(nets), [3, 2]);
}

#[test]
fn a_context_that_cannot_be_opened_is_replaced_by_the_first() {
    for refusing in [&[0usize][..], &[1], &[0, 1]] {
        let Some(nets) = pair() else { return };
        refusing.iter().for_each(|&net| nets[net].refuse_contexts());
        for vcis in [[FIFTH, FIFTH], [FIFTH, FIRST], [FIRST, FIFTH]] {
            exchange(nets, vcis);
        }
        for (number, net) in nets.into_iter().enumerate() {
            let told = net.contexts_in_use();
            let refuses = refusing.contains(&number);
            assert_eq!(told.opened, if refuses { 1 } else { 2 });
            let text = told.refusal.unwrap_or_default();
            assert_eq!(
                text.starts_with("libfabric's fi_fabric: "),
                refuses,
                "{text}"
            );
        }
    }
}

#[test]
fn contexts_that_are_few_are_shared_with_peers_that_have_others() {
    for sharings in [
        [Sharing::AtMost(2), Sharing::Vci],
        [Sharing::Process, Sharing::AtMost(3)],
    ] {
        let Some(nets) = pair_that_shares(&sharings) else {
            return;
        };
        for vci in [0, 3, 7, 5] {
            exchange(nets, [VciIndex::of_bits(vci), VciIndex::of_bits(vci)]);
        }
        let planned = nets.map(|net| net.contexts_in_use().planned);
        assert_eq!(
            planned[0],
            if sharings[0] == Sharing::Process {
                1
            } else {
                2
            }
        );
        assert!(opened(nets)[0] <= planned[0]);
    }
}

#[test]
fn what_waits_for_the_address_of_a_lost_process_ends() {
    let Some(nets) = pair() else { return };
    let there = key(1, FIFTH, FIRST);
    let (mut sender, doorway) = nets[0].connect(there).unwrap();
    assert!(sender.put_words(0, 7, 99, &[1]));
    // SAFETY: of `connect`; the network is leaked.
    #[expect(unsafe_code, reason = "doorways are addresses")]
    unsafe {
        Network::ring(doorway);
    };
    assert_eq!(nets[0].lock(0).state.unresolved.len(), 1);
    nets[0].book.lose(PeerIndex::new(1));
    // The request arrives, but nobody answers.
    while !nets[0].is_finished() {
        nets[1].lock(0).poll(None);
    }
    assert!(nets[0].lock(0).state.peers[0].is_gone);
}

/// A frame between contexts, as a member of the job with rank 0 sends it to rank 1.
fn control(nets: [&Network; 2], kind: Kind, contexts: [u8; 2], address: &[u8]) -> Vec<u8> {
    let book = &nets[1].book;
    let rank = PeerIndex::new(0);
    let header = Header {
        token: book.tokens(rank, &book.card(rank).unwrap()).1,
        sender: 0,
        vcis: contexts,
        sequence: 0,
        kind,
        cells: 0,
        feedback: Feedback::default(),
    };
    [&header.to_bytes()[..], address].concat()
}

#[test]
fn requests_and_answers_that_cannot_be_right_are_refused() {
    let Some(nets) = pair_that_shares(&[Sharing::AtMost(4), Sharing::AtMost(3)]) else {
        return;
    };
    let card = nets[1].book.card(PeerIndex::new(0)).unwrap().address;
    let mut port = card.clone();
    port[2] ^= 1;
    let mut host = card.clone();
    host[7] ^= 1;
    let mut longer = port.clone();
    longer.push(0);
    let give = |number: u8, frame: &[u8]| {
        let mut net = nets[1].lock(number);
        let Net { endpoint, state } = &mut *net;
        state.arrived(endpoint, frame)
    };
    for kind in [Kind::Ask, Kind::Address] {
        for (contexts, address) in [
            ([1, 0], &host),
            ([1, 0], &longer),
            ([1, 0], &Vec::new()),
            // Contexts that there are not, here and there, and another address for the one on the card.
            ([1, 3], &port),
            ([4, 0], &port),
            ([0, 1], &port),
        ] {
            let refused = give(0, &control(nets, kind, contexts, address)).unwrap_err();
            let text = refused.to_string();
            assert!(
                text.starts_with("rank 0 on host one named context"),
                "{text}"
            );
        }
        let right = control(nets, kind, [1, 2], &port);
        assert!(give(1, &right).is_err(), "only context 0 takes it");
        let mut with_cells = right.clone();
        with_cells[17] = 1;
        with_cells.extend([0; 64]);
        assert!(give(0, &with_cells).is_err());
        give(0, &right).unwrap();
        give(0, &right).unwrap();
        let mut again = port.clone();
        again[3] ^= 1;
        let changed = control(nets, kind, [1, 2], &again);
        assert!(give(0, &changed).is_err(), "a context keeps its address");
        assert_eq!(nets[1].lock(0).state.wanted.len(), 1, "requested once");
    }
    let mut outsider = control(nets, Kind::Ask, [1, 2], &port);
    outsider[0] ^= 1;
    give(0, &outsider).unwrap();
    assert_eq!(nets[1].lock(0).state.outsiders, 1);
    let cut = &outsider[..HEADER_BYTES - 1];
    give(0, cut).unwrap();
    assert_eq!(nets[1].lock(0).state.outsiders, 2);
}

#[test]
fn cells_for_a_vci_of_another_context_are_refused() {
    let Some(nets) = pair() else { return };
    poll(nets);
    let mut frame = control(nets, Kind::Cells, [0, 5], &[]);
    let give = |number: u8, frame: &[u8]| {
        let mut net = nets[1].lock(number);
        let Net { endpoint, state } = &mut *net;
        state
            .arrived(endpoint, frame)
            .map_err(|error| error.to_string())
    };
    let text = give(4, &frame).unwrap_err();
    let expected = "rank 0 on host one sent a message for VCI 5 to context 4 of 64";
    assert_eq!(text, expected);
    give(5, &frame).unwrap();
    frame[12] = 1;
    give(5, &frame).unwrap();
}

#[test]
fn a_context_that_its_vci_leaves_alone_is_polled_by_others() {
    let Some(nets) = pair() else { return };
    let there = key(1, FIFTH, FIFTH);
    let (mut sender, doorway) = nets[0].connect(there).unwrap();
    let third = VciIndex::of_bits(3);
    for number in 0..CELLS {
        assert!(sender.put_words(0, 7, number, &[number]));
    }
    // SAFETY: of `connect`; the network is leaked.
    #[expect(unsafe_code, reason = "doorways are addresses")]
    unsafe {
        Network::ring(doorway);
    };
    // Nobody polls for VCI 5 of either process until all is there.
    let arrived = || {
        let net = nets[1].lock(5);
        let into = net.state.peers.first().and_then(|peer| peer.into.as_ref());
        into.map_or(0, |into| into.written())
    };
    while u64::from(arrived()) < CELLS {
        for net in nets {
            assert_eq!(net.poll(third, 0, true).faults, []);
        }
    }
    let (peer, mut ring) = nets[1].poll(FIFTH, 0, false).accepted.pop().unwrap();
    assert_eq!(peer, key(0, FIFTH, FIFTH));
    for number in 0..CELLS {
        assert!(ring.peek().is_some());
        assert_eq!(ring.match_word(), number);
        ring.advance();
    }
}
