// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a job as one table: what each rank does, and what it waits for.
//!
//! Everything is read from the node segment, so that it costs the ranks nothing and works when they hang.

use std::collections::BTreeMap;
use std::time::Duration;

use fabric::board::{ANY_TAG, IN_ORDER, PARTITIONED, RequestRecord, activity, kind, phase};
use fabric::call::CallName;
use fabric::identity::LinkIndex;
use fabric::observe::BoardSnapshot;
use serde::{Deserialize, Serialize};

use super::{accesses, waits};
use crate::host_names::HostNames;
use crate::processes::{self, Halt};
use crate::ranks::Started;

/// Operations of one rank that are listed one by one.
const MAX_LISTED: usize = 12;

/// The state of one rank at one moment.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct RankState {
    pub(crate) pid: u32,
    pub(crate) alive: bool,
    /// How it is kept from running.
    pub(crate) stopped: Option<Halt>,
    pub(crate) board: Option<BoardState>,
    /// Sends and receives that are not complete, oldest first.
    pub(crate) pending: Vec<Operation>,
    /// Messages without a receive, by sender.
    pub(crate) unexpected: BTreeMap<u32, Unexpected>,
    /// The texts of its communicators, by context.
    pub(crate) contexts: BTreeMap<u32, String>,
    others: u64,
    /// What its threads do with files.
    accesses: Vec<String>,
    /// Why its operations could not be read.
    unreadable: Option<String>,
}

/// What the board of a rank says about it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct BoardState {
    /// One of [`phase`].
    pub(crate) phase: u32,
    /// One of [`activity`].
    pub(crate) activity: u32,
    /// Job time in milliseconds when the present wait began.
    pub(crate) wait_since_ms: u64,
    /// Name of the MPI call that waits; empty when there is none.
    pub(crate) call: String,
}

impl From<&BoardSnapshot> for BoardState {
    fn from(board: &BoardSnapshot) -> Self {
        Self {
            phase: board.phase,
            activity: board.activity,
            wait_since_ms: board.wait_since_ms,
            call: board.call.clone(),
        }
    }
}

/// A request of a rank, as its record says.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Operation {
    /// One of [`kind`].
    pub(crate) kind: u8,
    /// World rank of the other side's process; `None` for any source.
    pub(crate) peer: Option<u32>,
    /// Context id in the high half, tag (or [`ANY_TAG`]) in the low half.
    pub(crate) match_word: u64,
    pub(crate) bytes: u64,
    /// Low half of the job's clock when it was recorded.
    pub(crate) stamp_ms: u32,
}

impl Operation {
    /// What a record says, in a job of so many ranks.
    fn new(record: RequestRecord, capacity: u32) -> Self {
        let process = || record.peer.process(capacity.max(1)).get();
        Self {
            kind: record.kind,
            peer: (record.peer != LinkIndex::ANY).then(process),
            match_word: record.match_word,
            bytes: record.bytes,
            stamp_ms: record.stamp_ms,
        }
    }

    /// The call of a collective's request.
    pub(crate) const fn call(&self) -> CallName {
        CallName::from_number(self.match_word & 0xff)
    }
}

/// Messages of one sender that wait for a receive.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Unexpected {
    pub(crate) messages: u64,
    bytes: u64,
    /// Job time when the oldest arrived.
    stamp_ms: Option<u32>,
    /// The first few of their match words.
    pub(crate) match_words: Vec<u64>,
}

impl RankState {
    /// Whether it is inside a call that waits.
    pub(crate) fn waits(&self) -> bool {
        let board = self.board.as_ref().filter(|_| self.alive);
        board.is_some_and(|board| {
            board.activity != activity::OUTSIDE && phase::is_in_mpi(board.phase)
        })
    }

    /// The call that waits.
    pub(crate) fn call(&self) -> &str {
        self.board.as_ref().map_or("", |board| board.call.as_str())
    }

    /// Whether it waits in MPI_Finalize: it sends nothing more.
    pub(crate) fn finalizes(&self) -> bool {
        self.waits() && self.call() == "MPI_Finalize"
    }

    /// Why it does nothing for ranks that wait for it; `None` while it waits itself.
    pub(crate) fn absence(&self) -> Option<&'static str> {
        let board = self.board.as_ref()?;
        match (self.alive, board.phase) {
            (false, _) => Some("has ended"),
            _ if self.stopped == Some(Halt::Signal) => Some("is stopped"),
            _ if self.stopped.is_some() => Some("is stopped by a debugger"),
            _ if self.finalizes() => Some("waits in MPI_Finalize"),
            (_, phase::STARTED) => Some("has not called MPI_Init yet"),
            (_, phase::INITIALIZING) => Some("is in MPI_Init"),
            (_, phase::FINALIZED) => Some("has called MPI_Finalize"),
            _ => (!self.waits()).then_some("is outside MPI"),
        }
    }

    fn take(&mut self, record: Operation) {
        if record.match_word & PARTITIONED != 0 {
            // The record of the request tells it.
            return;
        }
        let record = match record.kind {
            // It waits for its message as any other receive in the queue.
            kind::RECEIVE_OFFERED => Operation {
                kind: kind::RECEIVE_POSTED,
                ..record
            },
            _ => record,
        };
        match record.kind {
            kind::RECEIVE_POSTED
            | kind::RECEIVE_ACTIVE
            | kind::SEND_QUEUED
            | kind::SEND_ACTIVE
            | kind::PARTITIONED_SEND
            | kind::PARTITIONED_RECEIVE
            | kind::ROUND
            | kind::COLLECTIVE
            | kind::PROBE => {
                self.pending.push(record);
            }
            kind::UNEXPECTED => {
                let Some(sender) = record.peer else { return };
                let sender = self.unexpected.entry(sender).or_default();
                sender.messages += 1;
                sender.bytes = sender.bytes.saturating_add(record.bytes);
                sender.stamp_ms = Some(
                    sender
                        .stamp_ms
                        .map_or(record.stamp_ms, |stamp| stamp.min(record.stamp_ms)),
                );
                if sender.match_words.len() < MAX_LISTED {
                    sender.match_words.push(record.match_word);
                }
            }
            kind::OTHER => self.others += 1,
            _ => {}
        }
    }

    fn state(&self) -> &'static str {
        let Some(board) = &self.board else {
            return "unreadable";
        };
        match (self.alive, board.phase, board.activity) {
            (false, phase::FINALIZED, _) => "ended, finalized",
            (false, ..) => "ended",
            _ if self.stopped.is_some() => self.stopped.map_or("", Halt::text),
            (_, phase::STARTED, _) => "before MPI_Init",
            (_, phase::INITIALIZING, _) => "in MPI_Init",
            (_, phase::FINALIZED, _) => "after MPI_Finalize",
            (_, phase::ABORTED, _) => "in MPI_Abort",
            (_, _, activity::POLLING) => "polling",
            (_, _, activity::SLEEPING) => "sleeping",
            _ => "outside MPI",
        }
    }
}

/// The states of the ranks on this node.
pub(crate) fn of_node(job: &Started) -> Vec<RankState> {
    (0..job.ranks.len()).map(|index| read(job, index)).collect()
}

fn read(job: &Started, index: usize) -> RankState {
    let process = &job.ranks[index];
    let mut state = RankState {
        pid: process.pid,
        alive: process.exit.is_none(),
        ..RankState::default()
    };
    let Some(board) = job.board(index) else {
        return state;
    };
    if state.alive {
        let pid = process.mpi_process(&board).unwrap_or(process.pid);
        state.stopped = processes::status(pid).and_then(processes::Status::stopped);
    }
    // Records of a rank that has ended or finalized mean nothing any more.
    if phase::is_in_mpi(board.phase) {
        let pid = process.mpi_process(&board);
        let read = job.node.for_each_operation(&board, pid, |record| {
            state.take(Operation::new(record, job.node.capacity()));
        });
        state.accesses = accesses::of_process(pid.unwrap_or(state.pid));
        state.unreadable = read.err().map(|error| error.to_string());
        state.contexts = job
            .node
            .contexts(process.rank)
            .unwrap_or_default()
            .into_iter()
            .collect();
        state.pending.sort_by_key(|record| record.stamp_ms);
    }
    state.board = Some(BoardState::from(&board));
    state
}

/// The whole report about the ranks of a job, without a line end: the table, and what follows from it.
pub(crate) fn table(states: &[RankState], elapsed: Duration, hosts: &HostNames) -> String {
    let now_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let with_hosts = hosts.count() > 1;
    let mut rows = vec![heads(with_hosts)];
    for (rank, state) in states.iter().enumerate() {
        let mut lines = operation_rows(state, now_ms).into_iter();
        let first = lines.next().unwrap_or_default();
        let waiting = state.board.as_ref().filter(|_| state.waits());
        let since = waiting.map(|board| seconds(now_ms.saturating_sub(board.wait_since_ms)));
        let [a, b, c, d, e, f] = first;
        let host = if with_hosts { hosts.get(rank) } else { "" };
        rows.push([
            rank.to_string(),
            host.to_owned(),
            state.pid.to_string(),
            state.state().to_owned(),
            waiting.map(|board| board.call.clone()).unwrap_or_default(),
            since.unwrap_or_default(),
            a,
            b,
            c,
            d,
            e,
            f,
        ]);
        for [a, b, c, d, e, f] in lines {
            let none = String::new;
            rows.push([
                none(),
                none(),
                none(),
                none(),
                none(),
                none(),
                a,
                b,
                c,
                d,
                e,
                f,
            ]);
        }
    }
    let seconds = elapsed.as_secs_f64();
    let mut text = format!(
        "state of the job {} after {seconds:.1} s, {}\n",
        hosts.text(),
        match states.len() {
            1 => "1 rank".to_owned(),
            count => format!("{count} ranks"),
        }
    );
    text.push_str(&align(&rows));
    let accesses = states.iter().enumerate().flat_map(|(rank, state)| {
        let accesses = state.accesses.iter();
        accesses.map(move |access| format!("rank {rank} {access}"))
    });
    for sentence in accesses.chain(waits::sentences(states)) {
        text.push_str("  ");
        text.push_str(&sentence);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// The first row; the name of the host stands there where the job has several.
fn heads(with_hosts: bool) -> [String; 12] {
    [
        "rank",
        if with_hosts { "host" } else { "" },
        "pid",
        "state",
        "in call",
        "for",
        "pending",
        "peer",
        "tag",
        "communicator",
        "bytes",
        "age",
    ]
    .map(str::to_owned)
}

/// Pending operations and unexpected messages of a rank: kind, peer, tag, communicator, bytes, age.
fn operation_rows(state: &RankState, now_ms: u64) -> Vec<[String; 6]> {
    let mut rows = Vec::new();
    for record in state.pending.iter().take(MAX_LISTED) {
        rows.push([
            kind_text(record),
            peer_text(record),
            tag_text(record.match_word),
            communicator_text(state, record.match_word),
            record.bytes.to_string(),
            age(record.stamp_ms, now_ms),
        ]);
    }
    let plain = |text: String| {
        [
            text,
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ]
    };
    if state.pending.len() > MAX_LISTED {
        rows.push(plain(format!(
            "and {} more",
            state.pending.len() - MAX_LISTED
        )));
    }
    for (sender, messages) in state.unexpected.iter().take(MAX_LISTED) {
        let same = |part: &dyn Fn(u64) -> String| {
            let mut all = messages.match_words.iter().map(|&word| part(word));
            let first = all.next().unwrap_or_default();
            if all.all(|next| next == first) {
                first
            } else {
                "various".to_owned()
            }
        };
        rows.push([
            format!("{} unexpected", messages.messages),
            sender.to_string(),
            same(&tag_text),
            same(&|word| communicator_text(state, word)),
            messages.bytes.to_string(),
            messages
                .stamp_ms
                .map(|stamp| age(stamp, now_ms))
                .unwrap_or_default(),
        ]);
    }
    if state.unexpected.len() > MAX_LISTED {
        rows.push(plain(format!(
            "and from {} more",
            state.unexpected.len() - MAX_LISTED
        )));
    }
    if state.others > 0 {
        rows.push(plain(match state.others {
            1 => "1 other operation".to_owned(),
            others => format!("{others} other operations"),
        }));
    }
    rows.extend(state.unreadable.iter().map(|why| plain(why.clone())));
    rows
}

fn kind_text(record: &Operation) -> String {
    let kind = match record.kind {
        kind::COLLECTIVE => return record.call().to_string(),
        kind::RECEIVE_POSTED => "receive",
        kind::RECEIVE_ACTIVE => "receive, arriving",
        kind::SEND_QUEUED => "send, queued",
        kind::ROUND => "collective",
        kind::PROBE => "probe",
        kind::PARTITIONED_SEND => "partitioned send",
        kind::PARTITIONED_RECEIVE => "partitioned receive",
        _ => "send",
    };
    kind.to_owned()
}

fn peer_text(record: &Operation) -> String {
    match record.peer {
        Some(peer) => peer.to_string(),
        // Its messages have records of their own.
        None if record.kind == kind::COLLECTIVE => String::new(),
        None => "any".to_owned(),
    }
}

pub(crate) fn tag_text(match_word: u64) -> String {
    let tag = (match_word & u64::from(u32::MAX)) as u32;
    match (tag, belongs_to_collective(match_word)) {
        (ANY_TAG, _) => "any".to_owned(),
        (IN_ORDER, _) => "none (a _nomatch call)".to_owned(),
        // Tags of collectives are the engine's own.
        (_, true) => "-".to_owned(),
        _ => tag.to_string(),
    }
}

/// Whether a match word is of the engine's own messages for collectives.
pub(crate) const fn belongs_to_collective(match_word: u64) -> bool {
    (match_word >> 32) % 2 == 1 && match_word as u32 != IN_ORDER
}

/// The communicator of a match word, and whether the operation belongs to one of its collectives.
pub(crate) fn communicator_text(state: &RankState, match_word: u64) -> String {
    let name = communicator_name(state, match_word);
    match belongs_to_collective(match_word) {
        true => format!("{name}, collective"),
        false => name,
    }
}

/// The communicator of a match word, as its rank calls it. Contexts come in pairs: the odd one is for the communicator's
/// collectives.
pub(crate) fn communicator_name(state: &RankState, match_word: u64) -> String {
    let context = (match_word >> 32) as u32;
    let even = context & !1;
    let told = state.contexts.get(&even).filter(|text| !text.is_empty());
    match (even, told) {
        (0, None) => "MPI_COMM_WORLD".to_owned(),
        (2, None) => "MPI_COMM_SELF".to_owned(),
        (6, None) => "MPI_Finalize".to_owned(),
        (0, Some(text)) => format!("{text} (MPI_COMM_WORLD)"),
        (2, Some(text)) => format!("{text} (MPI_COMM_SELF)"),
        (_, Some(text)) => format!("{text} (context {even})"),
        (_, None) => format!("context {even}"),
    }
}

fn age(stamp_ms: u32, now_ms: u64) -> String {
    // Stamps are the low half of the clock: the difference is right for 49 days.
    let now = (now_ms & u64::from(u32::MAX)) as u32;
    let difference = now.wrapping_sub(stamp_ms);
    seconds(if difference > u32::MAX / 2 {
        0
    } else {
        u64::from(difference)
    })
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

/// Columns of equal width, two spaces apart; the numbers of bytes and the ages to the right.
pub(crate) fn align<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: Vec<usize> = (0..N)
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(&widths).filter(|&(_, &width)| width > 0) {
            let number = cell.starts_with(|first: char| first.is_ascii_digit())
                && !cell.contains("unexpected");
            line.push_str(&if number {
                format!("  {cell:>width$}")
            } else {
                format!("  {cell:<width$}")
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_partitioned_requests_are_told_by_the_request() {
        let mut state = RankState::default();
        let record = |kind, match_word| Operation {
            kind,
            match_word,
            ..Operation::default()
        };
        state.take(record(kind::PARTITIONED_RECEIVE, 5));
        state.take(record(kind::RECEIVE_POSTED, PARTITIONED | 1));
        state.take(record(kind::UNEXPECTED, PARTITIONED | 2));
        assert_eq!(state.pending.len(), 1);
        assert_eq!(kind_text(&state.pending[0]), "partitioned receive");
        assert!(state.unexpected.is_empty());
    }

    #[test]
    fn peers_are_processes_of_the_job() {
        let record = |peer| RequestRecord {
            peer,
            ..RequestRecord::default()
        };
        let peer = |link| Operation::new(record(link), 3).peer;
        assert_eq!(peer(LinkIndex::new(2)), Some(2));
        assert_eq!(peer(LinkIndex::new(7)), Some(1));
        assert_eq!(peer(LinkIndex::ANY), None);
    }

    #[test]
    fn operations_are_named_for_people() {
        let mut state = RankState::default();
        let record = |kind, peer, context: u64, tag: u32, bytes| Operation {
            match_word: context << 32 | u64::from(tag),
            bytes,
            peer,
            kind,
            stamp_ms: 500,
        };
        state.take(record(kind::RECEIVE_POSTED, None, 0, ANY_TAG, 8));
        state.take(record(kind::SEND_ACTIVE, Some(3), 2, 7, 1 << 20));
        state.take(record(kind::SEND_QUEUED, Some(3), 5, 7, 1));
        state.take(record(kind::ROUND, Some(2), 1, 0, 0));
        let call = CallName::of("MPI_Ibarrier").number() as u32;
        state.take(record(kind::COLLECTIVE, Some(2), 1, call, 0));
        state.take(record(kind::COLLECTIVE, None, 1, call, 0));
        state.take(record(kind::OTHER, None, 0, 0, 0));
        state.take(record(kind::UNEXPECTED, Some(1), 0, 7, 10));
        state.take(record(kind::UNEXPECTED, Some(1), 0, 8, 10));
        state.take(record(kind::RECEIVE_POSTED, Some(4), 8, 1, 1));
        state.take(record(kind::RECEIVE_POSTED, Some(0), 7, 0, 0));
        state.contexts.insert(8, "solver".to_owned());
        let rows = operation_rows(&state, 2_600);
        let cells = rows.iter().map(|row| row.join("|")).collect::<Vec<_>>();
        assert_eq!(
            cells,
            [
                "receive|any|any|MPI_COMM_WORLD|8|2.1 s",
                "send|3|7|MPI_COMM_SELF|1048576|2.1 s",
                "send, queued|3|-|context 4, collective|1|2.1 s",
                "collective|2|-|MPI_COMM_WORLD, collective|0|2.1 s",
                "MPI_Ibarrier|2|-|MPI_COMM_WORLD, collective|0|2.1 s",
                "MPI_Ibarrier||-|MPI_COMM_WORLD, collective|0|2.1 s",
                "receive|4|1|solver (context 8)|1|2.1 s",
                "receive|0|-|MPI_Finalize, collective|0|2.1 s",
                "2 unexpected|1|various|MPI_COMM_WORLD|20|2.1 s",
                "1 other operation|||||",
            ]
        );
        assert_eq!(age(600, 500), "0.0 s");
    }
}
