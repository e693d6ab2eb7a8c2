// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point-to-point communication (MPI-5.0, chapter 3): starting sends and receives, and probing.
//!
//! Each function checks its arguments, routes, and starts the operation. The fast paths of the common cases are in [`fast`], what calls
//! may promise in [`promised`]; [`crate::completion`] waits for requests.

mod arguments;
mod both;
pub mod buffered;
mod fast;
#[cfg(test)]
mod hints_tests;
pub mod partitioned;
pub mod persistent;
pub mod probe;
mod promised;
mod put_into;
mod receive;
#[cfg(test)]
mod refused_hints_tests;
mod send;

pub use crate::datatype::Memory;
pub use arguments::{ANY_SOURCE_RANK, ANY_TAG_VALUE, CHECKED, PROC_NULL, TAG_UPPER_BOUND};
pub(crate) use arguments::{check_rank, check_tag};
pub use both::isendrecv;
pub use fabric::ring::INJECT_BYTES;
pub use fast::{
    Injected, Posted, Stage, exchange_soon, inject, inject_locked, inject_mapped,
    inject_predefined, lane_of_receive, lane_of_send, let_owner_work, post, post_locked,
    post_mapped, post_now, reaches_receive, receive_posted, receive_soon, send_eager, send_now,
    stage_of_receive, stage_of_send, taker_of_receive, wake, wake_contenders,
};
pub use promised::{NoPromise, Promises, check_received, irecv_promised, isend_promised};
pub(crate) use put_into::{PutInto, put_into};
pub use receive::irecv;
pub(crate) use receive::{irecv_collective, new_receive, post_operation, receive_key};
use send::send_at_once;
pub(crate) use send::{CopiedBy, isend_collective, new_send};
pub use send::{Mode, isend};
