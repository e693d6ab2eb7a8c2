// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a member attached to a dynamic window.
//!
//! [`blocks`] keeps its regions sorted by address in short blocks, which the member changes; [`table`] is the same in node-shared memory,
//! where the other members of the node search it. A change is published as the blocks that it concerns, so attaching and detaching cost the
//! same whatever else is attached.

mod blocks;
#[cfg(test)]
mod blocks_tests;
mod table;

pub use blocks::{Region, Regions};
pub use table::{Found, find, publish, table_bytes};
