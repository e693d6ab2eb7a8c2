// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress: a VCI behind its lock, the rounds that advance it, and how ranks wait (MPI-5.0, section 2.9).
//!
//! [`Vci`] gives access to a VCI's state. A round reads what arrived and sends what waits (`rounds`), and polls the VCI's tasks
//! ([`tasks`]). A waiting call polls, yields, then sleeps (`wait`); the progress thread advances a VCI while the program
//! computes (`background`).

mod background;
mod elsewhere;
#[cfg(test)]
mod lock_tests;
mod oversubscription;
mod polls;
mod pool;
mod rounds;
mod sleep;
mod tasks;
#[cfg(test)]
mod tests;
mod traced;
mod vci;
mod wait;
mod yields;

pub(crate) use pool::MakeTransport;
pub use pool::Vcis;
pub use tasks::{Begun, Completion, Kept, block_on, complete_request};
pub(crate) use tasks::{CALL, TasksPolled, Waiting, current_call, go_on, park, watch};
pub(crate) use vci::{Guard, LockPolicy};
pub use vci::{THREADS, Vci};
