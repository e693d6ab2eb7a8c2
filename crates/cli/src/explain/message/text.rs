// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer as text and as JSON.

use std::fmt::Write as _;

use algorithms::short;
use protocols::emulator::{RECEIVER, Row, SENDER, What};
use serde_json::{Value, json};

use super::answer::{Answer, Candidate, Prediction};
use super::choose::{Choice, us};

/// Width of the sender's column of the time line.
const COLUMN: usize = 42;

impl Choice {
    fn about(self) -> String {
        match self {
            Self::Inject => "inject: header and data in one ring cell".to_owned(),
            Self::Eager => "eager: the data go through the ring at once".to_owned(),
            Self::Put => {
                "put: the sender announces, the receiver answers with its memory, the network writes there"
                    .to_owned()
            }
            Self::Rendezvous(variant) => {
                let about = match variant {
                    protocols::Variant::Write => {
                        "the receiver offers its memory, the sender may write there"
                    }
                    protocols::Variant::Pieces => {
                        "the sender announces, and both copy chunks through the ring"
                    }
                    _ => "the sender announces, the receiver reads",
                };
                format!("rendezvous, {variant}: {about}")
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Inject => "inject",
            Self::Eager => "eager",
            Self::Rendezvous(variant) => variant.name(),
        }
    }
}

/// The answer for people.
pub(super) fn text(answer: &Answer) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = head(&mut text, answer);
    let _ = time_line(&mut text, answer);
    let _ = table(&mut text, answer);
    text
}

fn head(text: &mut String, answer: &Answer) -> std::fmt::Result {
    let first = match answer.skew_ns {
        0 => "posted together".to_owned(),
        1.. => format!("receive first by {}", us(answer.skew_ns as f64)),
        _ => format!("send first by {}", us(-answer.skew_ns as f64)),
    };
    writeln!(
        text,
        "message of {} bytes for a receive of {} that {}, {first}",
        short(answer.bytes),
        short(answer.capacity),
        answer.wildcards
    )?;
    let times = answer.fabric.times;
    writeln!(
        text,
        "fabric {}: control message {}, read {}, copy {} + {} bytes/ns",
        answer.fabric.kind.name(),
        us(times.control_ns),
        us(times.read_ns),
        us(times.startup_ns),
        times.bytes_per_ns
    )?;
    if answer.work_ns > 0 {
        writeln!(
            text,
            "the receiver computes for {} after it has posted the receive",
            us(answer.work_ns as f64)
        )?;
    }
    for (index, source) in answer.sources.iter().enumerate() {
        writeln!(text, "{}{source}", if index == 0 { "  " } else { "    " })?;
    }
    if answer.bytes > answer.capacity {
        writeln!(
            text,
            "MPI_ERR_TRUNCATE at the receiver: {} bytes do not fit",
            answer.bytes - answer.capacity
        )?;
    }
    let chosen = &answer.chosen;
    writeln!(text, "\n  {}", chosen.choice.about())?;
    writeln!(
        text,
        "  chosen by: {}: {}",
        chosen.by.rule, chosen.by.finding
    )?;
    if !chosen.passed_over.is_empty() {
        writeln!(
            text,
            "\nRules that come first, and why they were passed over"
        )?;
        for rule in &chosen.passed_over {
            writeln!(text, "  {}: {}", rule.rule, rule.finding)?;
        }
    }
    Ok(())
}

fn time_line(text: &mut String, answer: &Answer) -> std::fmt::Result {
    writeln!(
        text,
        "\nTime line, in microseconds\n{:>10}  {:<COLUMN$}  rank {RECEIVER}, receiver",
        "",
        format!("rank {SENDER}, sender")
    )?;
    for line in lines(&answer.happens) {
        writeln!(text, "{line}")?;
    }
    Ok(())
}

/// A line for each thing that leaves or happens, and one for each arrival.
fn lines(prediction: &Prediction) -> Vec<String> {
    let mut events: Vec<(u64, usize, String)> = Vec::new();
    for (order, row) in prediction.outcome.rows.iter().enumerate() {
        let (left, right) = begin(row);
        events.push((row.at_ns, 2 * order, line(row.at_ns, &left, &right)));
        if matches!(row.what, What::Control | What::Notification) && row.from != row.to {
            let arrives = format!("{} is here", row.name);
            let (left, right) = side(row.to, arrives);
            events.push((
                row.until_ns,
                2 * order + 1,
                line(row.until_ns, &left, &right),
            ));
        }
        if row.what == What::Data {
            let (left, right) = (String::new(), "last byte of the data".to_owned());
            events.push((
                row.until_ns,
                2 * order + 1,
                line(row.until_ns, &left, &right),
            ));
        }
    }
    events.sort_by_key(|(at_ns, order, _)| (*at_ns, *order));
    events.into_iter().map(|(_, _, line)| line).collect()
}

fn begin(row: &Row) -> (String, String) {
    let fields = if row.fields.is_empty() {
        String::new()
    } else {
        format!(" {}", row.fields)
    };
    match row.what {
        What::Control | What::Notification if row.from != row.to => {
            let arrow = if row.from == SENDER { "-->" } else { "<--" };
            side(row.from, format!("{arrow} {}{fields}", row.name))
        }
        What::Data => (format!("==> data{fields}"), String::new()),
        _ => side(row.from, format!("{}{fields}", row.name)),
    }
}

fn side(rank: u32, text: String) -> (String, String) {
    if rank == SENDER {
        (text, String::new())
    } else {
        (String::new(), text)
    }
}

fn line(at_ns: u64, left: &str, right: &str) -> String {
    let line = format!("{:>10.3}  {left:<COLUMN$}  {right}", at_ns as f64 / 1e3);
    line.trim_end().to_owned()
}

fn table(text: &mut String, answer: &Answer) -> std::fmt::Result {
    if answer.candidates.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\nAll variants; times in microseconds after the later post\n  {:<12}{:>9}{:>12}{:>12}{:>12}  why not",
        "variant", "messages", "data start", "received", "sent"
    )?;
    for candidate in &answer.candidates {
        let why_not = candidate.why_not.as_deref().unwrap_or("chosen");
        let cells = match &candidate.outcome {
            Some(one) => format!(
                "{:>9}{:>12.3}{:>12.3}{:>12.3}",
                one.control_messages,
                one.delay_ns / 1e3,
                one.received_ns / 1e3,
                one.sent_ns / 1e3
            ),
            None => format!("{:>9}{:>12}{:>12}{:>12}", "-", "-", "-", "-"),
        };
        writeln!(text, "  {:<12}{cells}  {why_not}", candidate.choice.name())?;
    }
    Ok(())
}

/// The answer for programs.
pub(super) fn json(answer: &Answer) -> Value {
    let rule = |rule: &super::choose::Rule| json!({ "rule": rule.rule, "finding": rule.finding });
    let times = answer.fabric.times;
    json!({
        "bytes": answer.bytes, "capacity": answer.capacity, "receive": answer.wildcards, "skew_ns": answer.skew_ns,
        "work_ns": answer.work_ns,
        "fabric": {
            "name": answer.fabric.kind.name(), "control_ns": times.control_ns, "read_ns": times.read_ns,
            "startup_ns": times.startup_ns, "bytes_per_ns": times.bytes_per_ns,
            "measured": answer.sources,
        },
        "path": answer.chosen.choice.name(), "chosen_by": rule(&answer.chosen.by),
        "passed_over": answer.chosen.passed_over.iter().map(rule).collect::<Vec<_>>(),
        "posted_ns": { "send": answer.posts_ns.0, "receive": answer.posts_ns.1 },
        "time_line": answer.happens.outcome.rows.iter().map(row_json).collect::<Vec<_>>(),
        "variants": answer.candidates.iter().map(candidate_json).collect::<Vec<_>>(),
    })
}

fn row_json(row: &Row) -> Value {
    let kind = match row.what {
        What::Operation => "operation",
        What::Control => "control",
        What::Notification => "notification",
        What::Data => "data",
        What::Complete => "complete",
    };
    json!({
        "at_ns": row.at_ns, "until_ns": row.until_ns, "from": row.from, "to": row.to, "kind": kind, "name": row.name,
        "fields": row.fields,
    })
}

fn candidate_json(candidate: &Candidate) -> Value {
    let predicted = candidate.outcome.as_ref().map(|one| {
        json!({
            "control_messages": one.control_messages, "data_start_ns": one.delay_ns, "received_ns": one.received_ns,
            "sent_ns": one.sent_ns,
        })
    });
    json!({ "variant": candidate.choice.name(), "predicted": predicted, "why_not": candidate.why_not })
}
