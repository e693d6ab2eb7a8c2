// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real objects: libibverbs, opened at run time.
//!
//! `abi` declares what is used of its binary interface, `library` opens it, `objects` has one type for each object, which destroys it
//! before what it belongs to, and `probe` builds a category and writes through it. Assertions in `abi` hold sizes and offsets to those of
//! rdma-core 44.

mod abi;
mod library;
mod objects;
mod probe;

pub use library::{Device, Verbs};
pub use objects::{CompletionQueue, Context, MemoryRegion, ProtectionDomain, QueuePair};
pub use probe::{Probed, probe};
