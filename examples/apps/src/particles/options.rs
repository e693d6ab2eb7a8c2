// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};
use commplan::{Kind, Stencil};

use super::space::Space;
use crate::halo::{Mode, options};

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// The first process forgets the first particle that it hands to another one
    LostParticle,
}

/// Options of the particles.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How threads expose their parallelism: processes, serial, naive, comm, tag or endpoint
    #[arg(long, value_enum, default_value = "serial")]
    pub mode: Mode,
    /// Threads of a process along each axis (default: one)
    #[arg(long, value_delimiter = ',', value_name = "X,Y,Z")]
    pub threads: Vec<usize>,
    /// Processes along each axis (default: as balanced as the number of ranks allows)
    #[arg(long, value_delimiter = ',', value_name = "X,Y,Z")]
    pub procs: Vec<usize>,
    /// Cells along each axis of the box, which all patches divide
    #[arg(long, default_value_t = 48, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub size: u64,
    /// Particles of all threads
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(0..=1 << 28))]
    pub particles: u64,
    /// Cells that a particle moves in a step, at most, along each axis
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1 << 10))]
    pub speed: u64,
    /// Number of steps
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=1 << 32))]
    pub steps: u64,
    /// Compare particles with where they should be, outside the measured time
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
    /// The plan of the mode.
    pub(super) fn plan(&self) -> Result<Kind, String> {
        match self.mode {
            Mode::Processes | Mode::Serial | Mode::Tag => Ok(Kind::Tag),
            Mode::Naive => Ok(Kind::Naive),
            Mode::Comm => Ok(Kind::Edge),
            Mode::Endpoint => Ok(Kind::Endpoint),
            Mode::Window | Mode::Partitioned => Err(format!(
                "mode {}: how many particles leave a patch is not known before; expected processes, serial, naive, comm, tag or endpoint",
                self.mode.name()
            )),
        }
    }

    /// The box on so many processes.
    ///
    /// # Errors
    /// When options do not fit together; the text has the numbers.
    pub fn space(&self, processes: usize) -> Result<Space, String> {
        let extents = [&self.threads[..], &self.procs[..]];
        let grid = options::grid(Stencil::TwentySeven, extents, self.mode, processes)?;
        let grid = grid.all_periodic().third_class();
        let (size, speed) = (self.size as usize, self.speed as usize);
        for axis in 0..3 {
            let patches = grid.threads()[axis] * grid.processes()[axis];
            let least = size / patches;
            if least < speed {
                let name = ["x", "y", "z"][axis];
                return Err(format!(
                    "--speed {speed}: {size} cells in {patches} patches along {name} give some {least}, expected at least {speed} in each"
                ));
            }
        }
        if self.fault.is_some() && processes < 2 {
            return Err(format!(
                "--fault lost-particle: {processes} process hands no particles to others, expected at least 2 processes"
            ));
        }
        Ok(Space {
            grid,
            size,
            particles: self.particles,
            speed: self.speed,
        })
    }
}
