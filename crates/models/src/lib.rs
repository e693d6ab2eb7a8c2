// SPDX-License-Identifier: MIT OR Apache-2.0
//! Analytical models of injection overhead and latency: where the time of a message goes, and what it would gain from a faster
//! component. No clocks, no operating system, no MPI.
//!
//! A [`Model`] is data: components with nanoseconds, sums of them, and quantities that it predicts. [`Model::parse`] reads it from
//! TOML, [`preset()`] gives the published one. [`Values`] are the numbers it is evaluated with; [`Change`]s make others of them.
//!
//! | question | answer |
//! |---|---|
//! | what does it predict, how far is that from what was measured | [`Model::independent`], [`Prediction`] |
//! | what if a component changes | [`Model::what_if`], [`Model::sweep`] |
//! | how much must it change | [`Model::need`] |
//! | what matters most | [`Model::sensitivity`] |
//! | what do windows, credits and locks allow | [`window`], and event by event [`simulate`] |
//! | what do traces of a bus say | [`trace`] |
//! | which components do experiments determine | [`Model::determined`], [`identify`] |
//!
//! Source: R. Zambre, *Exascalable Communication for Modern Supercomputing* (University of California, Irvine, 2020), chapter 2.
//! Its numbers are tests in `tests/`.

#![forbid(unsafe_code)]

mod answer;
mod change;
mod dual;
mod error;
mod experiments;
mod expression;
pub mod identify;
mod model;
mod parse;
mod preset;
pub mod simulate;
pub mod trace;
mod values;
pub mod window;

pub use answer::{Gain, Independent, Need, Prediction, Sensitivity};
pub use change::Change;
pub use error::Error;
pub use experiments::Determined;
pub use model::{Component, Model, Origin, Quantity, Shares, Source, Sum, Term};
pub use preset::{PRESETS, preset};
pub use values::{BYTES, Values};
