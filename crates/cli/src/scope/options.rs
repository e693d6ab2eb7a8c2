// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint scope`, and which entries they select.

use std::path::PathBuf;
use std::time::Duration;

use ::scope::{Effort, Entry, Session};
use clap::{Args, Subcommand, ValueEnum};
use measure::hosts::HostOptions;
use measure::sizes::{Sizes, sizes};
use regex::Regex;

use crate::profile::ProfileOptions;

/// Minutes of a quick profile and of a full one.
const MINUTES: [u64; 2] = [1, 15];

/// Options of `rankpoint scope`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScopeOptions {
    #[command(subcommand)]
    pub(super) question: Option<Question>,
    /// What programs choose by, within a minute, instead of everything
    #[arg(long)]
    pub(super) quick: bool,
    /// Name and explain the entries that the other options select, and stop
    #[arg(long)]
    pub(super) list: bool,
    /// Only entries whose name matches this regular expression, such as '^copy/memcpy' or 'wake|call'; the profile is written
    /// only where --profile says
    #[arg(long, value_name = "REGEX")]
    pub(super) only: Vec<Regex>,
    /// Sizes in bytes instead of the entries' own: 64,1K,4M or a range of powers of two such as 64..4M
    #[arg(long, value_parser = sizes)]
    pub(super) sizes: Option<Sizes>,
    /// The two cores of entries with two ends: near (they share a cache), far, or two positions such as 0-3
    #[arg(long, value_name = "near|far|A-B", value_parser = ends)]
    pub(super) places: Option<Ends>,
    /// Entries whose bytes are thrown out of the caches first, others, or both
    #[arg(long, value_enum, default_value = "both")]
    pub(super) flush: Flush,
    /// Trials until the values of a sample pass the checks of independence
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10))]
    pub(super) repeat: Option<u64>,
    /// Minutes after which entries that have not begun are skipped (default: 1 with --quick, otherwise 15)
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub(super) minutes: Option<u64>,
    /// Set the governor to performance and turn boost off while measuring, and restore both; what the system refuses is told
    #[arg(long)]
    pub(super) steady_clock: bool,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    /// Write all values as JSON; - is standard output, instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write all values as CSV; - is standard output, instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
    /// Write plots into this folder
    #[arg(long, value_name = "DIR")]
    pub(super) plot: Option<PathBuf>,
    /// Format of the plots
    #[arg(long, value_enum, default_value = "svg")]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) hosts: HostOptions,
    /// Launcher of the MPI library to measure, with its flags (default: the mpiexec beside this program)
    #[arg(long)]
    pub(super) mpiexec: Option<String>,
    /// Folder of the MPI library to measure (default: the one installed with this program, or what LD_LIBRARY_PATH says)
    #[arg(long)]
    pub(super) library_path: Option<PathBuf>,
    /// JSON file that lists more MPI libraries to measure, as `rankpoint bench --peers` takes it
    #[arg(long, value_name = "FILE")]
    pub(super) peers: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    pub(super) quiet: bool,
}

/// What is asked of profiles that exist.
#[derive(Subcommand)]
pub(super) enum Question {
    /// What a profile says: the best method by size, distances, both ways, caches, regimes, and calls as bytes
    Report {
        /// The profile (default: this machine's)
        file: Option<PathBuf>,
        /// Write plots into this folder
        #[arg(long, value_name = "DIR")]
        plot: Option<PathBuf>,
        /// Format of the plots
        #[arg(long, value_enum, default_value = "svg")]
        format: Format,
    },
    /// How two profiles differ: ratios with confidence, and methods that win in one of them only
    Compare {
        /// The profile that the ratios divide by
        before: PathBuf,
        /// The other profile
        after: PathBuf,
        /// Also values that do not differ
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Two cores.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ends {
    Nearest,
    Farthest,
    Positions([usize; 2]),
}

/// Which states of the caches are measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Flush {
    /// Flushed only
    On,
    /// Not flushed only
    Off,
    /// All
    Both,
}

/// Formats of pictures.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// Vectors
    Svg,
    /// Pixels
    Png,
}

impl Format {
    /// The ending of a file's name.
    pub(super) const fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

impl ScopeOptions {
    /// How much is measured.
    pub(super) fn effort(&self) -> Effort {
        if self.quick {
            Effort::Quick
        } else {
            Effort::Full
        }
    }

    /// How long entries are begun.
    pub(super) fn limit(&self) -> Duration {
        let [quick, full] = MINUTES;
        let usual = if self.quick { quick } else { full };
        Duration::from_secs(60 * self.minutes.unwrap_or(usual))
    }

    /// The entries that are wanted. A quick profile has those that are named, too.
    ///
    /// # Errors
    /// When there are none.
    pub(super) fn select<'e>(&self, entries: &'e [Entry]) -> Result<Vec<&'e Entry>, String> {
        let is_named = |entry: &Entry| self.only.iter().any(|only| only.is_match(&entry.name));
        let is_cold = |entry: &Entry| {
            entry.name.ends_with("flushed") || entry.name.ends_with("source-cached")
        };
        let has_state = |entry: &Entry| match self.flush {
            Flush::Both => true,
            Flush::On => is_cold(entry),
            Flush::Off => !is_cold(entry),
        };
        let is_wanted = |entry: &&Entry| {
            let is_in = if self.only.is_empty() {
                entry.is_quick || !self.quick
            } else {
                is_named(entry)
            };
            is_in && has_state(entry)
        };
        let selected: Vec<&Entry> = entries.iter().filter(is_wanted).collect();
        if selected.is_empty() {
            let words: Vec<&str> = self.only.iter().map(Regex::as_str).collect();
            return Err(format!(
                "no entry matches --only {}: `rankpoint scope --list` names all",
                words.join(" ")
            ));
        }
        Ok(selected)
    }

    /// Sets what the options say of a session.
    ///
    /// # Errors
    /// When there are no such cores.
    pub(super) fn settle(&self, session: &mut Session) -> Result<(), String> {
        if let Some(sizes) = &self.sizes {
            session.sizes = sizes.0.iter().map(|&bytes| bytes as u64).collect();
        }
        session.trials = self.repeat.map(|trials| trials as usize);
        match self.places {
            None => Ok(()),
            Some(Ends::Nearest) => session.use_ends(session.nearest()),
            Some(Ends::Farthest) => session.use_ends(session.farthest()),
            Some(Ends::Positions(ends)) => session.use_ends(ends),
        }
    }
}

fn ends(text: &str) -> Result<Ends, String> {
    let positions = || {
        let (first, second) = text.split_once('-')?;
        Some([first.parse().ok()?, second.parse().ok()?])
    };
    match text {
        "near" => Ok(Ends::Nearest),
        "far" => Ok(Ends::Farthest),
        _ => positions()
            .map(Ends::Positions)
            .ok_or_else(|| "expected near, far, or two positions such as 0-3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_names_or_positions() {
        assert_eq!(ends("near"), Ok(Ends::Nearest));
        assert_eq!(ends("0-3"), Ok(Ends::Positions([0, 3])));
        for text in ["", "3", "a-b", "0-"] {
            assert!(ends(text).unwrap_err().contains("0-3"), "{text}");
        }
    }
}
