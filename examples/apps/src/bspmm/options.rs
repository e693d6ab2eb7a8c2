// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};
use rankpoint::AccumulateOrder;

use crate::halo::Mode;

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// A unit is computed twice
    DoubledUnit,
}

/// In which order accumulates of a worker to one place are done.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Accumulate {
    /// That of the calls
    Ordered,
    /// Any: the hint accumulate_ordering=none
    Unordered,
    /// Refused: a window of C for each thread
    #[value(hide = true)]
    Window,
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
    /// A tile is not zero if its row and column differ by at most this
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=200))]
    pub band: u64,
    /// Numbers along a tile
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=512))]
    pub edge: u64,
    /// Order of accumulates: ordered or unordered
    #[arg(long, value_enum, default_value = "ordered")]
    pub accumulate: Accumulate,
    /// Seed an error
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// The order of accumulates.
    pub(super) const fn order(&self) -> AccumulateOrder {
        match self.accumulate {
            Accumulate::Unordered => AccumulateOrder::Any,
            Accumulate::Ordered | Accumulate::Window => AccumulateOrder::OfCalls,
        }
    }

    /// Whether the mode is one of this program, with so many threads.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self) -> Result<(), String> {
        let name = self.mode.name();
        if self.accumulate == Accumulate::Window {
            let why =
                "MPI accumulates of several windows to one place are not atomic: C has one window";
            return Err(why.to_owned());
        }
        match self.mode {
            Mode::Processes if self.threads > 1 => Err(format!(
                "mode processes has one thread in each process, not {}",
                self.threads
            )),
            Mode::Processes | Mode::Serial | Mode::Window | Mode::Endpoint => Ok(()),
            Mode::Tag => Err(
                "mode tag: a get has no tag that could name the threads of both sides; expected processes, serial, window or endpoint"
                    .to_owned(),
            ),
            Mode::Naive | Mode::Comm | Mode::Partitioned => Err(format!(
                "mode {name}: this product has windows, no messages; expected processes, serial, window or endpoint"
            )),
        }
    }
}
