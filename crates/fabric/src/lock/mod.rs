// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of a stream: one word, taken and released without a system call while nobody contends.

#[cfg(all(test, loom))]
mod models;
mod vci_lock;

pub use vci_lock::VciLock;
