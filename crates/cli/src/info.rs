// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint info`.

use std::io::Write as _;

use clap::Args;
use mpi_abi_sys::{Library, MPI_H};

/// What to show.
#[derive(Args)]
pub(crate) struct Options {
    /// List the functions of the standard that are not written yet
    #[arg(long)]
    missing: bool,
    /// Print the C header mpi.h
    #[arg(long)]
    header: bool,
}

/// Prints what was asked for.
pub(crate) fn run(options: &Options, library: &str) -> Result<(), String> {
    let text = if options.header {
        MPI_H.to_owned()
    } else {
        about(options, library)?
    };
    std::io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| error.to_string())
}

fn about(options: &Options, name: &str) -> Result<String, String> {
    let library = Library::open(name).map_err(|error| error.to_string())?;
    let missing = library
        .text("rankpoint_missing_functions")
        .ok_or_else(|| format!("{name} is not Rankpoint's library"))?;
    let count = missing.lines().count();
    let all = mpi_abi_sys::table::functions().len();
    if options.missing {
        return Ok(format!(
            "{missing}{count} of {all} functions are not implemented yet\n"
        ));
    }
    let mut text = format!(
        "Rankpoint {}: {} of {all} functions of MPI 5.0\n\nSettings\n",
        env!("CARGO_PKG_VERSION"),
        all - count
    );
    for line in library
        .text("rankpoint_settings")
        .unwrap_or_default()
        .lines()
    {
        let cells: Vec<&str> = line.split('\t').collect();
        if let [name, value, default, unit, range, what] = cells[..] {
            text.push_str(&format!(
                "  {name} = {value} {unit} (default {default}, {range})\n      {what}\n"
            ));
        }
    }
    Ok(text)
}
