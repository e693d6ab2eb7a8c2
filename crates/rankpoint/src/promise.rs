// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations whose callers promise more than MPI demands (Raffenetti et al., "Why Is MPI So Slow?", SC'17), as types: what a promise
//! rules out has no method.
//!
//! `_npn` needs no type, because no rank here is MPI_PROC_NULL.
//!
//! # Safety
//! Buffers are borrowed for the scope, as those of [`Scope`], which waits for operations in bulk before it is left.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use engine::Result;
use engine::comm::{MOST_PREDEFINED, Predefined};
use engine::create;
use engine::p2p::{self, Injected, Promises};

use crate::buffer::{Incoming, Outgoing};
use crate::envelope::rank_code;
use crate::threads::{OneThread, Threads};
use crate::{Buffer, Communicator, Request, Scope};

pub(crate) mod sealed {
    pub trait State {
        const IS_PROMISED: bool;
    }
}
use sealed::State;

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident $is_promised:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $name {}

            impl State for $name {
                const IS_PROMISED: bool = $is_promised;
            }
        )*
    };
}

states! {
    /// Ranks are those of the communicator.
    LocalRanks false;
    /// Ranks are those of the world.
    WorldRanks true;
    /// Messages have tags, and receives name their source and tag.
    ByTag false;
    /// Messages have no tags and are received in the order in which they arrive.
    InOrder true;
    /// Each operation has a request.
    ByRequest false;
    /// Operations have no requests; all are waited for at once.
    InBulk true;
}

/// Three states as the engine's constants.
pub(crate) struct Kind<R, M, C>(PhantomData<(R, M, C)>);

impl<R: State, M: State, C: State> Promises for Kind<R, M, C> {
    const GLOBAL: bool = R::IS_PROMISED;
    const NO_PROC_NULL: bool = true;
    const NO_MATCH: bool = M::IS_PROMISED;
    const NO_REQUEST: bool = C::IS_PROMISED;
}

/// The operations of a scope, with promises: see [`Scope::promise`].
pub struct Promising<'scope, 'env, T: Threads, R = LocalRanks, M = ByTag, C = ByRequest> {
    pub(crate) scope: &'scope Scope<'scope, 'env, T>,
    states: PhantomData<(R, M, C)>,
}

impl<T: Threads, R, M, C> Clone for Promising<'_, '_, T, R, M, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Threads, R, M, C> Copy for Promising<'_, '_, T, R, M, C> {}

impl<T: Threads, R, M, C> fmt::Debug for Promising<'_, '_, T, R, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Promising")
    }
}

impl<'scope, 'env, T: Threads> Scope<'scope, 'env, T> {
    /// The operations of this scope, to be narrowed by promises.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let (rank, mut token) = (world.rank(), 0);
    /// world.scope(|scope| {
    ///     let fast = scope.promise().world_ranks().in_order().in_bulk();
    ///     fast.irecv(&mut token)?;
    ///     fast.isend(&rank, (rank + 1) % world.size())?;
    ///     fast.wait_all()
    /// })?;
    /// assert_eq!(token, (rank + world.size() - 1) % world.size());
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// A message without a tag has no place for one:
    ///
    /// ```compile_fail,E0061
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// world.scope(|scope| {
    ///     scope.promise().in_order().isend(&1, 0, 7)?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// Nor has its receive, or one for a source:
    ///
    /// ```compile_fail,E0061
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let mut token = 0;
    /// world.scope(|scope| {
    ///     scope.promise().in_order().irecv(&mut token, 0)?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// An operation in bulk has no request to wait for:
    ///
    /// ```compile_fail,E0599
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// world.scope(|scope| {
    ///     scope.promise().in_bulk().isend(&1, 0, 7)?.wait()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// Operations with requests are not waited for in bulk, and no promise is made twice:
    ///
    /// ```compile_fail,E0599
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// world.scope(|scope| scope.promise().in_order().wait_all())?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0599
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// world.scope(|scope| {
    ///     scope.promise().in_order().in_order();
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    #[inline(always)]
    pub const fn promise(&'scope self) -> Promising<'scope, 'env, T> {
        Promising {
            scope: self,
            states: PhantomData,
        }
    }
}

impl<'scope, 'env, T: Threads, R, M, C> Promising<'scope, 'env, T, R, M, C> {
    #[inline(always)]
    const fn cast<R2, M2, C2>(self) -> Promising<'scope, 'env, T, R2, M2, C2> {
        Promising {
            scope: self.scope,
            states: PhantomData,
        }
    }
}

impl<'scope, 'env, T: Threads, M, C> Promising<'scope, 'env, T, LocalRanks, M, C> {
    /// Names ranks of the world from now on; of members of the communicator only.
    #[inline(always)]
    pub const fn world_ranks(self) -> Promising<'scope, 'env, T, WorldRanks, M, C> {
        self.cast()
    }
}

impl<'scope, 'env, T: Threads, R, C> Promising<'scope, 'env, T, R, ByTag, C> {
    /// Sends messages without tags from now on, and receives such messages, in the order in which they arrive at the communicator.
    #[inline(always)]
    pub const fn in_order(self) -> Promising<'scope, 'env, T, R, InOrder, C> {
        self.cast()
    }
}

impl<'scope, 'env, T: Threads, R, M> Promising<'scope, 'env, T, R, M, ByRequest> {
    /// Starts operations without requests from now on.
    #[inline(always)]
    pub const fn in_bulk(self) -> Promising<'scope, 'env, T, R, M, InBulk> {
        self.cast()
    }
}

impl<T: Threads, R, M> Promising<'_, '_, T, R, M, InBulk> {
    /// Waits for all operations in bulk that this process has started on the communicator (MPIX_Comm_waitall).
    ///
    /// # Errors
    /// That of the first one that failed.
    pub fn wait_all(self) -> Result<()> {
        self.scope.wait_bulk("Promising::wait_all")
    }
}

impl<'scope, T: Threads, R: State> Promising<'scope, '_, T, R, ByTag, ByRequest> {
    /// Starts sending a buffer (MPIX_Isend_global).
    ///
    /// # Errors
    /// When there is no such rank in the communicator, or the tag is negative.
    #[inline]
    pub fn isend<B: Outgoing<'scope>>(
        self,
        data: B,
        dest: usize,
        tag: i32,
    ) -> Result<Request<'scope, B>> {
        self.send(data, dest, tag)
    }

    /// Starts receiving into a buffer (MPIX_Irecv_global).
    ///
    /// # Errors
    /// When there is no such rank in the communicator, or the tag is negative.
    #[inline]
    pub fn irecv<B: Incoming<'scope>>(
        self,
        into: B,
        source: usize,
        tag: i32,
    ) -> Result<Request<'scope, B>> {
        self.receive(into, rank_code(source), tag)
    }
}

impl<'scope, T: Threads, R: State> Promising<'scope, '_, T, R, ByTag, InBulk> {
    /// Starts sending a buffer (MPIX_Isend_noreq).
    ///
    /// # Errors
    /// When there is no such rank in the communicator, or the tag is negative.
    #[inline]
    pub fn isend<B: Outgoing<'scope>>(self, data: B, dest: usize, tag: i32) -> Result<()> {
        self.send(data, dest, tag)
    }

    /// Starts receiving into a buffer (MPIX_Irecv_noreq).
    ///
    /// # Errors
    /// When there is no such rank in the communicator, or the tag is negative.
    #[inline]
    pub fn irecv<B: Incoming<'scope>>(self, into: B, source: usize, tag: i32) -> Result<()> {
        self.receive(into, rank_code(source), tag)
    }
}

impl<'scope, T: Threads, R: State> Promising<'scope, '_, T, R, InOrder, ByRequest> {
    /// Starts sending a buffer without a tag (MPIX_Isend_nomatch).
    ///
    /// # Errors
    /// When there is no such rank in the communicator.
    #[inline]
    pub fn isend<B: Outgoing<'scope>>(self, data: B, dest: usize) -> Result<Request<'scope, B>> {
        self.send(data, dest, 0)
    }

    /// Starts receiving the next message without a tag into a buffer (MPIX_Irecv_nomatch).
    ///
    /// # Errors
    /// When no operation is free.
    #[inline]
    pub fn irecv<B: Incoming<'scope>>(self, into: B) -> Result<Request<'scope, B>> {
        self.receive(into, 0, 0)
    }
}

impl<'scope, T: Threads, R: State> Promising<'scope, '_, T, R, InOrder, InBulk> {
    /// Starts sending a buffer without a tag.
    ///
    /// # Errors
    /// When there is no such rank in the communicator.
    #[inline]
    pub fn isend<B: Outgoing<'scope>>(self, data: B, dest: usize) -> Result<()> {
        self.send(data, dest, 0)
    }

    /// Starts receiving the next message without a tag into a buffer.
    ///
    /// # Errors
    /// When no operation is free.
    #[inline]
    pub fn irecv<B: Incoming<'scope>>(self, into: B) -> Result<()> {
        self.receive(into, 0, 0)
    }
}

/// A communicator in place `N` of a static table, from 1 to 16: sends find all that they need at a constant address. It is a communicator
/// in every other respect.
#[derive(Debug)]
pub struct PredefinedCommunicator<'u, const N: usize, T: Threads = OneThread> {
    comm: Communicator<'u, T>,
}

impl<'u, T: Threads> Communicator<'u, T> {
    /// A duplicate in place `N`, 1 to 16, of a static table (MPIX_Comm_dup_predefined). Called by all ranks, with the same place.
    ///
    /// ```
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let fast = world.duplicate_predefined::<3>()?;
    /// let mut token = 0;
    /// fast.scope(|scope| {
    ///     scope.promise().world_ranks().in_order().in_bulk().irecv(&mut token)?;
    ///     fast.send_in_order(&7, world.rank())
    /// })?;
    /// assert_eq!(token, 7);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// let fast = world.duplicate_predefined::<17>()?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the place is taken, or not the same at all ranks; when no context is free.
    pub fn duplicate_predefined<const N: usize>(&self) -> Result<PredefinedCommunicator<'u, N, T>> {
        const { assert!(N >= 1 && N <= MOST_PREDEFINED, "places are 1 to 16") };
        let call = "Communicator::duplicate_predefined";
        let made = self.run(call, |this| {
            create::dup_predefined(this.shared(), Some(N - 1), call)
        })?;
        let comm = Communicator::owned(made).with_hints(self.hints());
        Ok(PredefinedCommunicator { comm })
    }
}

impl<const N: usize, T: Threads> PredefinedCommunicator<'_, N, T> {
    /// Sends a buffer without a tag to a rank of the world (MPIX_Send_all_opts).
    ///
    /// # Errors
    /// When that rank is no member.
    // TIER: short
    #[inline(always)]
    pub fn send_in_order<B: Buffer + ?Sized>(&self, data: &B, world_rank: usize) -> Result<()> {
        let dest = rank_code(world_rank);
        if let Some((base, bytes)) = data.run() {
            // SAFETY: the buffer is readable for its length.
            match unsafe { p2p::inject_predefined(Predefined::at(N - 1), base, bytes, dest) } {
                Injected::Sent => return Ok(()),
                Injected::SentWake => return self.wake(dest),
                Injected::Refused | Injected::Contended | Injected::Unreached => {}
            }
        }
        self.send_further(data, dest)
    }

    /// Wakes the receiver of a message that went by [`Injected::SentWake`].
    #[cold]
    #[inline(never)]
    fn wake(&self, dest: i32) -> Result<()> {
        p2p::wake::<Kind<WorldRanks, InOrder, ByRequest>>(self.comm.comm(), dest);
        Ok(())
    }

    /// Sends what the first stage of [`Self::send_in_order`] has refused.
    #[inline(never)]
    fn send_further<B: Buffer + ?Sized>(&self, data: &B, dest: i32) -> Result<()> {
        let call = "PredefinedCommunicator::send_in_order";
        self.comm.run(call, |this| {
            let region = data.region()?;
            // SAFETY: the memory comes from a borrowed buffer; the send is complete before this returns.
            let mut id = unsafe {
                p2p::isend_promised::<Kind<WorldRanks, InOrder, ByRequest>>(
                    this.comm(),
                    region.memory(),
                    dest,
                    0,
                )
            }?;
            this.complete(&mut id, call).map(drop)
        })
    }
}

impl<'u, const N: usize, T: Threads> Deref for PredefinedCommunicator<'u, N, T> {
    type Target = Communicator<'u, T>;

    fn deref(&self) -> &Communicator<'u, T> {
        &self.comm
    }
}

impl<const N: usize, T: Threads> Drop for PredefinedCommunicator<'_, N, T> {
    fn drop(&mut self) {
        Predefined::at(N - 1).clear(self.comm.comm());
    }
}
