// SPDX-License-Identifier: MIT OR Apache-2.0
//! What traces of ranks say in numbers.

use std::collections::BTreeMap;

use fabric::trace::{RankTrace, TraceKind};
use models::trace::Injection;

use super::job::Job;
use crate::model::report::{Cell, Report, Table};

/// The numbers of a job.
pub(in crate::model) fn summary(job: &Job) -> Report {
    let mut remarks = job.remarks.clone();
    let (sends, receives) = (job.pairs.sends_alone, job.pairs.receives_alone);
    if sends + receives != 0 {
        remarks.push(format!(
            "{sends} sends and {receives} receives lack the record of the other end: it was dropped, has no file here, or did not happen."
        ));
    }
    let vcis = job.ranks.iter().flat_map(|rank| &rank.vcis);
    let events: usize = vcis.map(|vci| vci.events.len()).sum();
    Report {
        head: vec![
            ("ranks".to_owned(), job.ranks.len().to_string()),
            ("events".to_owned(), events.to_string()),
            ("messages".to_owned(), job.pairs.messages.len().to_string()),
        ],
        tables: vec![ranks(job), gaps(job), ways(job)],
        remarks,
    }
}

/// Counts and times of each rank.
fn ranks(job: &Job) -> Table {
    let columns = [
        "rank",
        "sends",
        "receives",
        "unexpected",
        "waits",
        "waited us",
        "sleeps",
        "slept us",
        "dropped",
    ];
    let mut table = Table::new("Ranks", &columns);
    for rank in &job.ranks {
        let count = |kind| {
            let events = rank.vcis.iter().flat_map(|vci| &vci.events);
            Cell::Count(events.filter(|event| event.kind == kind).count() as f64)
        };
        let lasted = |kinds| Cell::Number(lasted_ns(rank, kinds) as f64 / 1e3);
        let dropped: u64 = rank.vcis.iter().map(|vci| vci.dropped).sum();
        table.rows.push(vec![
            Cell::Count(rank.rank.into()),
            count(TraceKind::SendPosted),
            count(TraceKind::ReceivePosted),
            count(TraceKind::Unexpected),
            count(TraceKind::WaitBegin),
            lasted([TraceKind::WaitBegin, TraceKind::WaitEnd]),
            count(TraceKind::SleepBegin),
            lasted([TraceKind::SleepBegin, TraceKind::SleepEnd]),
            Cell::Count(dropped as f64),
        ]);
    }
    table
}

/// Nanoseconds between events of two kinds, of each thread.
fn lasted_ns(rank: &RankTrace, [begin, end]: [TraceKind; 2]) -> u64 {
    let mut sum = 0;
    for vci in &rank.vcis {
        let mut begun: BTreeMap<u8, u64> = BTreeMap::new();
        for event in &vci.events {
            if event.kind == begin {
                begun.insert(event.thread, event.time_ns);
            } else if event.kind == end {
                let since = begun.remove(&event.thread);
                sum += since.map_or(0, |since| event.time_ns.saturating_sub(since));
            }
        }
    }
    sum
}

const STATISTICS: [&str; 5] = ["mean ns", "sd", "min", "max", "outliers"];

fn statistics(name: Cell, found: &Injection) -> Vec<Cell> {
    vec![
        name,
        Cell::Count(found.gaps_ns.len() as f64),
        Cell::Number(found.mean_ns),
        Cell::Number(found.sd_ns),
        Cell::Number(found.min_ns),
        Cell::Number(found.max_ns),
        Cell::Count(found.outliers.len() as f64),
    ]
}

/// Times between the sends of a VCI.
fn gaps(job: &Job) -> Table {
    let columns = [&["rank, VCI", "gaps"][..], &STATISTICS].concat();
    let mut table = Table::new("Gaps between sends", &columns);
    for rank in &job.ranks {
        for vci in &rank.vcis {
            let posted = vci
                .events
                .iter()
                .filter(|event| event.kind == TraceKind::SendPosted);
            let times: Vec<u64> = posted.map(|event| event.time_ns).collect();
            let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
            if let Some(found) = Injection::of(gaps.collect()) {
                let name = format!("{}, {}", rank.rank, vci.vci);
                table.rows.push(statistics(Cell::text(name), &found));
            }
        }
    }
    table
}

/// Times from a message's departure until a receive has it, by protocol.
fn ways(job: &Job) -> Table {
    let columns = [&["protocol", "messages"][..], &STATISTICS].concat();
    let mut table = Table::new("From departure to match", &columns);
    let mut times: BTreeMap<(TraceKind, bool), Vec<f64>> = BTreeMap::new();
    for message in &job.pairs.messages {
        let kind = (job.event(message.sent).kind, message.kept.is_some());
        let time = job.time(message.matched) - job.time(message.sent);
        times.entry(kind).or_default().push(time as f64);
    }
    for ((kind, is_kept), times) in times {
        if let Some(found) = Injection::of(times) {
            let name = match is_kept {
                true => format!("{}, unexpected", kind.name()),
                false => kind.name().to_owned(),
            };
            table.rows.push(statistics(Cell::text(name), &found));
        }
    }
    table
}
