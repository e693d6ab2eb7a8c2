// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of an algorithm: the messages and bytes that each rank sends, and the rounds one after the other.
//!
//! These are the textbook's numbers, exact for any number of ranks. Roots are rank 0. Vectors are counted in elements where
//! an algorithm cuts between elements.

mod nodes;
mod rounds;
mod sent;
#[cfg(test)]
mod tests;
mod total;
mod trees;
mod vectors;

pub use sent::{Sent, sent};
pub use total::Cost;
