// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows (MPI-5.0, chapter 12): memory of a rank that other ranks read and write without its help.
//!
//! # Safety
//! Every operation is complete at its origin when its call returns, so no buffer outlives its borrow, whatever happens to guards. The memory
//! of a window belongs to the engine and is reached by its calls and by [`Local`](crate::Local) only, which gives no references. Each access to it by a
//! process that maps it is a relaxed atomic load or store of the window's [`Granule`], which all members agree on: whatever threads and
//! ranks do at the same time, there is no data race.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use engine::completion;
use engine::datatype::{Memory, Predefined, predefined};
use engine::p2p::{NoPromise, Promises};
use engine::request::RequestId;
use engine::rma::{self, Elements, Granule, Remote, Spot, Window as EngineWindow, WindowHints};
use engine::{Error, ErrorClass, Result};

use crate::envelope::rank_code;
use crate::errors::report;
use crate::op::{Integer, Op, Reducible};
use crate::places::{ByIndex, Places};
use crate::threads::{OneThread, Threads};
use crate::{Communicator, Plain};

/// The info key of the order of accumulates.
const ORDERING: &str = "accumulate_ordering";

/// A part of the memory of each rank, as a number of elements `E`, that all ranks of a communicator read and write with
/// [`put`](crate::Epoch::put), [`get`](crate::Epoch::get) and [`accumulate`](crate::Epoch::accumulate).
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
///
/// Operations name places by element numbers, or in a [`DynamicWindow`](crate::DynamicWindow) by addresses.
pub struct Window<'u, E: Plain, T: Threads = OneThread, A: Places = ByIndex> {
    pub(crate) window: Arc<EngineWindow>,
    length: usize,
    universe: crate::shared::Elements<'u, E, T>,
    places: PhantomData<A>,
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
    /// When memory or a context is missing at some rank; when ranks have elements of different sizes or alignments (`ERR_DISP`).
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
            let element = (size_of::<E>().max(1) as i64, Granule::of::<E>());
            let window = rma::allocate_elements(this.shared(), bytes, element, hints, CALL)?;
            Ok(Window::of(window, length))
        })
    }
}

impl<E: Plain, T: Threads> Window<'_, E, T> {
    /// Number of elements of this rank.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether this rank has no elements.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<E: Plain, T: Threads, A: Places> Window<'_, E, T, A> {
    pub(crate) const fn of(window: Arc<EngineWindow>, length: usize) -> Self {
        Self {
            window,
            length,
            universe: PhantomData,
            places: PhantomData,
        }
    }

    pub(crate) fn run<R>(&self, call: &'static str, outcome: Result<R>) -> Result<R> {
        outcome.map_err(|error| report(self.window.comm(), call, error))
    }

    /// How the memory is accessed: as told when the window was made.
    const GRANULE: Granule = Granule::of::<E>();

    /// In which order accumulates are done.
    pub fn accumulate_order(&self) -> AccumulateOrder {
        match self.window.hints.get(ORDERING).as_deref() {
            Some("none") => AccumulateOrder::Any,
            _ => AccumulateOrder::OfCalls,
        }
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
        let place = (spot, Self::GRANULE);
        // SAFETY: the data are borrowed, and elements are whole granules.
        if unsafe { rma::put_now::<P>(&self.window, base, bytes, rank, place) } {
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
        let place = (spot, Self::GRANULE);
        // SAFETY: the memory is borrowed exclusively; any bytes are values (Plain), and elements are whole granules.
        if unsafe { rma::get_now::<P>(&self.window, base, bytes, rank, place) } {
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
            Spot::Address(address) if !Self::GRANULE.divides(address) => {
                return Err(self.window.annotate(misaligned::<E>(address)));
            }
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

#[cold]
fn misaligned<E>(address: u64) -> Error {
    let expected = format!(
        "the address of an element, which is aligned to {} bytes",
        align_of::<E>()
    );
    let (class, value) = (ErrorClass::ERR_DISP, format!("{address:#x}"));
    Error::argument(class, "place", value, expected)
}

impl<E: Reducible, T: Threads, A: Places> Window<'_, E, T, A> {
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

    pub(crate) fn fetch(
        &self,
        call: &'static str,
        (data, result): (&[E], &mut [E]),
        op: &Op<E>,
        rank: usize,
        spot: Spot,
    ) -> Result<()> {
        assert_eq!(data.len(), result.len(), "as many results as elements");
        let outcome = op.operator().and_then(|operator| {
            let remote = self.remote::<NoPromise>(E::CODE, data.len(), rank_code(rank), spot)?;
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

impl<E: Integer, T: Threads, A: Places> Window<'_, E, T, A> {
    pub(crate) fn swap(
        &self,
        call: &'static str,
        [compare, value]: [E; 2],
        rank: usize,
        spot: Spot,
    ) -> Result<E> {
        let mut old = value;
        let remote = self.remote::<NoPromise>(E::CODE, 1, rank_code(rank), spot);
        let outcome = remote.and_then(|remote| {
            let operands = [(&raw const value).cast(), (&raw const compare).cast()];
            let result = (&raw mut old).cast();
            // SAFETY: elements of the type, which live until the operation is complete here.
            let request =
                unsafe { rma::rcompare_and_swap(&self.window, operands, result, &remote) }?;
            self.complete(request)
        });
        self.run(call, outcome).map(|()| old)
    }
}

fn elements<E>(base: *mut E, remote: &Remote<'static>) -> Elements<'static> {
    Elements {
        memory: Memory::contiguous(base.cast(), remote.count * size_of::<E>()),
        count: remote.count,
        datatype: remote.datatype,
    }
}

impl<E: Plain, T: Threads, A: Places> Drop for Window<'_, E, T, A> {
    fn drop(&mut self) {
        rma::window::let_go(&self.window);
    }
}

impl<E: Plain, T: Threads, A: Places> fmt::Debug for Window<'_, E, T, A> {
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
