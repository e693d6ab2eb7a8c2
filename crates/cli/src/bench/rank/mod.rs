// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured side: one process of a job that `rankpoint bench` has started.
//!
//! Rank 0 prints one JSON object a line for each point, `peer.c` beside this folder prints the same for libraries that lack
//! the standard ABI. [`repeat`] decides how often something runs, [`mod@distance`] how far the cores are from
//! each other meanwhile; [`pair`], [`queue`], [`many`], [`collective`],
//! [`overlap`], [`pack`] and [`memory`] are what runs.

mod collective;
mod distance;
mod many;
mod memory;
mod overlap;
mod pack;
mod pair;
mod queue;
mod repeat;

use std::ffi::OsString;
use std::io::Write as _;

use super::measurement::Measurement;
use crate::mpi::{InitLevel, Mpi};
use crate::settings;
use distance::DistanceProbe;
use repeat::Effort;

/// What a rank is asked to measure.
struct RankOptions {
    measurement: &'static Measurement,
    sizes: Vec<usize>,
    effort: Effort,
    verify: bool,
    threads: InitLevel,
    /// The file of the line between ranks 0 and 1, and nanoseconds that are not far.
    line: Option<String>,
    distance_limit_ns: u64,
}

/// Name of the job that only initialises and finalises MPI.
pub(super) const EMPTY: &str = "empty";
/// The word that asks a rank, or `peer.c`, for MPI_THREAD_MULTIPLE.
pub(super) const MULTIPLE: &str = "threads=multiple";

/// Runs as a rank; the words are the measurement's name (or [`EMPTY`]) and `key=value` pairs.
pub(crate) fn run_rank(words: impl Iterator<Item = OsString>) -> Result<(), String> {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (name, pairs) = words.split_first().ok_or("expected what to measure")?;
    let library = settings::library_to_open();
    if name == EMPTY {
        let options = parse("startup", pairs)?;
        Mpi::start(&library.to_string_lossy(), options.threads)?.finish();
        return Ok(());
    }
    let mut options = parse(name, pairs)?;
    let mpi = Mpi::start(&library.to_string_lossy(), options.threads)?;
    if mpi.rank == 0 {
        print(&serde_json::json!({ "version": mpi.version(), "ranks": mpi.size }))?;
    }
    if let Some(path) = &options.line {
        options.effort.line = DistanceProbe::open(&mpi, path, options.distance_limit_ns as f64);
    }
    match name.as_str() {
        "latency" => pair::latency(&mpi, &options),
        "bandwidth" | "rate" => pair::bandwidth(&mpi, &options),
        "bidirectional" => pair::bidirectional(&mpi, &options),
        "unexpected" => queue::unexpected(&mpi, &options),
        "posted" => queue::posted(&mpi, &options),
        "ring" => many::ring(&mpi, &options, Mpi::receive),
        "ring-tests" => many::ring(&mpi, &options, Mpi::receive_testing),
        "exchange" => many::exchange(&mpi, &options),
        "barrier" => many::barrier(&mpi, &options),
        "private-memory" | "shared-memory" => memory::measure(&mpi, &options),
        "pack-1" => pack::measure(&mpi, &options),
        "vector" => pack::round_trips(&mpi, &options),
        name if name.starts_with("overlap-") => overlap::measure(&mpi, &options),
        _ => collective::measure(&mpi, &options),
    }?;
    mpi.finish();
    Ok(())
}

fn parse(name: &str, pairs: &[String]) -> Result<RankOptions, String> {
    let measurement = Measurement::find(name).ok_or_else(|| format!("nothing is called {name}"))?;
    let mut options = RankOptions {
        measurement,
        sizes: vec![8],
        effort: Effort::default(),
        verify: true,
        threads: InitLevel::Single,
        line: None,
        distance_limit_ns: u64::MAX,
    };
    for pair in pairs {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("{pair} is no key=value"))?;
        let wrong = |_| format!("{pair}: expected a number");
        let number = || value.parse::<u64>().map_err(wrong);
        match key {
            "sizes" => {
                let sizes = value.split(',').map(str::parse);
                options.sizes = sizes.collect::<Result<_, _>>().map_err(wrong)?;
            }
            "iterations" => options.effort.iterations = number()?,
            "repetitions" => options.effort.repetitions = number()?,
            "budget_us" => options.effort.budget = std::time::Duration::from_micros(number()?),
            "limit_us" => options.effort.limit = std::time::Duration::from_micros(number()?),
            "line" => options.line = Some(value.to_owned()),
            "distance_limit_ns" => options.distance_limit_ns = number()?,
            "threads" if value == "multiple" => options.threads = InitLevel::Multiple,
            "threads" => return Err(format!("{pair}: expected threads=multiple")),
            "verify" => options.verify = number()? != 0,
            _ => return Err(format!("nothing is called {key}")),
        }
    }
    Ok(options)
}

/// Prints the values of one point, on rank 0, with what each met on the line.
fn report(
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

fn print(line: &serde_json::Value) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| format!("cannot write: {error}"))
}

/// The byte at a place of the message with a number: every message differs from its neighbours, in every byte.
fn pattern(message: u64, place: usize) -> u8 {
    (message.wrapping_mul(151) as u8) ^ (place.wrapping_mul(31) as u8) ^ ((place >> 8) as u8)
}

fn fill(data: &mut [u8], message: u64) {
    for (place, byte) in data.iter_mut().enumerate() {
        *byte = pattern(message, place);
    }
}

/// Ends the job when a message is not the one with this number.
fn check(mpi: &Mpi, data: &[u8], message: u64) {
    let wrong = |&(place, byte): &(usize, &u8)| *byte != pattern(message, place);
    if let Some((place, byte)) = data.iter().enumerate().find(wrong) {
        mpi.abort(&format!(
            "wrong data: message {message} of {} bytes has {byte} instead of {} at byte {place}",
            data.len(),
            pattern(message, place)
        ));
    }
}
