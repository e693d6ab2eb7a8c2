// SPDX-License-Identifier: MIT OR Apache-2.0
//! What communication costs on this machine: entries that measure it, the way in which they are timed, and the machine itself.
//!
//! ```text
//! timing         two ways at once; asynchronous devices
//! memory, kernels   what is measured works on and runs
//! gpu            GPUs, through the driver that is found at run time
//! session, entry    what an entry may use, and the rows of the table
//! groups         the rows: line, atomic, copy, stream, single, double, cma, numa, page, memory, wake, call, pack, network, gpu
//! guard          governor and boost: recorded, set and restored
//! machine        which machine this is, and its places
//! run            entries one after the other become a profile
//! ```
//!
//! Entries that need an MPI library are the command's, which adds them to the table. After C. Pearson, *Movement and Placement
//! of Non-Contiguous Data in Distributed GPU Computing* (University of Illinois, 2021), chapters 3 and 6.

mod entry;
mod gpu;
mod groups;
mod guard;
mod kernels;
mod machine;
mod memory;
mod run;
mod session;
mod sync;
pub mod timing;

pub use entry::Entry;
pub use groups::{entries, run_peer};
pub use guard::{SteadyClock, run_watcher};
pub use machine::{here, places};
pub use run::{Progress, measure};
pub use session::{Effort, Found, Outcome, Session};
