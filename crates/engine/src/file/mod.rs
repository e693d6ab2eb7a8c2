// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files (MPI-5.0, chapter 14).
//!
//! | module | content |
//! |---|---|
//! | [`object`] | the file, and what its calls share |
//! | [`open`], [`mode`], [`hints`] | opening, closing and deleting; access modes; hints |
//! | [`view`], [`datarep`] | which bytes a rank sees, and how numbers are represented |
//! | [`data`], [`access`] | the program's memory, and accesses of one rank |
//! | [`ranges`], [`covering`] | lists of ranges, several by one system call; what that costs, and when writes may |
//! | [`collective`], [`exchange`] | accesses of all ranks: the choice of a protocol, and that with aggregators |
//! | [`split`], [`ordered`] | collectives in two calls; accesses in rank order |
//! | [`mod@pointer`], [`shared`] | file pointers of a rank, and the shared one |
//! | [`size`] | sizes, sync and atomicity |
//! | [`report`], [`traced`] | counts, and how accesses were done; accesses in traces |
//! | [`conflicts`] | accesses of two ranks that nothing orders (`RANKPOINT_CHECK=files`) |
//! | [`agree`], [`failure`] | what ranks compare and how they fail alike; errors from faults of the system |
//!
//! A file owns a window, whose communicator carries the messages of its collectives and whose memory at rank 0 is the shared file
//! pointer. A blocking access makes its system calls on the calling thread. A nonblocking one is a task that waits for the thread of crate
//! `storage`, which rings the doorbell of the task's VCI. Crate `file_plan` computes ranges, domains and rounds. Tests: `tests/`.

pub mod access;
mod agree;
pub mod collective;
pub mod conflicts;
mod covering;
pub mod data;
pub mod datarep;
mod exchange;
mod failure;
pub mod hints;
pub mod mode;
pub mod object;
pub mod open;
pub mod ordered;
pub mod pointer;
mod ranges;
mod report;
pub mod shared;
pub mod size;
pub mod split;
#[cfg(test)]
mod tests;
mod traced;
pub mod view;

pub use access::{Action, Moved, Place};
pub use data::Data;
pub use hints::FileHints;
pub use mode::Mode;
pub use object::File;
