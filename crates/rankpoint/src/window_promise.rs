// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided operations whose callers promise more than MPI demands, as types: what a promise rules out has no method (see
//! [`crate::promise`]).

use std::fmt;
use std::marker::PhantomData;

use engine::Result;

use crate::op::{Op, Reducible};
use crate::places::{ByAddress, ByIndex, Places};
use crate::promise::sealed::State;
use crate::promise::{ByRequest, ByTag, Kind, LocalRanks, WorldRanks};
use crate::threads::Threads;
use crate::{Epoch, LockAllGuard, Plain, Window};

/// The operations of an epoch, with promises: see [`Epoch::promise`] and [`LockAllGuard::promise`].
pub struct PromisingWindow<'w, 'u, E: Plain, T: Threads, R = LocalRanks, A = ByIndex> {
    window: &'w Window<'u, E, T>,
    states: PhantomData<(R, A)>,
}

impl<E: Plain, T: Threads, R, A> Clone for PromisingWindow<'_, '_, E, T, R, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Plain, T: Threads, R, A> Copy for PromisingWindow<'_, '_, E, T, R, A> {}

impl<E: Plain, T: Threads, R, A> fmt::Debug for PromisingWindow<'_, '_, E, T, R, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PromisingWindow")
    }
}

impl<'u, E: Plain, T: Threads> LockAllGuard<'u, E, T> {
    /// The operations of this epoch, to be narrowed by promises.
    ///
    /// ```
    /// # use rankpoint::Address;
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let window = world.window::<u64>(4)?;
    /// let all = world.all_gather(&[window.local().address().bits()])?;
    /// let right = (world.rank() + 1) % world.size();
    ///
    /// let guard = window.lock_all()?;
    /// let fast = guard.promise().world_ranks().at_addresses();
    /// fast.put(&[7], right, Address::from_bits(all[right]).add(2))?;
    /// guard.flush(right)?;
    /// world.barrier()?;
    /// assert_eq!(window.local().load(2), 7);
    /// # world.barrier()?;
    /// # drop(guard);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// Where places are addresses, an element number is none:
    ///
    /// ```compile_fail,E0308
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let window = world.window::<u64>(4)?;
    /// let guard = window.lock_all()?;
    /// guard.promise().at_addresses().put(&[7], 0, 2)?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// An address is that of elements of one type:
    ///
    /// ```compile_fail,E0308
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let (window, other) = (world.window::<u64>(4)?, world.window::<f64>(4)?);
    /// let guard = window.lock_all()?;
    /// guard.promise().at_addresses().put(&[7], 0, other.local().address())?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    pub const fn promise(&self) -> PromisingWindow<'_, 'u, E, T> {
        PromisingWindow::of(self.window())
    }
}

impl<'u, E: Plain, T: Threads> Epoch<'u, E, T> {
    /// The operations of this epoch, to be narrowed by promises. They end with it:
    ///
    /// ```compile_fail,E0505
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let window = world.window::<u64>(4)?;
    /// let epoch = window.fence()?;
    /// let fast = epoch.promise().world_ranks();
    /// epoch.end()?;
    /// fast.put(&[7], 0, 0)?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    pub const fn promise(&self) -> PromisingWindow<'_, 'u, E, T> {
        PromisingWindow::of(self.window())
    }
}

impl<'w, 'u, E: Plain, T: Threads, R, A> PromisingWindow<'w, 'u, E, T, R, A> {
    const fn of(window: &'w Window<'u, E, T>) -> Self {
        Self {
            window,
            states: PhantomData,
        }
    }
}

impl<'w, 'u, E: Plain, T: Threads, A> PromisingWindow<'w, 'u, E, T, LocalRanks, A> {
    /// Names ranks of the world from now on; of members of the window only (MPIX_Put_global).
    #[inline(always)]
    pub const fn world_ranks(self) -> PromisingWindow<'w, 'u, E, T, WorldRanks, A> {
        PromisingWindow::of(self.window)
    }
}

impl<'w, 'u, E: Plain, T: Threads, R> PromisingWindow<'w, 'u, E, T, R, ByIndex> {
    /// Names places by their addresses in the target's process from now on (MPIX_Put_virtual_addr): see [`Local::address`](crate::Local::address).
    #[inline(always)]
    pub const fn at_addresses(self) -> PromisingWindow<'w, 'u, E, T, R, ByAddress> {
        PromisingWindow::of(self.window)
    }
}

impl<E: Plain, T: Threads, R: State, A: Places> PromisingWindow<'_, '_, E, T, R, A> {
    /// Writes elements to the target (MPI_Put).
    ///
    /// # Errors
    /// When there is no such rank in the window, or they do not lie inside it.
    #[inline]
    pub fn put(self, data: &[E], rank: usize, place: A::Of<E>) -> Result<()> {
        let call = "PromisingWindow::put";
        self.window
            .put::<Kind<R, ByTag, ByRequest>>(call, data, rank, A::spot(place))
    }

    /// Reads elements of the target (MPI_Get).
    ///
    /// # Errors
    /// As for [`Self::put`].
    #[inline]
    pub fn get(self, into: &mut [E], rank: usize, place: A::Of<E>) -> Result<()> {
        let call = "PromisingWindow::get";
        self.window
            .get::<Kind<R, ByTag, ByRequest>>(call, into, rank, A::spot(place))
    }
}

impl<E: Reducible, T: Threads, R: State, A: Places> PromisingWindow<'_, '_, E, T, R, A> {
    /// Combines elements into those of the target; each element at once for all ranks (MPI_Accumulate).
    ///
    /// # Errors
    /// As for [`Self::put`]; when the operation is a function of the program.
    pub fn accumulate(self, data: &[E], op: Op<E>, rank: usize, place: A::Of<E>) -> Result<()> {
        let call = "PromisingWindow::accumulate";
        self.window
            .accumulate::<Kind<R, ByTag, ByRequest>>(call, data, &op, rank, A::spot(place))
    }
}
