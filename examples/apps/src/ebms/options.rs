// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};

use super::problem::Problem;
use crate::halo::Mode;

/// Bytes of a value.
const VALUE_BYTES: u64 = size_of::<u64>() as u64;

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// A worker leaves the block of the band before where that of the last band belongs
    StaleBlock,
}

/// Options of the energy bands.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Which windows workers use: processes, serial, window or endpoint
    #[arg(long, value_enum, default_value = "serial")]
    pub mode: Mode,
    /// Workers of a node: threads of a process, in mode processes ranks
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub workers: u64,
    /// Number of bands
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub bands: u64,
    /// Bytes of a band
    #[arg(long, default_value_t = 65536, value_parser = clap::value_parser!(u64).range(8..=1 << 32))]
    pub size: u64,
    /// Particles of all nodes
    #[arg(long, default_value_t = 1000)]
    pub particles: u64,
    /// Lookups of a particle in each band
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub lookups: u64,
    /// Compare bands and sums with those of a serial computation, outside the measured time
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub verify: bool,
    /// Seed an error
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Ranks of each node.
    pub(super) const fn ranks_of_node(&self) -> usize {
        match self.mode {
            Mode::Processes => self.workers as usize,
            _ => 1,
        }
    }

    /// The problem on so many ranks.
    ///
    /// # Errors
    /// When options do not fit together; the text has the numbers.
    pub fn problem(&self, ranks: usize) -> Result<Problem, String> {
        let (name, workers) = (self.mode.name(), self.workers);
        match self.mode {
            Mode::Processes | Mode::Serial | Mode::Window | Mode::Endpoint => {}
            Mode::Tag => return Err(
                "mode tag: a get has no tag that could name the threads of both sides; expected processes, serial, window or endpoint"
                    .to_owned(),
            ),
            Mode::Naive | Mode::Comm | Mode::Partitioned => return Err(format!(
                "mode {name}: energy bands are in windows, and there are no messages; expected processes, serial, window or endpoint"
            )),
        }
        let of_node = self.ranks_of_node();
        if !ranks.is_multiple_of(of_node) {
            return Err(format!(
                "--workers {workers}: {ranks} ranks are not a whole number of nodes with {workers} each"
            ));
        }
        let nodes = ranks / of_node;
        if !self.size.is_multiple_of(VALUE_BYTES) {
            return Err(format!(
                "--size {}: expected a multiple of {VALUE_BYTES} bytes",
                self.size
            ));
        }
        let (values, least) = (self.size / VALUE_BYTES, nodes as u64 * workers);
        if values < least {
            return Err(format!(
                "--size {}: {values} values for {nodes} nodes with {workers} workers each, expected at least {least}",
                self.size
            ));
        }
        if self.fault.is_some() && nodes == 1 {
            return Err(
                "--fault stale-block: 1 node gets no blocks, expected at least 2".to_owned(),
            );
        }
        Ok(Problem {
            bands: self.bands as usize,
            values: values as usize,
            nodes,
            workers: workers as usize,
            particles: self.particles as usize,
            lookups: self.lookups as usize,
        })
    }
}
