// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two processes' networks in one process, over libfabric on the loopback interface. Skipped where libfabric is not installed.

use std::ptr::{NonNull, null};
use std::sync::Arc;

use super::frame::{Header, Kind, token};
use super::net::{RING_CELLS, State};
use super::{Doorway, Net, NetPlan};
use crate::identity::PeerIndex;
use crate::nodes::{NodePlan, create_on_node};
use crate::observe::NodeFile;
use crate::ofi::{Choice, Library};
use crate::ring::{Feedback, PayloadRule, RingReceiver, RingSender};
use crate::segment::{Segment, SegmentPlan};

const RULES: &[PayloadRule] = &[PayloadRule {
    kind: 1,
    location_word: 0,
    bytes_word: 1,
}];

const PLAN: NetPlan<'_> = NetPlan {
    library: None,
    choice: Choice {
        provider: None,
        interface: Some("lo"),
    },
    payload_rules: RULES,
};

/// The networks of two ranks, each alone on its node; `None` where there is no libfabric.
fn pair() -> Option<[NonNull<Net>; 2]> {
    if Library::open(None).is_err() {
        eprintln!("skipped: libfabric is not installed");
        return None;
    }
    let hosts = ["one".to_owned(), "two".to_owned()];
    let plan = SegmentPlan {
        local_ranks: 1,
        job_ranks: 2,
        cores: 2,
        launcher_pid: 1,
    };
    let files = [0, 1].map(|node| {
        let nodes = NodePlan {
            node,
            node_of: &[0, 1],
            hosts: &hosts,
            secret: [3, 4],
        };
        create_on_node(&plan, &nodes).unwrap()
    });
    let launchers = [0, 1].map(|node| NodeFile::new(files[node].try_clone().unwrap()).unwrap());
    let mut ranks = 0..;
    let nets = files.map(|file| {
        let segment = Arc::new(Segment::attach(file).unwrap());
        let net = Net::open(segment, PeerIndex::new(ranks.next().unwrap()), &PLAN).unwrap();
        NonNull::from(Box::leak(net))
    });
    for (here, there) in [(0, 1), (1, 0)] {
        let card = launchers[there].card(there as u32).unwrap();
        launchers[here].put_card(there as u32, &card).unwrap();
        launchers[here].announce_cards().unwrap();
    }
    Some(nets)
}

fn poll(nets: [NonNull<Net>; 2]) {
    for mut net in nets {
        // SAFETY: leaked by `pair`, and used by this thread alone.
        unsafe { net.as_mut() }.poll().unwrap();
    }
}

fn connect(net: NonNull<Net>, rank: u32) -> (RingSender, NonNull<Doorway>) {
    // SAFETY: leaked by `pair`, and used by this thread alone.
    unsafe { Net::connect(net, PeerIndex::new(rank)) }.unwrap()
}

fn accept(nets: [NonNull<Net>; 2], mut net: NonNull<Net>) -> (PeerIndex, RingReceiver) {
    loop {
        poll(nets);
        // SAFETY: as for `poll`.
        if let Some(found) = unsafe { net.as_mut() }.accept().pop() {
            return found;
        }
    }
}

#[test]
fn cells_and_payload_cross_the_network_in_order_for_many_laps() {
    let Some(nets) = pair() else { return };
    let (mut sender, doorway) = connect(nets[0], 1);
    assert!(sender.put_words(0, 7, 99, &[1, 2, 3]));
    // SAFETY: of `connect`, and no reference to the network is in use.
    unsafe { Net::ring(doorway) };
    let (peer, mut receiver) = accept(nets, nets[1]);
    assert_eq!(
        (peer.get(), receiver.match_word(), receiver.word(2)),
        (0, 99, 3)
    );
    receiver.advance();

    let mut reverse = RingSender::unconnected();
    let length = |number: u64| (number * 7919 % (64 << 10)) as u32 + 1;
    let (mut sent, mut got) = (0u64, 0u64);
    while got < 3000 {
        while sent < 3000 {
            let bytes = if sent % 3 == 0 { length(sent) } else { 9 };
            let Some((to, location)) = sender.reserve(bytes, null()) else {
                break;
            };
            // SAFETY: reserved for this many bytes.
            unsafe { to.write_bytes(sent as u8, bytes as usize) };
            assert!(sender.put_words(1, 0, sent, &[location, bytes.into()]));
            // SAFETY: as above.
            unsafe { Net::ring(doorway) };
            sent += 1;
        }
        poll(nets);
        while receiver.peek().is_some() {
            assert_eq!(receiver.match_word(), got);
            let (location, bytes) = (receiver.word(0), receiver.word(1) as u32);
            let start = receiver.payload(location, bytes, &reverse).unwrap();
            // SAFETY: checked by the ring.
            let data = unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes as usize) };
            assert!(data.iter().all(|&byte| byte == got as u8), "message {got}");
            receiver.release_payload(location, bytes, &mut reverse);
            receiver.advance();
            got += 1;
        }
        if receiver.take_credited() {
            let mut net = nets[1];
            // SAFETY: as for `poll`.
            unsafe { net.as_mut() }.tell_of_room(PeerIndex::new(0));
        }
    }
    let finished = |mut net: NonNull<Net>| {
        // SAFETY: as for `poll`.
        unsafe { net.as_mut() }.is_finished()
    };
    let begin = std::time::Instant::now();
    while !(finished(nets[0]) & finished(nets[1])) {
        poll(nets);
    }
    assert!(begin.elapsed().as_secs() < 5);
}

#[test]
fn room_is_told_with_the_next_frame_or_poll_and_at_once_the_second_time() {
    let Some(nets) = pair() else { return };
    let [a, b] = nets;
    let (mut sender, doorway) = connect(a, 1);
    let (mut back, doorway_back) = connect(b, 0);
    let mut send = |cells: u32| {
        for _ in 0..cells {
            assert!(sender.has_credit() || sender.refresh());
            assert!(sender.put_words(0, 0, 0, &[1]));
            // SAFETY: of `connect`, and no reference to the network is in use.
            unsafe { Net::ring(doorway) };
        }
    };
    // SAFETY: leaked by `pair`, and used by this thread alone.
    let frames = || unsafe { b.as_ref() }.state.peers[0].sequence_out;
    send(1);
    let (_, mut receiver) = accept(nets, b);
    // Consumes cells until there is room to tell of, and tells.
    let mut make_room = |mut b: NonNull<Net>| {
        while !receiver.take_credited() {
            if receiver.peek().is_some() {
                receiver.advance();
            } else {
                poll(nets);
            }
        }
        // SAFETY: as for `frames`.
        unsafe { b.as_mut() }.tell_of_room(PeerIndex::new(0));
    };
    send(RING_CELLS / 4 - 1);
    make_room(b);
    assert_eq!(frames(), 0);
    assert!(back.put_words(0, 0, 0, &[2]));
    // SAFETY: as in `send`.
    unsafe { Net::ring(doorway_back) };
    assert_eq!(frames(), 1);
    poll([b, a]);
    assert_eq!(frames(), 1, "told with the cell");

    send(RING_CELLS / 4);
    make_room(b);
    assert_eq!(frames(), 1);
    poll([b, a]);
    assert_eq!(frames(), 2, "told by a poll");

    send(RING_CELLS / 2);
    let arrived = |net: NonNull<Net>| {
        // SAFETY: as for `frames`.
        let into = unsafe { net.as_ref() }.state.peers[0].into.as_ref();
        into.map(|into| into.written())
    };
    while arrived(b) != Some(RING_CELLS) {
        poll(nets);
    }
    make_room(b);
    assert_eq!(frames(), 2);
    make_room(b);
    assert_eq!(frames(), 3, "told at once");
}

#[test]
fn frames_of_outsiders_are_dropped_and_counted() {
    let Some(nets) = pair() else { return };
    let mut net = nets[1];
    // SAFETY: leaked by `pair`, and used by this thread alone.
    let Net { endpoint, state } = unsafe { net.as_mut() };
    let mut give = |state: &mut State, frame: &[u8]| state.arrived(endpoint, frame);
    let header = |sender, token| Header {
        token,
        sender,
        sequence: 0,
        kind: Kind::Cells,
        cells: 0,
        feedback: Feedback::default(),
    };
    let mut seed = 1u64;
    for length in 0..300usize {
        let frame: Vec<u8> = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            })
            .collect();
        give(state, &frame).unwrap();
    }
    for (sender, guess) in [(0, 5), (1, 5), (2, 5), (u32::MAX, 0)] {
        give(state, &header(sender, guess).to_bytes()).unwrap();
    }
    assert_eq!(state.outsiders, 304);
    assert!(state.accepted.is_empty());
    // With the right token the same is a member's, and what breaks the protocol is told.
    let right = state.peers[0].token_in;
    give(state, &header(0, right).to_bytes()).unwrap();
    let again = give(state, &header(0, right).to_bytes()).unwrap_err();
    assert!(again.to_string().contains("rank 0 on host one"), "{again}");
    let mut cell = header(0, right);
    (cell.sequence, cell.cells) = (1, 1);
    let mut frame = cell.to_bytes().to_vec();
    frame.extend([0; 64]);
    assert!(give(state, &frame).is_err());
}

#[test]
fn tokens_depend_on_everything() {
    let base = token([1, 2], (0, 10), (1, 11));
    for other in [
        token([1, 3], (0, 10), (1, 11)),
        token([1, 2], (2, 10), (1, 11)),
        token([1, 2], (0, 12), (1, 11)),
        token([1, 2], (1, 11), (0, 10)),
    ] {
        assert_ne!(base, other);
    }
}
