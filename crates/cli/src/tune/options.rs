// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint tune`.

use std::path::PathBuf;

use algorithms::{Operation, number};
use clap::Args;
use measure::hosts::HostOptions;

use crate::profile::ProfileOptions;

/// Options of `rankpoint tune`.
#[derive(Args)]
pub(crate) struct TuneOptions {
    /// Operations to measure (default: all)
    #[arg(long, value_delimiter = ',', value_parser = operation)]
    pub(super) only: Vec<Operation>,
    /// Numbers of ranks, ascending (default: powers of two from 2 to twice the number of cores; with --hosts, the number of hosts
    /// and its multiples by powers of two)
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub(super) ranks: Vec<u32>,
    /// Bytes of one rank's vector or block, multiples of 8; takes K, M, G
    #[arg(long, value_delimiter = ',', default_value = "8,64,512,4K,32K,256K,2M", value_parser = bytes)]
    pub(super) sizes: Vec<usize>,
    /// Largest number of bytes of all pieces of a rank
    #[arg(long, default_value = "64M", value_parser = bytes)]
    pub(super) largest: usize,
    /// Rounds over all algorithms
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rounds: u64,
    /// Values of each algorithm and size in a round; the median of all counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) repetitions: u64,
    /// Time of a repetition in milliseconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) budget_ms: u64,
    /// Seconds after which one job is given up
    #[arg(long, default_value_t = 120)]
    pub(super) time_limit: u64,
    /// The file to write
    #[arg(long, short, default_value = "rankpoint.table")]
    pub(super) output: PathBuf,
    /// Launcher of the library, with its flags (default: the mpiexec beside this program)
    #[arg(long)]
    pub(super) mpiexec: Option<String>,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    #[command(flatten)]
    pub(super) hosts: HostOptions,
    /// Folder of the library (default: the one installed with this program, or what LD_LIBRARY_PATH says)
    #[arg(long)]
    pub(super) library_path: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    pub(super) quiet: bool,
}

fn operation(name: &str) -> Result<Operation, String> {
    Operation::named(name).ok_or_else(|| {
        let names: Vec<&str> = Operation::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn bytes(text: &str) -> Result<usize, String> {
    let found = number(text).filter(|&bytes| (8..=1 << 30).contains(&bytes) && bytes % 8 == 0);
    let found = found.and_then(|bytes| usize::try_from(bytes).ok());
    found.ok_or_else(|| "expected a multiple of 8 bytes, up to 1G".to_owned())
}
