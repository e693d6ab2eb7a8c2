// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of the orders that [`super::offers_tests`] leaves out: wildcards, eager messages in long receives, what is left to do after the
//! send; peers that offer too much; and with `auto`, what one peer's messages say of another's.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Barrier;
use std::time::Duration;

use fabric::claim::ClaimTable;
use fabric::counters::Counter;

use super::offers_tests::{
    Buffer, EAGER, LONG, TAG, counts, end, pattern, progress, send, settings,
};
use crate::comm::Process;
use crate::identity::LinkIndex;
use crate::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Mode, irecv};
use crate::request::RequestId;
use crate::settings::{Rendezvous, Settings};
use crate::testing::{on_ranks_with, shares_memory};
use crate::vci::cell::Offer;

/// A message and its receive, and what both ranks count: requests, pulls, dones, offers sent and used, crossings, fast receives, landed.
struct Row {
    bytes: usize,
    capacity: usize,
    source: i32,
    tag: i32,
    receiver_first: bool,
    counted: [u64; 8],
    /// Of these, before the send is posted.
    before: [u64; 8],
    dead: u64,
    written_across: u64,
}

const NONE: [u64; 8] = [0; 8];
const OFFERED: [u64; 8] = [0, 0, 0, 1, 0, 0, 0, 0];
/// RTS and FIN.
const ANNOUNCED: [u64; 8] = [1, 0, 1, 0, 0, 0, 0, 0];

const LONG_ROW: Row = Row {
    bytes: LONG,
    capacity: LONG,
    source: 0,
    tag: TAG,
    receiver_first: true,
    counted: [0, 0, 0, 1, 1, 0, 1, 1],
    before: OFFERED,
    dead: 0,
    written_across: LONG as u64,
};
const WILD_ROW: Row = Row {
    counted: ANNOUNCED,
    before: NONE,
    written_across: 0,
    ..LONG_ROW
};
const EAGER_ROW: Row = Row {
    bytes: EAGER,
    counted: NONE,
    before: NONE,
    written_across: 0,
    ..LONG_ROW
};

const ROWS: [Row; 12] = [
    // Nothing is left for the time after the send but LANDED.
    LONG_ROW,
    Row {
        capacity: LONG - 5_000,
        written_across: LONG as u64 - 5_000,
        ..LONG_ROW
    },
    Row {
        receiver_first: false,
        ..WILD_ROW
    },
    // Eager messages: no cells of rendezvous, but the offer of a long receive is wasted.
    Row {
        counted: OFFERED,
        before: OFFERED,
        dead: 1,
        ..EAGER_ROW
    },
    Row {
        receiver_first: false,
        ..EAGER_ROW
    },
    Row {
        capacity: EAGER,
        ..EAGER_ROW
    },
    Row {
        capacity: EAGER,
        receiver_first: false,
        ..EAGER_ROW
    },
    Row {
        source: ANY_SOURCE_RANK,
        ..WILD_ROW
    },
    Row {
        source: ANY_SOURCE_RANK,
        receiver_first: false,
        ..WILD_ROW
    },
    Row {
        tag: ANY_TAG_VALUE,
        ..WILD_ROW
    },
    Row {
        tag: ANY_TAG_VALUE,
        receiver_first: false,
        ..WILD_ROW
    },
    Row {
        source: ANY_SOURCE_RANK,
        tag: ANY_TAG_VALUE,
        ..WILD_ROW
    },
];

/// Posts a receive that may be wild.
fn post_from(process: &'static Process, buffer: &mut Buffer, source: i32, tag: i32) -> RequestId {
    // SAFETY: callers keep the buffer until the request is complete.
    unsafe { irecv(process.world(), buffer.memory(), source, tag) }.unwrap()
}

/// Counters in the end and before the send; dead offers, and bytes written.
type Played = ([u64; 8], [u64; 8], u64, u64);

/// Plays a row and returns the counters of both ranks after the message has met its receive.
fn play(rendezvous: Rendezvous, row: &Row) -> Played {
    let (meet, data) = (Barrier::new(2), pattern(row.bytes, 1));
    let both = on_ranks_with(&settings(rendezvous), 2, |process| {
        let receives = process.rank() == 1;
        let mut buffer = Buffer::new(row.capacity);
        // Both rings exist, and nothing is under way.
        let mut word = Buffer::new(8);
        let other = post_from(process, &mut word, 1 - process.rank() as i32, 1);
        end(process, send(process, &[0; 8], 1, Mode::Standard)).unwrap();
        end(process, other).unwrap();
        meet.wait();
        let mut request = None;
        if receives && row.receiver_first {
            request = Some(post_from(process, &mut buffer, row.source, row.tag));
        }
        meet.wait();
        if !receives {
            progress(process);
        }
        let before = counts(process);
        meet.wait();
        if !receives {
            request = Some(send(process, &data, TAG, Mode::Standard));
        }
        meet.wait();
        if receives && !row.receiver_first {
            progress(process);
            request = Some(post_from(process, &mut buffer, row.source, row.tag));
        }
        let ended = end(process, request.unwrap());
        let fitting = row.bytes.min(row.capacity);
        assert_eq!(ended.is_ok(), !receives || fitting == row.bytes);
        if receives {
            assert!(buffer.data()[..fitting] == data[..fitting]);
        }
        meet.wait();
        let guard = process.vci().enter();
        let rest = [
            guard.posted.withdrawn(),
            guard.counted(Counter::BytesWrittenAcross),
        ];
        drop(guard);
        (counts(process), before, rest)
    });
    let sum =
        |one: [u64; 8], other: [u64; 8]| std::array::from_fn(|index| one[index] + other[index]);
    let rest: [u64; 2] = std::array::from_fn(|index| both[0].2[index] + both[1].2[index]);
    (
        sum(both[0].0, both[1].0),
        sum(both[0].1, both[1].1),
        rest[0],
        rest[1],
    )
}

#[test]
fn wildcards_and_eager_messages_cost_the_cells_of_the_table() {
    if !shares_memory() {
        return;
    }
    for (number, row) in ROWS.iter().enumerate() {
        let (counted, before, dead, written) = play(Rendezvous::Write, row);
        assert_eq!((counted, before), (row.counted, row.before), "row {number}");
        assert_eq!(
            (dead, written),
            (row.dead, row.written_across),
            "row {number}"
        );
        let expected = if row.bytes > EAGER {
            [ANNOUNCED, [1, 1, 0, 0, 0, 0, 0, 0]]
        } else {
            [NONE; 2]
        };
        let others = [Rendezvous::Read, Rendezvous::Pipeline];
        for (rendezvous, expected) in others.into_iter().zip(expected) {
            let found = play(rendezvous, row);
            assert_eq!(found, (expected, NONE, 0, 0), "row {number} {rendezvous:?}");
        }
    }
}

#[test]
fn a_peer_that_offers_more_than_it_may_is_named() {
    if !shares_memory() {
        return;
    }
    let meet = Barrier::new(2);
    let texts = on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        let mut texts = Vec::new();
        meet.wait();
        if process.rank() == 0 {
            // One claim word for all of them: no receiver that keeps to the rules offers it twice.
            let node = process.node();
            let claims = ClaimTable::at(node, node.allocate_spare(4096).unwrap()).unwrap();
            let number = claims.word(3).offer();
            let mut target = Buffer::new(LONG);
            let address = target.memory().base as u64;
            let mut guard = process.vci().enter();
            let state = &mut *guard;
            let peer = LinkIndex::new(1);
            state.links.connect(&mut state.transport, peer).unwrap();
            for _ in 0..17 {
                let offer = Offer {
                    number,
                    word: 5,
                    receive: 7,
                    capacity: LONG as u64,
                    place: address,
                    proof: address,
                    claims: claims.offset() | 3,
                    consumed: 0,
                };
                assert!(offer.put(&mut state.links[peer].sender));
            }
            drop(guard);
            meet.wait();
            meet.wait();
        } else {
            meet.wait();
            progress(process);
            texts.extend(
                process
                    .vci()
                    .enter()
                    .fault
                    .take()
                    .map(|fault| fault.to_string()),
            );
            meet.wait();
        }
        texts
    });
    let expected = "offered more receives than this process takes";
    assert!(
        texts[1][0].starts_with("rank 0 ") && texts[1][0].contains(expected),
        "{texts:?}"
    );
}

/// How long messages wait tells nothing of longer ones.
#[test]
fn auto_offers_receives_of_lengths_that_are_overlapped_and_no_others() {
    if !shares_memory() {
        return;
    }
    let auto = Settings {
        cma: 1,
        ..settings(Rendezvous::Auto)
    };
    let (meet, data) = (Barrier::new(2), pattern(4 * LONG, 9));
    let both = on_ranks_with(&auto, 2, |process| {
        let mut offers = [0; 2];
        for round in 0..160 {
            let is_away = round % 2 == 0;
            let data = &data[..if is_away { LONG } else { 4 * LONG }];
            meet.wait();
            if process.rank() == 0 {
                if is_away {
                    meet.wait();
                    progress(process);
                }
                let request = send(process, data, TAG, Mode::Standard);
                meet.wait();
                end(process, request).unwrap();
                continue;
            }
            let mut buffer = Buffer::new(data.len());
            if !is_away {
                // The message is announced, and this rank waits as soon as it has posted the receive.
                meet.wait();
            }
            let sent = counts(process)[3];
            let request = post_from(process, &mut buffer, 0, TAG);
            offers[round % 2] += counts(process)[3] - sent;
            if is_away {
                meet.wait();
                meet.wait();
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(end(process, request), Ok(data.len() as u64));
            assert!(buffer.data() == data);
        }
        offers
    });
    let [away, prompt] = both[1];
    // A core that is taken away for a while looks like work.
    assert!(away >= 15 && prompt < away / 3, "{:?}", both[1]);
}
