// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources recommend`: the category that suits limits.

use std::fmt::Write as _;

use channels::{Candidate, Lack, Recommendation, Wanted, candidates, recommend};
use measure::columns::table;
use serde_json::{Value, json};

use super::options::RecommendOptions;
use super::run::{kib, percent, plural};

pub(super) fn output(options: &RecommendOptions) -> Result<String, String> {
    let case = &options.case;
    let nic = case.profile()?;
    let missing = |table: &str| {
        format!(
            "{}: [{table}]: missing, expected a table: without it nothing is known of memory or throughput",
            nic.name
        )
    };
    let memory = nic.memory.ok_or_else(|| missing("memory"))?;
    let constants = nic.constants.ok_or_else(|| missing("constants"))?;
    let all = candidates(
        case.driver,
        case.threads,
        case.processes,
        &memory,
        &constants,
    );
    let wanted = Wanted {
        min_throughput: options.min_throughput,
        max_uars: match (options.max_uars, nic.limits.uars) {
            (Some(asked), Some(limit)) => Some(asked.min(limit)),
            (asked, limit) => asked.or(limit),
        },
        max_bytes: options.max_memory,
    };
    let answer = recommend(&all, &wanted).ok_or("no category to recommend")?;
    if case.json {
        return Ok(format!("{:#}\n", json(&all, &wanted, &answer)));
    }
    Ok(text(&all, &wanted, &answer))
}

fn lacks(lack: &Lack) -> String {
    let mut all = Vec::new();
    if lack.throughput > 0.0 {
        all.push(format!(
            "{} points of throughput",
            (lack.throughput * 1e4).round() / 100.0
        ));
    }
    if lack.uars > 0 {
        all.push(plural(lack.uars, "UAR"));
    }
    if lack.bytes > 0 {
        all.push(kib(lack.bytes));
    }
    match all.is_empty() {
        true => "-".to_owned(),
        false => all.join(", "),
    }
}

fn text(all: &[Candidate], wanted: &Wanted, answer: &Recommendation) -> String {
    let describe = |one: &Candidate| {
        format!(
            "{}: {} of the throughput ({}), {}, {}",
            one.category.name(),
            percent(one.expectation.share),
            one.expectation.origin,
            plural(one.totals.uars, "UAR"),
            kib(one.bytes)
        )
    };
    let mut text = match answer {
        Recommendation::Found(one) => format!("{}\n", describe(one)),
        Recommendation::Nearest(one, lack) => format!(
            "none fits; the nearest one lacks {}\n{}\n",
            lacks(lack),
            describe(one)
        ),
    };
    text.push('\n');
    let head = [
        "category",
        "throughput",
        "origin",
        "UARs",
        "memory",
        "lacks",
    ]
    .map(str::to_owned);
    let rows = all.iter().map(|one| {
        [
            one.category.name().to_owned(),
            percent(one.expectation.share),
            one.expectation.origin.to_string(),
            one.totals.uars.to_string(),
            kib(one.bytes),
            lacks(&wanted.lack(one)),
        ]
    });
    table(&mut text, 0, std::iter::once(head).chain(rows).collect());
    let count = all.iter().filter(|one| wanted.lack(one).is_none()).count();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{count} of {} fit", all.len());
    text
}

fn json(all: &[Candidate], wanted: &Wanted, answer: &Recommendation) -> Value {
    let candidate = |one: &Candidate| {
        let lack = wanted.lack(one);
        json!({
            "category": one.category.name(), "uars": one.totals.uars, "bytes": one.bytes,
            "throughput": { "share": one.expectation.share, "origin": one.expectation.origin.name() },
            "lacks": { "throughput": lack.throughput, "uars": lack.uars, "bytes": lack.bytes },
        })
    };
    let (is_found, best) = match answer {
        Recommendation::Found(one) => (true, one),
        Recommendation::Nearest(one, _) => (false, one),
    };
    let mut told = candidate(best);
    told["found"] = json!(is_found);
    told["candidates"] = all.iter().map(candidate).collect();
    told
}
