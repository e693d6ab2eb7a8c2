// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use clap::{Args, ValueEnum};
use commplan::{Error, Grid, Kind, Stencil};

use super::app::App;
use super::mode::Mode;

/// Largest patch, in cells along an axis.
const MAX_SIZE: u64 = 4096;

/// A seeded error, to see that verification finds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Fault {
    /// Threads send the border of the opposite side
    WrongDirection,
}

/// Options of a halo exchange.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How threads expose their parallelism
    #[arg(long, value_enum, default_value = "comm")]
    pub mode: Mode,
    /// Threads of a process along each axis (default: one)
    #[arg(long, value_delimiter = ',', value_name = "X,Y[,Z]")]
    pub threads: Vec<usize>,
    /// Processes along each axis (default: as balanced as the number of ranks allows)
    #[arg(long, value_delimiter = ',', value_name = "X,Y[,Z]")]
    pub procs: Vec<usize>,
    /// Points of the stencil (default: faces only)
    #[arg(long)]
    pub stencil: Option<Stencil>,
    /// Cells along each axis of a thread's patch
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=MAX_SIZE))]
    pub size: u64,
    /// Number of steps
    #[arg(long, default_value_t = 10)]
    pub steps: usize,
    /// Periodic along all axes, or along some: --periodic=x,y
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "all", value_name = "AXES")]
    pub periodic: Option<String>,
    /// Give the last interface of periodic axes with an odd number of processes a class of its own
    #[arg(long)]
    pub third_class: bool,
    /// The plan of mode comm: edge or merged
    #[arg(long, default_value = "edge")]
    pub plan: Kind,
    /// Compare cells with their owner's values, outside the measured time
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub verify: bool,
    /// A barrier of all ranks before each exchange
    #[arg(long)]
    pub barrier: bool,
    /// Seed an error
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// The grid of a program on so many ranks.
    ///
    /// # Errors
    /// When numbers do not fit together; the text tells which.
    pub fn grid(&self, app: App, ranks: usize) -> Result<Grid, String> {
        let told = |error: Error| error.to_string();
        let axes = app.axes();
        let stencil = self.stencil.unwrap_or(app.default_stencil());
        if stencil.axes() != axes {
            return Err(format!(
                "a {}-point stencil has {} axes, this program {axes}",
                stencil.points(),
                stencil.axes()
            ));
        }
        let threads = match self.threads.is_empty() {
            true => vec![1; axes],
            false => self.threads.clone(),
        };
        let procs = match self.procs.is_empty() {
            true => balanced(axes, ranks)?,
            false => self.procs.clone(),
        };
        let grid = Grid::new(stencil, &threads, &procs).map_err(told)?;
        if grid.process_count() != ranks {
            let wanted = grid.process_count();
            return Err(format!(
                "--procs {procs:?} are {wanted} processes, but there are {ranks} ranks"
            ));
        }
        if self.mode == Mode::Processes && grid.thread_count() > 1 {
            return Err(format!(
                "mode processes has one thread in each process, not {threads:?}"
            ));
        }
        if !matches!(self.plan, Kind::Edge | Kind::Merged) {
            return Err(format!(
                "--plan {}: expected edge or merged",
                self.plan.name()
            ));
        }
        let grid = match &self.periodic {
            None => grid,
            Some(axes) => grid.periodic_along(axes).map_err(told)?,
        };
        Ok(if self.third_class {
            grid.third_class()
        } else {
            grid
        })
    }
}

fn balanced(axes: usize, ranks: usize) -> Result<Vec<usize>, String> {
    let dims = match axes {
        2 => rankpoint::balanced_dims(ranks, [None; 2]).map(Vec::from),
        _ => rankpoint::balanced_dims(ranks, [None; 3]).map(Vec::from),
    };
    dims.map_err(|error| error.to_string())
}
