// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics of this crate.

pub(crate) use sys::sync::{AtomicU64, Ordering};
