// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two processes' networks in one process, over libfabric on the loopback interface, or on the network that the environment names. Skipped where libfabric is not installed.

use std::io;
use std::ptr::{NonNull, null};
use std::sync::Arc;
use std::time::Instant;

use sys::sync::{AtomicU32, Ordering};

use super::frame::{Header, Kind, token};
use super::net::{Net, Owner, RING_CELLS, State};
use super::peer::PeerKey;
use super::{Doorway, Fault, NetPlan, Network};
use crate::identity::{PeerIndex, VciIndex};
use crate::nodes::{NodePlan, create_on_node};
use crate::observe::NodeFile;
use crate::ofi::{Choice, Library, Sharing};
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
    sharing: Sharing::Vci,
    payload_rules: RULES,
    contact_limit: None,
};

/// How the two processes share their contexts.
const SHARINGS: [[Sharing; 2]; 5] = [
    [Sharing::Process, Sharing::Process],
    [Sharing::Vci, Sharing::Vci],
    [Sharing::Vci, Sharing::Process],
    [Sharing::AtMost(2), Sharing::AtMost(3)],
    [Sharing::AtMost(2), Sharing::Vci],
];

/// The networks of two ranks, each alone on its node; `None` where there is no libfabric.
pub(super) fn pair() -> Option<[&'static Network; 2]> {
    pair_that_shares(&[PLAN.sharing; 2])
}

/// The same where the processes share their contexts so.
pub(super) fn pair_that_shares(sharings: &[Sharing; 2]) -> Option<[&'static Network; 2]> {
    let (nets, launchers) = pair_with([[3, 4]; 2], sharings)?;
    for node in [0, 1] {
        bring_cards(&launchers, node);
    }
    Some(nets)
}

/// Brings the card of the other rank to a node.
fn bring_cards(launchers: &[NodeFile; 2], node: usize) {
    let other = 1 - node;
    let card = launchers[other].card(other as u32).unwrap();
    launchers[node].put_card(other as u32, &card).unwrap();
    launchers[node].announce_cards().unwrap();
}

/// The networks of two ranks whose cards have not been exchanged, and the launcher's views of the nodes.
fn pair_without_cards() -> Option<([&'static Network; 2], [NodeFile; 2])> {
    pair_with([[3, 4]; 2], &[PLAN.sharing; 2])
}

/// The same in a job whose nodes have been told of these secrets, and whose ranks share their contexts so.
fn pair_with(
    secrets: [[u64; 2]; 2],
    sharings: &[Sharing; 2],
) -> Option<([&'static Network; 2], [NodeFile; 2])> {
    if Library::open(None).is_err() {
        eprintln!("skipped: libfabric is not installed");
        return None;
    }
    let hosts = ["one".to_owned(), "two".to_owned()];
    let plan = SegmentPlan {
        local_ranks: 1,
        job_ranks: 2,
        reserve: 1,
        cores: 2,
        launcher_pid: 1,
    };
    let files = [0, 1].map(|node| {
        let nodes = NodePlan {
            node,
            node_of: &[0, 1],
            hosts: &hosts,
            secret: secrets[node as usize],
        };
        create_on_node(&plan, &nodes).unwrap()
    });
    let launchers = [0, 1].map(|node| NodeFile::new(files[node].try_clone().unwrap()).unwrap());
    let mut ranks = 0..;
    let nets = files.map(|file| {
        let segment = Arc::new(Segment::attach(file).unwrap());
        let rank = ranks.next().unwrap();
        let [provider, interface] = ["RANKPOINT_PROVIDER", "RANKPOINT_INTERFACE"].map(named);
        let plan = NetPlan {
            sharing: sharings[rank as usize],
            choice: Choice {
                provider: provider.as_deref(),
                interface: interface.as_deref().or(PLAN.choice.interface),
            },
            ..PLAN
        };
        let me = PeerIndex::new(rank);
        &**Box::leak(Box::new(Network::open(segment, me, &plan).unwrap()))
    });
    Some((nets, launchers))
}

/// A part of the network's name in the environment, for runs of the tests on networks other than loopback.
#[expect(
    clippy::disallowed_methods,
    reason = "says on which network the tests run"
)]
fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// The VCI that the tests use there and here.
pub(super) const THERE: VciIndex = VciIndex::of_bits(3);
pub(super) const HERE: VciIndex = VciIndex::FIRST;

/// The key of a rank's peer.
pub(super) fn key(process: u32, there: VciIndex, here: VciIndex) -> PeerKey {
    PeerKey {
        process: PeerIndex::new(process),
        there,
        here,
    }
}

/// Polls for nobody.
pub(super) fn poll(nets: [&Network; 2]) {
    for net in nets {
        net.poll_all();
        let faults = net.book.faults_after(0);
        assert!(faults.is_empty(), "{faults:?}");
    }
}

/// A ring from VCI 0 of rank 0 to VCI 3 of rank 1, or back.
pub(super) fn connect(net: &Network, rank: u32) -> (RingSender, NonNull<Doorway>) {
    let (there, here) = if rank == 1 {
        (THERE, HERE)
    } else {
        (HERE, THERE)
    };
    net.connect(key(rank, there, here)).unwrap()
}

pub(super) fn accept(nets: [&Network; 2], net: &Network, vci: VciIndex) -> (PeerKey, RingReceiver) {
    loop {
        poll(nets);
        if let Some(found) = net.poll(vci, 0, true).accepted.pop() {
            return found;
        }
    }
}

#[test]
fn cells_and_payload_cross_the_network_in_order_for_many_laps() {
    for sharings in &SHARINGS {
        let Some(nets) = pair_that_shares(sharings) else {
            return;
        };
        cells_and_payload_cross(nets);
    }
}

fn cells_and_payload_cross(nets: [&'static Network; 2]) {
    let (mut sender, doorway) = connect(nets[0], 1);
    assert!(sender.put_words(0, 7, 99, &[1, 2, 3]));
    // SAFETY: of `connect`; the network is leaked.
    unsafe { Network::ring(doorway) };
    let (peer, mut receiver) = accept(nets, nets[1], THERE);
    assert_eq!(
        (peer, receiver.match_word(), receiver.word(2)),
        (key(0, HERE, THERE), 99, 3)
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
            unsafe { Network::ring(doorway) };
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
            nets[1].tell_of_room(key(0, HERE, THERE));
        }
    }
    let begin = std::time::Instant::now();
    while !(nets[0].is_finished() & nets[1].is_finished()) {
        poll(nets);
    }
    assert!(begin.elapsed().as_secs() < 5);
}

/// Four threads of each process, each with a VCI, send to the next VCI of the other process and receive at their own.
#[test]
fn vcis_of_two_processes_keep_their_order_however_they_share_contexts() {
    for sharings in &SHARINGS {
        let Some(nets) = pair_that_shares(sharings) else {
            return;
        };
        vcis_keep_their_order(nets);
        let opened = nets.map(|net| net.contexts_in_use().opened);
        let expected = sharings.map(|sharing| match sharing {
            Sharing::Process => 1,
            Sharing::Vci => 4,
            Sharing::AtMost(count) => count.into(),
        });
        assert_eq!(opened, expected);
    }
}

fn vcis_keep_their_order(nets: [&'static Network; 2]) {
    const VCIS: u32 = 4;
    const CELLS: u64 = 5000;
    let vci = |index: u32| VciIndex::of_bits(index % VCIS);
    // A thread that is done polls on until all are: the library may not have taken the last frames yet.
    let ended = AtomicU32::new(0);
    let exchange = |process: usize, index: u32| {
        let (net, other) = (nets[process], 1 - process as u32);
        let to = key(other, vci(index + 1), vci(index));
        let from = key(other, vci(index + VCIS - 1), vci(index));
        let (mut sender, doorway) = net.connect(to).unwrap();
        let (mut receiver, mut sent, mut got) = (None::<RingReceiver>, 0, 0);
        let (mut has_ended, mut rounds) = (false, 0);
        while ended.load(Ordering::Relaxed) < 2 * VCIS {
            if !has_ended && (got, sent) == (CELLS, CELLS) {
                has_ended = true;
                ended.fetch_add(1, Ordering::Relaxed);
            }
            rounds += 1;
            let may_send = sent < CELLS && (sender.has_credit() || sender.refresh());
            if may_send && sender.put_words(0, 0, u64::from(index) << 32 | sent, &[sent]) {
                // SAFETY: of `connect`; the network is leaked.
                unsafe { Network::ring(doorway) };
                sent += 1;
            }
            let found = net.poll(vci(index), 0, rounds % 16 == 0);
            assert_eq!((found.faults, found.ended_puts), (Vec::new(), Vec::new()));
            for (peer, ring) in found.accepted {
                assert_eq!(peer, from);
                receiver = Some(ring);
            }
            let Some(ring) = &mut receiver else { continue };
            while ring.peek().is_some() {
                assert_eq!(ring.match_word(), u64::from(from.there.get()) << 32 | got);
                assert_eq!(ring.word(0), got);
                ring.advance();
                got += 1;
            }
            if ring.take_credited() {
                net.tell_of_room(from);
            }
        }
    };
    std::thread::scope(|scope| {
        for process in [0, 1] {
            for index in 0..VCIS {
                let exchange = &exchange;
                scope.spawn(move || exchange(process, index));
            }
        }
    });
    while !(nets[0].is_finished() & nets[1].is_finished()) {
        poll(nets);
    }
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
            // SAFETY: of `connect`; the network is leaked.
            unsafe { Network::ring(doorway) };
        }
    };
    let frames = || b.lock(THERE.get()).state.peers[0].sequence_out;
    send(1);
    let (_, mut receiver) = accept(nets, b, THERE);
    // Consumes cells until there is room to tell of, and tells.
    let mut make_room = |b: &Network| {
        while !receiver.take_credited() {
            if receiver.peek().is_some() {
                receiver.advance();
            } else {
                poll(nets);
            }
        }
        b.tell_of_room(key(0, HERE, THERE));
    };
    send(RING_CELLS / 4 - 1);
    make_room(b);
    assert_eq!(frames(), 0);
    assert!(back.put_words(0, 0, 0, &[2]));
    // SAFETY: as in `send`.
    unsafe { Network::ring(doorway_back) };
    assert_eq!(frames(), 1);
    poll([b, a]);
    assert_eq!(frames(), 1, "told with the cell");

    send(RING_CELLS / 4);
    make_room(b);
    assert_eq!(frames(), 1);
    poll([b, a]);
    assert_eq!(frames(), 2, "told by a poll");

    send(RING_CELLS / 2);
    let arrived = |net: &Network| {
        let net = net.lock(THERE.get());
        let into = net.state.peers[0].into.as_ref();
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
    let mut net = nets[1].lock(THERE.get());
    let Net { endpoint, state } = &mut *net;
    let rank = PeerIndex::new(0);
    let book = nets[1].book.clone();
    let card = book.card(rank).unwrap();
    let right = book.tokens(rank, &card).1;
    let mut give = |state: &mut State, frame: &[u8]| state.arrived(endpoint, frame);
    let header = |sender, token| Header {
        token,
        sender,
        vcis: [0, 3],
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
    let mut no_vci = header(0, right);
    no_vci.vcis = [64, 0];
    give(state, &no_vci.to_bytes()).unwrap();
    assert_eq!(state.outsiders, 305);
    assert!(state.accepted.is_empty() && state.peers.is_empty());
    assert!(book.known(rank).is_none(), "no address for outsiders");
    // With the right token the same is a member's, and what breaks the protocol is told.
    give(state, &header(0, right).to_bytes()).unwrap();
    let again = give(state, &header(0, right).to_bytes()).unwrap_err();
    assert!(again.to_string().contains("rank 0 on host one"), "{again}");
    let mut cell = header(0, right);
    (cell.sequence, cell.cells) = (1, 1);
    let mut frame = cell.to_bytes().to_vec();
    frame.extend([0; 64]);
    assert!(give(state, &frame).is_err());
    drop(net);
    let counts = [0, 1].map(|_| nets[1].poll(THERE, 0, true).outsiders);
    assert_eq!(counts, [305, 0], "told once, for a counter");
}

#[test]
fn frames_wait_for_the_cards_and_those_of_outsiders_keep_nobody() {
    let Some((nets, launchers)) = pair_without_cards() else {
        return;
    };
    bring_cards(&launchers, 0);
    let header = Header {
        token: 5,
        sender: 0,
        vcis: [0, 3],
        sequence: 0,
        kind: Kind::Cells,
        cells: 0,
        feedback: Feedback::default(),
    };
    let begin = Instant::now();
    {
        let mut net = nets[1].lock(THERE.get());
        let Net { endpoint, state } = &mut *net;
        state.arrived(endpoint, &header.to_bytes()).unwrap();
        assert_eq!(std::mem::take(&mut state.outsiders), 1);
    }
    let (mut sender, doorway) = connect(nets[0], 1);
    assert!(sender.put_words(0, 7, 99, &[1]));
    // SAFETY: of `connect`; the network is leaked.
    unsafe { Network::ring(doorway) };
    for _ in 0..100 {
        poll(nets);
        let found = nets[1].poll(THERE, 0, true);
        assert!(found.accepted.is_empty() && found.outsiders == 0);
    }
    assert!(begin.elapsed().as_secs() < 10);
    bring_cards(&launchers, 1);
    assert_eq!(accept(nets, nets[1], THERE).1.match_word(), 99);
}

#[test]
fn a_peer_whose_send_fails_is_lost_and_one_that_breaks_the_protocol_is_not() {
    let Some(nets) = pair() else { return };
    let _ring = connect(nets[0], 1);
    let book = &nets[0].book;
    let mut net = nets[0].lock(HERE.get());
    let slot = net.state.free.pop().unwrap();
    net.state.owners[slot as usize] = Owner::Peer(0);
    let lost = net.state.failed(slot, "no route to host").unwrap_err();
    assert_eq!(lost.kind(), io::ErrorKind::ConnectionAborted);
    book.fail(Fault::of(&lost));
    let broken = io::Error::other("rank 1 broke the protocol");
    book.fail(Fault::of(&broken));
    drop(net);
    let [lost, broken] = <[Fault; 2]>::try_from(nets[0].poll(HERE, 0, true).faults).unwrap();
    let text = "rank 1 on host two cannot be reached any longer: no route to host";
    assert_eq!((lost.is_loss, &*lost.text), (true, text));
    assert!(!broken.is_loss && nets[0].poll(HERE, 2, true).faults.is_empty());
    let kinds = [lost, broken].map(|fault| io::Error::from(fault).kind());
    assert_eq!(
        kinds,
        [io::ErrorKind::ConnectionAborted, io::ErrorKind::Other]
    );
}

#[test]
fn frames_under_another_secret_are_dropped_and_counted() {
    let Some((nets, launchers)) = pair_with([[3, 4], [3, 5]], &[Sharing::Process; 2]) else {
        return;
    };
    for node in [0, 1] {
        bring_cards(&launchers, node);
    }
    let (mut sender, doorway) = connect(nets[0], 1);
    assert!(sender.put_words(0, 7, 99, &[1]));
    // SAFETY: of `connect`; the network is leaked.
    unsafe { Network::ring(doorway) };
    let begin = Instant::now();
    loop {
        poll([nets[0], nets[0]]);
        let found = nets[1].poll(THERE, 0, true);
        assert!(found.accepted.is_empty() && found.faults.is_empty());
        if found.outsiders == 1 {
            break;
        }
        assert!(begin.elapsed().as_secs() < 10);
    }
    assert!(nets[1].book.known(PeerIndex::new(0)).is_none());
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
