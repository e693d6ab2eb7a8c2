// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint commplan`.

use clap::Args;
use commplan::{Error, Grid, Kind, MIN_TAG_UB, Stencil};

use crate::profile::ProfileOptions;

/// Largest patch that volumes are told of, in cells along an axis.
const MAX_SIZE: u64 = 1 << 20;

/// Largest cell, in bytes.
const MAX_CELL_BYTES: u64 = 1 << 20;

/// Options of `rankpoint commplan`.
#[derive(Args)]
pub(crate) struct CommplanOptions {
    /// Threads of a process along each axis, such as 4,4,4
    #[arg(long, value_delimiter = ',', required = true, value_name = "X,Y[,Z]")]
    pub(super) threads: Vec<usize>,
    /// Processes along each axis
    #[arg(long, value_delimiter = ',', required = true, value_name = "X,Y[,Z]")]
    pub(super) procs: Vec<usize>,
    /// Points of the stencil: 5 or 9 with two axes, 7 or 27 with three
    #[arg(long)]
    pub(super) stencil: Stencil,
    /// Periodic along all axes, or along some: --periodic=x,y
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "all", value_name = "AXES")]
    pub(super) periodic: Option<String>,
    /// Give the last interface of periodic axes with an odd number of processes a class of its own
    #[arg(long)]
    pub(super) third_class: bool,
    /// Contexts of the network interface, onto which communicators and endpoints fall round robin
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(super) contexts: Option<u32>,
    /// Tell of this plan only: naive, edge, merged, tag or endpoint; --json, --rust and --c then have its map
    #[arg(long)]
    pub(super) plan: Option<Kind>,
    /// Largest tag of the library: its attribute MPI_TAG_UB
    #[arg(long, default_value_t = MIN_TAG_UB, value_parser = clap::value_parser!(i32).range(0..))]
    pub(super) tag_ub: i32,
    /// Cells along each axis of a thread's patch, for volumes
    #[arg(long, value_delimiter = ',', default_value = "8,16,32,64", value_parser = clap::value_parser!(u64).range(1..=MAX_SIZE))]
    pub(super) size: Vec<u64>,
    /// Tell how long messages take, by the machine profile; --profile does so, too
    #[arg(long)]
    pub(super) times: bool,
    /// Bytes of a cell, for times
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=MAX_CELL_BYTES))]
    pub(super) cell_bytes: u64,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Print the map of the plan as tables in Rust
    #[arg(long, requires = "plan", conflicts_with = "json")]
    pub(super) rust: bool,
    /// Print the map of the plan as tables in C
    #[arg(long, requires = "plan", conflicts_with_all = ["json", "rust"])]
    pub(super) c: bool,
}

impl CommplanOptions {
    /// The grid that is asked for.
    pub(super) fn grid(&self) -> Result<Grid, String> {
        let told = |error: Error| error.to_string();
        let grid = Grid::new(self.stencil, &self.threads, &self.procs).map_err(told)?;
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

    /// Whether times are told.
    pub(super) fn wants_times(&self) -> bool {
        self.times || self.profile.profile.is_some()
    }

    /// The kinds of plans that are told of.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        self.plan.map_or(Kind::ALL.to_vec(), |kind| vec![kind])
    }
}
