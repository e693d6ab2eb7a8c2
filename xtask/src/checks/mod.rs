// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of the source. Each says what it covered, and fails when that is nothing.
//!
//! [`layers()`]: who uses whom; [`lines()`]: length of files; [`pairs()`]: partners of memory orderings; [`deny()`]: licences and
//! versions of what we depend on; [`names()`]: names in comments.

mod conclude;
mod cycles;
mod deny;
mod layers;
mod lines;
#[cfg(test)]
mod links;
mod metadata;
mod modules;
mod names;
mod pairs;
mod seam;
mod shape;
mod sources;
mod trees;

use conclude::conclude;
pub(crate) use deny::deny;
pub(crate) use layers::{layers, run as run_layers};
pub(crate) use lines::lines;
use metadata::metadata;
pub(crate) use names::names;
pub(crate) use pairs::pairs;
pub(crate) use shape::{run as run_shape, shape};
pub(crate) use sources::{count_models, files_of, read, shown};
use sources::{rust_files, shipped, sources};
