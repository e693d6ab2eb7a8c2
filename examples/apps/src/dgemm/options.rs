// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};

use super::problem::Problem;
use crate::halo::Mode;

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// A client does not put the last tile
    LostTile,
}

/// Options of the product.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Which windows threads use: processes, serial, window or endpoint
    #[arg(long, value_enum, default_value = "serial")]
    pub mode: Mode,
    /// Threads of a process
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub threads: u64,
    /// Tiles along a matrix
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=200))]
    pub tiles: u64,
    /// Numbers along a tile
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=128))]
    pub edge: u64,
    /// Compare the product with that of a serial computation, outside the measured time
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
    /// The problem in so many processes.
    ///
    /// # Errors
    /// When options do not fit together; the text has the numbers.
    pub fn problem(&self, processes: usize) -> Result<Problem, String> {
        let name = self.mode.name();
        match self.mode {
            Mode::Processes if self.threads > 1 => Err(format!(
                "mode processes has one thread in each process, not {}",
                self.threads
            )),
            Mode::Processes | Mode::Serial | Mode::Window | Mode::Endpoint => Ok(Problem {
                tiles: self.tiles as usize,
                edge: self.edge as usize,
                clients: processes.saturating_sub(1).max(1),
                threads: self.threads as usize,
            }),
            Mode::Tag => Err(
                "mode tag: a get has no tag that could name the threads of both sides; expected processes, serial, window or endpoint"
                    .to_owned(),
            ),
            Mode::Naive | Mode::Comm | Mode::Partitioned => Err(format!(
                "mode {name}: the arrays are in windows, and there are no messages; expected processes, serial, window or endpoint"
            )),
        }
    }
}
