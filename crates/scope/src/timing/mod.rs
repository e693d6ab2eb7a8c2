// SPDX-License-Identifier: MIT OR Apache-2.0
//! How times become samples: repetitions, trials, checks of independence; two transfers at once; asynchronous devices.
//!
//! Nothing here measures anything: a measurement is a function from a number of repetitions to nanoseconds, so tests pass
//! simulated clocks and devices.

mod asynchronous;
mod iid;
mod overlap;
mod sampling;

pub use asynchronous::{Device, FIRST_WAIT_CYCLES, Gated, gated};
pub use iid::{Verdict, check};
pub use overlap::{Interval, TwoWay};
pub use sampling::{Disturbance, Plan, Sampled, disturbance, sample};
