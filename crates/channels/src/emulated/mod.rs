// SPDX-License-Identifier: MIT OR Apache-2.0
//! An emulated network interface, with a virtual clock and in real time.
//!
//! | file | contents |
//! |---|---|
//! | `workload` | what a microbenchmark does, and which objects threads share |
//! | `arrangement` | which thread uses which object |
//! | `lanes` | locks and lanes in virtual time: the first to come is served first |
//! | `microbenchmark` | threads that post writes and poll for completions, as discrete events |
//! | `kernel` | a product of matrices in a global array, in each category |
//! | [`wall`] | the same interface in memory, with threads and in real time |
//!
//! Queueing at locks, lanes and fetch units follows from the events. Effects without a known cause are [`Constants`]: the emulation
//! contains them, it does not find them.
//!
//! [`Constants`]: crate::Constants

mod arrangement;
mod kernel;
mod lanes;
mod microbenchmark;
pub mod wall;
mod workload;

pub use arrangement::{Arrangement, Seat};
pub use kernel::{KernelRun, Matrices, run_kernel};
pub use microbenchmark::{VirtualRun, run_microbenchmark};
pub use workload::{Features, Level, Object, Sharing, Workload};
