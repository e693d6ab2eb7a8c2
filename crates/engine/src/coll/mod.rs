// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6): each algorithm is one `async fn` over [`primitives`].
//!
//! A blocking call polls the future on its stack, a nonblocking one spawns it as a task ([`crate::task`]). The operations of one
//! collective carry a tag that all members draw from the same sequence, so that several may be under way at once.

mod barrier;
mod gather;
mod move_all;
mod primitives;
mod reduce;

pub use barrier::{agree_max, barrier, gather_words};
pub use gather::{Pieces, allgather, gather, scatter};
pub use move_all::{alltoall, bcast};
pub use primitives::{Block, RawMut};
pub use reduce::{allreduce, exscan, reduce, scan};
