// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting a persistent collective: a function, and the data that it was planned with.

use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;

use super::{RequestEntry, Status};
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
pub(crate) type Start = unsafe fn(NonNull<RequestEntry>) -> Started;

/// The result of every start: MPI_SUCCESS, because the wait returns errors. It is a number, so that the C call ends with a jump to the
/// start.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Started(i32);

impl Started {
    pub(crate) const WELL: Self = Self(0);

    /// The return value of the C call.
    #[inline(always)]
    pub const fn code(self) -> i32 {
        self.0
    }
}

/// Data that only have to be dropped.
trait Anything {}

impl<T> Anything for T {}

impl FastPlan {
    /// A plan whose starts find `found`.
    pub(crate) fn new<T: 'static>(found: Box<T>, start: Start) -> Self {
        Self { found, start }
    }

    /// The address and the function that an entry keeps for its starts; valid while the plan lives.
    pub(crate) fn parts(&self) -> (*mut u8, Start) {
        ((&raw const *self.found).cast::<u8>().cast_mut(), self.start)
    }
}
