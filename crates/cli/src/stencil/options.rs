// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint stencil`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stencil_plan::{AXES, Boundary, Placement, Plan, Problem, Radius};

use crate::profile::ProfileOptions;

/// Most ranks of a plan.
const MOST_RANKS: u32 = 1 << 16;

/// Points that an exchange moves at most for each one of the grid: a box in each direction.
const MOST_MOVED: u64 = 26;

/// Subcommands of `rankpoint stencil`.
#[derive(Subcommand)]
pub(crate) enum Question {
    /// Divide a grid among nodes and ranks: boxes, messages, bytes that cross nodes
    Plan(PlanOptions),
}

/// Options of `rankpoint stencil plan`.
#[derive(Args)]
pub(crate) struct PlanOptions {
    /// Points along x, y, z
    #[arg(long, value_name = "X,Y,Z")]
    pub(super) grid: String,
    /// Nodes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RANKS)))]
    pub(super) nodes: u32,
    /// Ranks, or devices, of each node
    #[arg(long, alias = "ranks-per-node", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RANKS)))]
    pub(super) devices: u32,
    /// Points that the stencil reads in each direction
    #[arg(long, default_value_t = 1)]
    pub(super) radius: usize,
    /// The stencil reads along the axes only
    #[arg(long)]
    pub(super) faces: bool,
    /// Axes that are not periodic, such as x,z
    #[arg(long, value_delimiter = ',', value_name = "AXES")]
    pub(super) open: Vec<char>,
    /// Bytes of all quantities at a point
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(super) bytes: u64,
    /// Boxes along x, y, z, in place of those that the partition finds
    #[arg(long, value_name = "X,Y,Z")]
    pub(super) dims: Option<String>,
    /// Describe this placement only
    #[arg(long)]
    pub(super) placement: Option<Kind>,
    /// Predict times by the machine profile; --profile does so, too
    #[arg(long)]
    pub(super) times: bool,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    /// Write bytes between ranks as a picture: an SVG or PNG file
    #[arg(long, value_name = "FILE")]
    pub(super) picture: Option<PathBuf>,
    /// Print JSON, with all boxes and messages
    #[arg(long)]
    pub(super) json: bool,
}

/// Placements by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Boxes of nodes, then of ranks
    Optimised,
    /// Boxes in the order of ranks
    Trivial,
    /// The boxes of the first, at any ranks
    Random,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Optimised => "optimised",
            Self::Trivial => "trivial",
            Self::Random => "random",
        }
    }
}

impl PlanOptions {
    /// The placement that `--placement` names, or all.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let all = Kind::value_variants().to_vec();
        self.placement.map_or(all, |kind| vec![kind])
    }

    /// The plan by a placement.
    ///
    /// # Errors
    /// When the grid cannot be divided so.
    pub(super) fn plan(&self, kind: Kind) -> Result<Plan, String> {
        let ranks = u64::from(self.nodes) * u64::from(self.devices);
        if ranks > MOST_RANKS.into() {
            return Err(format!(
                "{} nodes of {} ranks: expected at most {MOST_RANKS} ranks",
                self.nodes, self.devices
            ));
        }
        let mut boundary = [Boundary::Periodic; 3];
        for name in &self.open {
            let axis = AXES.iter().position(|axis| axis == name);
            let axis = axis.ok_or_else(|| format!("--open {name}: expected x, y or z"))?;
            boundary[axis] = Boundary::Open;
        }
        let radius = if self.faces {
            Radius::faces(self.radius)
        } else {
            Radius::constant(self.radius)
        };
        let problem = Problem {
            grid: three("--grid", &self.grid)?,
            radius,
            boundary,
        };
        let dims = self.dims.as_ref();
        let dims = dims.map(|dims| three("--dims", dims)).transpose()?;
        let nodes: Vec<u32> = (0..ranks as u32).map(|rank| rank / self.devices).collect();
        let placement = match kind {
            Kind::Optimised => Placement::Optimised,
            Kind::Trivial => Placement::Trivial,
            Kind::Random => Placement::Random,
        };
        let points: Option<u64> = problem.grid.iter().try_fold(1u64, |all, &side| {
            // A number that does not fit is one that the plan refuses.
            all.checked_mul(side as u64)
        });
        let plan = Plan::new(problem, &nodes, placement, None, dims);
        let plan = plan.map_err(|error| error.to_string())?;
        let most = points.and_then(|points| points.checked_mul(MOST_MOVED));
        match most.and_then(|points| points.checked_mul(self.bytes)) {
            Some(_) => Ok(plan),
            None => Err(format!(
                "--grid {} --bytes {}: expected at most {} points of so many bytes",
                self.grid,
                self.bytes,
                u64::MAX / MOST_MOVED / self.bytes
            )),
        }
    }

    /// Whether times are predicted.
    pub(super) fn wants_times(&self) -> bool {
        self.times || self.profile.profile.is_some()
    }
}

/// Numbers such as `64,32,16` or `64x32x16`.
fn three(name: &str, given: &str) -> Result<[usize; 3], String> {
    let numbers = given.split([',', 'x']).map(|word| word.trim().parse().ok());
    let numbers: Option<Vec<usize>> = numbers.collect();
    let three = numbers.and_then(|numbers| <[usize; 3]>::try_from(numbers).ok());
    three.ok_or_else(|| format!("{name} {given}: expected three numbers, such as 64,32,16"))
}
