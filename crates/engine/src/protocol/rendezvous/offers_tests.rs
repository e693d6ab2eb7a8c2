// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offers: who sends which cells in which order of posts, cancels, wildcards, truncation, and what peers may not do. Orders are forced:
//! a rank makes progress only where the test says so.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Barrier;

use fabric::counters::Counter;
use sys::sync::Ordering;

use crate::comm::Process;
use crate::completion::{cancel, free, wait};
use crate::identity::PeerIndex;
use crate::p2p::persistent::{recv_init, start};
use crate::p2p::probe::iprobe;
use crate::p2p::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode, irecv, isend};
use crate::protocol::send_control;
use crate::request::RequestId;
use crate::settings::{Rendezvous, Settings};
use crate::testing::{on_ranks_with, shares_memory};
use crate::vci::cell::{Cell, Landed, Offer, Taken};
use crate::vci::offers::Moment;
use crate::{Error, ErrorClass};
use fabric::claim::OfferNumber;

pub(super) const EAGER: usize = 4 << 10;
pub(super) const LONG: usize = 100_000;
pub(super) const TAG: i32 = 5;

pub(super) fn settings(rendezvous: Rendezvous) -> Settings {
    Settings {
        rendezvous,
        eager_bytes: EAGER as u64,
        cma: 2,
        cma_min_bytes: 0,
        ..Settings::default()
    }
}

pub(super) fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at * 31 + at / 253 + seed) as u8)
        .collect()
}

/// A buffer between canaries.
pub(super) struct Buffer(Vec<u8>, usize);

impl Buffer {
    pub(super) const CANARY: u8 = 0xa7;
    const MARGIN: usize = 128;

    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![Self::CANARY; bytes + 2 * Self::MARGIN], bytes)
    }

    pub(super) fn memory(&mut self) -> Memory<'static> {
        Memory::contiguous(self.0[Self::MARGIN..].as_mut_ptr(), self.1)
    }

    pub(super) fn data(&self) -> &[u8] {
        let data = std::hint::black_box(&self.0);
        let outside = data[..Self::MARGIN]
            .iter()
            .chain(&data[Self::MARGIN + self.1..]);
        assert!(outside.copied().all(|byte| byte == Self::CANARY));
        &data[Self::MARGIN..Self::MARGIN + self.1]
    }
}

pub(super) fn post(process: &'static Process, buffer: &mut Buffer, tag: i32) -> RequestId {
    // SAFETY: callers keep the buffer until the request is complete.
    unsafe {
        irecv(
            process.world(),
            buffer.memory(),
            1 - process.rank() as i32,
            tag,
        )
    }
    .unwrap()
}

pub(super) fn send(process: &'static Process, data: &[u8], tag: i32, mode: Mode) -> RequestId {
    let memory = Memory::contiguous(data.as_ptr().cast_mut(), data.len());
    // SAFETY: callers keep the data until the request is complete.
    unsafe {
        isend(
            process.world(),
            memory,
            1 - process.rank() as i32,
            tag,
            mode,
        )
    }
    .unwrap()
}

pub(super) fn end(process: &'static Process, mut request: RequestId) -> Result<u64, ErrorClass> {
    let ended = wait(process.vci(), &mut request, "test");
    ended
        .map(|status| status.bytes)
        .map_err(|error: Error| error.class())
}

pub(super) fn progress(process: &'static Process) {
    let mut guard = process.vci().enter();
    while guard.progress() != 0 {}
}

/// Counters of both ranks together.
const COUNTED: [Counter; 8] = [
    Counter::Requests,
    Counter::Pulls,
    Counter::Dones,
    Counter::OffersSent,
    Counter::OffersUsed,
    Counter::Crossings,
    Counter::FastReceives,
    Counter::Landed,
];

pub(super) fn counts(process: &'static Process) -> [u64; 8] {
    let guard = process.vci().enter();
    COUNTED.map(|counter| guard.counted(counter))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    SenderFirst,
    ReceiverFirst,
    /// The offer leaves before the RTS arrives, and the sender hears of it before the receiver makes progress.
    CrossingWon,
    /// The receiver makes progress first.
    CrossingLost,
}

/// Posts the send or the receive of this rank at its place in the order.
fn post_in_order(
    process: &'static Process,
    order: Order,
    meet: &Barrier,
    mode: Mode,
    data: &[u8],
    buffer: &mut Buffer,
) -> RequestId {
    let receives = process.rank() == 1;
    match (order, receives) {
        (Order::SenderFirst, false) | (Order::ReceiverFirst, true) => {
            let request = if receives {
                post(process, buffer, TAG)
            } else {
                send(process, data, TAG, mode)
            };
            meet.wait();
            request
        }
        (Order::SenderFirst, true) => {
            meet.wait();
            progress(process);
            post(process, buffer, TAG)
        }
        (Order::ReceiverFirst, false) => {
            meet.wait();
            progress(process);
            send(process, data, TAG, mode)
        }
        (_, false) => {
            let request = send(process, data, TAG, mode);
            meet.wait();
            meet.wait();
            if order == Order::CrossingLost {
                meet.wait();
            }
            progress(process);
            if order == Order::CrossingWon {
                meet.wait();
            }
            request
        }
        (_, true) => {
            meet.wait();
            let request = post(process, buffer, TAG);
            meet.wait();
            if order == Order::CrossingWon {
                meet.wait();
            }
            progress(process);
            if order == Order::CrossingLost {
                meet.wait();
            }
            request
        }
    }
}

/// One long message in this order: the counters of both ranks.
fn one_message(rendezvous: Rendezvous, order: Order, mode: Mode, capacity: usize) -> [u64; 8] {
    let (meet, data) = (Barrier::new(2), pattern(LONG, 1));
    let both = on_ranks_with(&settings(rendezvous), 2, |process| {
        let mut buffer = Buffer::new(capacity);
        // Both rings exist, and nothing is under way.
        let mut word = Buffer::new(8);
        let other = post(process, &mut word, 1);
        end(process, send(process, &[0; 8], 1, Mode::Standard)).unwrap();
        end(process, other).unwrap();
        meet.wait();
        let receives = process.rank() == 1;
        let request = post_in_order(process, order, &meet, mode, &data, &mut buffer);
        let ended = end(process, request);
        if receives {
            let fitting = capacity.min(LONG);
            let expected = match capacity < LONG {
                true => Err(ErrorClass::ERR_TRUNCATE),
                false => Ok(LONG as u64),
            };
            assert_eq!(ended, expected, "{order:?}");
            assert!(buffer.data()[..fitting] == data[..fitting], "{order:?}");
            assert!(
                buffer.data()[fitting..]
                    .iter()
                    .all(|&it| it == Buffer::CANARY)
            );
        } else {
            assert_eq!(ended.map(drop), Ok(()));
        }
        meet.wait();
        counts(process)
    });
    std::array::from_fn(|index| both[0][index] + both[1][index])
}

#[test]
fn each_order_of_posts_costs_the_cells_of_the_table() {
    if !shares_memory() {
        return;
    }
    // Requests, pulls, dones, offers sent and used, crossings, fast receives, landed.
    let rows = [
        (Order::SenderFirst, [1, 0, 1, 0, 0, 0, 0, 0]),
        (Order::ReceiverFirst, [0, 0, 0, 1, 1, 0, 1, 1]),
        (Order::CrossingWon, [1, 0, 0, 1, 1, 1, 0, 1]),
        (Order::CrossingLost, [1, 0, 1, 1, 0, 0, 0, 0]),
    ];
    for mode in [Mode::Standard, Mode::Synchronous] {
        for (order, expected) in rows {
            for capacity in [LONG, LONG + 77, LONG - 5_000] {
                let counted = one_message(Rendezvous::Write, order, mode, capacity);
                assert_eq!(counted, expected, "{order:?} {mode:?} {capacity}");
            }
        }
    }
    for (order, _) in rows {
        let read = one_message(Rendezvous::Read, order, Mode::Standard, LONG);
        assert_eq!(read, [1, 0, 1, 0, 0, 0, 0, 0], "{order:?}");
        let chunks = one_message(Rendezvous::Pipeline, order, Mode::Standard, LONG);
        assert_eq!(chunks, [1, 1, 0, 0, 0, 0, 0, 0], "{order:?}");
    }
}

#[test]
fn where_the_system_refuses_to_write_chunks_need_no_request() {
    if !shares_memory() {
        return;
    }
    let refused = Settings {
        cma: 0,
        ..settings(Rendezvous::Write)
    };
    let (meet, data) = (Barrier::new(2), pattern(LONG, 2));
    let both = on_ranks_with(&refused, 2, |process| {
        for crossing in [false, true] {
            meet.wait();
            if process.rank() == 0 {
                if crossing {
                    let request = send(process, &data, TAG, Mode::Standard);
                    meet.wait();
                    meet.wait();
                    end(process, request).unwrap();
                } else {
                    meet.wait();
                    progress(process);
                    end(process, send(process, &data, TAG, Mode::Standard)).unwrap();
                }
            } else {
                let mut buffer = Buffer::new(LONG);
                if crossing {
                    meet.wait();
                }
                let request = post(process, &mut buffer, TAG);
                meet.wait();
                assert_eq!(end(process, request), Ok(LONG as u64));
                assert!(buffer.data() == data);
            }
        }
        counts(process)
    });
    // The second message may be claimed or served, but nobody requests the first.
    assert_eq!((both[0][0], both[0][6]), (1, 1), "{both:?}");
    assert!(both[1][1] <= 1 && both[1][7] == 0, "{both:?}");
}

#[test]
fn nothing_is_written_to_another_process_with_the_pid() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 8));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        meet.wait();
        if process.rank() == 0 {
            // The proof is not there in the process with this pid.
            let board = process.node().board(PeerIndex::new(1));
            board.pid.store(1, Ordering::Relaxed);
            meet.wait();
            progress(process);
            end(process, send(process, &data, TAG, Mode::Standard)).unwrap();
            let written = process.vci().enter().counted(Counter::BytesWrittenAcross);
            assert_eq!((written, counts(process)[4]), (0, 1));
        } else {
            let mut buffer = Buffer::new(LONG);
            let request = post(process, &mut buffer, TAG);
            meet.wait();
            assert_eq!(end(process, request), Ok(LONG as u64));
            assert!(buffer.data() == data);
        }
    });
}

#[test]
fn a_cancelled_offer_is_gone_at_once_and_its_buffer_stays_as_it_is() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 3));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        if process.rank() == 0 {
            meet.wait();
            meet.wait();
            // The offer lies in the ring, and is dead.
            let request = send(process, &data, TAG, Mode::Standard);
            meet.wait();
            end(process, request).unwrap();
            assert_eq!(counts(process)[4], 0);
            return;
        }
        let (mut buffer, mut second) = (Buffer::new(LONG), Buffer::new(LONG));
        meet.wait();
        let mut request = post(process, &mut buffer, TAG);
        cancel(process.vci(), request).unwrap();
        // Without any progress of the other rank.
        let status = wait(process.vci(), &mut request, "test").unwrap();
        assert!(status.cancelled);
        meet.wait();
        meet.wait();
        assert!(buffer.data().iter().all(|&it| it == Buffer::CANARY));
        progress(process);
        let request = post(process, &mut second, TAG);
        assert_eq!(end(process, request), Ok(LONG as u64));
        assert!(second.data() == data);
        assert!(buffer.data().iter().all(|&it| it == Buffer::CANARY));
        assert_eq!(process.vci().enter().posted.withdrawn(), 1);
    });
}

#[test]
fn an_eager_message_takes_an_offered_receive_and_the_next_long_one_does_not() {
    if !shares_memory() {
        return;
    }
    let (meet, data, few) = (Barrier::new(2), pattern(LONG, 4), pattern(100, 5));
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        for bytes in [0, 8, 100] {
            meet.wait();
            if process.rank() == 0 {
                meet.wait();
                progress(process);
                let first = send(process, &few[..bytes], TAG, Mode::Standard);
                let second = send(process, &data, TAG, Mode::Standard);
                end(process, first).unwrap();
                meet.wait();
                end(process, second).unwrap();
                continue;
            }
            let (mut first, mut second) = (Buffer::new(LONG), Buffer::new(LONG));
            let requests = [
                post(process, &mut first, TAG),
                post(process, &mut second, TAG),
            ];
            meet.wait();
            meet.wait();
            assert_eq!(end(process, requests[0]), Ok(bytes as u64));
            assert_eq!(end(process, requests[1]), Ok(LONG as u64));
            assert!(first.data()[..bytes] == few[..bytes]);
            assert!(first.data()[bytes..].iter().all(|&it| it == Buffer::CANARY));
            assert!(second.data() == data);
        }
    });
}

#[test]
fn nothing_behind_a_wildcard_is_offered() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 6));
    let wild = [
        (ANY_SOURCE_RANK, TAG),
        (0, ANY_TAG_VALUE),
        (ANY_SOURCE_RANK, ANY_TAG_VALUE),
    ];
    let both = on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        for (source, tag) in wild {
            meet.wait();
            if process.rank() == 0 {
                meet.wait();
                progress(process);
                for bytes in [LONG, LONG - 1] {
                    end(process, send(process, &data[..bytes], TAG, Mode::Standard)).unwrap();
                }
                continue;
            }
            let (mut first, mut second) = (Buffer::new(LONG), Buffer::new(LONG));
            // SAFETY: the buffer lives until the request is complete.
            let any = unsafe { irecv(process.world(), first.memory(), source, tag) }.unwrap();
            let exact = post(process, &mut second, TAG);
            meet.wait();
            assert_eq!(end(process, any), Ok(LONG as u64));
            assert_eq!(end(process, exact), Ok(LONG as u64 - 1));
            assert!(first.data() == data);
        }
        counts(process)
    });
    assert_eq!(both[1][3], 0, "no offers");
    assert_eq!(both[0][0], 6, "six requests");
}

#[test]
fn a_probe_does_not_see_a_written_message_and_persistent_receives_are_offered_each_time() {
    if !shares_memory() {
        return;
    }
    let (meet, data) = (Barrier::new(2), pattern(LONG, 7));
    let both = on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        if process.rank() == 0 {
            for _ in 0..40 {
                meet.wait();
                progress(process);
                end(process, send(process, &data, TAG, Mode::Standard)).unwrap();
                meet.wait();
            }
            return counts(process);
        }
        let mut buffer = Buffer::new(LONG);
        // SAFETY: the buffer lives until the request is freed.
        let mut request = unsafe { recv_init(process.world(), buffer.memory(), 0, TAG) }.unwrap();
        for _ in 0..40 {
            start(process.vci(), request).unwrap();
            meet.wait();
            meet.wait();
            assert!(iprobe(process.world(), 0, TAG).unwrap().is_none());
            let status = wait(process.vci(), &mut request, "test").unwrap();
            assert_eq!(status.bytes, LONG as u64);
            assert!(buffer.data() == data);
        }
        free(process.vci(), &mut request).unwrap();
        counts(process)
    });
    assert_eq!((both[0][0], both[0][4], both[1][7]), (0, 40, 40));
}

#[test]
fn a_million_offers_that_nobody_uses_take_no_memory() {
    if !shares_memory() {
        return;
    }
    let rounds = match crate::settings::is_thorough() {
        true => 1_000_000,
        false => 20_000,
    };
    let meet = Barrier::new(2);
    on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
        meet.wait();
        if process.rank() == 1 {
            let mut buffer = Buffer::new(LONG);
            for _ in 0..rounds {
                let mut request = post(process, &mut buffer, TAG);
                cancel(process.vci(), request).unwrap();
                assert!(wait(process.vci(), &mut request, "test").unwrap().cancelled);
            }
            let used = process.vci().enter().slab.used();
            assert!(used < 100, "{used}");
        } else {
            // The ring fills up now and then.
            (0..rounds / 100).for_each(|_| progress(process));
        }
        meet.wait();
        progress(process);
        meet.wait();
    });
}

#[test]
fn a_peer_that_breaks_the_rules_is_named() {
    if !shares_memory() {
        return;
    }
    let meet = Barrier::new(2);
    let landed = |receive| Landed {
        moment: Moment::NONE,
        receive,
        bytes: 8,
    };
    let taken = Taken {
        receive: 7,
        bytes: 8,
    };
    let offer = Offer {
        number: OfferNumber(0),
        word: 0,
        receive: 1,
        capacity: 2,
        place: 0,
        proof: 0,
        claims: 0,
        consumed: 0,
    };
    let wrong: [(Cell, &str); 4] = [
        (landed(7).into(), "does not exist"),
        (taken.into(), "does not exist"),
        (offer.into(), "offered memory that it cannot have"),
        (landed(0).into(), "had not claimed"),
    ];
    for (cell, expected) in wrong {
        let texts = on_ranks_with(&settings(Rendezvous::Write), 2, |process| {
            let mut buffer = Buffer::new(LONG);
            let offered = (process.rank() == 1).then(|| post(process, &mut buffer, TAG));
            meet.wait();
            if process.rank() == 0 {
                let mut guard = process.vci().enter();
                let state = &mut *guard;
                let mut cell = cell;
                if let Cell::Landed(Landed { receive: 0, .. }) = cell {
                    // The receive of the offer that is in the ring.
                    while state.incoming.is_empty() {
                        state.progress();
                    }
                    cell = landed(state.known.first_receive()).into();
                }
                let peer = crate::identity::LinkIndex::new(1);
                send_control(state, peer, cell);
            }
            meet.wait();
            let text = offered.map(|request| {
                progress(process);
                let fault = process.vci().enter().fault.take();
                cancel(process.vci(), request).unwrap();
                assert_eq!(end(process, request).map(drop), Ok(()));
                fault.map(|fault| fault.to_string()).unwrap_or_default()
            });
            meet.wait();
            text
        });
        let text = texts[1].clone().unwrap_or_default();
        assert!(text.starts_with("rank 0 "), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
