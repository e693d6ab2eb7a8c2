// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint explain file`.

use std::ffi::OsString;
use std::path::PathBuf;

use algorithms::number;
use clap::{Args, ValueEnum};
use file_plan::Preference;

/// Most ranks of a pattern.
const MOST_RANKS: i64 = 1 << 16;

/// Options of `rankpoint explain file`.
#[derive(Args)]
#[command(
    after_help = "Views are types as `rankpoint explain type` takes them. {rank} stands for the number of a rank.\n\n\
        Examples:\n  \
        rankpoint explain file --ranks 4 --bytes 2M \\\n    \
        --view 'subarray([1024,1024],[1024,256],[0,{rank}*256],double)'\n  \
        rankpoint explain file --ranks 2 --bytes 64K --view 'resized(0,16,double)' --disp '{rank}*8'\n  \
        rankpoint explain file -- -n 4 ./program"
)]
pub(crate) struct FileOptions {
    /// Filetype of each rank's view
    #[arg(long, value_name = "TYPE", default_value = "byte")]
    pub(super) view: String,
    /// Displacement of each rank's view in bytes, a number or a product
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub(super) disp: String,
    /// Where the access begins, in visible bytes of the view, a number or a product
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub(super) offset: String,
    /// Bytes that each rank accesses; takes K, M, G
    #[arg(long, value_parser = bytes, value_name = "BYTES", default_value = "1M")]
    pub(super) bytes: u64,
    /// Number of ranks
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    pub(super) ranks: u32,
    /// Number of nodes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    pub(super) nodes: u32,
    /// Ranks read; without it they write
    #[arg(long)]
    pub(super) read: bool,
    /// The memory of the program has gaps
    #[arg(long)]
    pub(super) memory_gaps: bool,
    /// Reads do not cover gaps (romio_ds_read=disable)
    #[arg(long)]
    pub(super) no_cover: bool,
    /// Writes may cover gaps (romio_ds_write=enable)
    #[arg(long, conflicts_with = "no_cover")]
    pub(super) cover: bool,
    /// The file is in atomic mode
    #[arg(long)]
    pub(super) atomic: bool,
    /// The protocol that a hint requests (rankpoint_file_protocol)
    #[arg(long, value_enum, default_value_t = Protocol::Auto)]
    pub(super) protocol: Protocol,
    /// Number of aggregators (cb_nodes)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    pub(super) cb_nodes: Option<u32>,
    /// Bytes of an aggregator in a round (cb_buffer_size); takes K, M, G
    #[arg(long, value_parser = bytes, value_name = "BYTES")]
    pub(super) cb_buffer_size: Option<u64>,
    /// Alignment of aggregators' domains (cb_block_size); takes K, M, G
    #[arg(long, value_parser = bytes, value_name = "BYTES")]
    pub(super) cb_block_size: Option<u64>,
    /// Costs in nanoseconds instead of measured ones, such as call=400,read=0.1
    #[arg(long, value_name = "LIST", conflicts_with = "folder")]
    pub(super) costs: Option<String>,
    /// Folder in which costs are measured
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Run a program instead: what mpiexec takes
    #[arg(last = true, value_name = "PROGRAM")]
    pub(super) program: Vec<OsString>,
}

/// Values of the hint `rankpoint_file_protocol`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Protocol {
    /// What costs less
    Auto,
    /// Each rank by itself
    Direct,
    /// Aggregators
    TwoPhase,
}

impl Protocol {
    pub(super) const fn preference(self) -> Preference {
        match self {
            Self::Auto => Preference::Automatic,
            Self::Direct => Preference::Direct,
            Self::TwoPhase => Preference::TwoPhase,
        }
    }
}

/// A number of bytes above 0.
fn bytes(text: &str) -> Result<u64, String> {
    let found = number(text).filter(|&bytes| bytes > 0 && i64::try_from(bytes).is_ok());
    found.ok_or_else(|| "expected a number of bytes above 0, such as 64 or 32K".to_owned())
}
