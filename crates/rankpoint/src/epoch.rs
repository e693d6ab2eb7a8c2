// SPDX-License-Identifier: MIT OR Apache-2.0
//! Epochs of windows as guards, and the operations that they permit.

use engine::Result;
use engine::p2p::NoPromise;
use engine::rma::{LockKind, epoch::assertion, fence, passive};

use crate::envelope::rank_code;
use crate::op::{Integer, Op, Reducible};
use crate::places::{ByIndex, Places};
use crate::threads::Threads;
use crate::{Plain, Window};

/// How ranks share the lock of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// With other holders of shared locks.
    Shared,
    /// With nobody.
    Exclusive,
}

impl<E: Plain, T: Threads, A: Places> Window<'_, E, T, A> {
    /// Waits until all ranks have called it, and begins an epoch in which all of them may use the window (MPI_Win_fence). The operations
    /// of an epoch before are complete everywhere then.
    ///
    /// # Errors
    /// When this rank holds a lock.
    pub fn fence(&self) -> Result<Epoch<'_, E, T, A>> {
        self.fenced(0).map(|()| Epoch(self))
    }

    fn fenced(&self, assertion: i32) -> Result<()> {
        const CALL: &str = "Window::fence";
        self.run(CALL, fence::fence(&self.window, assertion, CALL))
    }

    /// Begins an epoch of this rank at one target (MPI_Win_lock). It waits while other ranks hold locks that exclude this one; locks are
    /// granted in the order in which they were asked for.
    ///
    /// # Errors
    /// When there is no such rank, or this process holds a lock there already.
    pub fn lock(&self, rank: usize, lock: Lock) -> Result<LockGuard<'_, E, T, A>> {
        const CALL: &str = "Window::lock";
        let kind = match lock {
            Lock::Shared => LockKind::Shared,
            Lock::Exclusive => LockKind::Exclusive,
        };
        let code = rank_code(rank);
        self.run(CALL, passive::lock(&self.window, kind, code, 0, CALL))?;
        Ok(LockGuard { window: self, rank })
    }

    /// Begins an epoch of this rank at all targets, with shared locks (MPI_Win_lock_all).
    ///
    /// # Errors
    /// When this process holds locks already.
    pub fn lock_all(&self) -> Result<LockAllGuard<'_, E, T, A>> {
        const CALL: &str = "Window::lock_all";
        self.run(CALL, passive::lock_all(&self.window, 0, CALL))?;
        Ok(LockAllGuard(self))
    }
}

/// The operations of an epoch, at any target or at the one of a guard.
macro_rules! operations {
    ($kind:ident, ($($rank:ident: $usize:ty)?), $target:expr) => {
        impl<E: Plain, T: Threads, A: Places> $kind<'_, E, T, A> {
            /// Writes elements to the target, from `place` on (MPI_Put).
            ///
            /// # Errors
            /// When they do not lie inside the window.
            #[inline]
            pub fn put(&self, data: &[E], $($rank: $usize,)? place: A::Of<E>) -> Result<()> {
                let rank = $target(self, $($rank)?);
                self.window().put::<NoPromise>(concat!(stringify!($kind), "::put"), data, rank, A::spot(place))
            }

            /// Reads elements of the target, from `place` on (MPI_Get).
            ///
            /// # Errors
            /// As for [`Self::put`].
            #[inline]
            pub fn get(&self, into: &mut [E], $($rank: $usize,)? place: A::Of<E>) -> Result<()> {
                let rank = $target(self, $($rank)?);
                self.window().get::<NoPromise>(concat!(stringify!($kind), "::get"), into, rank, A::spot(place))
            }
        }

        impl<E: Reducible, T: Threads, A: Places> $kind<'_, E, T, A> {
            /// Combines elements into those of the target, from `place` on; each element at once for all ranks
            /// (MPI_Accumulate).
            ///
            /// # Errors
            /// As for [`Self::put`]; when the operation is a function of the program.
            pub fn accumulate(&self, data: &[E], op: Op<E>, $($rank: $usize,)? place: A::Of<E>) -> Result<()> {
                let rank = $target(self, $($rank)?);
                let call = concat!(stringify!($kind), "::accumulate");
                self.window().accumulate::<NoPromise>(call, data, &op, rank, A::spot(place))
            }

            /// As [`Self::accumulate`], and reads what was there before (MPI_Get_accumulate).
            ///
            /// # Errors
            /// As for [`Self::accumulate`].
            ///
            /// # Panics
            /// When there are not as many results as elements.
            pub fn get_accumulate(
                &self,
                data: &[E],
                result: &mut [E],
                op: Op<E>,
                $($rank: $usize,)?
                place: A::Of<E>,
            ) -> Result<()> {
                let rank = $target(self, $($rank)?);
                self.window().fetch(concat!(stringify!($kind), "::get_accumulate"), (data, result), &op, rank, A::spot(place))
            }

            /// Combines a value into one element, and returns what was there before (MPI_Fetch_and_op).
            ///
            /// # Errors
            /// As for [`Self::accumulate`].
            pub fn fetch_and_op(&self, value: E, op: Op<E>, $($rank: $usize,)? place: A::Of<E>) -> Result<E> {
                let rank = $target(self, $($rank)?);
                let mut old = [value];
                self.window().fetch(concat!(stringify!($kind), "::fetch_and_op"), (&[value], &mut old), &op, rank, A::spot(place))?;
                Ok(old[0])
            }
        }

        impl<E: Integer, T: Threads, A: Places> $kind<'_, E, T, A> {
            /// Replaces one element by `value` if it is equal to `compare`, and returns what was there before
            /// (MPI_Compare_and_swap).
            ///
            /// # Errors
            /// As for [`Self::put`].
            pub fn compare_and_swap(&self, compare: E, value: E, $($rank: $usize,)? place: A::Of<E>) -> Result<E> {
                let rank = $target(self, $($rank)?);
                let call = concat!(stringify!($kind), "::compare_and_swap");
                self.window().swap(call, [compare, value], rank, A::spot(place))
            }
        }
    };
}

/// An epoch of all ranks between two fences.
#[must_use = "an epoch ends with `end` or `next`"]
pub struct Epoch<'w, E: Plain, T: Threads, A: Places = ByIndex>(&'w Window<'w, E, T, A>);

impl<'w, E: Plain, T: Threads, A: Places> Epoch<'w, E, T, A> {
    pub(crate) const fn window(&self) -> &Window<'w, E, T, A> {
        self.0
    }

    /// Ends this epoch and begins another one, at all ranks together.
    ///
    /// # Errors
    /// Those of the messages.
    pub fn next(self) -> Result<Self> {
        self.0.fenced(0).map(|()| self)
    }

    /// Ends the epoch at all ranks together.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub fn end(self) -> Result<()> {
        self.0.fenced(assertion::NOSUCCEED)
    }
}

/// The lock of one target. Dropping it ends the epoch: the operations are complete at the target.
#[must_use = "the lock is held as long as the guard lives"]
pub struct LockGuard<'w, E: Plain, T: Threads, A: Places = ByIndex> {
    window: &'w Window<'w, E, T, A>,
    rank: usize,
}

impl<'w, E: Plain, T: Threads, A: Places> LockGuard<'w, E, T, A> {
    pub(crate) const fn window(&self) -> &Window<'w, E, T, A> {
        self.window
    }

    /// Completes the operations at the target (MPI_Win_flush).
    ///
    /// # Errors
    /// Those of operations at the target.
    pub fn flush(&self) -> Result<()> {
        let outcome = passive::flush(&self.window.window, rank_code(self.rank));
        self.window.run("LockGuard::flush", outcome)
    }
}

impl<E: Plain, T: Threads, A: Places> Drop for LockGuard<'_, E, T, A> {
    fn drop(&mut self) {
        // The guard holds the lock; what else may fail is told by the next call.
        let _ = passive::unlock(&self.window.window, rank_code(self.rank));
    }
}

/// Shared locks of all targets. Dropping it ends the epoch: the operations are complete at their targets.
#[must_use = "the locks are held as long as the guard lives"]
pub struct LockAllGuard<'w, E: Plain, T: Threads, A: Places = ByIndex>(&'w Window<'w, E, T, A>);

impl<'w, E: Plain, T: Threads, A: Places> LockAllGuard<'w, E, T, A> {
    pub(crate) const fn window(&self) -> &Window<'w, E, T, A> {
        self.0
    }

    /// Completes the operations at one target (MPI_Win_flush).
    ///
    /// # Errors
    /// When there is no such rank; those of operations at the target.
    pub fn flush(&self, rank: usize) -> Result<()> {
        let outcome = passive::flush(&self.0.window, rank_code(rank));
        self.0.run("LockAllGuard::flush", outcome)
    }

    /// Completes the operations at all targets (MPI_Win_flush_all).
    ///
    /// # Errors
    /// Those of operations at the targets.
    pub fn flush_all(&self) -> Result<()> {
        let outcome = passive::flush_all(&self.0.window);
        self.0.run("LockAllGuard::flush_all", outcome)
    }
}

impl<E: Plain, T: Threads, A: Places> Drop for LockAllGuard<'_, E, T, A> {
    fn drop(&mut self) {
        // As for `LockGuard`.
        let _ = passive::unlock_all(&self.0.window);
    }
}

operations!(Epoch, (rank: usize), |_: &Self, rank| rank);
operations!(LockAllGuard, (rank: usize), |_: &Self, rank| rank);
operations!(LockGuard, (), |guard: &Self| guard.rank);
