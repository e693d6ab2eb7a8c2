// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collectives: each file has the entry of its calls, which selects an algorithm, and the algorithms that use messages.
//! [`hierarchy`] has those of communicators on several nodes, [`inter`] those of intercommunicators.

pub(in crate::coll) mod allgather;
pub(in crate::coll) mod allreduce;
pub(in crate::coll) mod alltoall;
pub(in crate::coll) mod barrier;
pub(in crate::coll) mod bcast;
pub(in crate::coll) mod chain;
pub(in crate::coll) mod gather;
pub(in crate::coll) mod hierarchy;
pub(in crate::coll) mod inter;
pub mod neighbour;
pub(in crate::coll) mod reduce;
pub(in crate::coll) mod ring;
pub(in crate::coll) mod scan;
