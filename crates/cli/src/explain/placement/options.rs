// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint explain placement`.

use std::path::PathBuf;

use algorithms::number;
use clap::{Args, ValueEnum};
use placement::MOST_RANKS;

use crate::profile::ProfileOptions;

/// The largest weight of an edge in MPI.
const MOST_WEIGHT: u64 = i32::MAX as u64;

/// Options of `rankpoint explain placement`.
#[derive(Args)]
#[command(
    after_help = "A file of edges has a line for each message: source, destination, and its bytes, if any.\n\
        Without bytes, messages are counted.\n\n\
        Example: rankpoint explain placement --grid 8x8 --periodic --bytes 64K,8K --nodes 4 --per-node 16"
)]
pub(crate) struct PlacementOptions {
    /// Ranks of a grid along each dimension, such as 8x8x4; each exchanges messages with its neighbours
    #[arg(long, value_name = "DIMS", value_parser = grid, required_unless_present = "edges")]
    pub(super) grid: Option<Grid>,
    /// Rings along all dimensions, or along some, counted from 0: --periodic=0,2
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "all", value_name = "DIMENSIONS", requires = "grid")]
    pub(super) periodic: Option<String>,
    /// Bytes of a message to a neighbour, or a number for each dimension; takes K, M, G
    #[arg(long, value_delimiter = ',', value_parser = weight, value_name = "BYTES", requires = "grid")]
    pub(super) bytes: Vec<u64>,
    /// File of edges: source, destination and bytes of each message
    #[arg(long, value_name = "FILE", conflicts_with = "grid")]
    pub(super) edges: Option<PathBuf>,
    /// Number of nodes
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RANKS)))]
    pub(super) nodes: u32,
    /// Ranks of each node
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RANKS)))]
    pub(super) per_node: u32,
    /// How mpiexec has started the ranks
    #[arg(long, value_enum, default_value_t = MapBy::Slot)]
    pub(super) map_by: MapBy,
    /// Estimate times by the machine profile; --profile does so, too
    #[arg(long)]
    pub(super) times: bool,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Ranks of a grid along each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid(pub(super) Vec<u32>);

/// How ranks are dealt to nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum MapBy {
    /// They fill one node after the other
    Slot,
    /// They go round the nodes
    Node,
}

/// `8x8x4`.
fn grid(text: &str) -> Result<Grid, String> {
    let dims: Option<Vec<u32>> = text.split('x').map(|dim| dim.parse().ok()).collect();
    let dims = dims.filter(|dims| {
        let mut sizes = dims.iter().map(|&dim| u64::from(dim));
        let ranks = sizes.try_fold(1u64, u64::checked_mul);
        ranks.is_some_and(|ranks| (1..=u64::from(MOST_RANKS)).contains(&ranks))
    });
    dims.map(Grid)
        .ok_or_else(|| format!("expected a grid such as 8x8x4 of 1 to {MOST_RANKS} ranks"))
}

/// The bytes of a message, which are a weight in MPI.
pub(super) fn weight(text: &str) -> Result<u64, String> {
    let found = number(text).filter(|&bytes| bytes <= MOST_WEIGHT);
    found.ok_or_else(|| {
        format!(
            "expected a number of bytes such as 64 or 32K, up to {MOST_WEIGHT}, the largest weight"
        )
    })
}

impl PlacementOptions {
    /// Number of processes, of which each node has equally many.
    pub(super) fn processes(&self) -> Result<u32, String> {
        let processes = u64::from(self.nodes) * u64::from(self.per_node);
        let processes = u32::try_from(processes).ok();
        let processes = processes.filter(|&processes| processes <= MOST_RANKS);
        processes.ok_or_else(|| {
            format!(
                "--nodes {} --per-node {}: expected at most {MOST_RANKS} ranks; larger communicators keep theirs",
                self.nodes, self.per_node
            )
        })
    }

    /// Which dimensions of a grid are rings.
    pub(super) fn periods(&self, dimensions: usize) -> Result<Vec<bool>, String> {
        let Some(list) = &self.periodic else {
            return Ok(vec![false; dimensions]);
        };
        if list == "all" {
            return Ok(vec![true; dimensions]);
        }
        let mut periods = vec![false; dimensions];
        for name in list.split(',') {
            let dimension = name.parse().ok();
            let period = dimension.and_then(|dimension: usize| periods.get_mut(dimension));
            *period.ok_or_else(|| {
                format!(
                    "--periodic: '{name}': expected dimensions, 0..{}",
                    dimensions - 1
                )
            })? = true;
        }
        Ok(periods)
    }

    /// The bytes of a message along each dimension of a grid, if there are any.
    pub(super) fn bytes_along(&self, dimensions: usize) -> Result<Option<Vec<u64>>, String> {
        match self.bytes[..] {
            [] => Ok(None),
            [each] => Ok(Some(vec![each; dimensions])),
            _ if self.bytes.len() == dimensions => Ok(Some(self.bytes.clone())),
            _ => Err(format!(
                "--bytes: {} numbers, expected 1, or {dimensions}: one for each dimension",
                self.bytes.len()
            )),
        }
    }

    /// Whether times are estimated.
    pub(super) fn wants_times(&self) -> bool {
        self.times || self.profile.profile.is_some()
    }
}
