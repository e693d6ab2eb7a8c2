// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};

use super::graph::Graph;
use crate::halo::Mode;

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// The first process forgets the first label that it sends to another one
    LostLabel,
}

/// Options of the graph.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How threads expose their parallelism: processes, serial, tag or endpoint
    #[arg(long, value_enum, default_value = "serial")]
    pub mode: Mode,
    /// Threads of a process
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub threads: u64,
    /// Vertices of the graph
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub vertices: u64,
    /// Edges of the graph
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=1 << 26))]
    pub edges: u64,
    /// Compare labels with those of a serial computation, outside the measured time
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
    /// The graph on so many processes.
    ///
    /// # Errors
    /// When options do not fit together; the text has the numbers.
    pub fn graph(&self, processes: usize) -> Result<Graph, String> {
        let (name, threads) = (self.mode.name(), self.threads as usize);
        match self.mode {
            Mode::Processes if threads > 1 => {
                return Err(format!(
                    "mode processes has one thread in each process, not {threads}"
                ));
            }
            Mode::Processes | Mode::Serial | Mode::Tag | Mode::Endpoint => {}
            Mode::Naive | Mode::Comm => {
                return Err(format!(
                    "mode {name}: which threads send to each other changes from round to round, so there is no plan of communicators; expected processes, serial, tag or endpoint"
                ));
            }
            Mode::Window | Mode::Partitioned => {
                return Err(format!(
                    "mode {name}: how many labels a thread sends is not known before; expected processes, serial, tag or endpoint"
                ));
            }
        }
        let (vertices, members) = (self.vertices as usize, processes * threads);
        if vertices < members {
            return Err(format!(
                "--vertices {vertices}: {threads} threads in each of {processes} processes, expected at least {members}, one for each"
            ));
        }
        if self.fault.is_some() && processes < 2 {
            return Err(format!(
                "--fault lost-label: {processes} process sends no labels, expected at least 2 processes"
            ));
        }
        Ok(Graph {
            vertices,
            edges: self.edges as usize,
            members,
        })
    }
}
