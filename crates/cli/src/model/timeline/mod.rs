// SPDX-License-Identifier: MIT OR Apache-2.0
//! `trace` of ranks: what the files say that ranks leave where `RANKPOINT_TRACE` has them record what happens to their messages.
//!
//! [`job`] reads the files and puts their times on one clock, [`operations`] makes sends and receives of events, [`pairs`] finds the send
//! of each receive, [`summary()`] tells numbers, and [`perfetto`] writes the time line for Perfetto and Chrome.

mod job;
mod operations;
mod pairs;
mod perfetto;
mod summary;
#[cfg(test)]
mod tests;

pub(super) use job::{Job, is_of_ranks};
pub(super) use perfetto::export;
pub(super) use summary::summary;
