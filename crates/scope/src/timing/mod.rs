// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of what one thread does not do alone: two transfers at once, and devices that perform operations later.
//!
//! Nothing here measures anything, so tests pass simulated devices. `measure::sampling` has repetitions, trials and the checks of
//! independence.

mod asynchronous;
mod overlap;

pub use asynchronous::{Device, FIRST_WAIT_CYCLES, Gated, gated};
pub use overlap::{Interval, TwoWay};
