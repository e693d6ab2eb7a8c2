// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans of stencil computations: which rank has which box of a grid, and which halos it sends to whom. No MPI calls, no operating
//! system.
//!
//! A [`Problem`] is a grid with its halos. A [`Plan`] divides it among the ranks of some nodes: in two levels, first into a box
//! for each node, then into one for each rank of the node, so that little crosses nodes; ranks of a node get boxes by quadratic
//! assignment ([`assignment`]). All directions that join two ranks are one [`Message`]. [`regions`] cuts a box into what needs no
//! halos and what does.
//!
//! Equal arguments give equal plans everywhere, so ranks that know the same problem need not talk to agree.
//!
//! Source: C. Pearson, *Movement and Placement of Non-Contiguous Data in Distributed GPU Computing* (University of Illinois, 2021),
//! chapter 4. Tests of its numbers are in `tests/`.

#![forbid(unsafe_code)]

pub mod assignment;
mod error;
mod geometry;
mod message;
mod partition;
mod plan;
mod radius;
pub mod regions;

pub use error::Error;
pub use geometry::{AXES, Boundary, Box3, DIRECTIONS, Direction, index_of, opposite};
pub use message::{Message, Share, Traffic};
pub use partition::{cut, ranges};
pub use plan::{Placement, Plan, Problem};
pub use radius::Radius;
