// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomics and cells of this crate: std's, or loom's when the code is being model-checked.
//!
//! Production code *is* the model: nothing else in the workspace names `std::sync::atomic`.

#[cfg(not(loom))]
#[expect(
    clippy::disallowed_types,
    reason = "this is the one module that may name them"
)]
mod imp {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };
    pub use std::sync::{Mutex, MutexGuard};
}

#[cfg(loom)]
mod imp {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, fence,
    };
    pub use loom::sync::{Mutex, MutexGuard};
}

pub use imp::*;
