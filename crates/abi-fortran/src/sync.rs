// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics of this crate.
#![expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]

/// Atomic word.
pub(crate) type AtomicUsize = std::sync::atomic::AtomicUsize;
/// Atomic pointer.
pub(crate) type AtomicPtr<T> = std::sync::atomic::AtomicPtr<T>;
