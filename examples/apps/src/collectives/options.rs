// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};

use super::vectors::Vectors;
use crate::halo::Mode;

/// What all threads need.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Collective {
    /// The sum of all vectors
    Allreduce,
    /// All vectors, one after the other
    Allgather,
}

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// The last thread of the last process contributes zeros in the last step
    MissingVector,
}

/// Options of the collectives.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How threads take part: processes, serial, comm or endpoint
    #[arg(long, value_enum, default_value = "serial")]
    pub mode: Mode,
    /// What all threads need
    #[arg(long, value_enum, default_value = "allreduce")]
    pub collective: Collective,
    /// Threads of a process
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub threads: u64,
    /// Vectors of all threads, which have equally many
    #[arg(long, default_value_t = 48, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub vectors: u64,
    /// Numbers of a vector
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub count: u64,
    /// Number of steps
    #[arg(long, default_value_t = 10)]
    pub steps: u64,
    /// Compare results with those of a serial computation, outside the measured time
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
    /// The vectors on so many processes.
    ///
    /// # Errors
    /// When options do not fit together; the text has the numbers.
    pub fn vectors(&self, processes: usize) -> Result<Vectors, String> {
        let (name, threads) = (self.mode.name(), self.threads as usize);
        let expected = "expected processes, serial, comm or endpoint";
        match self.mode {
            Mode::Processes if threads > 1 => {
                return Err(format!(
                    "mode processes has one thread in each process, not {threads}"
                ));
            }
            Mode::Processes | Mode::Serial | Mode::Comm | Mode::Endpoint => {}
            Mode::Naive | Mode::Tag | Mode::Window | Mode::Partitioned => {
                return Err(format!(
                    "mode {name}: a collective has neither tags nor windows nor partitions, and threads of one communicator call it one at a time; {expected}"
                ));
            }
        }
        let (all, members) = (self.vectors as usize, processes * threads);
        if !all.is_multiple_of(members) {
            return Err(format!(
                "--vectors {all}: {threads} threads in each of {processes} processes, expected a multiple of {members}"
            ));
        }
        Ok(Vectors {
            all,
            count: self.count as usize,
            members,
            collective: self.collective,
        })
    }
}
