// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain placement`: what crosses nodes with ranks in order, at random, and where `reorder` places them.
//!
//! The messages of a program come from a grid or a file ([`pattern`]). [`answer`] places its ranks by the function that the library uses,
//! and counts; [`times`] estimates by the machine profile; [`text`] prints. `tests` holds whole outputs.

mod answer;
mod options;
mod pattern;
mod run;
#[cfg(test)]
mod tests;
mod text;
mod times;

pub(crate) use options::PlacementOptions;
pub(super) use run::run;
pub(crate) use times::{ENTRIES, curve};
