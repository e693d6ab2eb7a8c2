// SPDX-License-Identifier: MIT OR Apache-2.0
//! Product of two matrices, C = A B, in global arrays: a server has all three, and the threads of clients get what a tile of C is made of,
//! multiply, and put the tile.
//!
//! [`options`]: the command line. [`problem`]: the matrices, and who calculates which tile. `arrays`: the windows with them. `worker` is what a
//! thread does, [`job`] gives threads their windows.

mod arrays;
pub mod job;
pub mod options;
pub mod problem;
mod run;
mod worker;

pub use job::{run_alone, run_threads};
pub use options::Options;
pub use run::main;
