// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint resources`.

use channels::policy::{DEFAULT_LOW, DEFAULT_TOTAL, Driver};
use channels::{Error, Profile};
use clap::{Args, Subcommand};
use measure::sizes::bytes;

use super::bench_options::BenchOptions;
use super::probe::ProbeOptions;

/// Most threads, processes and queue pairs that are counted.
const MOST: i64 = 1 << 16;

/// A question of `rankpoint resources`.
#[derive(Subcommand)]
pub(crate) enum Question {
    /// Objects, memory and throughput of six ways for threads to share a network interface
    Show(ShowOptions),
    /// Which uUAR a driver gives to each queue pair of a context
    Map(MapOptions),
    /// The way that suits limits
    Recommend(RecommendOptions),
    /// How the VCIs of a process could use the network of this node
    Plan(PlanOptions),
    /// Build each way on an RDMA device, and write through it
    Probe(ProbeOptions),
    /// Rates of threads that share objects, on an emulated network interface
    Bench(BenchOptions),
}

/// Whose resources are counted.
#[derive(Args)]
pub(super) struct Case {
    /// Threads of a process
    #[arg(long, value_parser = count)]
    pub(super) threads: usize,
    /// Processes that use the network interface
    #[arg(long, default_value = "1", value_parser = count)]
    pub(super) processes: usize,
    /// legacy: static UAR pages; dynamic: pages on demand, rdma-core since 2020
    #[arg(long, default_value = "legacy")]
    pub(super) driver: Driver,
    /// connectx4, hfi160, or a file of a profile
    #[arg(long, default_value = "connectx4", value_name = "NAME|FILE")]
    pub(super) nic: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `rankpoint resources show`.
#[derive(Args)]
pub(crate) struct ShowOptions {
    #[command(flatten)]
    pub(super) case: Case,
}

/// Options of `rankpoint resources map`.
#[derive(Args)]
pub(crate) struct MapOptions {
    /// Queue pairs without a thread domain
    #[arg(long, default_value = "0", value_parser = count_or_none)]
    pub(super) qps: usize,
    /// Thread domains
    #[arg(long, default_value = "0", value_parser = count_or_none)]
    pub(super) tds: usize,
    /// Data uUARs of a context (MLX5_TOTAL_UUARS)
    #[arg(long, default_value_t = DEFAULT_TOTAL)]
    pub(super) total: usize,
    /// uUARs for one queue pair each (MLX5_NUM_LOW_LAT_UUARS)
    #[arg(long, default_value_t = DEFAULT_LOW)]
    pub(super) low: usize,
    /// legacy: static UAR pages; dynamic: pages on demand, rdma-core since 2020
    #[arg(long, default_value = "legacy")]
    pub(super) driver: Driver,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Options of `rankpoint resources recommend`.
#[derive(Args)]
pub(crate) struct RecommendOptions {
    #[command(flatten)]
    pub(super) case: Case,
    /// Least throughput, of that of a process for each thread
    #[arg(long, value_parser = share, value_name = "PERCENT")]
    pub(super) min_throughput: Option<f64>,
    /// Most UAR pages
    #[arg(long)]
    pub(super) max_uars: Option<usize>,
    /// Most memory of contexts, queue pairs and completion queues; takes K, M, G
    #[arg(long, value_parser = bytes::<usize>)]
    pub(super) max_memory: Option<usize>,
}

/// Options of `rankpoint resources plan`.
#[derive(Args)]
pub(crate) struct PlanOptions {
    /// VCIs of a process
    #[arg(long, value_parser = count)]
    pub(super) vcis: usize,
    /// Processes on the node
    #[arg(long, default_value = "1", value_parser = count)]
    pub(super) ranks: usize,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Case {
    /// The profile of the network interface.
    pub(super) fn profile(&self) -> Result<Profile, String> {
        profile(&self.nic)
    }
}

/// A shipped profile, or that of a file.
pub(super) fn profile(name: &str) -> Result<Profile, String> {
    if Profile::shipped().any(|shipped| shipped == name) {
        return Profile::named(name).map_err(|error| error.to_string());
    }
    let is_file = name.contains(['/', '.']);
    if !is_file && !std::path::Path::new(name).exists() {
        let unknown = Profile::named(name).map(drop);
        return Err(unknown
            .err()
            .map_or(String::new(), |error: Error| error.to_string()));
    }
    let text = sys::files::read_text(std::path::Path::new(name))
        .map_err(|error| format!("cannot read {name}: {error}"))?;
    Profile::read(name, &text).map_err(|error| error.to_string())
}

fn whole(text: &str, least: i64) -> Result<usize, String> {
    let found = text.parse::<i64>().ok();
    let found = found.filter(|number| (least..=MOST).contains(number));
    let found = found.and_then(|number| usize::try_from(number).ok());
    found.ok_or_else(|| format!("expected a whole number from {least} to {MOST}"))
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    whole(text, 1)
}

fn count_or_none(text: &str) -> Result<usize, String> {
    whole(text, 0)
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    number
        .map(|number| number / 100.0)
        .ok_or_else(|| "expected a share such as 90%, from 0 % to 100 %".to_owned())
}
