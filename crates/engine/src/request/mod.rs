// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: the slab of their entries, their ids, states and statuses (MPI-5.0, section 3.7).
//!
//! [`slab`] holds every pending operation and every unexpected message of a VCI as an [`entry`]; [`owner`] is the part of a communicator that its requests need; [`plan`] starts persistent collectives; [`partitioned`] counts
//! the messages of partitioned requests, which [`lanes`] spreads over VCIs. [`crate::completion`] waits for requests.

mod entry;
mod lanes;
mod owner;
mod partitioned;
mod plan;
mod slab;
mod status;

pub(crate) use entry::{Part, RequestEntry, Role, SendBody, Template, UnexpectedBody, flag};
pub(crate) use lanes::{Block, RequestLanes};
pub(crate) use owner::{Failures, Owner, RankMap};
pub(crate) use partitioned::{Geometry, Packed, Partitioned, Receiving};
pub(crate) use plan::{Boxed, Start};
pub use plan::{FastPlan, Started};
pub(crate) use slab::RequestSlab;
pub use slab::{RequestId, RequestIndex};
pub use status::Status;
pub(crate) use status::stale;
