// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real objects: libibverbs, opened at run time.
//!
//! `abi` declares what is used of its binary interface, `library` opens it, `objects` has one type for each object, which destroys it
//! before what it belongs to. A [`Device`] is an [`Interface`](crate::Interface). Assertions in `abi` hold sizes and offsets to those of
//! rdma-core 44.

mod abi;
mod interface;
mod library;
mod objects;

pub use interface::NoThreadDomain;
pub use library::{Device, Verbs};
pub use objects::{CompletionQueue, Context, MemoryRegion, ProtectionDomain, QueuePair};
