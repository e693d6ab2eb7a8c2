// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6): each algorithm is one `async fn` over [`primitives`].
//!
//! A blocking call polls the future on its stack, a nonblocking one spawns it as a task ([`crate::task`]). The messages of one
//! collective carry a tag that all members draw from the same sequence, so that several may be under way at once. What
//! decides between algorithms is in [`choose`]; what they cost is told in `docs/collectives.md`; they are tested together
//! in `tests.rs`, on ranks that are threads of one program.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod chain;
pub(crate) mod check;
mod choose;
mod commons;
mod fold;
mod gather;
mod hierarchy;
mod inter;
pub mod neighbour;
mod passing;
mod planned;
mod primitives;
mod purpose;
mod reduce;
mod reuse;
mod ring;
mod scan;
mod scratch;
mod shared;
pub mod short;
mod shown;
mod step;
mod streaming;
#[cfg(test)]
mod tests;

pub use crate::task::{Begun, ShortPlan};
pub use allgather::{allgather, gather_words};
pub use allreduce::{allreduce, reduce_scatter};
pub use alltoall::alltoall;
pub use barrier::barrier;
pub use bcast::bcast;
pub(crate) use commons::Membership;
pub use gather::{Pieces, Sizes, gather, scatter};
pub use inter::Root;
pub use planned::{Described, plan, short_plan};
pub(crate) use primitives::Round;
pub use primitives::{Block, RawMut};
pub use reduce::reduce;
pub(crate) use reuse::UsedCommons;
pub use scan::{exscan, scan};
pub use shown::{ended, keep};
