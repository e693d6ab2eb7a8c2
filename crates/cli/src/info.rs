// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint info`: what the library says about itself.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use mpi_abi_sys::{Library, MPI_H};

use crate::settings;

/// Options of `rankpoint info`.
#[derive(Args)]
pub(crate) struct InfoOptions {
    /// List the functions of the MPI 5.0 ABI that are not written yet
    #[arg(long)]
    missing: bool,
    /// Print the C header mpi.h
    #[arg(long)]
    header: bool,
    /// List the networks between hosts that libfabric offers here
    #[arg(long, conflicts_with_all = ["missing", "header", "json"])]
    network: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// A row of the library's table of settings.
#[derive(serde::Serialize)]
struct Setting<'text> {
    name: &'text str,
    value: &'text str,
    default: &'text str,
    unit: &'text str,
    range: &'text str,
    text: &'text str,
}

/// Runs `rankpoint info`.
pub(crate) fn run(options: &InfoOptions) -> Result<(), String> {
    let text = if options.header {
        MPI_H.to_owned()
    } else if options.network {
        crate::network::report()?
    } else {
        about(options)?
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn about(options: &InfoOptions) -> Result<String, String> {
    let file = settings::library_to_open();
    let name = file.to_string_lossy();
    let library = Library::open(&name).map_err(|error| format!("cannot open {name}: {error}"))?;
    let missing = library.text("rankpoint_missing_functions");
    let table = library.text("rankpoint_settings");
    let (Some(missing), Some(table)) = (missing, table) else {
        return Err(format!("{name} is not Rankpoint's library"));
    };
    let missing: Vec<&str> = missing.lines().collect();
    let rows: Vec<Setting<'_>> = table.lines().filter_map(setting).collect();
    let warnings: Vec<&str> = (table.lines())
        .filter_map(|line| line.strip_prefix('\t'))
        .collect();
    let version = crate::mpi::version(&library);
    let text = if options.json {
        let all = serde_json::json!({
            "command": env!("CARGO_PKG_VERSION"), "library": name, "version": version,
            "gpu": gpu(), "settings": rows, "warnings": warnings, "counters": counters(), "missing": missing,
        });
        format!("{all:#}\n")
    } else if options.missing {
        let total = mpi_abi_sys::table::functions().len();
        let list: String = missing.iter().map(|name| format!("{name}\n")).collect();
        format!(
            "{list}{} of {total} functions are not written yet\n",
            missing.len()
        )
    } else {
        let text = describe(&name, &version, &rows, missing.len());
        let warn = |all, warning: &&str| format!("{all}warning   {warning}\n");
        warnings.iter().fold(String::new(), warn) + &text
    };
    Ok(text)
}

fn setting(line: &str) -> Option<Setting<'_>> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    Some(Setting {
        name: next()?,
        value: next()?,
        default: next()?,
        unit: next()?,
        range: next()?,
        text: next()?,
    })
}

fn describe(library: &str, version: &str, rows: &[Setting<'_>], missing: usize) -> String {
    let mut text = format!(
        "library   {library}\nversion   {version}\nmissing   {missing} functions (--missing lists them)\nGPU       {}\n\nSettings, read from the environment:\n",
        gpu()
    );
    for row in rows {
        let changed = if row.value == row.default || row.default.is_empty() {
            String::new()
        } else {
            format!(" (default {})", row.default)
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {} = {}{changed}\n      {} [{}{}]",
            row.name,
            if row.value.is_empty() {
                "nothing"
            } else {
                row.value
            },
            row.text,
            row.unit,
            if row.range.is_empty() {
                String::new()
            } else {
                format!(", {}", row.range)
            }
        );
    }
    text.push_str("\nCounters of each rank, printed by mpiexec --stats:\n");
    for row in launch::COUNTERS {
        let _ = writeln!(text, "  {}: {} {}", row.name, row.unit, row.text);
    }
    text
}

/// The GPUs that layouts can be packed on, or why there is none.
fn gpu() -> String {
    use layout_cuda::Driver;
    let names = Driver::get().map_err(Clone::clone).and_then(|driver| {
        let names = (0..driver.devices()).map(|ordinal| driver.device_name(ordinal));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let (major, minor) = driver.version();
        Ok(format!("{} (CUDA {major}.{minor})", names.join(", ")))
    });
    names.unwrap_or_else(|error| format!("not used: {error}"))
}

fn counters() -> Vec<serde_json::Value> {
    let object = |row: &launch::CounterRow| serde_json::json!({ "name": row.name, "unit": row.unit, "text": row.text });
    launch::COUNTERS.iter().map(object).collect()
}
