// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completing requests (MPI-5.0, section 3.7): every form of wait and test, once.
//!
//! The calls work on [`RequestId`](crate::request::RequestId)s in place; an MPI_Request in C is a `RequestId`. A request names its VCI, so
//! the calls accept requests of every VCI of the process.

mod bulk;
mod lanes;
mod one;
mod overlap;
mod several;

pub use bulk::{pending_in_bulk, wait_bulk};
pub use one::{
    cancel, cancel_receive, comm_of, free, in_array, let_go, message_at, peek, request_at, test,
    wait, wait_received,
};
pub(crate) use one::{not_startable, take_outcome, wait_received_at};
pub(crate) use overlap::enter_one;
pub use several::{Any, complete_some, test_all, test_any, wait_all, wait_any};
