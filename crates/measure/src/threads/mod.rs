// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that measure together: two ends of a line, teams, and where they meet.

mod duo;
mod line;
mod spin_barrier;
mod team;

pub use duo::{Spot, bind, duo, sample_here};
pub use line::{CacheLine, Stop};
pub use spin_barrier::SpinBarrier;
pub use team::team;
