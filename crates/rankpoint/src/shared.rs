// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the ranks of a node share, as slices (MPI-5.0, section 12.2.3).
//!
//! # Safety
//! References to memory that other processes map are sound in two cases: nobody writes it any more, or it holds atomics only. The
//! constructors give each rank its own part before any other rank can see it.
#![expect(unsafe_code, reason = "memory of other ranks is addresses")]
#![expect(
    clippy::disallowed_types,
    reason = "programs share the standard library's atomics"
)]

use std::fmt;
use std::marker::PhantomData;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize,
};

use engine::rma::{self, Window as EngineWindow, WindowHints};
use engine::task::block_on;
use engine::{Result, coll};

use crate::threads::{OneThread, Threads};
use crate::{Communicator, Plain};

/// A slice of each rank, which all ranks of the node read in place.
///
/// Each rank fills its own slice when it is made; from then on nobody can write it.
///
/// ```
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let me = world.rank() as u32;
/// let table = world.shared_slices::<u32>(1000, |mine| mine.fill(me))?;
/// for rank in 0..world.size() {
///     assert_eq!(table.of(rank), [rank as u32; 1000]);
/// }
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct SharedSlices<'u, E: Plain, T: Threads = OneThread> {
    window: Arc<EngineWindow>,
    universe: Elements<'u, E, T>,
}

/// Atomics of each rank, which all ranks of the node use in place.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// # let universe = rankpoint::Universe::init()?;
/// # let world = universe.world();
/// let counters = world.shared_atomics::<AtomicU64>(1)?;
/// counters.of(0)[0].fetch_add(1, Ordering::Relaxed);
/// world.barrier()?;
/// assert_eq!(counters.of(0)[0].load(Ordering::Relaxed), world.size() as u64);
/// # world.barrier()?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct SharedAtomics<'u, A: SharedAtomic, T: Threads = OneThread> {
    window: Arc<EngineWindow>,
    universe: Elements<'u, A, T>,
}

/// What a handle stands for: elements of a type, in the time of a universe, with its rule for threads.
pub(crate) type Elements<'u, E, T> = PhantomData<(&'u (), T, fn(E) -> E)>;

/// The atomic integers, which start as zero.
pub trait SharedAtomic: private::Sealed {}

mod private {
    pub trait Sealed {}
}

macro_rules! atomics {
    ($($name:ident)*) => {$(
        impl private::Sealed for $name {}
        impl SharedAtomic for $name {}
    )*};
}

atomics! { AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize }

/// A window with `length` elements of this rank, each rank's on pages of their own.
fn pages<E, T: Threads>(
    comm: &Communicator<'_, T>,
    length: usize,
    call: &'static str,
) -> Result<Arc<EngineWindow>> {
    let bytes = length.checked_mul(size_of::<E>());
    // A length that does not fit is refused by the engine at all ranks.
    let bytes = bytes.map_or(u64::MAX, |bytes| bytes as u64);
    let apart = WindowHints::of(|key| (key == "alloc_shared_noncontig").then(|| "true".to_owned()));
    let unit = size_of::<E>().max(1) as i64;
    rma::allocate_shared(comm.shared(), bytes, unit, apart, call)
}

/// The memory of a rank as elements.
///
/// # Panics
/// When there is no such rank.
///
/// # Safety
/// Nobody writes the memory while the slice lives, or `E` is an atomic.
unsafe fn elements<E>(window: &EngineWindow, rank: usize) -> &[E] {
    let code = i32::try_from(rank).unwrap_or(i32::MAX);
    let size = window.comm().size();
    assert!((0..size).contains(&code), "rank {rank} of {size}");
    // It cannot fail: the rank exists, and the window is one of shared memory.
    let (bytes, _, base) = (window.shared_query(code)).unwrap_or((0, 1, std::ptr::null_mut()));
    let length = bytes as usize / size_of::<E>().max(1);
    if length == 0 {
        return &[];
    }
    // SAFETY: so many bytes are mapped while the window exists, from a page on; the caller's promise.
    unsafe { slice::from_raw_parts(base.cast(), length) }
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// A slice of `length` elements of this rank, filled by `fill` from zeros, which all ranks can read then
    /// (MPI_Win_allocate_shared). Called by all ranks, whose lengths may differ.
    ///
    /// # Errors
    /// When ranks are on several nodes, or memory or a context is missing at some rank.
    pub fn shared_slices<E: Plain>(
        &self,
        length: usize,
        fill: impl FnOnce(&mut [E]),
    ) -> Result<SharedSlices<'u, E, T>> {
        const CALL: &str = "Communicator::shared_slices";
        self.run(CALL, |this| {
            let window = pages::<E, T>(this, length, CALL)?;
            let (base, length) = (
                window.base().cast::<E>(),
                if window.base().is_null() { 0 } else { length },
            );
            if length > 0 {
                // SAFETY: the memory of this rank, which no other rank can reach before the barrier; zeros are values (Plain).
                fill(unsafe { slice::from_raw_parts_mut(base, length) });
            } else {
                fill(&mut []);
            }
            let own = window.comm();
            block_on(own.vci(), CALL, coll::barrier(own.clone()))?;
            Ok(SharedSlices {
                window,
                universe: PhantomData,
            })
        })
    }

    /// `length` atomics of this rank, which all ranks can use (MPI_Win_allocate_shared). Called by all ranks, whose lengths may differ.
    ///
    /// # Errors
    /// As for [`Self::shared_slices`].
    pub fn shared_atomics<A: SharedAtomic>(
        &self,
        length: usize,
    ) -> Result<SharedAtomics<'u, A, T>> {
        const CALL: &str = "Communicator::shared_atomics";
        self.run(CALL, |this| {
            let window = pages::<A, T>(this, length, CALL)?;
            Ok(SharedAtomics {
                window,
                universe: PhantomData,
            })
        })
    }
}

impl<E: Plain, T: Threads> SharedSlices<'_, E, T> {
    /// The slice of a rank.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn of(&self, rank: usize) -> &[E] {
        // SAFETY: nobody can write it since the constructor's barrier.
        unsafe { elements(&self.window, rank) }
    }
}

impl<A: SharedAtomic, T: Threads> SharedAtomics<'_, A, T> {
    /// The atomics of a rank.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn of(&self, rank: usize) -> &[A] {
        // SAFETY: atomics, whose memory no other call reaches.
        unsafe { elements(&self.window, rank) }
    }
}

impl<E: Plain, T: Threads> Drop for SharedSlices<'_, E, T> {
    fn drop(&mut self) {
        rma::window::let_go(&self.window);
    }
}

impl<A: SharedAtomic, T: Threads> Drop for SharedAtomics<'_, A, T> {
    fn drop(&mut self) {
        rma::window::let_go(&self.window);
    }
}

impl<E: Plain, T: Threads> fmt::Debug for SharedSlices<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedSlices({} ranks)", self.window.comm().size())
    }
}

impl<A: SharedAtomic, T: Threads> fmt::Debug for SharedAtomics<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedAtomics({} ranks)", self.window.comm().size())
    }
}
