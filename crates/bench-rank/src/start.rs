// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs as a rank.

use std::ffi::OsString;

use measure::settings;

use crate::distance::DistanceProbe;
use crate::mpi::Mpi;
use crate::options::RankOptions;
use crate::output::print;
use crate::path::{calls, network, parts};
use crate::rows::{collective, many, memory, overlap, pack, pair, queue, rendezvous, rma};
use crate::threads::RATES;
use crate::{global_array, threads};

/// Name of the job that only initialises and finalises MPI.
pub const EMPTY: &str = "empty";
/// The word that asks a rank, or `peer.c`, for MPI_THREAD_MULTIPLE.
pub const MULTIPLE: &str = "threads=multiple";

/// Runs as a rank; the words are the measurement's name (or [`EMPTY`]) and `key=value` pairs.
///
/// # Errors
/// Words that say nothing, and what the library or the system refuses.
pub fn run_rank(words: impl Iterator<Item = OsString>) -> Result<(), String> {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (name, pairs) = words.split_first().ok_or("expected what to measure")?;
    let library = settings::library_to_open();
    if name == EMPTY {
        let options = RankOptions::parse("startup", pairs)?;
        Mpi::start(&library.to_string_lossy(), options.threads)?.finish();
        return Ok(());
    }
    if name == global_array::GLOBAL_ARRAY {
        return global_array::measure(pairs);
    }
    if name == RATES {
        return threads::measure(pairs);
    }
    // Calls and parts are no rows of the benchmark's table.
    let row = match name.as_str() {
        calls::CALLS | parts::PARTS | parts::PARTS_AND_QUANTITIES => "latency",
        network::NETWORK_PARTS | network::NETWORK_PARTS_AND_QUANTITIES => "latency",
        name => name,
    };
    let mut options = RankOptions::parse(row, pairs)?;
    let mpi = Mpi::start(&library.to_string_lossy(), options.threads)?;
    if mpi.rank == 0 {
        print(&serde_json::json!({ "version": mpi.version(), "ranks": mpi.size }))?;
    }
    if let Some(path) = &options.line {
        options.effort.line = DistanceProbe::open(&mpi, path, options.distance_limit_ns as f64);
    }
    match name.as_str() {
        calls::CALLS => calls::measure(&mpi, &options),
        parts::PARTS => parts::measure(&mpi, &options, false),
        parts::PARTS_AND_QUANTITIES => parts::measure(&mpi, &options, true),
        network::NETWORK_PARTS => network::measure(&mpi, &options, false),
        network::NETWORK_PARTS_AND_QUANTITIES => network::measure(&mpi, &options, true),
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
        name if name.starts_with("rma-") => rma::measure(&mpi, &options),
        name if name.starts_with("rendezvous-") => rendezvous::measure(&mpi, &options),
        name if name.starts_with("overlap-") => overlap::measure(&mpi, &options),
        _ => collective::measure(&mpi, &options),
    }?;
    mpi.finish();
    Ok(())
}
