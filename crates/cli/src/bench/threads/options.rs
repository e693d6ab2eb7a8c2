// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of `rankpoint bench threads`.

use std::path::PathBuf;

use bench_rank::threads::{Mode, Operation};
use clap::{Args, ValueEnum};
use measure::hosts::HostOptions;
use measure::sizes::{Sizes, sizes};
use serde::Serialize;

/// Options of `rankpoint bench threads`.
#[derive(Args)]
pub(in super::super) struct ThreadsOptions {
    /// What threads do
    #[arg(long, value_enum, value_delimiter = ',', default_value = "isend,put")]
    pub(super) ops: Vec<Operation>,
    /// How threads communicate (default: all ways)
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(super) modes: Vec<Mode>,
    /// Numbers of threads, of which each has a partner in another process (default: 1, 2, 4 and so on up to half the cores, and 2)
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) threads: Vec<u32>,
    /// Message sizes
    #[arg(long, default_value = "8", value_parser = sizes)]
    pub(super) sizes: Sizes,
    /// Messages between two waits
    #[arg(long, value_delimiter = ',', default_value = "64", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) windows: Vec<u32>,
    /// What carries messages: nothing arrives on `null`, where sends are measured without a receiver, and puts as messages
    #[arg(long, value_enum, value_delimiter = ',', default_value = "shm,null")]
    pub(super) fabrics: Vec<Fabric>,
    /// Threads or ranks of the first host send to those of the second, on no other fabric
    #[command(flatten)]
    pub(super) hosts: HostOptions,
    /// Values of RANKPOINT_NET_SHARING, with --hosts
    #[arg(long, value_enum, value_delimiter = ',', default_value = "vci,process")]
    pub(super) sharing: Vec<Sharing>,
    /// Values of RANKPOINT_LOCKS
    #[arg(long, value_enum, value_delimiter = ',', default_value = "vci")]
    pub(super) locks: Vec<Locks>,
    /// Values of RANKPOINT_PROGRESS
    #[arg(long, value_enum, value_delimiter = ',', default_value = "hybrid")]
    pub(super) progress: Vec<Progress>,
    /// Values of each point in a round; the median of all counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) repetitions: u64,
    /// Time of a repetition in milliseconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) budget_ms: u64,
    /// Rounds over everything
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rounds: u64,
    /// Minutes after which no more round is begun
    #[arg(long)]
    pub(super) minutes: Option<u64>,
    /// Do not verify data
    #[arg(long)]
    pub(super) no_verify: bool,
    /// Seconds after which one job is given up
    #[arg(long, default_value_t = 60)]
    pub(super) time_limit: u64,
    /// Launcher of the library to measure, with its flags (default: the mpiexec beside this program)
    #[arg(long)]
    pub(super) mpiexec: Option<String>,
    /// Folder of the library to measure (default: the one installed with this program, or what LD_LIBRARY_PATH says)
    #[arg(long)]
    pub(super) library_path: Option<PathBuf>,
    /// JSON file that lists more libraries to measure, interleaved with the first
    #[arg(long)]
    pub(super) peers: Option<PathBuf>,
    /// Write all values as JSON
    #[arg(long)]
    pub(super) json: Option<PathBuf>,
    /// Write the tables as Markdown
    #[arg(long)]
    pub(super) markdown: Option<PathBuf>,
    /// The command that tables say they come from, when another program runs this one
    #[arg(long, hide = true)]
    pub(super) shown_as: Option<String>,
    /// Say nothing while measuring
    #[arg(long)]
    pub(super) quiet: bool,
}

macro_rules! words {
    ($(#[$of:meta])* $name:ident $variable:literal: $($(#[$about:meta])* $word:ident $text:literal),*) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
        #[serde(rename_all = "lowercase")]
        pub(super) enum $name { $($(#[$about])* $word),* }

        impl $name {
            /// The variable that is set.
            pub(super) const VARIABLE: &'static str = $variable;

            /// Its value.
            pub(super) const fn name(self) -> &'static str {
                match self { $(Self::$word => $text),* }
            }
        }
    };
}

words! {
    /// What carries messages; between hosts it is not set.
    Fabric "RANKPOINT_FABRIC": Shm "shm", Null "null", #[value(skip)] Hosts "hosts"
}
words! {
    /// How many contexts of the network threads have.
    Sharing "RANKPOINT_NET_SHARING": Vci "vci", Process "process"
}
words! {
    /// Which locks threads take.
    Locks "RANKPOINT_LOCKS": Vci "vci", Global "global"
}
words! {
    /// Which VCIs a call that waits advances.
    Progress "RANKPOINT_PROGRESS": Hybrid "hybrid", Vci "vci", Global "global"
}

impl ThreadsOptions {
    /// The modes of an operation; processes first, because the others are compared with them.
    pub(super) fn modes(&self, operation: Operation) -> Vec<Mode> {
        let all = Mode::value_variants().iter().copied();
        let wanted = |mode: &Mode| self.modes.is_empty() || self.modes.contains(mode);
        all.filter(wanted)
            .filter(|mode| mode.has(operation))
            .collect()
    }

    /// What carries messages: between hosts, if there are several.
    pub(super) fn fabrics(&self) -> &[Fabric] {
        match self.hosts.hosts.len() {
            0 | 1 => &self.fabrics,
            _ => &[Fabric::Hosts],
        }
    }

    /// Numbers of threads on so many cores.
    pub(super) fn thread_counts(&self, cores: u32) -> Vec<u32> {
        if !self.threads.is_empty() {
            return self.threads.clone();
        }
        let powers = (0..=6).map(|power| 1 << power);
        powers
            .filter(|&count| count <= 2 || 2 * count <= cores)
            .collect()
    }
}
