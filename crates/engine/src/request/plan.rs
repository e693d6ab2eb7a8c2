// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a persistent collective is started: a function and what it was planned with.

use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;

use super::{Op, Status};
use crate::errors::Result;

/// A collective as a task.
pub(crate) type Boxed = Pin<Box<dyn Future<Output = Result<Status>>>>;

/// How a persistent collective starts on its fast path: what its starts find, and the function that starts it.
pub struct FastPlan {
    found: Box<dyn Anything>,
    start: Start,
}

/// Starts the persistent collective of an entry, whose `base` is what its plan has for that.
///
/// # Safety
/// The entry is an active planned one, with a plan of which this is the start. No other thread is inside MPI, and no guard is used.
pub(crate) type Start = unsafe fn(NonNull<Op>) -> Started;

/// What every start gives: MPI_SUCCESS, because the wait tells what went wrong. It is a number, so that the C call ends with a jump to the
/// start.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Started(i32);

impl Started {
    pub(crate) const WELL: Self = Self(0);

    /// What the C call returns.
    #[inline(always)]
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// What only has to be dropped.
trait Anything {}

impl<T> Anything for T {}

impl FastPlan {
    /// A plan whose starts find `found`.
    pub(crate) fn new<T: 'static>(found: Box<T>, start: Start) -> Self {
        Self { found, start }
    }

    /// What an entry keeps for its starts; valid while the plan lives.
    pub(crate) fn parts(&self) -> (*mut u8, Start) {
        ((&raw const *self.found).cast::<u8>().cast_mut(), self.start)
    }
}
