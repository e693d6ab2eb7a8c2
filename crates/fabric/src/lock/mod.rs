// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of a VCI: one word, taken and released without a system call while no other thread contends.

#[cfg(all(test, loom))]
mod models;
mod vci_lock;

pub use vci_lock::VciLock;
