// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that measure together: two ends of a line, and teams.

mod duo;
mod line;
mod team;

pub(crate) use duo::{Spot, bind, duo, sample_here};
pub(crate) use line::CacheLine;
pub(crate) use team::team;
