// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time line as Chrome's trace events in JSON, which Perfetto reads: a process is a rank, a thread one of its VCIs.
//!
//! Calls are slices of the thread. A send or a receive lasts beyond the call that began it, so it is an asynchronous slice, and on the
//! thread there is a short slice where its message departs or is matched: there the message's arrow begins or ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use fabric::trace::{RankTrace, TraceControl, TraceEvent, TraceKind, VciTrace};
use serde_json::{Value, json};

use super::job::{Job, Place};
use super::operations::Operation;

/// Threads of a VCI that have numbers of their own.
const MOST_THREADS: u64 = 256;
/// The bit between context and tag that tells messages of collectives.
const COLLECTIVE: u64 = 1 << 32;
/// Nanoseconds of a slice that has no length of its own: an arrow needs a slice.
const SHORTEST_NS: i64 = 1;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct Exported {
    /// Events of the ranks.
    pub(in crate::model) events: usize,
    /// Arrows from sends to receives.
    pub(in crate::model) messages: usize,
}

/// Writes the time line of a job.
///
/// # Errors
/// When `out` refuses it.
pub(in crate::model) fn export(job: &Job, out: &mut dyn Write) -> io::Result<Exported> {
    let mut writer = Writer {
        out,
        job,
        zero: first_time(job),
        is_first: true,
        next_id: 0,
    };
    writer.begin()?;
    for (rank, trace) in job.ranks.iter().enumerate() {
        writer.describe(trace)?;
        for vci in 0..trace.vcis.len() {
            writer.calls((rank, vci))?;
            writer.accesses((rank, vci))?;
            writer.instants((rank, vci))?;
            for operation in &job.operations[rank][vci] {
                writer.operation((rank, vci), operation)?;
            }
        }
    }
    writer.arrows()?;
    writer.out.write_all(b"\n]}\n")?;
    let vcis = job.ranks.iter().flat_map(|rank| &rank.vcis);
    Ok(Exported {
        events: vcis.map(|vci| vci.events.len()).sum(),
        messages: job.pairs.messages.len(),
    })
}

fn first_time(job: &Job) -> i64 {
    let mut times = Vec::new();
    for (rank, trace) in job.ranks.iter().enumerate() {
        for (vci, of_vci) in trace.vcis.iter().enumerate() {
            times.extend((!of_vci.events.is_empty()).then(|| job.time((rank, vci, 0))));
        }
    }
    times.into_iter().min().unwrap_or(0)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    job: &'a Job,
    /// Nanoseconds at which the time line begins.
    zero: i64,
    is_first: bool,
    next_id: u64,
}

impl Writer<'_> {
    fn begin(&mut self) -> io::Result<()> {
        let per_rank = |rank: &RankTrace| {
            let dropped: u64 = rank.vcis.iter().map(|vci| vci.dropped).sum();
            let events: usize = rank.vcis.iter().map(|vci| vci.events.len()).sum();
            json!({ "rank": rank.rank, "host": rank.host, "events": events, "dropped": dropped })
        };
        let other = json!({
            "ranks": self.job.ranks.iter().map(per_rank).collect::<Vec<_>>(),
            "messages": self.job.pairs.messages.len(),
            "sends_alone": self.job.pairs.sends_alone,
            "receives_alone": self.job.pairs.receives_alone,
            "remarks": self.job.remarks,
        });
        write!(
            self.out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":["
        )
    }

    fn emit(&mut self, event: &Value) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) {
            ""
        } else {
            ","
        };
        write!(self.out, "{comma}\n{event}")
    }

    /// Microseconds since the beginning.
    fn at(&self, time_ns: i64) -> f64 {
        (time_ns - self.zero) as f64 / 1e3
    }

    /// Process and thread of an event.
    fn track(&self, place: Place) -> (u32, u64) {
        let (rank, vci, _) = place;
        let trace = &self.job.ranks[rank];
        let thread = u64::from(self.job.event(place).thread);
        (trace.rank, track_of(&trace.vcis[vci], thread))
    }

    /// Names of a rank's process and threads.
    fn describe(&mut self, trace: &RankTrace) -> io::Result<()> {
        let (rank, host) = (trace.rank, &trace.host);
        self.emit(&json!({ "ph": "M", "name": "process_name", "pid": rank, "args": { "name": format!("rank {rank} on {host}") } }))?;
        self.emit(&json!({ "ph": "M", "name": "process_sort_index", "pid": rank, "args": { "sort_index": rank } }))?;
        for vci in &trace.vcis {
            let threads: BTreeSet<u8> = vci.events.iter().map(|event| event.thread).collect();
            for &thread in &threads {
                let name = match threads.len() {
                    1 => format!("VCI {}", vci.vci),
                    _ => format!("VCI {}, thread {thread}", vci.vci),
                };
                let tid = track_of(vci, thread.into());
                self.emit(&json!({ "ph": "M", "name": "thread_name", "pid": rank, "tid": tid, "args": { "name": name } }))?;
                self.emit(&json!({ "ph": "M", "name": "thread_sort_index", "pid": rank, "tid": tid, "args": { "sort_index": tid } }))?;
            }
        }
        Ok(())
    }

    /// A slice between two events; without the first or the last one it begins or ends with what is recorded.
    fn slice(
        &mut self,
        (begin, end): (Place, Place),
        name: &str,
        category: &str,
        arguments: &Value,
    ) -> io::Result<()> {
        let (pid, tid) = self.track(begin);
        let (begin, end) = (self.job.time(begin), self.job.time(end));
        let (start, length) = (self.at(begin), (end - begin).max(SHORTEST_NS) as f64 / 1e3);
        self.emit(&json!({ "ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": arguments }))
    }

    /// An asynchronous slice between two events.
    fn span(
        &mut self,
        (begin, end): (Place, Place),
        name: &str,
        category: &str,
        arguments: &Value,
    ) -> io::Result<()> {
        let (pid, tid) = self.track(begin);
        let id = format!("{:#x}", self.next_id);
        self.next_id += 1;
        for (phase, place) in [("b", begin), ("e", end)] {
            let time = self.at(self.job.time(place));
            self.emit(&json!({ "ph": phase, "name": name, "cat": category, "id": id, "pid": pid, "tid": tid, "ts": time, "args": arguments }))?;
        }
        Ok(())
    }

    /// Waits, sleeps and collectives of a VCI.
    fn calls(&mut self, (rank, vci): (usize, usize)) -> io::Result<()> {
        let job = self.job;
        let trace = &job.ranks[rank].vcis[vci];
        let last = trace.events.len().saturating_sub(1);
        // By thread, the calls that have not ended; by request, the collectives that go on by themselves.
        let mut open: BTreeMap<u8, Vec<(usize, TraceKind)>> = BTreeMap::new();
        let mut tasks: BTreeMap<u64, usize> = BTreeMap::new();
        for (index, event) in trace.events.iter().enumerate() {
            let place = (rank, vci, index);
            let begun = match event.kind {
                TraceKind::TaskBegin => {
                    tasks.insert(event.request, index);
                    continue;
                }
                TraceKind::TaskEnd => {
                    if let Some(begin) = tasks.remove(&event.request) {
                        let name = name_of(trace, &trace.events[begin]);
                        let both = ((rank, vci, begin), place);
                        self.span(both, name, "collective", &json!({}))?;
                    }
                    continue;
                }
                kind @ (TraceKind::WaitBegin
                | TraceKind::SleepBegin
                | TraceKind::CollectiveBegin) => {
                    open.entry(event.thread).or_default().push((index, kind));
                    continue;
                }
                TraceKind::WaitEnd => TraceKind::WaitBegin,
                TraceKind::SleepEnd => TraceKind::SleepBegin,
                TraceKind::CollectiveEnd => TraceKind::CollectiveBegin,
                _ => continue,
            };
            let calls = open.entry(event.thread).or_default();
            let begin = calls.pop_if(|call| call.1 == begun).map(|call| call.0);
            let arguments = json!({ "begin_dropped": begin.is_none() });
            let arguments = if begin.is_none() {
                arguments
            } else {
                json!({})
            };
            // The beginning was dropped, so all that is recorded of this thread lies inside the call.
            let mut own = (0..index).filter(|&one| trace.events[one].thread == event.thread);
            let begin = begin.or_else(|| own.next()).unwrap_or(index);
            let name = call_name(trace, event, begun);
            self.slice(
                ((rank, vci, begin), place),
                &name,
                category(begun),
                &arguments,
            )?;
        }
        for (begin, kind) in open.into_values().flatten() {
            let name = call_name(trace, &trace.events[begin], kind);
            let both = ((rank, vci, begin), (rank, vci, last));
            self.slice(both, &name, category(kind), &json!({ "end_missing": true }))?;
        }
        for begin in tasks.into_values() {
            let name = name_of(trace, &trace.events[begin]);
            let both = ((rank, vci, begin), (rank, vci, last));
            self.span(both, name, "collective", &json!({ "end_missing": true }))?;
        }
        Ok(())
    }

    /// Accesses to files. Both events of one are recorded when it is done, one behind the other.
    fn accesses(&mut self, (rank, vci): (usize, usize)) -> io::Result<()> {
        let job = self.job;
        let trace = &job.ranks[rank].vcis[vci];
        for (index, pair) in trace.events.windows(2).enumerate() {
            let kinds = [pair[0].kind, pair[1].kind];
            if kinds != [TraceKind::FileBegin, TraceKind::FileEnd] {
                continue;
            }
            let event = &pair[0];
            let name = format!("{}, {} B", name_of(trace, event), event.bytes);
            let arguments = json!({ "bytes": event.bytes, "offset": event.message });
            let both = ((rank, vci, index), (rank, vci, index + 1));
            // Accesses of the thread `rankpoint-file` overlap the calls of this one, so they are spans.
            match event.detail {
                0 => self.slice(both, &name, "file", &arguments)?,
                _ => self.span(both, &name, "file", &arguments)?,
            }
        }
        Ok(())
    }

    /// Cells of protocols, messages that met no receive, and wake-ups.
    fn instants(&mut self, (rank, vci): (usize, usize)) -> io::Result<()> {
        let job = self.job;
        for (index, event) in job.ranks[rank].vcis[vci].events.iter().enumerate() {
            let peer = event.peer;
            let control = TraceControl::NAMES.get(usize::from(event.detail));
            let control = control.copied().unwrap_or("cell");
            let name = match event.kind {
                TraceKind::ControlSent => format!("{control} to {peer}"),
                TraceKind::ControlArrived => format!("{control} from {peer}"),
                TraceKind::Unexpected => format!("unexpected from {peer}"),
                TraceKind::Woke => format!("wakes {peer}"),
                _ => continue,
            };
            let place = (rank, vci, index);
            let ((pid, tid), time) = (self.track(place), self.at(job.time(place)));
            let arguments =
                json!({ "bytes": event.bytes, "request": format!("{:#x}", event.request) });
            self.emit(&json!({ "ph": "i", "s": "t", "name": name, "cat": "protocol", "pid": pid, "tid": tid, "ts": time, "args": arguments }))?;
        }
        Ok(())
    }

    /// A send or a receive, and where its message departs or is matched.
    fn operation(&mut self, (rank, vci): (usize, usize), operation: &Operation) -> io::Result<()> {
        let job = self.job;
        let trace = &job.ranks[rank].vcis[vci];
        let Some(first) = operation.events().next() else {
            return Ok(());
        };
        let told = operation.matched.or(operation.posted).unwrap_or(first);
        let event = &trace.events[told];
        let what = if operation.is_send { "send" } else { "receive" };
        let mut arguments = message_arguments(event);
        arguments["request"] = json!(format!("{:#x}", event.request));
        let protocols = operation
            .sent
            .iter()
            .map(|&index| trace.events[index].kind.name());
        if operation.is_send {
            arguments["protocol"] = json!(protocols.collect::<Vec<_>>().join(", "));
        } else if let Some(matched) = operation.matched {
            arguments["match"] = json!(trace.events[matched].kind.name());
        }
        if operation.done.is_none() {
            arguments["end_missing"] = json!(true);
        }
        let end = operation.done.unwrap_or(trace.events.len() - 1);
        let name = format!("{what} {}", ending(event, operation.is_send));
        let place = |index| (rank, vci, index);
        self.span((place(first), place(end)), &name, what, &arguments)?;
        for index in operation.sent.iter().copied().chain(operation.matched) {
            let event = &trace.events[index];
            let name = format!("{} {}", event.kind.name(), ending(event, operation.is_send));
            // Only what nothing else lies in may be longer: slices of a thread lie inside each other.
            let begin = operation.posted.filter(|posted| posted + 1 == index);
            let begin = begin.filter(|&posted| trace.events[posted].thread == event.thread);
            let end = operation.done.filter(|&done| done == index + 1);
            let end = end.filter(|&done| trace.events[done].thread == event.thread);
            let both = (place(begin.unwrap_or(index)), place(end.unwrap_or(index)));
            self.slice(both, &name, "message", &message_arguments(event))?;
        }
        Ok(())
    }

    /// An arrow for each message.
    fn arrows(&mut self) -> io::Result<()> {
        for (number, message) in self.job.pairs.messages.iter().enumerate() {
            for (phase, place) in [("s", message.sent), ("f", message.matched)] {
                let ((pid, tid), time) = (self.track(place), self.at(self.job.time(place)));
                let mut event = json!({ "ph": phase, "name": "message", "cat": "message", "id": number + 1, "pid": pid, "tid": tid, "ts": time });
                if phase == "f" {
                    event["bp"] = json!("e");
                }
                self.emit(&event)?;
            }
        }
        Ok(())
    }
}

fn track_of(vci: &VciTrace, thread: u64) -> u64 {
    u64::from(vci.vci) * MOST_THREADS + thread
}

fn name_of<'a>(trace: &'a VciTrace, event: &TraceEvent) -> &'a str {
    let name = usize::try_from(event.word)
        .ok()
        .and_then(|index| trace.names.get(index));
    name.map_or("a call", String::as_str)
}

fn call_name(trace: &VciTrace, event: &TraceEvent, begun: TraceKind) -> String {
    match begun {
        TraceKind::SleepBegin => "sleeps".to_owned(),
        TraceKind::WaitBegin => format!("{} waits", name_of(trace, event)),
        _ => name_of(trace, event).to_owned(),
    }
}

const fn category(begun: TraceKind) -> &'static str {
    match begun {
        TraceKind::SleepBegin => "sleep",
        TraceKind::WaitBegin => "wait",
        _ => "collective",
    }
}

/// `8 B to 1` or `8 B from 0`.
fn ending(event: &TraceEvent, is_send: bool) -> String {
    let direction = if is_send { "to" } else { "from" };
    let peer = match event.peer {
        TraceEvent::NOBODY => "any".to_owned(),
        peer => peer.to_string(),
    };
    format!("{} B {direction} {peer}", event.bytes)
}

fn message_arguments(event: &TraceEvent) -> Value {
    let is_collective = event.word & COLLECTIVE != 0;
    let context = event.word >> 32 & !1;
    json!({
        "bytes": event.bytes,
        "tag": event.word as u32 as i32,
        "context": context,
        "of_collective": is_collective,
    })
}
