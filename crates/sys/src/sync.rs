// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics of this project: std's, or loom's when the code is being model-checked.
//!
//! Production code *is* the model: nothing else in the workspace names `std::sync::atomic`. They are type aliases, so
//! that the lint which forbids std's names elsewhere lets these through.

#[cfg(not(loom))]
#[expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]
mod imp {
    /// Atomic `bool`.
    pub type AtomicBool = std::sync::atomic::AtomicBool;
    /// Atomic `i32`.
    pub type AtomicI32 = std::sync::atomic::AtomicI32;
    /// Atomic `u8`.
    pub type AtomicU8 = std::sync::atomic::AtomicU8;
    /// Atomic `u16`.
    pub type AtomicU16 = std::sync::atomic::AtomicU16;
    /// Atomic `u32`.
    pub type AtomicU32 = std::sync::atomic::AtomicU32;
    /// Atomic `u64`.
    pub type AtomicU64 = std::sync::atomic::AtomicU64;
    /// Atomic `usize`.
    pub type AtomicUsize = std::sync::atomic::AtomicUsize;
    /// Atomic pointer.
    pub type AtomicPtr<T> = std::sync::atomic::AtomicPtr<T>;

    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{Ordering, compiler_fence, fence};
    pub use std::sync::{Mutex, MutexGuard};
}

#[cfg(loom)]
#[expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]
mod imp {
    /// Atomic `bool`.
    pub type AtomicBool = loom::sync::atomic::AtomicBool;
    /// Atomic `i32`.
    pub type AtomicI32 = loom::sync::atomic::AtomicI32;
    /// Atomic `u8`.
    pub type AtomicU8 = loom::sync::atomic::AtomicU8;
    /// Atomic `u16`.
    pub type AtomicU16 = loom::sync::atomic::AtomicU16;
    /// Atomic `u32`.
    pub type AtomicU32 = loom::sync::atomic::AtomicU32;
    /// Atomic `u64`.
    pub type AtomicU64 = loom::sync::atomic::AtomicU64;
    /// Atomic `usize`.
    pub type AtomicUsize = loom::sync::atomic::AtomicUsize;
    /// Atomic pointer.
    pub type AtomicPtr<T> = loom::sync::atomic::AtomicPtr<T>;

    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{Ordering, fence};
    pub use loom::sync::{Mutex, MutexGuard};
    pub use std::sync::atomic::compiler_fence;
}

pub use imp::*;
