// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources show`: what each category takes.

use std::fmt::Write as _;

use channels::policy::Driver;
use channels::{
    Break, Category, Constants, Expectation, Memory, Profile, Shares, Totals, exceeded,
    first_break, threads_per_context, unused_by_one_thread,
};
use measure::columns::table;
use serde_json::{Value, json};

use super::options::{Case, ShowOptions};
use super::run::{kib, percent, plural};

/// What is told of a category.
struct Row {
    category: Category,
    totals: Totals,
    shares: Shares,
    bytes: Option<usize>,
    queue_bytes: Option<usize>,
    expectation: Option<Expectation>,
    exceeded: Option<Break>,
    first_break: Option<Break>,
}

pub(super) fn output(options: &ShowOptions) -> Result<String, String> {
    let case = &options.case;
    let nic = case.profile()?;
    let rows = Category::ALL.map(|category| Row::new(category, case, &nic));
    if case.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        let all = json!({
            "threads": case.threads, "processes": case.processes, "driver": case.driver.name(),
            "nic": { "name": nic.name, "about": nic.about, "source": nic.source },
            "counts": "exact", "categories": rows,
        });
        return Ok(format!("{all:#}\n"));
    }
    Ok(text(case, &nic, &rows))
}

impl Row {
    fn new(category: Category, case: &Case, nic: &Profile) -> Self {
        let totals = Totals::new(category, case.driver, case.threads).times(case.processes);
        let bytes = |memory: Memory| totals.bytes(&memory);
        let expectation = |constants: Constants| {
            Expectation::new(category, case.driver, case.threads, &constants)
        };
        Self {
            category,
            totals,
            shares: Shares::new(category, case.driver, case.threads),
            bytes: nic.memory.map(bytes),
            queue_bytes: nic.memory.map(|memory| totals.queue_bytes(&memory)),
            expectation: nic.constants.map(expectation),
            exceeded: exceeded(&totals, nic),
            first_break: first_break(category, case.driver, case.processes, nic),
        }
    }

    fn objects(&self, has_uars: bool) -> [String; 12] {
        let of_uars = |value: String| if has_uars { value } else { "-".to_owned() };
        let totals = &self.totals;
        [
            name(self.category),
            totals.contexts.to_string(),
            totals.queue_pairs.to_string(),
            totals.queue_pairs.to_string(),
            totals.domains.to_string(),
            of_uars(totals.uars.to_string()),
            of_uars(totals.uuars().to_string()),
            of_uars(totals.used_uuars.to_string()),
            of_uars(percent(totals.waste())),
            self.queue_bytes.map_or("-".to_owned(), kib),
            self.bytes.map_or("-".to_owned(), kib),
            self.category.level().to_owned(),
        ]
    }

    fn compared(&self, nic: &Profile) -> [String; 8] {
        let has_uars = nic.limits.uars.is_some();
        let of_uars = |value: f64| {
            if has_uars {
                percent(value)
            } else {
                "-".to_owned()
            }
        };
        let (used, limit) = match (nic.limits.uars, nic.limits.contexts) {
            (Some(uars), _) => (self.totals.uars, uars),
            (None, contexts) => (self.totals.contexts, contexts.unwrap_or(usize::MAX)),
        };
        let first = self.first_break.map_or("-".to_owned(), |found| {
            format!("{} threads: {}", found.threads, found.what)
        });
        [
            name(self.category),
            self.shares
                .printed
                .filter(|_| has_uars)
                .map_or("-".to_owned(), percent),
            of_uars(self.shares.hardware),
            percent(self.shares.queues),
            percent(used as f64 / limit as f64),
            self.expectation
                .map_or("-".to_owned(), |one| percent(one.share)),
            self.expectation
                .map_or("-".to_owned(), |one| one.origin.to_string()),
            first,
        ]
    }

    fn json(&self) -> Value {
        let found = |found: Break| json!({ "threads": found.threads, "what": found.what, "needed": found.needed, "available": found.available });
        let totals = &self.totals;
        json!({
            "category": self.category.name(), "level": self.category.level(),
            "contexts": totals.contexts, "queue_pairs": totals.queue_pairs, "completion_queues": totals.queue_pairs,
            "thread_domains": totals.domains, "uars": totals.uars, "uuars": totals.uuars(),
            "used_uuars": totals.used_uuars, "unused": totals.waste(), "queue_bytes": self.queue_bytes, "bytes": self.bytes,
            "hardware_published_base": self.shares.printed, "hardware": self.shares.hardware, "queues": self.shares.queues,
            "throughput": self.expectation.map(|one| json!({ "share": one.share, "origin": one.origin.name() })),
            "exceeded": self.exceeded.map(|one| json!({ "what": one.what, "needed": one.needed, "available": one.available })),
            "first_break": self.first_break.map(found),
        })
    }
}

/// Names are aligned on the left.
fn name(category: Category) -> String {
    format!("{:<14}", category.name())
}

fn text(case: &Case, nic: &Profile, rows: &[Row]) -> String {
    let mut text = format!(
        "{} in {}, driver {}, NIC {} ({})\n\nObjects (counted exactly)\n",
        plural(case.threads, "thread"),
        plural(case.processes, "process").replace("processs", "processes"),
        case.driver.name(),
        nic.name,
        nic.about
    );
    let has_uars = nic.limits.uars.is_some();
    let head = [
        "category      ",
        "CTX",
        "QP",
        "CQ",
        "TD",
        "UARs",
        "uUARs",
        "used",
        "unused",
        "QP + CQ",
        "memory",
        "level",
    ];
    let objects = rows.iter().map(|row| row.objects(has_uars));
    let head = std::iter::once(head.map(str::to_owned));
    table(&mut text, usize::MAX, head.chain(objects).collect());
    let limit = if has_uars {
        "of the NIC's UARs"
    } else {
        "of the NIC's contexts"
    };
    let head = [
        "category      ",
        "UARs, base 8",
        "UARs, base 9",
        "QP + CQ",
        limit,
        "throughput",
        "origin",
        "NIC is exhausted from",
    ];
    // The base without the pages of thread domains is that of the published numbers; the dynamic driver has no static pages.
    let head = head.map(|name| match (name, case.driver) {
        ("UARs, base 9", Driver::Dynamic) => "UARs".to_owned(),
        _ => name.to_owned(),
    });
    let _ = writeln!(text, "\nCompared with MPI everywhere");
    let compared = rows.iter().map(|row| row.compared(nic));
    table(
        &mut text,
        usize::MAX,
        std::iter::once(head).chain(compared).collect(),
    );
    notes(&mut text, case, nic, rows);
    text
}

fn notes(text: &mut String, case: &Case, nic: &Profile, rows: &[Row]) {
    if nic.limits.uars.is_some() && case.driver == Driver::Legacy {
        let _ = writeln!(
            text,
            "MPI everywhere: without the page of its thread domain a process leaves {} of its uUARs unused, the published share",
            percent(unused_by_one_thread())
        );
    }
    for row in rows {
        if let Some(each) =
            threads_per_context(row.category).filter(|&each| each > 1 && case.threads > each)
        {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{}: a context has thread domains for {each} threads, so each process opens {} contexts",
                row.category.name(),
                row.totals.contexts / case.processes
            );
        }
        if let Some(found) = row.exceeded {
            let _ = writeln!(
                text,
                "{}: needs {} {}, but {} has {}: the next one is refused",
                row.category.name(),
                found.needed,
                found.what,
                nic.name,
                found.available
            );
        }
    }
}
