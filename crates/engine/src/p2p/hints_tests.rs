// SPDX-License-Identifier: MIT OR Apache-2.0
//! `RANKPOINT_CHECK=hints`: a message that breaks what the program has promised of its communicator fails, and says which promise.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::sync::Arc;

use fabric::counters::Counter;

use super::fast::{Injected, Posted, lane_of_receive, lane_of_send, post_locked, send_now};
use super::persistent::{recv_init, start};
use super::probe::{imrecv, mprobe};
use super::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode, NoPromise, PROC_NULL, irecv, isend};
use crate::comm::{Comm, Spread, ThreadLevel};
use crate::completion::{cancel, free, test, wait, wait_all};
use crate::create::dup;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::VciIndex;
use crate::progress::Vci;
use crate::request::{RequestId, Status};
use crate::settings::{Checks, Settings};
use crate::testing::{Member, on_members_at_level};

pub(super) fn checked(hints: bool, ranks: u32, body: impl Fn(&'static Member) + Sync) {
    let settings = Settings {
        check: Checks {
            hints,
            ..Checks::default()
        },
        vcis: 4,
        ..Settings::from_environment().0
    };
    for level in [ThreadLevel::Single, ThreadLevel::Multiple] {
        on_members_at_level(&settings, level, ranks, &body);
    }
}

/// A duplicate of MPI_COMM_WORLD with hints.
pub(super) fn promising(member: &'static Member, pairs: &[(&str, &str)]) -> Arc<Comm> {
    let comm = dup(member.world(), "test").unwrap();
    let value_of = |key: &str| {
        let found = pairs.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| (*value).to_owned())
    };
    comm.hints.set(value_of);
    if let Some(spread) = Spread::read(value_of).unwrap() {
        comm.spread_over_vcis(spread);
    }
    comm
}

const EXACT: (&str, &str) = ("mpi_assert_exact_length", "true");

/// Sends `bytes` bytes to this rank itself.
pub(super) fn send(comm: &Comm, bytes: usize, tag: i32) -> Result<RequestId> {
    static DATA: [u8; 4096] = [7; 4096];
    let memory = Memory::contiguous(DATA.as_ptr().cast_mut(), bytes);
    // SAFETY: the data live for ever.
    unsafe { isend(comm, memory, comm.rank(), tag, Mode::Standard) }
}

pub(super) fn receive(comm: &Comm, data: &mut [u8], source: i32, tag: i32) -> Result<RequestId> {
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: callers wait for the request while the data live.
    unsafe { irecv(comm, memory, source, tag) }
}

fn end(comm: &Comm, mut id: RequestId) -> Result<Status> {
    wait(comm.vci(), &mut id, "test")
}

pub(super) fn tells(error: &Error, class: ErrorClass, words: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.class(), class, "{text}");
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

/// A message of `sent` bytes to a buffer of `room` bytes, which is there before the message or comes later.
fn exchange(comm: &Comm, sent: usize, room: usize, is_late: bool) -> Result<Status> {
    let mut data = vec![0; room];
    if is_late {
        let sent = send(comm, sent, 3).unwrap();
        let id = receive(comm, &mut data, ANY_SOURCE_RANK, ANY_TAG_VALUE).unwrap();
        let outcome = end(comm, id);
        end(comm, sent).unwrap();
        return outcome;
    }
    let id = receive(comm, &mut data, comm.rank(), 3).unwrap();
    let sent = send(comm, sent, 3).unwrap();
    let outcome = end(comm, id);
    end(comm, sent).unwrap();
    outcome
}

#[test]
fn a_message_shorter_than_its_buffer_breaks_the_promise_of_exact_lengths() {
    checked(true, 2, |member| {
        let comm = promising(member, &[EXACT]);
        for is_late in [false, true] {
            for (sent, room) in [(0, 8), (8, 16), (40, 64), (2000, 4096)] {
                let error = exchange(&comm, sent, room, is_late).unwrap_err();
                let lengths = format!("has {sent} bytes and the receive's buffer {room},");
                let words = ["with tag 3", &lengths, "mpi_assert_exact_length"];
                tells(&error, ErrorClass::ERR_COUNT, &words);
                let status = exchange(&comm, room, room, is_late).unwrap();
                assert_eq!(status.bytes, room as u64);
            }
            let error = exchange(&comm, 8, 4, is_late).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ERR_TRUNCATE);
        }
        // No other communicator has promised it.
        assert_eq!(exchange(member.world(), 8, 16, false).unwrap().bytes, 8);
        comm.free();
    });
}

#[test]
fn every_form_of_receive_is_compared_with_its_buffer() {
    checked(true, 2, |member| {
        let comm = promising(member, &[EXACT]);
        let (vci, me) = (comm.vci(), comm.rank());
        let mut data = [0u8; 16];
        let too_few = |outcome: Result<Status>| {
            tells(
                &outcome.unwrap_err(),
                ErrorClass::ERR_COUNT,
                &["has 8 bytes"],
            );
        };

        end(&comm, send(&comm, 8, 0).unwrap()).unwrap();
        let (message, _) = mprobe(&comm, me, 0).unwrap();
        let memory = Memory::contiguous(data.as_mut_ptr(), 16);
        // SAFETY: the data live until the request is complete.
        too_few(end(
            &comm,
            unsafe { imrecv(member, memory, message) }.unwrap(),
        ));

        // SAFETY: as above.
        let mut id = unsafe { recv_init(&comm, memory, me, 0) }.unwrap();
        for bytes in [8, 16, 8] {
            start(vci, id).unwrap();
            end(&comm, send(&comm, bytes, 0).unwrap()).unwrap();
            match (wait(vci, &mut id, "test"), bytes) {
                (Ok(status), 16) => assert_eq!(status.bytes, 16),
                (outcome, _) => too_few(outcome),
            }
        }
        free(vci, &mut id).unwrap();

        let mut id = receive(&comm, &mut data, me, 0).unwrap();
        end(&comm, send(&comm, 8, 0).unwrap()).unwrap();
        too_few(loop {
            match test(vci, &mut id) {
                Ok(None) => {}
                outcome => break outcome.map(Option::unwrap),
            }
        });

        let ids = [receive(&comm, &mut data, me, 0).unwrap()];
        end(&comm, send(&comm, 8, 0).unwrap()).unwrap();
        let mut classes = vec![];
        let each = &mut |_, status: Status| classes.push(status.error);
        let error = wait_all(vci, &mut { ids }, "test", each).unwrap_err();
        tells(&error, ErrorClass::ERR_IN_STATUS, &["has 8 bytes"]);
        assert_eq!(classes, [ErrorClass::ERR_COUNT.0]);

        // Receives without a message break nothing.
        let id = receive(&comm, &mut data, PROC_NULL, 0).unwrap();
        assert_eq!(end(&comm, id).unwrap(), Status::PROC_NULL);
        let id = receive(&comm, &mut data, me, 0).unwrap();
        cancel(vci, id).unwrap();
        assert!(end(&comm, id).unwrap().cancelled);
        comm.free();
    });
}

#[test]
fn wildcards_are_received_where_promises_are_not_compared() {
    checked(false, 2, |member| {
        let pairs = ["mpi_assert_no_any_source", "mpi_assert_no_any_tag"].map(|key| (key, "true"));
        let comm = promising(member, &pairs);
        let mut data = [0u8; 8];
        let id = receive(&comm, &mut data, ANY_SOURCE_RANK, ANY_TAG_VALUE).unwrap();
        end(&comm, send(&comm, 8, 3).unwrap()).unwrap();
        assert_eq!(end(&comm, id).unwrap().tag, 3);
        comm.free();
    });
}

#[test]
fn lengths_are_not_compared_where_that_is_not_asked_for() {
    checked(false, 2, |member| {
        let comm = promising(member, &[EXACT]);
        for is_late in [false, true] {
            assert_eq!(exchange(&comm, 8, 16, is_late).unwrap().bytes, 8);
        }
        comm.free();
    });
}

const SPREAD: [(&str, &str); 3] = [
    ("rankpoint_num_vcis", "3"),
    ("rankpoint_num_tag_bits_for_vci", "2"),
    ("mpi_assert_no_any_tag", "true"),
];

#[test]
fn a_tag_that_names_a_thread_without_a_vci_breaks_the_promise_of_one_each() {
    checked(true, 1, |member| {
        let comm = promising(member, &SPREAD);
        if !comm.is_spread() {
            return;
        }
        let mut data = [0; 8];
        let hints = [
            "rankpoint_num_vcis = 3",
            "rankpoint_tag_vci_hash = one-to-one",
        ];
        let class = ErrorClass::ERR_TAG;
        let error = send(&comm, 8, 0b11_00).unwrap_err();
        tells(
            &error,
            class,
            &[
                "tag' is 12, which names the sending thread 3",
                hints[0],
                hints[1],
            ],
        );
        let error = receive(&comm, &mut data, 0, 0b00_11).unwrap_err();
        tells(
            &error,
            class,
            &["tag' is 3, which names the receiving thread 3", hints[0]],
        );
        let id = receive(&comm, &mut data, 0, 0b0100_1001).unwrap();
        let sent = send(&comm, 8, 0b0100_1001).unwrap();
        assert_eq!(end(&comm, id).unwrap().bytes, 8);
        end(&comm, sent).unwrap();
        comm.free();
    });
}

#[test]
fn hashed_threads_may_have_any_number() {
    checked(true, 1, |member| {
        let hash = ("rankpoint_tag_vci_hash", "hash");
        let comm = promising(member, &[&SPREAD[..], &[hash, EXACT]].concat());
        for tag in 0..16 {
            assert_eq!(exchange_tagged(&comm, tag, 8).unwrap().bytes, 8);
            assert!(exchange_tagged(&comm, tag, 16).is_err());
        }
        comm.free();
    });
}

/// The VCIs of the process, and how often the lock of each was taken.
fn locks_taken(comm: &Comm) -> Vec<(VciIndex, u64)> {
    let taken = |vci: &Vci| (vci.index(), vci.enter().counted(Counter::LocksTaken));
    comm.process.vcis().iter().map(taken).collect()
}

#[test]
fn fast_stages_take_the_lane_of_a_tag_and_nothing_of_other_vcis() {
    let settings = Settings {
        vcis: 4,
        ..Settings::default()
    };
    on_members_at_level(&settings, ThreadLevel::Multiple, 1, |member| {
        let comm = promising(member, &SPREAD);
        if comm.has_endpoints() {
            // Each endpoint has a VCI, and its communicators are not spread.
            return comm.free();
        }
        let myself = comm.rank();
        // From thread 2 to thread 2, of which neither has the communicator's VCI.
        let tag = 0b10_10;
        assert_eq!(exchange_tagged(&comm, tag, 8).unwrap().bytes, 8);
        let lane = lane_of_send::<NoPromise>(&comm, myself, tag).expect("it was used");
        assert_ne!(lane.vci().index(), comm.vci().index());
        let (out, mut into) = ([5u8; 8], [0u8; 8]);
        let before = locks_taken(&comm);
        let there = lane_of_receive::<NoPromise>(&comm, myself, tag).expect("it was used");
        // SAFETY: the data outlive the request.
        let posted = unsafe { post_locked::<NoPromise>(there, into.as_mut_ptr(), 8, myself, tag) };
        let Posted::Posted(mut id) = posted else {
            panic!("{posted:?}");
        };
        // SAFETY: the data outlive the call.
        let sent = unsafe { send_now::<NoPromise>(&comm, out.as_ptr(), 8, myself, tag) };
        assert_eq!(sent, Injected::Sent);
        assert_eq!(wait(comm.vci(), &mut id, "test").unwrap().bytes, 8);
        assert_eq!(into, out);
        let after = locks_taken(&comm);
        let own = lane.vci().index();
        for ((vci, before), (_, after)) in before.into_iter().zip(after) {
            // Asking takes each lock once, sending and receiving that of one VCI.
            assert_eq!(after - before > 1, vci == own, "VCI {vci:?}");
        }
        // The fast stages leave a tag that was not used, and one that is none, to the slow path.
        let reached = |tag: i32| lane_of_send::<NoPromise>(&comm, myself, tag).is_some();
        assert!(!reached(0b01_00));
        // SAFETY: as above.
        let refused = unsafe { send_now::<NoPromise>(&comm, out.as_ptr(), 8, myself, -1) };
        assert_eq!(refused, Injected::Refused);
        comm.free();
    });
}

/// 8 bytes to a buffer of `room` bytes.
fn exchange_tagged(comm: &Comm, tag: i32, room: usize) -> Result<Status> {
    let mut data = vec![0; room];
    let id = receive(comm, &mut data, comm.rank(), tag).unwrap();
    let sent = send(comm, 8, tag).unwrap();
    let outcome = end(comm, id);
    end(comm, sent).unwrap();
    outcome
}
