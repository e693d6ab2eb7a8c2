// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6).
//!
//! | module | content |
//! |---|---|
//! | [`select`] | which algorithm a call uses |
//! | [`algorithms`] | each algorithm as one `async fn` over [`primitives`], which are messages and copies |
//! | [`area`] | collectives through the memory that the members of a communicator share |
//! | [`blocks`] | blocks of all ranks, and roots, as callers give them |
//! | [`on_device`] | blocks in the memory of GPUs |
//! | [`check`] | comparison of the members' arguments (`RANKPOINT_CHECK=collectives`) |
//!
//! A blocking call polls an algorithm's future on the caller's stack, a nonblocking call spawns it as a task ([`crate::task`]).
//! The messages of one collective carry a tag that all members draw from the same sequence, so several collectives of a
//! communicator can be in progress at once. `docs/collectives.md` explains the choices and the costs. The tests run every
//! collective on ranks that are threads of one program (`tests/`).

mod algorithms;
pub(crate) mod area;
mod blocks;
pub(crate) mod check;
mod on_device;
mod primitives;
mod scratch;
mod select;
mod step;
#[cfg(test)]
mod tests;

pub use crate::task::{Begun, FastPlan};
pub(crate) use algorithms::allgather::gather_words_in;
pub use algorithms::allgather::{allgather, gather_words};
pub use algorithms::allreduce::{allreduce, reduce_scatter};
pub use algorithms::alltoall::alltoall;
pub use algorithms::barrier::{barrier, finish};
pub use algorithms::bcast::bcast;
pub use algorithms::gather::{gather, scatter};
pub use algorithms::neighbour;
pub use algorithms::reduce::reduce;
pub use algorithms::scan::{exscan, scan};
pub use area::drive::{ended, keep};
pub use area::fast;
pub(crate) use area::persistent::plan_by_task;
pub use area::persistent::{PlannedStart, fast_plan};
pub use blocks::{Blocks, Root, Sizes};
pub use on_device::{Buffers, Use, are_on_device, on_copies, reduce_on_device};
pub use primitives::{Block, RawMut};
pub(crate) use primitives::{Collective, Scratch};
