// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows (MPI-5.0, chapter 12): memory of a rank that other ranks read and write without its help.
//!
//! # Safety
//! Every operation is complete at its origin when its call returns, so no buffer outlives its borrow, whatever happens to guards. The memory
//! of a window belongs to the engine and is reached by its calls and by [`Local`] only, which gives no references.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use engine::completion;
use engine::datatype::{Memory, Predefined, predefined};
use engine::p2p::{NoPromise, Promises};
use engine::request::RequestId;
use engine::rma::{
    self, Elements, LockKind, Remote, Spot, Window as EngineWindow, WindowHints, fence, passive,
};
use engine::{Error, ErrorClass, Result};

use crate::envelope::rank_code;
use crate::errors::report;
use crate::op::{Op, Reducible};
use crate::threads::{OneThread, Threads};
use crate::{Communicator, Plain};

/// The info key of the order of accumulates.
const ORDERING: &str = "accumulate_ordering";

/// A part of the memory of each rank, as a number of elements `E`, that all ranks of a communicator read and write with
/// [`put`](Epoch::put), [`get`](Epoch::get) and [`accumulate`](Epoch::accumulate).
///
/// Operations need an epoch, which is a guard: [`Self::fence`], which all ranks call together, [`Self::lock`] or [`Self::lock_all`], which
/// need no help of the other ranks. What operations wrote is there for all ranks after the next fence, or when the guard is dropped.
///
/// ```
/// use rankpoint::{Op, Universe};
///
/// let universe = Universe::init()?;
/// let world = universe.world();
/// let window = world.window::<u64>(4)?;
///
/// // Everybody writes its rank into the memory of its neighbour.
/// let epoch = window.fence()?;
/// let right = (world.rank() + 1) % world.size();
/// epoch.put(&[world.rank() as u64], right, 0)?;
/// epoch.end()?;
/// assert_eq!(window.local().load(0), ((world.rank() + world.size() - 1) % world.size()) as u64);
///
/// // Everybody takes a number from a counter of rank 0.
/// let counter = window.lock_all()?;
/// let number = counter.fetch_and_op(1, Op::SUM, 0, 1)?;
/// assert!(number < world.size() as u64);
/// drop(counter);
/// window.free()?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// It is freed when all ranks have dropped it. It lives no longer than its [`Universe`](crate::Universe).
pub struct Window<'u, E: Plain, T: Threads = OneThread> {
    window: Arc<EngineWindow>,
    length: usize,
    universe: crate::shared::Elements<'u, E, T>,
}

/// How ranks share the lock of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// With other holders of shared locks.
    Shared,
    /// With nobody.
    Exclusive,
}

/// In which order the accumulates of one rank to one element are done (the info key `accumulate_ordering`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccumulateOrder {
    /// That of the calls.
    #[default]
    OfCalls,
    /// Any: the program promises that its result is the same.
    Any,
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// A window with `length` elements of this rank, all bytes of which are zero (MPI_Win_allocate). Called by all ranks, whose lengths
    /// may differ.
    ///
    /// # Errors
    /// When memory or a context is missing at some rank.
    pub fn window<E: Plain>(&self, length: usize) -> Result<Window<'u, E, T>> {
        self.window_ordered(length, AccumulateOrder::OfCalls)
    }

    /// As [`Self::window`], with an order of accumulates, which all ranks give alike.
    ///
    /// # Errors
    /// As there.
    pub fn window_ordered<E: Plain>(
        &self,
        length: usize,
        order: AccumulateOrder,
    ) -> Result<Window<'u, E, T>> {
        const CALL: &str = "Communicator::window";
        let is_any = |key: &str| key == ORDERING && order == AccumulateOrder::Any;
        let hints = WindowHints::of(|key| is_any(key).then(|| "none".to_owned()));
        self.run(CALL, |this| {
            let bytes = length.checked_mul(size_of::<E>());
            // A length that does not fit is refused by the engine at all ranks.
            let bytes = bytes.map_or(u64::MAX, |bytes| bytes as u64);
            let unit = size_of::<E>().max(1) as i64;
            let window = rma::allocate(this.shared(), bytes, unit, hints, CALL)?;
            Ok(Window {
                window,
                length,
                universe: PhantomData,
            })
        })
    }
}

impl<E: Plain, T: Threads> Window<'_, E, T> {
    fn run<R>(&self, call: &'static str, outcome: Result<R>) -> Result<R> {
        outcome.map_err(|error| report(self.window.comm(), call, error))
    }

    /// In which order accumulates are done.
    pub fn accumulate_order(&self) -> AccumulateOrder {
        match self.window.hints.get(ORDERING).as_deref() {
            Some("none") => AccumulateOrder::Any,
            _ => AccumulateOrder::OfCalls,
        }
    }

    /// Number of elements of this rank.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether this rank has no elements.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// This rank's elements.
    pub fn local(&self) -> Local<'_, E> {
        Local {
            base: self.window.base().cast(),
            length: self.length,
            window: PhantomData,
        }
    }

    /// Waits until all ranks have called it, and begins an epoch in which all of them may use the window (MPI_Win_fence). The operations
    /// of an epoch before are complete everywhere then.
    ///
    /// # Errors
    /// When this rank holds a lock.
    pub fn fence(&self) -> Result<Epoch<'_, E, T>> {
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
    pub fn lock(&self, rank: usize, lock: Lock) -> Result<LockGuard<'_, E, T>> {
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
    pub fn lock_all(&self) -> Result<LockAllGuard<'_, E, T>> {
        const CALL: &str = "Window::lock_all";
        self.run(CALL, passive::lock_all(&self.window, 0, CALL))?;
        Ok(LockAllGuard(self))
    }

    /// Gives the memory back when all ranks have called it (MPI_Win_free). Dropping the window does the same without waiting.
    ///
    /// # Errors
    /// When this rank holds a lock, or started operations in an epoch of fences that has not ended.
    pub fn free(self) -> Result<()> {
        const CALL: &str = "Window::free";
        self.run(CALL, self.window.free(CALL))
    }

    /// Ends an operation at its origin.
    fn complete(&self, mut request: RequestId) -> Result<()> {
        completion::wait(self.window.comm().vci(), &mut request, "Window::complete").map(drop)
    }

    /// Writes elements to a target: on the fast path, which is inlined, or by [`Self::put_rest`].
    // TIER: short
    #[inline(always)]
    pub(crate) fn put<P: Promises>(
        &self,
        call: &'static str,
        data: &[E],
        rank: usize,
        spot: Spot,
    ) -> Result<()> {
        let (base, bytes, rank) = (data.as_ptr().cast(), size_of_val(data), rank_code(rank));
        // SAFETY: the data are borrowed.
        if unsafe { rma::put_now::<P>(&self.window, base, bytes, rank, spot) } {
            return Ok(());
        }
        self.put_rest::<P>(call, data, rank, spot)
    }

    /// What the fast path leaves.
    #[inline(never)]
    fn put_rest<P: Promises>(
        &self,
        call: &'static str,
        data: &[E],
        rank: i32,
        spot: Spot,
    ) -> Result<()> {
        let origin = Memory::contiguous(data.as_ptr().cast_mut().cast(), size_of_val(data));
        let remote = self.remote::<P>(predefined::BYTE, size_of_val(data), rank, spot);
        let outcome = remote.and_then(|remote| {
            // SAFETY: the data are borrowed until the operation is complete here.
            let request = unsafe { rma::rput(&self.window, &origin, &remote) }?;
            self.complete(request)
        });
        self.run(call, outcome)
    }

    /// Reads elements of a target, as [`Self::put`] writes them.
    // TIER: short
    #[inline(always)]
    pub(crate) fn get<P: Promises>(
        &self,
        call: &'static str,
        into: &mut [E],
        rank: usize,
        spot: Spot,
    ) -> Result<()> {
        let (base, bytes, rank) = (into.as_mut_ptr().cast(), size_of_val(into), rank_code(rank));
        // SAFETY: the memory is borrowed exclusively; any bytes are values (Plain).
        if unsafe { rma::get_now::<P>(&self.window, base, bytes, rank, spot) } {
            return Ok(());
        }
        self.get_rest::<P>(call, into, rank, spot)
    }

    /// What the fast path leaves.
    #[inline(never)]
    fn get_rest<P: Promises>(
        &self,
        call: &'static str,
        into: &mut [E],
        rank: i32,
        spot: Spot,
    ) -> Result<()> {
        let origin = Memory::contiguous(into.as_mut_ptr().cast(), size_of_val(into));
        let remote = self.remote::<P>(predefined::BYTE, size_of_val(into), rank, spot);
        let outcome = remote.and_then(|remote| {
            // SAFETY: the memory is borrowed exclusively until the operation is complete here; any bytes are values (Plain).
            let request = unsafe { rma::rget(&self.window, &origin, &remote) }?;
            self.complete(request)
        });
        self.run(call, outcome)
    }

    /// Elements of a predefined type at a target.
    fn remote<P: Promises>(
        &self,
        code: u32,
        count: usize,
        rank: i32,
        spot: Spot,
    ) -> Result<Remote<'static>> {
        let rank = self.window.named_target::<P>(rank)?;
        let (disp, unit) = match spot {
            Spot::Displacement(disp) => (disp, None),
            Spot::Address(address) => (self.window.displacement_of(rank, address), Some(1)),
        };
        let row = Predefined::find(code);
        let row =
            row.ok_or_else(|| Error::new(ErrorClass::ERR_TYPE, "no such predefined datatype"))?;
        Ok(Remote {
            unit,
            rank,
            disp,
            count,
            datatype: row.datatype(),
        })
    }
}

/// The place of an element of a target. An index beyond all displacements is a negative one, which the engine refuses.
#[inline(always)]
pub(crate) const fn at_index(index: usize) -> Spot {
    Spot::Displacement(index.cast_signed() as i64)
}

impl<E: Reducible, T: Threads> Window<'_, E, T> {
    pub(crate) fn accumulate<P: Promises>(
        &self,
        call: &'static str,
        data: &[E],
        op: &Op<E>,
        rank: usize,
        spot: Spot,
    ) -> Result<()> {
        let outcome = op.operator().and_then(|operator| {
            let remote = self.remote::<P>(E::CODE, data.len(), rank_code(rank), spot)?;
            let origin = elements(data.as_ptr().cast_mut(), &remote);
            // SAFETY: the data are borrowed until the operation is complete here.
            let request = unsafe { rma::raccumulate(&self.window, &origin, &remote, operator) }?;
            self.complete(request)
        });
        self.run(call, outcome)
    }

    fn fetch(
        &self,
        call: &'static str,
        (data, result): (&[E], &mut [E]),
        op: &Op<E>,
        rank: usize,
        index: usize,
    ) -> Result<()> {
        assert_eq!(data.len(), result.len(), "as many results as elements");
        let outcome = op.operator().and_then(|operator| {
            let (rank, spot) = (rank_code(rank), at_index(index));
            let remote = self.remote::<NoPromise>(E::CODE, data.len(), rank, spot)?;
            let origin = elements(data.as_ptr().cast_mut(), &remote);
            let old = elements(result.as_mut_ptr(), &remote);
            // SAFETY: both are borrowed, the result exclusively, until the operation is complete here.
            let request =
                unsafe { rma::rget_accumulate(&self.window, &origin, &old, &remote, operator) }?;
            self.complete(request)
        });
        self.run(call, outcome)
    }
}

fn elements<E>(base: *mut E, remote: &Remote<'static>) -> Elements<'static> {
    Elements {
        memory: Memory::contiguous(base.cast(), remote.count * size_of::<E>()),
        count: remote.count,
        datatype: remote.datatype,
    }
}

/// The operations of an epoch, at any target or at the one of a guard.
macro_rules! operations {
    ($kind:ident, ($($rank:ident: $usize:ty)?), $target:expr) => {
        impl<E: Plain, T: Threads> $kind<'_, E, T> {
            /// Writes elements to the target, from element `index` on (MPI_Put).
            ///
            /// # Errors
            /// When they do not lie inside the window.
            #[inline]
            pub fn put(&self, data: &[E], $($rank: $usize,)? index: usize) -> Result<()> {
                let rank = $target(self, $($rank)?);
                self.window().put::<NoPromise>(concat!(stringify!($kind), "::put"), data, rank, at_index(index))
            }

            /// Reads elements of the target, from element `index` on (MPI_Get).
            ///
            /// # Errors
            /// As for [`Self::put`].
            #[inline]
            pub fn get(&self, into: &mut [E], $($rank: $usize,)? index: usize) -> Result<()> {
                let rank = $target(self, $($rank)?);
                self.window().get::<NoPromise>(concat!(stringify!($kind), "::get"), into, rank, at_index(index))
            }
        }

        impl<E: Reducible, T: Threads> $kind<'_, E, T> {
            /// Combines elements into those of the target, from element `index` on; each element at once for all ranks
            /// (MPI_Accumulate).
            ///
            /// # Errors
            /// As for [`Self::put`]; when the operation is a function of the program.
            pub fn accumulate(&self, data: &[E], op: Op<E>, $($rank: $usize,)? index: usize) -> Result<()> {
                let rank = $target(self, $($rank)?);
                let call = concat!(stringify!($kind), "::accumulate");
                self.window().accumulate::<NoPromise>(call, data, &op, rank, at_index(index))
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
                index: usize,
            ) -> Result<()> {
                let rank = $target(self, $($rank)?);
                self.window().fetch(concat!(stringify!($kind), "::get_accumulate"), (data, result), &op, rank, index)
            }

            /// Combines a value into one element, and returns what was there before (MPI_Fetch_and_op).
            ///
            /// # Errors
            /// As for [`Self::accumulate`].
            pub fn fetch_and_op(&self, value: E, op: Op<E>, $($rank: $usize,)? index: usize) -> Result<E> {
                let rank = $target(self, $($rank)?);
                let mut old = [value];
                self.window().fetch(concat!(stringify!($kind), "::fetch_and_op"), (&[value], &mut old), &op, rank, index)?;
                Ok(old[0])
            }
        }
    };
}

/// An epoch of all ranks between two fences.
#[must_use = "an epoch ends with `end` or `next`"]
pub struct Epoch<'w, E: Plain, T: Threads>(&'w Window<'w, E, T>);

impl<'w, E: Plain, T: Threads> Epoch<'w, E, T> {
    pub(crate) const fn window(&self) -> &Window<'w, E, T> {
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
        self.0.fenced(rma::epoch::assertion::NOSUCCEED)
    }
}

/// The lock of one target. Dropping it ends the epoch: the operations are complete at the target.
#[must_use = "the lock is held as long as the guard lives"]
pub struct LockGuard<'w, E: Plain, T: Threads> {
    window: &'w Window<'w, E, T>,
    rank: usize,
}

impl<'w, E: Plain, T: Threads> LockGuard<'w, E, T> {
    pub(crate) const fn window(&self) -> &Window<'w, E, T> {
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

impl<E: Plain, T: Threads> Drop for LockGuard<'_, E, T> {
    fn drop(&mut self) {
        // The guard holds the lock; what else may fail is told by the next call.
        let _ = passive::unlock(&self.window.window, rank_code(self.rank));
    }
}

/// Shared locks of all targets. Dropping it ends the epoch: the operations are complete at their targets.
#[must_use = "the locks are held as long as the guard lives"]
pub struct LockAllGuard<'w, E: Plain, T: Threads>(&'w Window<'w, E, T>);

impl<'w, E: Plain, T: Threads> LockAllGuard<'w, E, T> {
    pub(crate) const fn window(&self) -> &Window<'w, E, T> {
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

impl<E: Plain, T: Threads> Drop for LockAllGuard<'_, E, T> {
    fn drop(&mut self) {
        // As for `LockGuard`.
        let _ = passive::unlock_all(&self.0.window);
    }
}

operations!(Epoch, (rank: usize), |_: &Self, rank| rank);
operations!(LockAllGuard, (rank: usize), |_: &Self, rank| rank);
operations!(LockGuard, (), |guard: &Self| guard.rank);

/// The elements of this rank in a window. Other ranks may write them at any time inside their epochs, so there are no references to
/// them: elements are copied.
#[derive(Clone, Copy)]
pub struct Local<'w, E> {
    base: *mut E,
    length: usize,
    window: PhantomData<&'w E>,
}

impl<E: Plain> Local<'_, E> {
    /// The first element, or whatever address where there is none.
    pub(crate) const fn base(&self) -> *mut E {
        self.base
    }

    fn at(&self, index: usize) -> *mut E {
        assert!(index < self.length, "element {index} of {}", self.length);
        self.base.wrapping_add(index)
    }

    /// An element.
    ///
    /// # Panics
    /// When `index` is not below the number of elements.
    pub fn load(&self, index: usize) -> E {
        // SAFETY: inside the window's memory; any bytes are a value (Plain).
        unsafe { self.at(index).read_volatile() }
    }

    /// Replaces an element.
    ///
    /// # Panics
    /// As for [`Self::load`].
    pub fn store(&self, index: usize, value: E) {
        // SAFETY: as for `load`.
        unsafe { self.at(index).write_volatile(value) };
    }

    /// Copies all elements.
    pub fn to_vec(&self) -> Vec<E> {
        (0..self.length).map(|index| self.load(index)).collect()
    }

    /// Replaces elements from the first one on.
    ///
    /// # Panics
    /// When there are more than in the window.
    pub fn copy_from(&self, values: &[E]) {
        for (index, &value) in values.iter().enumerate() {
            self.store(index, value);
        }
    }
}

impl<E: Plain, T: Threads> Drop for Window<'_, E, T> {
    fn drop(&mut self) {
        rma::window::let_go(&self.window);
    }
}

impl<E: Plain, T: Threads> fmt::Debug for Window<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comm = self.window.comm();
        write!(
            f,
            "Window({} elements, rank {} of {})",
            self.length,
            comm.rank(),
            comm.size()
        )
    }
}
