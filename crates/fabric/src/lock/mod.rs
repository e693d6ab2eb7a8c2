// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks: that of a VCI, one word, taken and released without a system call while no other thread contends; and that of a window's
//! target, which is fair and may be shared.

#[cfg(all(test, loom))]
mod models;
mod vci_lock;
mod window_lock;
#[cfg(all(test, loom))]
mod window_models;

pub use vci_lock::VciLock;
pub use window_lock::{Hold, Next, WindowLock};
