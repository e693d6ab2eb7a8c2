// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halo exchange: each thread owns a patch of cells, exchanges its border with the threads around it, and replaces each cell by
//! the sum of the stencil's cells.
//!
//! [`app`]: the programs. [`options`]: the command line. [`mode`]: how messages are mapped to communicators. [`domain`] is the whole field, [`patch`] a
//! thread's part of it, [`exchange`] a thread's work with its borders as `messages`, `partitions` or `mailboxes`, [`job`] a process's. [`mod@reference`] computes the field serially,
//! [`tally`] is what a thread counts, [`outcome`] what is told.

pub mod app;
pub mod domain;
pub mod exchange;
pub mod job;
mod mailboxes;
mod messages;
pub mod mode;
pub mod options;
pub mod outcome;
mod partitions;
pub mod patch;
pub mod reference;
mod run;
pub mod tally;

pub use app::App;
pub use job::{run_alone, run_threads};
pub use mode::Mode;
pub use options::Options;
pub use outcome::Outcome;
pub use run::main;
