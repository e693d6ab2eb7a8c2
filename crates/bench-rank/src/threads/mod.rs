// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates of several threads that start operations at once.
//!
//! A [`RatePlan`] is what the ranks of one job do; the command gives it as words and the ranks read them.

mod mode;
mod one_sided;
mod plan;
mod rates;

pub use mode::{Mode, Operation};
pub use plan::RatePlan;
pub(crate) use rates::measure;

/// First word of the ranks of these jobs.
pub const RATES: &str = "thread-rates";
