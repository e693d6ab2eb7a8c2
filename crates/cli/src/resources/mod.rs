// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint resources`: what threads take of a network interface, and what sharing it costs.
//!
//! The crate `channels` counts, recommends and emulates. [`options`] reads the command line; [`show`], [`map`] and [`recommend`]
//! answer one question each, as text or JSON.

mod map;
mod options;
mod recommend;
mod run;
mod show;

pub(crate) use options::Question;
pub(crate) use run::run;
