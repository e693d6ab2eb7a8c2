// SPDX-License-Identifier: MIT OR Apache-2.0
//! From repetitions to values: how often something runs, and which of its values count.
//!
//! ```text
//! sample    values until they are long enough and independent of each other, for a profile of the machine
//! iid       permutation tests of independence
//! clock     what reading the clock takes
//! budget    values that fill a time each, for jobs whose ranks agree on the number of repetitions
//! ```
//!
//! Nothing here measures anything: a measurement is a function from a number of repetitions to a time, so tests pass simulated clocks.

mod budget;
mod clock;
mod iid;
mod sample;

pub use budget::{Budget, Grown, When, grow};
pub use clock::{clock_ns, stay_quiet};
pub use iid::{Verdict, check};
pub use sample::{Disturbance, Plan, Sampled, disturbance, sample};
