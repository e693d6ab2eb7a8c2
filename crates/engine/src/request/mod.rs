// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: the slab of operations, their ids, states and statuses (MPI-5.0, section 3.7).
//!
//! [`slab`] holds every pending operation and every unexpected message of a VCI; [`owner`] is what an operation needs of its
//! communicator; [`plan`] is how a persistent collective starts. Waiting for requests is [`crate::completion`]'s work.

mod owner;
mod plan;
mod slab;
mod status;

pub(crate) use owner::{NO_PEER, Owner, RankMap};
pub(crate) use plan::Boxed;
pub use plan::{FastPlan, Started};
pub(crate) use slab::{Op, Operations, Role, flag};
pub use slab::{OpIndex, RequestId};
pub use status::Status;
pub(crate) use status::stale;
