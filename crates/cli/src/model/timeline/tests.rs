// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces that are made by hand.

use fabric::trace::{RankTrace, TraceEvent, TraceKind, VciTrace};
use serde_json::{Value, json};

use super::job::Job;
use super::pairs::Pairs;
use super::{export, summary};
use crate::model::options::Format;

const SEND: u64 = 0x5200_0000_0000_1000;
const RECEIVE: u64 = 0x5200_0000_0000_2000;
const KEPT: u64 = 0x5200_0000_0000_3000;

fn event(time_ns: u64, kind: TraceKind, request: u64, message: u64) -> TraceEvent {
    TraceEvent {
        time_ns,
        bytes: 8,
        word: 5,
        request,
        message,
        ..TraceEvent::of(kind)
    }
}

fn rank(rank: u32, clock: &str, events: Vec<TraceEvent>) -> RankTrace {
    let to_other = |event| TraceEvent {
        peer: 1 - rank,
        ..event
    };
    RankTrace {
        rank,
        size: 2,
        host: format!("host {clock}"),
        clock: clock.to_owned(),
        now_ns: [1000, 1_000_000],
        vcis: vec![VciTrace {
            vci: 0,
            dropped: 0,
            names: vec!["MPI_Wait".to_owned(), "MPI_Barrier".to_owned()],
            events: events.into_iter().map(to_other).collect(),
        }],
    }
}

/// A message that was expected, one that was not, and one in an offered receive; the receiver's clock is `ahead` ns ahead.
fn job(clock: &str, ahead: u64) -> Job {
    let call = |time, kind, word| TraceEvent {
        word,
        ..event(time, kind, 0, 0)
    };
    let sender = vec![
        event(1000, TraceKind::SendPosted, SEND, 0),
        event(1010, TraceKind::SentInject, SEND, 0),
        event(1020, TraceKind::SendDone, SEND, 0),
        event(1030, TraceKind::SendPosted, SEND + 1, 0),
        event(1040, TraceKind::SentEager, SEND + 1, 1),
        event(1050, TraceKind::SendDone, SEND + 1, 0),
        event(1060, TraceKind::SendPosted, SEND + 2, 0),
        event(1070, TraceKind::SentRts, SEND + 2, 2),
        event(1080, TraceKind::Written, SEND + 2, RECEIVE + 2),
        event(1090, TraceKind::SendDone, SEND + 2, 0),
        call(1100, TraceKind::WaitEnd, 0),
    ];
    let receiver = vec![
        event(900, TraceKind::ReceivePosted, RECEIVE, 0),
        call(910, TraceKind::CollectiveBegin, 1),
        call(920, TraceKind::WaitBegin, 1),
        call(930, TraceKind::SleepBegin, 0),
        call(1015, TraceKind::SleepEnd, 0),
        event(1030, TraceKind::Matched, RECEIVE, 0),
        event(1040, TraceKind::ReceiveDone, RECEIVE, 0),
        event(1060, TraceKind::Unexpected, KEPT, 1),
        call(1065, TraceKind::WaitEnd, 1),
        call(1066, TraceKind::CollectiveEnd, 1),
        event(1070, TraceKind::ReceivePosted, RECEIVE + 1, 0),
        event(1071, TraceKind::MatchedUnexpected, RECEIVE + 1, KEPT),
        event(1072, TraceKind::ReceiveDone, RECEIVE + 1, 0),
        event(1075, TraceKind::ReceivePosted, RECEIVE + 2, 0),
        event(1100, TraceKind::MatchedByOffer, RECEIVE + 2, RECEIVE + 2),
        event(1110, TraceKind::ReceiveDone, RECEIVE + 2, 0),
    ];
    let mut receiver = rank(1, clock, receiver);
    for event in &mut receiver.vcis[0].events {
        event.time_ns += ahead;
    }
    receiver.now_ns[0] += ahead;
    Job::of(vec![receiver, rank(0, "a", sender)])
}

fn exported(job: &Job) -> Value {
    let mut text = Vec::new();
    export(job, &mut text).expect("a vector takes all");
    serde_json::from_slice(&text).expect("JSON")
}

fn of_phase<'a>(json: &'a Value, phase: &str) -> Vec<&'a Value> {
    let events = json["traceEvents"].as_array().expect("a list");
    events.iter().filter(|event| event["ph"] == phase).collect()
}

#[test]
fn messages_lead_from_their_sends_to_their_receives() {
    let job = job("a", 0);
    let Pairs {
        messages,
        sends_alone,
        receives_alone,
    } = &job.pairs;
    let ends: Vec<_> = messages.iter().map(|one| (one.sent, one.matched)).collect();
    assert_eq!(
        ends,
        [
            ((0, 0, 1), (1, 0, 5)),
            ((0, 0, 4), (1, 0, 11)),
            ((0, 0, 8), (1, 0, 14)),
        ]
    );
    assert_eq!(messages[1].kept, Some((1, 0, 7)));
    assert_eq!((*sends_alone, *receives_alone), (0, 0));
    let json = exported(&job);
    let (starts, ends) = (of_phase(&json, "s"), of_phase(&json, "f"));
    assert_eq!((starts.len(), ends.len()), (3, 3));
    for (start, end) in starts.iter().zip(ends) {
        assert_eq!(start["id"], end["id"]);
        assert_eq!(
            (&start["pid"], &end["pid"]),
            (&Value::from(0), &Value::from(1))
        );
        assert!(start["ts"].as_f64() <= end["ts"].as_f64());
    }
}

#[test]
fn slices_lie_inside_each_other_and_are_named() {
    let json = exported(&job("a", 0));
    let slices: Vec<_> = of_phase(&json, "X")
        .into_iter()
        .map(|event| {
            let times =
                [&event["ts"], &event["dur"]].map(|value| value.as_f64().expect("a number"));
            (
                event["pid"].as_u64().expect("a rank"),
                event["name"].as_str().expect("a name"),
                times,
            )
        })
        .collect();
    for wanted in [
        // Its beginning was dropped.
        (0, "MPI_Wait waits", [0.1, 0.1]),
        (1, "MPI_Barrier", [0.01, 0.156]),
        (1, "MPI_Barrier waits", [0.02, 0.145]),
        (1, "sleeps", [0.03, 0.085]),
        (0, "inject 8 B to 1", [0.1, 0.02]),
        (0, "RTS 8 B to 1", [0.16, 0.01]),
        (1, "matched 8 B from 0", [0.13, 0.01]),
        (1, "matched unexpected 8 B from 0", [0.17, 0.002]),
    ] {
        let own: Vec<_> = slices
            .iter()
            .filter(|slice| (slice.0, slice.1) == (wanted.0, wanted.1))
            .collect();
        let [(_, _, found)] = own[..] else {
            panic!("{}: {slices:?}", wanted.1)
        };
        for (found, wanted) in found.iter().zip(wanted.2) {
            assert!((found - wanted).abs() < 1e-9, "{slices:?}");
        }
    }
    assert_eq!(of_phase(&json, "b").len(), 6);
    assert_eq!(of_phase(&json, "e").len(), 6);
    let names = of_phase(&json, "M");
    assert!(
        names
            .iter()
            .any(|event| event["args"]["name"] == "rank 1 on host a")
    );
    assert!(names.iter().any(|event| event["args"]["name"] == "VCI 0"));
}

#[test]
fn a_host_with_another_clock_is_placed_by_its_calendar_or_by_messages() {
    let job = job("b", 5_000_000);
    assert_eq!(job.shifts, [0, -5_000_000]);
    assert!(
        job.remarks[0].contains("no message came back"),
        "{:?}",
        job.remarks
    );
    // A message comes back after 40 ns, and the fastest one went there in 20.
    let Job { mut ranks, .. } = job;
    for (rank, time, kind, request) in [
        (1, 5_002_000, TraceKind::SentInject, SEND),
        (0, 2040, TraceKind::Matched, RECEIVE),
    ] {
        let vci = &mut ranks[rank].vcis[0];
        vci.events.push(TraceEvent {
            peer: 1 - rank as u32,
            ..event(time, kind, request, 0)
        });
    }
    ranks[1].now_ns = [0, 0];
    let job = Job::of(ranks);
    assert_eq!(job.pairs.messages.len(), 4);
    assert_eq!(job.shifts, [0, -4_999_990]);
    assert!(job.remarks[0].contains("within 30 ns"), "{:?}", job.remarks);
}

#[test]
fn ends_that_were_dropped_leave_the_others_alone() {
    let Job { mut ranks, .. } = job("a", 0);
    ranks[0].vcis[0].events.drain(..3);
    ranks[0].vcis[0].dropped = 3;
    ranks[1].vcis[0].events.drain(..8);
    ranks[1].vcis[0].dropped = 8;
    let job = Job::of(ranks);
    assert_eq!(job.pairs.messages.len(), 1);
    assert_eq!((job.pairs.sends_alone, job.pairs.receives_alone), (1, 1));
    let text = summary(&job).show(Format::Text);
    assert!(text.contains("11 events were dropped"), "{text}");
    assert!(text.contains("1 sends and 1 receives lack"), "{text}");
    let json = exported(&job);
    assert_eq!(json["otherData"]["ranks"][1]["dropped"], 8);
    assert_eq!(of_phase(&json, "s").len(), 1);
}

#[test]
fn accesses_to_files_are_slices_or_spans() {
    let access = |detail, times: [u64; 2]| {
        [TraceKind::FileBegin, TraceKind::FileEnd].map(|kind| TraceEvent {
            time_ns: times[usize::from(kind == TraceKind::FileEnd)],
            detail,
            bytes: 4096,
            word: 0,
            message: 8192,
            ..TraceEvent::of(kind)
        })
    };
    let events = [access(0, [1000, 3000]), access(1, [2000, 9000])].concat();
    let mut rank = rank(0, "a", events);
    rank.vcis[0].names = vec!["file write".to_owned()];
    let json = exported(&Job::of(vec![rank]));
    let slice = of_phase(&json, "X")[0];
    assert_eq!(slice["name"], "file write, 4096 B");
    assert_eq!(
        (&slice["dur"], &slice["args"]["offset"]),
        (&json!(2.0), &json!(8192))
    );
    for phase in ["b", "e"] {
        assert_eq!(of_phase(&json, phase).len(), 1);
    }
}

#[test]
fn the_summary_counts_messages_and_waits() {
    let text = summary(&job("a", 0)).show(Format::Text);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    for line in [
        "messages: 3",
        "1 0 3 1 1 0.145 1 0.085 0",
        "0, 0 2 30.00 0.00 30.00 30.00 0",
        "inject 1 20.00 0.00 20.00 20.00 0",
        "eager, unexpected 1 31.00 0.00 31.00 31.00 0",
        "written 1 20.00 0.00 20.00 20.00 0",
    ] {
        assert!(lines.iter().any(|known| known == line), "{line}\n{text}");
    }
}
