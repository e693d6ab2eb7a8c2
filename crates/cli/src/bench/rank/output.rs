// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines that rank 0 prints.

use std::io::Write as _;

use super::options::RankOptions;
use crate::mpi::Mpi;

/// Prints the values of one point, on rank 0, with what each met on the line.
pub(super) fn report(
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

pub(super) fn print(line: &serde_json::Value) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| format!("cannot write: {error}"))
}
