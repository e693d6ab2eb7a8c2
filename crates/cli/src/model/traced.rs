// SPDX-License-Identifier: MIT OR Apache-2.0
//! `trace`: what traces of ranks or of a bus analyser say, and traces that the simulation makes.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use models::simulate::{Mode, Pingpong, Setup};
use models::trace::{self, CoreTimes, Injection};
use models::window::Path;

use super::options::{Simulated, TraceOptions};
use super::report::{Cell, Report, Table, decimals};
use super::source;
use super::timeline::{self, Job};

/// Messages of a simulated trace.
const MESSAGES: u64 = 2000;
/// Round trips of a simulated trace.
const ROUND_TRIPS: u32 = 500;

/// The answer, or the rows of a simulated trace.
pub(super) fn trace(options: &TraceOptions) -> Result<String, String> {
    if let Some(what) = options.simulate {
        return simulate(options, what);
    }
    if options.files.iter().any(|path| timeline::is_of_ranks(path)) {
        return of_ranks(options);
    }
    let [file] = &options.files[..] else {
        return Err("trace: expected one file of a bus analyser, or traces of ranks".to_owned());
    };
    let shown = file.display().to_string();
    if options.output.is_some() {
        return Err(format!(
            "--output is of traces of ranks: expected those, not {shown}"
        ));
    }
    let text =
        sys::files::read_text(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let rows = trace::parse(&shown, &text).map_err(|error| error.to_string())?;
    let mut tables = Vec::new();
    let mut remarks = Vec::new();
    match trace::injection(&rows, options.doorbell_bytes) {
        Some(found) => tables.extend([gaps(&found, &mut remarks), distribution(&found)]),
        None => remarks.push(format!(
            "No gaps: fewer than two writes of {} bytes or more to the NIC.",
            options.doorbell_bytes
        )),
    }
    if let Some(address) = options.completions {
        let core = CoreTimes {
            poll_ns: options.poll,
            post_ns: options.post,
        };
        let found = trace::components(&rows, address, core);
        let found = found.ok_or_else(|| {
            format!("{shown}: no whole round trip with completions at {address:#x}: expected a trace of a ping-pong")
        })?;
        let mut table = Table::new("Components", &["component", "ns"]);
        for (name, value) in [
            ("PCIe", found.pcie_ns),
            ("Network", found.network_ns),
            ("RC_to_MEM", found.rc_to_mem_ns),
        ] {
            table.rows.push(vec![Cell::text(name), Cell::Number(value)]);
        }
        tables.push(table);
        remarks.push(format!(
            "RC_to_MEM is without {} ns of a poll and {} ns of a post, which a trace cannot tell.",
            decimals(options.poll, 2),
            decimals(options.post, 2)
        ));
    }
    let report = Report {
        head: vec![
            ("trace".to_owned(), shown),
            ("rows".to_owned(), rows.len().to_string()),
        ],
        tables,
        remarks,
    };
    Ok(report.show(options.common.format))
}

/// What traces of ranks say, or their time line in a file.
fn of_ranks(options: &TraceOptions) -> Result<String, String> {
    let job = Job::read(&options.files)?;
    match options.output.as_deref() {
        None => Ok(timeline::summary(&job).show(options.common.format)),
        Some(file) => export(&job, file),
    }
}

fn export(job: &Job, file: &std::path::Path) -> Result<String, String> {
    let shown = file.display();
    let written = File::create(file).and_then(|created| {
        let mut out = BufWriter::new(created);
        let exported = timeline::export(job, &mut out)?;
        out.flush()?;
        Ok(exported)
    });
    let exported = written.map_err(|error| format!("cannot write {shown}: {error}"))?;
    let remarks = timeline::summary(job).remarks;
    let remarks: String = remarks.iter().map(|remark| format!("{remark}\n")).collect();
    Ok(format!(
        "{} events and {} messages are in {shown}; open it with https://ui.perfetto.dev or chrome://tracing\n{remarks}",
        exported.events, exported.messages
    ))
}

fn gaps(found: &Injection, remarks: &mut Vec<String>) -> Table {
    let mut table = Table::new(
        "Gaps between doorbells",
        &["gaps", "mean ns", "sd", "min", "max", "M/s"],
    );
    table.rows.push(vec![
        Cell::Count(found.gaps_ns.len() as f64),
        Cell::Number(found.mean_ns),
        Cell::Number(found.sd_ns),
        Cell::Number(found.min_ns),
        Cell::Number(found.max_ns),
        Cell::Number(found.rate() / 1e6),
    ]);
    for (index, gap) in found.outliers.iter().take(10) {
        let gap = decimals(*gap, 2);
        remarks.push(format!(
            "Gap {} of {gap} ns is an outlier, and kept.",
            index + 1
        ));
    }
    if found.outliers.len() > 10 {
        remarks.push(format!(
            "{} more gaps are outliers, and kept.",
            found.outliers.len() - 10
        ));
    }
    table
}

fn distribution(found: &Injection) -> Table {
    let columns = ["from ns", "to ns", "gaps", "%"];
    let mut table = Table::new("Distribution of the gaps", &columns);
    let all = found.gaps_ns.len() as f64;
    table.rows = (found.histogram().iter())
        .map(|range| {
            let gaps = range.gaps as f64;
            vec![
                Cell::Number(range.from_ns),
                Cell::Number(range.to_ns),
                Cell::Count(gaps),
                Cell::Number(gaps / all * 100.0),
            ]
        })
        .collect();
    table
}

/// A trace of the published path, or of the model's that has the same names.
fn simulate(options: &TraceOptions, what: Simulated) -> Result<String, String> {
    let source::Asked { model, values, .. } = source::read(&options.common)?;
    let value = |name: &str| {
        model
            .value(name, &values)
            .map_err(|error| error.to_string())
    };
    let rows = match what {
        Simulated::Injection => {
            let setup = Setup {
                path: Path {
                    post_ns: value("Post")?,
                    progress_ns: value("Progress")?,
                    misc_ns: value("Misc")?,
                    completion_ns: value("gen_completion")?,
                },
                depth: 64,
                mode: Mode::Rolling,
                signal_every: 1,
                busy_post_ns: 0.0,
                credits: None,
                bus_ns: value("PCIe")?,
            };
            setup.run(MESSAGES).rows
        }
        Simulated::Pingpong => {
            let path = Pingpong {
                pcie_ns: value("PCIe")?,
                wire_ns: value("Wire")?,
                switch_ns: value("Switch")?,
                rc_to_mem_ns: value("RC_to_MEM")?,
                post_ns: value("LLP_post")?,
                poll_ns: value("LLP_prog")?,
                // The other side does what this one does.
                other_ns: value("IO")? + value("LLP_prog")? + value("LLP_post")?,
            };
            path.rows(ROUND_TRIPS)
        }
    };
    Ok(trace::write(&rows))
}
