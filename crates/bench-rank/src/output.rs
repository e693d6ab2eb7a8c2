// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines that rank 0 prints.

use std::io::Write as _;

use crate::mpi::Mpi;
use crate::options::RankOptions;

/// Prints the values of one point, on rank 0, with what each met on the line.
pub(crate) fn report(
    mpi: &Mpi,
    options: &RankOptions,
    name: &str,
    size: usize,
    values: &[f64],
) -> Result<(), String> {
    if mpi.rank != 0 {
        return Ok(());
    }
    let met = options.effort.line.map(|line| line.met(values.len()));
    let distances = met.unwrap_or_default();
    print(
        &serde_json::json!({ "name": name, "size": size, "values": values, "distances": distances }),
    )
}

/// Prints the values of several rows that came of the same repetitions, on rank 0; rows without values are left out.
pub(crate) fn report_together(
    mpi: &Mpi,
    options: &RankOptions,
    (size, skew_ns): (usize, i64),
    rows: &[(String, Vec<f64>)],
) -> Result<(), String> {
    if mpi.rank != 0 {
        return Ok(());
    }
    let count = rows.iter().map(|(_, values)| values.len()).max();
    let met = options
        .effort
        .line
        .zip(count)
        .map(|(line, count)| line.met(count));
    let distances = met.unwrap_or_default();
    for (name, values) in rows.iter().filter(|(_, values)| !values.is_empty()) {
        print(&serde_json::json!({
            "name": name, "size": size, "skew_ns": skew_ns, "values": values, "distances": distances,
        }))?;
    }
    Ok(())
}

pub(crate) fn print(line: &serde_json::Value) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| format!("cannot write: {error}"))
}
