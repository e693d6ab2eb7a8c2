// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics of this crate.

pub(crate) use std::sync::atomic::Ordering;

/// Atomic 64-bit word.
#[expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
