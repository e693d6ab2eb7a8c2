// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint model`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use measure::hosts::HostOptions;

use crate::profile::ProfileOptions;

/// Options of `rankpoint model`.
#[derive(Args)]
pub(crate) struct ModelOptions {
    #[command(subcommand)]
    pub(super) question: Question,
}

/// Which model, and how the answer looks.
#[derive(Args)]
pub(super) struct Common {
    /// The model: a preset or a TOML file
    #[arg(long, default_value = "tx2-cx4", value_name = "PRESET|FILE")]
    pub(super) model: String,
    /// Take a parameter or a measured component as another number, before differences are taken: c=32
    #[arg(long, value_parser = given, value_name = "NAME=NUMBER")]
    pub(super) given: Vec<(String, f64)>,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    /// What is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}

/// Forms of an answer.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Aligned columns
    Text,
    /// One object with all digits
    Json,
    /// Tables in Markdown
    Markdown,
}

/// What is asked.
#[derive(Subcommand)]
pub(super) enum Question {
    /// Components, sums, quantities and shares
    Show {
        #[command(flatten)]
        common: Common,
    },
    /// Quantities, and how far they are from what was observed
    Predict {
        /// Quantities (default: all)
        quantities: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// What changes of components do to the quantities
    Whatif {
        /// A change: PCIe=0.5x, PIO=15 (nanoseconds) or Switch=-30%
        #[arg(long, required = true, value_name = "NAME=VALUE")]
        set: Vec<models::Change>,
        /// Quantities (default: all)
        #[arg(long, value_delimiter = ',')]
        of: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// By how much components must become cheaper for a gain
    Need {
        /// Components or sums
        #[arg(required = true)]
        components: Vec<String>,
        /// The gain: 5%
        #[arg(long, value_parser = percent)]
        gain: f64,
        /// The quantity that shall gain
        #[arg(long)]
        of: String,
        #[command(flatten)]
        common: Common,
    },
    /// Elasticities: per cent of a quantity for one per cent of each component
    Sensitivity {
        /// The quantity
        #[arg(long, default_value = "latency")]
        of: String,
        #[command(flatten)]
        common: Common,
    },
    /// Gains over reductions of components
    Sweep(SweepOptions),
    /// Time per message with windows, credits, a lock
    Window(WindowOptions),
    /// Measure the components of messages through shared memory, or between two hosts, and write them as a model
    Calibrate {
        /// The file of the model (default: standard output)
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        measure: MeasureOptions,
    },
    /// Calibrate, measure what the model predicts, and compare
    Check(CheckOptions),
    /// What traces of ranks say, or a trace of a bus analyser
    Trace(TraceOptions),
}

/// Whom to measure.
#[derive(Args)]
pub(super) struct MeasureOptions {
    /// Launcher of another MPI library, with its flags
    #[arg(long)]
    pub(super) mpiexec: Option<String>,
    /// Folder of the library to measure
    #[arg(long)]
    pub(super) library_path: Option<PathBuf>,
    /// Seconds after which a job is given up
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) time_limit: u64,
    #[command(flatten)]
    pub(super) hosts: HostOptions,
}

/// Options of `check`.
#[derive(Args)]
pub(super) struct CheckOptions {
    /// How often to calibrate and compare; good is what is good in nine of ten
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// What is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) measure: MeasureOptions,
}

/// Options of `trace`.
#[derive(Args)]
pub(super) struct TraceOptions {
    /// Traces of ranks: the folder that RANKPOINT_TRACE named, or files of it; or the file of a bus analyser:
    /// time_ns,direction,packet,bytes,address
    #[arg(required_unless_present = "simulate", value_name = "FOLDER|FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Of ranks: write the time line to a file of JSON, for Perfetto or chrome://tracing
    #[arg(long, short, value_name = "FILE", conflicts_with = "simulate")]
    pub(super) output: Option<PathBuf>,
    /// Writes of at least so many bytes to the NIC are doorbells
    #[arg(long, default_value_t = 8)]
    pub(super) doorbell_bytes: u64,
    /// Where the NIC writes completions, in hexadecimal: then the components of the path are told
    #[arg(long, value_parser = address)]
    pub(super) completions: Option<u64>,
    /// Nanoseconds of a poll, which a trace cannot tell
    #[arg(long, default_value_t = 0.0, requires = "completions", value_parser = not_negative)]
    pub(super) poll: f64,
    /// Nanoseconds of a post, which a trace cannot tell
    #[arg(long, default_value_t = 0.0, requires = "completions", value_parser = not_negative)]
    pub(super) post: f64,
    /// Print a simulated trace of the model instead
    #[arg(long, value_enum, conflicts_with = "files")]
    pub(super) simulate: Option<Simulated>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Traces that can be simulated.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Simulated {
    /// A core that injects messages
    Injection,
    /// A ping-pong, with completions at 0x2000
    Pingpong,
}

/// Options of `sweep`.
#[derive(Args)]
pub(super) struct SweepOptions {
    /// Components or sums, with commas between them
    #[arg(required = true, value_delimiter = ',')]
    pub(super) components: Vec<String>,
    /// Reductions in per cent
    #[arg(long, value_delimiter = ',', default_value = "10,30,50,70,90")]
    pub(super) reduce: Vec<f64>,
    /// Quantities
    #[arg(long, value_delimiter = ',', default_value = "injection,latency")]
    pub(super) of: Vec<String>,
    /// Draw the gains: a file in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// Print comma-separated values instead
    #[arg(long)]
    pub(super) csv: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Options of `window`.
#[derive(Args)]
pub(super) struct WindowOptions {
    /// Depths of a rolling window, and posts between drains
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4,5,6,7,8,16,23,32,64", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(super) depths: Vec<u32>,
    /// Threads that inject at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(super) threads: u32,
    /// Writes that may be outstanding on the bus
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(super) credits: Option<u32>,
    /// Nanoseconds that each message holds a lock of all threads
    #[arg(long, value_parser = positive)]
    pub(super) lock: Option<f64>,
    /// Messages a second that the NIC can do at most
    #[arg(long, value_parser = positive)]
    pub(super) nic_rate: Option<f64>,
    /// Names in the model: posting, progress, the rest of the loop, the completion, the way of a bus write
    #[arg(long, num_args = 5, value_names = ["POST", "PROGRESS", "MISC", "COMPLETION", "BUS"],
          default_values = ["Post", "Progress", "Misc", "gen_completion", "PCIe"])]
    pub(super) path: Vec<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

fn given(text: &str) -> Result<(String, f64), String> {
    let expected = || "expected NAME=NUMBER, such as c=32".to_owned();
    let (name, number) = text.split_once('=').ok_or_else(expected)?;
    Ok((name.to_owned(), number.parse().map_err(|_| expected())?))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number.map_err(|_| "expected per cent, such as 5%".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number, at least 0".to_owned())
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "expected an address such as 0x2000".to_owned())
}
