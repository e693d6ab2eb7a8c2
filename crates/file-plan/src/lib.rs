// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans of accesses to files as data: values in, values out, without a clock, a system call or MPI.
//!
//! | module | content |
//! |---|---|
//! | [`tiles`] | the bytes of a file that a view makes visible: ranges for positions and positions for offsets, nothing expanded |
//! | [`rows`] | lists of ranges, in which equal ranges at equal distances are one entry, as ranks send them to each other |
//! | [`domains`] | which aggregator accesses which part of a file in which round |
//! | [`coverage`] | which bytes of a part the ranks write or want |
//! | [`costs`] | what accesses cost, as measured or by a table |
//! | [`paths`] | how one rank accesses a file, as a table |
//! | [`choice`] | how a collective access is done, as a table |
//!
//! All ranks of a collective access compute with the same values, so they decide alike. `tests/plans.rs` compares with a naive model.

mod choice;
mod costs;
mod coverage;
mod domains;
mod paths;
mod rows;
mod tiles;

pub use choice::{
    Collective, Division, PROTOCOLS, Preference, Protocol, ProtocolRow, Summary, choose,
};
pub use costs::{COST_ROWS, COSTS, Cost, CostRow, Costs};
pub use coverage::Coverage;
pub use domains::{Domains, spread};
pub use paths::{Access, Action, PATHS, Path, PathRow, path};
pub use rows::{Row, Rows};
pub use tiles::Tiles;
