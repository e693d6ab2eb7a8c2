// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources`: what threads take of a network interface, and what sharing it costs.
//!
//! The crate `channels` counts, recommends and emulates. [`options`] and [`bench_options`] read the command line; [`show`], [`map`],
//! [`recommend`], [`mod@bench`] with [`over_mpi`], and [`probe`] answer one question each, as text or JSON.

mod bench;
mod bench_options;
mod map;
mod options;
mod over_mpi;
mod probe;
mod recommend;
mod run;
mod show;

pub(crate) use options::Question;
pub(crate) use run::run;
