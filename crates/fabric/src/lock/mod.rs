// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks: that of a VCI, one word, taken and released without a system call while no other thread contends; that of a window's
//! target, which is fair and may be shared; the gate of its accumulates; and the cell of a request that two may execute.

mod accumulate_gate;
#[cfg(all(test, loom))]
mod gate_models;
#[cfg(all(test, loom))]
mod models;
mod request_cell;
#[cfg(all(test, loom))]
mod request_models;
mod vci_lock;
mod window_lock;
#[cfg(all(test, loom))]
mod window_models;

pub use accumulate_gate::{AccumulateGate, Announcement, Manner};
pub use request_cell::{Outcome, RequestCell, Taken};
pub use vci_lock::VciLock;
pub use window_lock::{Hold, Next, WindowLock};
