// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources probe`: builds each category on an RDMA device, or an emulated one, and writes through it.

use std::fmt::Write as _;

use channels::emulated::wall::WallNic;
use channels::policy::Driver;
use channels::verbs::{Device, Verbs};
use channels::{Category, Interface, Page, Probed, probe};
use clap::Args;
use measure::columns::table;
use serde_json::{Value, json};

use super::options::count;

/// Options of `rankpoint resources probe`.
#[derive(Args)]
pub(crate) struct ProbeOptions {
    /// Threads
    #[arg(long, default_value = "4", value_parser = count)]
    threads: usize,
    /// Writes of each category, shared by its threads
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(1..))]
    writes: u64,
    /// The device (default: the first one)
    #[arg(long)]
    device: Option<String>,
    /// An emulated network interface in memory instead of a device
    #[arg(long, conflicts_with = "device")]
    emulated: bool,
    /// Policy by which the emulated one gives out uUARs
    #[arg(long, default_value = "legacy", requires = "emulated")]
    driver: Driver,
    /// This category only
    #[arg(long)]
    category: Option<Category>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A category that was built, or the reason why not.
struct Row {
    category: Category,
    outcome: Result<Probed, String>,
    /// Open descriptors of this process, more than before.
    leaked: i64,
}

fn device(options: &ProbeOptions) -> Result<Device, String> {
    let verbs = Verbs::open().map_err(|error| error.to_string())?;
    let devices = verbs.devices();
    let devices = devices.map_err(|error| format!("no RDMA device on this node: {error}"))?;
    let names: Vec<String> = devices.iter().map(|one| one.name.clone()).collect();
    let is_wanted = |one: &Device| options.device.as_ref().is_none_or(|name| *name == one.name);
    devices.into_iter().find(is_wanted).ok_or_else(|| {
        let wanted = options.device.as_deref().unwrap_or("any");
        match names.is_empty() {
            true => "no RDMA device: libibverbs lists none on this node".to_owned(),
            false => format!("device {wanted}: expected one of {}", names.join(", ")),
        }
    })
}

fn descriptors() -> Result<i64, String> {
    let all = std::fs::read_dir("/proc/self/fd");
    let all = all.map_err(|error| format!("cannot count descriptors in /proc/self/fd: {error}"))?;
    Ok(all.count() as i64)
}

pub(super) fn output(options: &ProbeOptions) -> Result<String, String> {
    if options.emulated {
        return of(&WallNic::new(options.driver, 1, true, 1), options);
    }
    of(&device(options)?, options)
}

fn of<N: Interface>(nic: &N, options: &ProbeOptions) -> Result<String, String> {
    let context = nic.context().map_err(|error| error.to_string())?;
    let domains = nic.thread_domain(&context, Page::Own);
    let domains = domains.map(drop).map_err(|error| error.to_string());
    drop(context);
    // Without thread domains the policy decides nothing; that of pages on demand is the one which is installed.
    let driver = match options.emulated {
        true => options.driver,
        false => Driver::Dynamic,
    };
    let each = options.writes.div_ceil(options.threads as u64);
    let mut rows = Vec::new();
    for category in Category::ALL {
        if options.category.is_some_and(|wanted| wanted != category) {
            continue;
        }
        let before = descriptors()?;
        let outcome = probe(nic, category, driver, options.threads, each);
        rows.push(Row {
            category,
            outcome: outcome.map_err(|error| error.to_string()),
            leaked: descriptors()? - before,
        });
    }
    if options.json {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        let all = json!({
            "device": nic.name(), "threads": options.threads, "writes_of_a_thread": each,
            "thread_domains": domains.is_ok(), "thread_domains_refused": domains.err(), "categories": rows,
        });
        return Ok(format!("{all:#}\n"));
    }
    let wrong = rows.iter().filter(|row| !row.is_right()).count();
    let text = text(options, nic.name(), &domains, each, &rows);
    match wrong {
        0 => Ok(text),
        _ => Err(format!(
            "{wrong} categories failed on {}\n{text}",
            nic.name()
        )),
    }
}

impl Row {
    fn is_right(&self) -> bool {
        self.leaked == 0 && self.outcome.as_ref().is_ok_and(|found| found.wrong == 0)
    }

    fn json(&self) -> Value {
        match &self.outcome {
            Err(error) => {
                json!({ "category": self.category.name(), "error": error, "leaked": self.leaked })
            }
            Ok(found) => json!({
                "category": self.category.name(), "contexts": found.contexts, "queue_pairs": found.queue_pairs, "thread_domains": found.domains,
                "verified": found.verified, "wrong": found.wrong, "by_other_threads": found.by_others, "leaked": self.leaked,
            }),
        }
    }
}

fn text(
    options: &ProbeOptions,
    device: &str,
    domains: &Result<(), String>,
    each: u64,
    rows: &[Row],
) -> String {
    let mut text = format!(
        "{device}: {} threads, {each} writes each, on queue pairs that are connected to themselves\n",
        options.threads
    );
    // Writing to a string cannot fail.
    let _ = match domains {
        Ok(()) => writeln!(text, "thread domains: made, for queue pairs of one thread"),
        Err(error) => writeln!(
            text,
            "thread domains: refused ({error}); categories are built without them"
        ),
    };
    text.push('\n');
    let head = [
        "category      ",
        "CTX",
        "QP",
        "CQ",
        "verified",
        "wrong",
        "read by others",
        "leaked descriptors",
    ];
    let mut all = vec![head.map(str::to_owned)];
    for row in rows {
        let name = format!("{:<14}", row.category.name());
        if let Ok(found) = &row.outcome {
            all.push([
                name,
                found.contexts.to_string(),
                found.queue_pairs.to_string(),
                found.queue_pairs.to_string(),
                found.verified.to_string(),
                found.wrong.to_string(),
                found.by_others.to_string(),
                row.leaked.to_string(),
            ]);
        }
    }
    table(&mut text, usize::MAX, all);
    for row in rows {
        if let Err(error) = &row.outcome {
            let _ = writeln!(text, "{}: {error}", row.category.name());
        }
    }
    text
}
