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
    /// A thread fills a mailbox for the second exchange before the first border was got from it
    EarlyReuse,
    /// A thread forgets to put the flag of a border
    LostFlag,
}

/// Options of a halo exchange.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How threads expose their parallelism (default: comm, of mailbox serial)
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
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
    /// Cells that halos are deep: they are exchanged every so many steps, and threads compute those of others meanwhile
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MAX_SIZE))]
    pub depth: u64,
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
    /// Seconds after which a flag of a mailbox counts as lost
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: u64,
    /// Seed an error
    #[arg(long, value_enum)]
    pub fault: Option<Fault>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// The mode: that of the program, unless the options have one.
    pub fn mode(&self, app: App) -> Mode {
        self.mode.unwrap_or(app.default_mode())
    }

    /// The cells that a step reads.
    pub fn stencil(&self, app: App) -> Stencil {
        self.stencil.unwrap_or(app.default_stencil())
    }

    /// Exchanges in all steps.
    pub const fn rounds(&self) -> usize {
        self.steps.div_ceil(self.depth as usize)
    }

    /// The grid of a program on so many ranks, with the stencil of its messages. Deep halos have corners, whatever a step reads.
    ///
    /// # Errors
    /// When numbers do not fit together; the text tells which.
    pub fn grid(&self, app: App, ranks: usize) -> Result<Grid, String> {
        let told = |error: Error| error.to_string();
        let axes = app.axes();
        let stencil = self.stencil(app);
        if stencil.axes() != axes {
            return Err(format!(
                "a {}-point stencil has {} axes, this program {axes}",
                stencil.points(),
                stencil.axes()
            ));
        }
        let (depth, size) = (self.depth, self.size);
        if depth > size {
            return Err(format!(
                "--depth {depth}: a patch has {size} cells along each axis, expected at most so many"
            ));
        }
        let stencil = match stencil {
            Stencil::Five if depth > 1 => Stencil::Nine,
            Stencil::Seven if depth > 1 => Stencil::TwentySeven,
            other => other,
        };
        let extents = [&self.threads[..], &self.procs[..]];
        let grid = grid(stencil, extents, self.mode(app), ranks)?;
        if !matches!(self.plan, Kind::Edge | Kind::Merged) {
            return Err(format!(
                "--plan {}: expected edge or merged",
                self.plan.name()
            ));
        }
        self.check_fault(app, ranks)?;
        let grid = match &self.periodic {
            None if app.has_windows() => grid.all_periodic(),
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

impl Options {
    /// Whether the error can be seeded.
    fn check_fault(&self, app: App, ranks: usize) -> Result<(), String> {
        let (name, least) = match self.fault {
            None | Some(Fault::WrongDirection) => return Ok(()),
            Some(Fault::EarlyReuse) => ("early-reuse", 2),
            Some(Fault::LostFlag) => ("lost-flag", 1),
        };
        if !app.has_windows() {
            return Err(format!("--fault {name}: {} has no mailboxes", app.name()));
        }
        if ranks < 2 {
            return Err(format!(
                "--fault {name}: {ranks} process has no mailboxes, expected at least 2 processes"
            ));
        }
        let rounds = self.rounds();
        if rounds < least {
            return Err(format!(
                "--fault {name}: {rounds} exchanges, expected at least {least}"
            ));
        }
        Ok(())
    }
}

/// The grid of a stencil with extents of threads and of processes; none are one thread, and processes as balanced as the number of ranks
/// allows.
///
/// # Errors
/// When numbers do not fit together; the text tells which.
pub(crate) fn grid(
    stencil: Stencil,
    [threads, procs]: [&[usize]; 2],
    mode: Mode,
    ranks: usize,
) -> Result<Grid, String> {
    let axes = stencil.axes();
    let threads = match threads {
        [] => vec![1; axes],
        _ => threads.to_vec(),
    };
    let procs = match procs {
        [] => balanced(axes, ranks)?,
        _ => procs.to_vec(),
    };
    let grid = Grid::new(stencil, &threads, &procs).map_err(|error| error.to_string())?;
    if grid.process_count() != ranks {
        let wanted = grid.process_count();
        return Err(format!(
            "--procs {procs:?} are {wanted} processes, but there are {ranks} ranks"
        ));
    }
    if mode == Mode::Processes && grid.thread_count() > 1 {
        return Err(format!(
            "mode processes has one thread in each process, not {threads:?}"
        ));
    }
    Ok(grid)
}

fn balanced(axes: usize, ranks: usize) -> Result<Vec<usize>, String> {
    let dims = match axes {
        2 => rankpoint::balanced_dims(ranks, [None; 2]).map(Vec::from),
        _ => rankpoint::balanced_dims(ranks, [None; 3]).map(Vec::from),
    };
    dims.map_err(|error| error.to_string())
}
