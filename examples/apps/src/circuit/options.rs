// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};

use super::graph::Circuit;
use crate::halo::Mode;

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// The first process runs the handler of its first message with charges twice
    DoubledMessage,
}

/// Options of the circuit.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How threads expose their parallelism: serial, comm, tag or endpoint
    #[arg(long, value_enum, default_value = "serial")]
    pub mode: Mode,
    /// Task threads of a process, which has a polling thread besides
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=63))]
    pub tasks: u64,
    /// Nodes of the circuit, of all processes
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub nodes: u64,
    /// Wires of the circuit, of all processes
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(0..=1 << 26))]
    pub wires: u64,
    /// Number of steps
    #[arg(long, default_value_t = 10)]
    pub steps: u64,
    /// Compare voltages with those of a serial computation, outside the measured time
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
    /// The circuit on so many processes.
    ///
    /// # Errors
    /// When options do not fit together; the text has the numbers.
    pub fn circuit(&self, processes: usize) -> Result<Circuit, String> {
        let name = self.mode.name();
        match self.mode {
            Mode::Serial | Mode::Comm | Mode::Tag | Mode::Endpoint => {}
            Mode::Processes => {
                return Err("mode processes has one thread in each process, but a polling thread needs at least 2; expected serial, comm, tag or endpoint".to_owned());
            }
            Mode::Naive => {
                return Err("mode naive is mode comm here: task threads send on communicators of their own; expected serial, comm, tag or endpoint".to_owned());
            }
            Mode::Window | Mode::Partitioned => {
                return Err(format!(
                    "mode {name}: active messages are messages of any length to any process; expected serial, comm, tag or endpoint"
                ));
            }
        }
        let (nodes, wires) = (self.nodes as usize, self.wires as usize);
        if nodes < processes {
            return Err(format!(
                "--nodes {nodes}: {processes} processes, expected at least one node for each"
            ));
        }
        let circuit = Circuit::new(nodes, wires, processes);
        let charges = circuit.part(0).charges;
        if self.fault.is_some() && (charges == 0 || self.steps == 0) {
            return Err(format!(
                "--fault doubled-message: {charges} wires lead from {} other processes to the first one, in {} steps; expected at least 1 in 1 step",
                processes - 1,
                self.steps
            ));
        }
        Ok(circuit)
    }
}
