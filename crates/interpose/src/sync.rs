// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics of this crate.
#![expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]

/// Atomic pointer.
pub(crate) type AtomicPtr<T> = std::sync::atomic::AtomicPtr<T>;
/// Atomic 64-bit word.
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
/// Atomic word.
pub(crate) type AtomicUsize = std::sync::atomic::AtomicUsize;
/// Atomic flag.
pub(crate) type AtomicBool = std::sync::atomic::AtomicBool;
