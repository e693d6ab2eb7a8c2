// SPDX-License-Identifier: MIT OR Apache-2.0
//! How bytes reach files.
//!
//! | module | content |
//! |---|---|
//! | [`mod@file`] | an open file: accesses at offsets, sizes, locks of ranges |
//! | [`mod@transfer`] | the loop around each system call: what ends short is continued, what is interrupted is repeated |
//! | [`fault`] | what the system reports, and the kinds that callers tell apart |
//! | [`system`] | file systems, and what of them decides |
//! | [`mod@measure`] | what accesses cost in a folder |
//! | [`worker`] | the thread that does accesses while the program computes |
//!
//! This is the only crate that makes system calls on files of the program's data. It knows no MPI. Tests stand beside the code; those of
//! [`mod@transfer`] script the system's answers.

mod fault;
mod file;
mod measure;
mod system;
mod transfer;
mod worker;

pub use fault::{Fault, FaultKind};
pub use file::{File, Identity, Locked, OpenMode, delete};
pub use measure::{Measured, measure};
pub use sys::file_ranges::Hold;
pub use system::System;
pub use transfer::Done;
pub use worker::{Ticket, submit};
