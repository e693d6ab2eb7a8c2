// SPDX-License-Identifier: MIT OR Apache-2.0
//! The group `rendezvous` of `rankpoint bench`: long messages, who posts first, and what each way costs.
//!
//! | file | contents |
//! |---|---|
//! | [`mod@predict`] | the skew curves as the cost model of crate `protocols` has them |
//! | [`mod@tables`] | the tables |
//! | [`mod@plot`] | the skew curves, measured and predicted |
//!
//! `bench_rank` measures.

mod plot;
mod predict;
mod tables;
#[cfg(test)]
mod testing;

pub(super) use plot::skew_charts;
pub(super) use predict::{Curve, predict};
pub(super) use tables::tables;
