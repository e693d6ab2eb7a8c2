// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces (`RANKPOINT_TRACE`) of two ranks that exchange messages of all protocols.
#![expect(unsafe_code, reason = "messages are addresses")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use fabric::trace::{RankTrace, TraceEvent, TraceKind};

use crate::coll;
use crate::comm::Process;
use crate::completion::wait;
use crate::p2p::{Memory, Mode, irecv, isend};
use crate::request::RequestId;
use crate::settings::{Rendezvous, Settings};
use crate::task::block_on;
use crate::testing::on_ranks_with;

/// Lengths of the messages: injected, eager in one chunk and in several, and by rendezvous, which some receivers fetch.
const LENGTHS: [usize; 5] = [8, 100, 40_000, 200_000, 2 << 20];
const TAG: i32 = 5;
const GO: i32 = 6;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("rankpoint-trace-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn settings(&self) -> Settings {
        Settings {
            trace: self.0.display().to_string(),
            ..Settings::from_environment().0
        }
    }

    fn read(&self, rank: u32) -> RankTrace {
        let bytes = std::fs::read(self.0.join(format!("rank-{rank}.trace"))).unwrap();
        RankTrace::parse(&bytes).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails may not have made it.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn start_send(process: &'static Process, data: &mut [u8], tag: i32) -> RequestId {
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: callers wait for the request while the data live.
    unsafe { isend(process.world(), memory, 1, tag, Mode::Standard) }.unwrap()
}

fn start_receive(process: &'static Process, data: &mut [u8], source: i32, tag: i32) -> RequestId {
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    // SAFETY: as above.
    unsafe { irecv(process.world(), memory, source, tag) }.unwrap()
}

fn end(process: &'static Process, mut request: RequestId) {
    wait(process.vci(), &mut request, "test").unwrap();
}

fn barrier(process: &'static Process) {
    let world = process.world().clone();
    let _entered = world.enter_collective("MPI_Barrier").unwrap();
    block_on(process.vci(), "MPI_Barrier", coll::barrier(world.clone())).unwrap();
}

/// Rank 0 sends messages of all lengths to rank 1, each to a receive that is posted, and then each before its receive is.
fn communicate(process: &'static Process) {
    let mut data = LENGTHS.map(|length| vec![7u8; length]);
    if process.rank() == 1 {
        let receives = data
            .each_mut()
            .map(|data| start_receive(process, data, 0, TAG));
        barrier(process);
        receives
            .into_iter()
            .for_each(|request| end(process, request));
        let mut go = [0];
        let last = start_receive(process, &mut go, 0, GO);
        barrier(process);
        // It arrives behind all others.
        end(process, last);
        for data in &mut data {
            end(process, start_receive(process, data, 0, TAG));
        }
    } else {
        barrier(process);
        let sends = data.each_mut().map(|data| start_send(process, data, TAG));
        sends.into_iter().for_each(|request| end(process, request));
        barrier(process);
        let sends = data.each_mut().map(|data| start_send(process, data, TAG));
        end(process, start_send(process, &mut [1], GO));
        sends.into_iter().for_each(|request| end(process, request));
    }
    barrier(process);
    assert_eq!(process.write_trace(), None);
}

fn of_program(event: &&TraceEvent) -> bool {
    let is_collective = event.word >> 32 & 1 != 0;
    [TAG, GO].contains(&(event.word as i32)) && !is_collective
}

fn count(trace: &RankTrace, kind: TraceKind) -> usize {
    let events = trace.vcis.iter().flat_map(|vci| &vci.events);
    let own = events.filter(|event| event.kind == kind);
    let is_message = kind <= TraceKind::ReceiveDone;
    own.filter(|event| !is_message || of_program(event)).count()
}

/// Pairs each message that rank 1 has got with its sender's record of it, by what both call it; returns their bytes.
fn pairs(traces: &[RankTrace; 2]) -> Vec<[u64; 2]> {
    let events = |rank: usize| traces[rank].vcis.iter().flat_map(|vci| &vci.events);
    let mut sent: BTreeMap<(bool, u64), &TraceEvent> = BTreeMap::new();
    for event in events(0).filter(of_program) {
        let is_offered = event.kind == TraceKind::Written;
        if is_offered || TraceKind::SentInject <= event.kind && event.kind <= TraceKind::SentRts {
            let before = sent.insert((is_offered, event.message), event);
            assert_eq!(before, None, "two messages with one name");
        }
    }
    let mut kept = BTreeMap::new();
    let mut found = Vec::new();
    for event in events(1).filter(of_program) {
        let name = match event.kind {
            TraceKind::Unexpected => {
                kept.insert(event.request, event.message);
                continue;
            }
            TraceKind::Matched => (false, event.message),
            TraceKind::MatchedByOffer => (true, event.message),
            TraceKind::MatchedUnexpected => (false, kept[&event.message]),
            _ => continue,
        };
        let send = sent.remove(&name).expect("its send is recorded");
        assert!(send.time_ns <= event.time_ns && (send.peer, event.peer) == (1, 0));
        found.push([send.bytes, event.bytes]);
    }
    found
}

fn check(rendezvous: Rendezvous) {
    let folder = Folder::new(rendezvous.name());
    let settings = Settings {
        rendezvous,
        ..folder.settings()
    };
    on_ranks_with(&settings, 2, communicate);
    let traces = [0, 1].map(|rank| folder.read(rank));
    let messages = 2 * LENGTHS.len() + 1;
    for (rank, kind, expected) in [
        (0, TraceKind::SendPosted, messages),
        (0, TraceKind::SentInject, 3),
        (0, TraceKind::SendDone, messages),
        (1, TraceKind::ReceivePosted, messages),
        (1, TraceKind::MatchedUnexpected, LENGTHS.len()),
        (1, TraceKind::ReceiveDone, messages),
        (1, TraceKind::CollectiveBegin, 3),
        (1, TraceKind::CollectiveEnd, 3),
    ] {
        assert_eq!(
            count(&traces[rank], kind),
            expected,
            "{rendezvous:?} {kind:?}"
        );
    }
    let expected =
        count(&traces[1], TraceKind::Matched) + count(&traces[1], TraceKind::MatchedByOffer);
    assert_eq!(expected, messages - LENGTHS.len());
    let pairs = pairs(&traces);
    assert_eq!(pairs.len(), messages);
    assert!(pairs.iter().all(|[sent, received]| sent == received));
    for trace in &traces {
        for kinds in [
            [TraceKind::WaitBegin, TraceKind::WaitEnd],
            [TraceKind::SleepBegin, TraceKind::SleepEnd],
        ] {
            let [begun, ended] = kinds.map(|kind| count(trace, kind));
            assert_eq!(begun, ended);
        }
        for vci in &trace.vcis {
            assert_eq!(vci.dropped, 0);
            assert!(vci.events.is_sorted_by_key(|event| event.time_ns));
        }
    }
}

#[test]
fn every_message_is_recorded_at_both_ends_whichever_protocol_it_takes() {
    for rendezvous in [
        Rendezvous::Auto,
        Rendezvous::Read,
        Rendezvous::Pipeline,
        Rendezvous::Write,
    ] {
        check(rendezvous);
    }
}

#[test]
fn a_full_ring_of_events_keeps_the_last_ones_and_counts_the_others() {
    let folder = Folder::new("bound");
    let settings = Settings {
        trace_events: 16,
        ..folder.settings()
    };
    on_ranks_with(&settings, 2, communicate);
    for rank in 0..2 {
        let trace = folder.read(rank);
        assert_eq!(trace.vcis[0].events.len(), 16);
        assert!(trace.vcis[0].dropped > 16);
    }
}

#[test]
fn without_the_setting_nothing_is_recorded() {
    on_ranks_with(&Settings::default(), 1, |process| {
        assert!(!process.vci().traces());
        assert!(!process.vci().enter().is_traced());
        assert_eq!(process.write_trace(), None);
    });
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_no_error() {
    let settings = Settings {
        trace: "/dev/null/folder".to_owned(),
        ..Settings::default()
    };
    on_ranks_with(&settings, 1, |process| {
        let text = process.write_trace().unwrap();
        assert!(
            text.starts_with("RANKPOINT_TRACE: cannot write /dev/null/folder/rank-0.trace: "),
            "{text}"
        );
        assert!(text.ends_with("; the trace of rank 0 is lost"), "{text}");
    });
}
