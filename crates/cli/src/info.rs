// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint info`: what the library says about itself.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use measure::columns::table;
use measure::settings;
use mpi_abi_sys::{Library, MPI_H};

use crate::profile::ProfileOptions;
use crate::profile_readers::{Reading, readings};

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
    #[command(flatten)]
    profile: ProfileOptions,
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
    let version = bench_rank::version(&library);
    let profile = machine_profile(&options.profile)?;
    let text = if options.json {
        let all = serde_json::json!({
            "command": env!("CARGO_PKG_VERSION"), "library": name, "version": version,
            "gpu": gpu(), "profile": profile.json(), "settings": rows, "warnings": warnings, "counters": counters(), "missing": missing,
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
        let text = describe(&name, &version, &rows, missing.len()) + &profile.text();
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

/// The machine profile that commands would read.
enum MachineProfile {
    None,
    Refused(String),
    Read {
        title: String,
        readings: Vec<Reading>,
    },
}

/// The profile. One that nobody named is told of as refused; to the library it makes no difference.
fn machine_profile(options: &ProfileOptions) -> Result<MachineProfile, String> {
    match options.load_if_any() {
        Ok(None) => Ok(MachineProfile::None),
        Ok(Some(profile)) => {
            let (file, created, mode) = (profile.file.display(), &profile.created, &profile.mode);
            Ok(MachineProfile::Read {
                title: format!("{file}, {mode}, of {created}"),
                readings: readings(&profile),
            })
        }
        Err(error) if options.is_named() => Err(error),
        Err(error) => Ok(MachineProfile::Refused(error)),
    }
}

impl MachineProfile {
    fn text(&self) -> String {
        match self {
            Self::None => "\nMachine profile: none; `rankpoint scope` writes one\n".to_owned(),
            Self::Refused(error) => format!("\nMachine profile: refused: {error}\n"),
            Self::Read { title, readings } => {
                let mut text = format!("\nMachine profile {title}, and who takes what:\n");
                let row = |one: &Reading| {
                    let (what, value) = (one.what.clone(), one.value.clone());
                    [one.reader.to_owned(), what, one.entry(), value]
                };
                table(&mut text, 0, readings.iter().map(row).collect());
                text
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::None => serde_json::Value::Null,
            Self::Refused(error) => serde_json::json!({ "refused": error }),
            Self::Read { title, readings } => {
                serde_json::json!({ "profile": title, "taken": readings })
            }
        }
    }
}

/// The GPUs that layouts can be packed on, or why there is none.
fn gpu() -> String {
    use layout_cuda::Driver;
    let names = Driver::get().map_err(Clone::clone).and_then(|driver| {
        let names = (0..driver.devices()?).map(|ordinal| driver.device_name(ordinal));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let (major, minor) = driver.version()?;
        Ok(format!("{} (CUDA {major}.{minor})", names.join(", ")))
    });
    names.unwrap_or_else(|error| format!("not used: {error}"))
}

fn counters() -> Vec<serde_json::Value> {
    let object = |row: &launch::CounterRow| serde_json::json!({ "name": row.name, "unit": row.unit, "text": row.text });
    launch::COUNTERS.iter().map(object).collect()
}
