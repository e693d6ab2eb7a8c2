// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of `rankpoint bench`.

use std::path::PathBuf;
use std::time::Duration;

use bench_rank::measurement::{MEASUREMENTS, Measurement};
use clap::{Args, Subcommand, ValueEnum};
use measure::hosts::HostOptions;
use measure::sizes::{Sizes, sizes};

use super::targets::rendezvous;
use super::threads::ThreadsOptions;

/// Options of `rankpoint bench`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchOptions {
    #[command(subcommand)]
    pub(super) other: Option<OtherBench>,
    /// What to measure, separated by commas (default: everything but one-sided communication, orders of long messages, nonblocking and persistent collectives); --list names
    /// the rows, and `collectives`, `nonblocking`, `persistent`, `overlap`, `pack`, `rma` and `rendezvous` are groups of them
    #[arg(long, value_delimiter = ',', value_parser = chosen)]
    pub(super) only: Vec<String>,
    /// How much of nonblocking operations is hidden behind work, with and without progress threads: the group `overlap`, with
    /// each library once more as it is with a progress thread
    #[arg(long, conflicts_with = "only")]
    pub(super) overlap: bool,
    /// Ways of long messages (`auto`, `read`, `pieces`, `write`), separated by commas: the library is measured with each, in all rows
    /// (default: all four if a row of the group `rendezvous` is measured, else the library as it is)
    #[arg(long, value_delimiter = ',', value_parser = rendezvous, conflicts_with = "overlap")]
    pub(super) rendezvous: Vec<&'static str>,
    /// Thread level that ranks ask for: `both` measures each library twice in each row, at the same core distance, and adds the
    /// ratio of MPI_THREAD_MULTIPLE to MPI_THREAD_SINGLE. One thread of a rank calls MPI at either level
    #[arg(long, value_enum, default_value = "single")]
    pub(super) threads: ThreadLevels,
    /// Name and explain the measurements, and stop
    #[arg(long)]
    pub(super) list: bool,
    /// Message sizes: 0,8,1K,4M or a range of powers of two such as 0..4M
    #[arg(long, default_value = "0..4M", value_parser = sizes)]
    pub(super) sizes: Sizes,
    /// Sizes of the blocks of collectives (one rank's part of the data), in multiples of 8 bytes
    #[arg(long, default_value = "8,1K,64K,1M", value_parser = sizes)]
    pub(super) blocks: Sizes,
    /// Ranks of the measurements over ranks instead of the usual ones
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) ranks: Vec<u32>,
    /// Iterations of a repetition (default: as many as fill --budget-ms)
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(super) iterations: u64,
    /// Values of each point in a round; the median of all counts
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) repetitions: u64,
    /// Time of a repetition in milliseconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) budget_ms: u64,
    /// Rounds over all measurements and libraries
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rounds: u64,
    /// Verify the data of every measurement before the clock starts (the default)
    #[arg(long, overrides_with = "no_verify")]
    pub(super) verify: bool,
    /// Do not verify data
    #[arg(long)]
    pub(super) no_verify: bool,
    /// Seconds that one point may take before it has to do with fewer values; they are marked in tables
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) point_limit: u64,
    /// Seconds after which one job is given up
    #[arg(long, default_value_t = 300)]
    pub(super) time_limit: u64,
    /// Minutes after which no more round is begun and nothing repeated: the first round is always measured
    #[arg(long)]
    pub(super) minutes: Option<u64>,
    /// Launcher of the library to measure, with its flags (default: the mpiexec beside this program)
    #[arg(long)]
    pub(super) mpiexec: Option<String>,
    /// Folder of the library to measure (default: the one installed with this program, or what LD_LIBRARY_PATH says)
    #[arg(long)]
    pub(super) library_path: Option<PathBuf>,
    #[command(flatten)]
    pub(super) hosts: HostOptions,
    /// JSON file that lists more libraries to measure, interleaved with the first
    #[arg(long)]
    pub(super) peers: Option<PathBuf>,
    /// Write all values as JSON, anew after each job: an interrupted run keeps what it has
    #[arg(long)]
    pub(super) json: Option<PathBuf>,
    /// Write the tables as Markdown
    #[arg(long)]
    pub(super) markdown: Option<PathBuf>,
    /// Write a plot; the name ends in .svg or .png
    #[arg(long, value_parser = picture)]
    pub(super) plot: Vec<PathBuf>,
    /// The command that tables say they come from, when another program runs this one
    #[arg(long, hide = true)]
    pub(super) shown_as: Option<String>,
    /// No progress bar
    #[arg(long)]
    pub(super) quiet: bool,
}

/// Measurements with options of their own.
#[derive(Subcommand)]
pub(super) enum OtherBench {
    /// Message rates of several threads at once, in all the ways in which MPI lets them communicate
    Threads(ThreadsOptions),
}

/// Thread levels to measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum ThreadLevels {
    /// `MPI_Init`
    Single,
    /// `MPI_Init_thread` with MPI_THREAD_MULTIPLE
    Multiple,
    /// Each library at both levels
    Both,
}

impl BenchOptions {
    /// What to measure, in the order of the table.
    pub(super) fn measurements(&self) -> Vec<&'static Measurement> {
        let wanted = |row: &&Measurement| {
            if self.overlap {
                row.is_called("overlap")
            } else if self.only.is_empty() {
                !row.on_request
            } else {
                self.only.iter().any(|name| row.is_called(name))
            }
        };
        MEASUREMENTS.iter().filter(wanted).collect()
    }

    /// Whether data is verified.
    pub(super) fn verifies(&self) -> bool {
        self.verify || !self.no_verify
    }

    /// Time after which one job is given up.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.time_limit)
    }
}

fn chosen(name: &str) -> Result<String, String> {
    if MEASUREMENTS.iter().any(|row| row.is_called(name)) {
        return Ok(name.to_owned());
    }
    Err(
        "nothing is called so; `rankpoint bench --list` names all, and `collectives`, `nonblocking`, `persistent`, `overlap`, \
         `pack`, `rma` and `rendezvous` are groups of them"
            .to_owned(),
    )
}

fn picture(name: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(name);
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("svg" | "png") => Ok(file),
        _ => Err("expected a name in .svg or .png".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_other_kinds_are_refused_before_anything_is_measured() {
        assert_eq!(picture("a.b/x.svg"), Ok(PathBuf::from("a.b/x.svg")));
        assert!(picture("x.pdf").is_err() && picture("svg").is_err());
    }

    #[test]
    fn names_that_are_no_rows_are_refused() {
        assert!(chosen("latency").is_ok() && chosen("pack").is_ok());
        assert!(chosen("latencyy").unwrap_err().contains("--list"));
    }
}
