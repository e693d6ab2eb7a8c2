// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a proxy reports the end of an operation: 64 bytes for each operation under way.
//!
//! The program's side resets a slot before it publishes the command that names it; the proxy writes the words, then `state`. Only the
//! program's side moves `state` from PENDING to SLEEPING, only the proxy moves it to DONE. A proxy that ends before leaves the slot
//! as it is: waiting threads look at times whether the job has failed.
//!
//! Memory of zeros is a slot of an operation under way.

use std::time::Duration;

use sys::futex;
use sys::sync::{AtomicU32, AtomicU64, Ordering};

const PENDING: u32 = 0;
/// A thread of the program sleeps, or is about to.
const SLEEPING: u32 = 1;
const DONE: u32 = 2;

/// The end of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Error class.
    pub code: i32,
    /// A flag, a rank, or a number of bytes.
    pub value: i64,
    /// A second such number.
    pub second: i64,
    /// An MPI_Status, or zeros.
    pub status: [u64; 4],
}

/// Where the end of an operation is reported.
#[repr(C, align(64))]
pub struct Slot {
    state: AtomicU32,
    code: AtomicU32,
    value: AtomicU64,
    second: AtomicU64,
    status: [AtomicU64; 4],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 64);

impl Slot {
    /// A slot of an operation under way.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(PENDING),
            code: AtomicU32::new(0),
            value: AtomicU64::new(0),
            second: AtomicU64::new(0),
            status: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Makes the slot that of a new operation. The program's side calls this, before the proxy knows of the operation.
    pub fn reset(&self) {
        self.state.store(PENDING, Ordering::Relaxed);
    }

    /// Reports the end of the operation. The proxy calls this, once.
    pub fn finish(&self, end: &Completion) {
        self.code.store(end.code.cast_unsigned(), Ordering::Relaxed);
        self.value
            .store(end.value.cast_unsigned(), Ordering::Relaxed);
        self.second
            .store(end.second.cast_unsigned(), Ordering::Relaxed);
        for (word, &value) in self.status.iter().zip(&end.status) {
            word.store(value, Ordering::Relaxed);
        }
        // PAIRS: slot.done
        if self.state.swap(DONE, Ordering::Release) == SLEEPING {
            futex::wake_all(&self.state);
        }
    }

    /// The end of the operation, if it has come.
    pub fn poll(&self) -> Option<Completion> {
        // PAIRS: slot.done
        if self.state.load(Ordering::Acquire) != DONE {
            return None;
        }
        Some(Completion {
            code: self.code.load(Ordering::Relaxed).cast_signed(),
            value: self.value.load(Ordering::Relaxed).cast_signed(),
            second: self.second.load(Ordering::Relaxed).cast_signed(),
            status: std::array::from_fn(|at| self.status[at].load(Ordering::Relaxed)),
        })
    }

    /// Sleeps until the operation ends, at most `timeout`. Several threads of the program's side may.
    pub fn sleep(&self, timeout: Duration) {
        let (relaxed, pending) = (Ordering::Relaxed, PENDING);
        // A failure says that the operation has ended, or that another thread sleeps, too.
        let _ = (self.state).compare_exchange(pending, SLEEPING, relaxed, relaxed);
        futex::wait(&self.state, SLEEPING, timeout);
    }
}
