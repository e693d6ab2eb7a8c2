// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics of this crate.

/// Atomic pointer.
#[expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]
pub(crate) type AtomicPtr<T> = std::sync::atomic::AtomicPtr<T>;
/// Atomic 64-bit word.
#[expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
