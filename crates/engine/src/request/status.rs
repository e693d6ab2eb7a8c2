// SPDX-License-Identifier: MIT OR Apache-2.0
//! The status of a completed operation (MPI-5.0, section 3.2.5).

use super::slab::RequestId;
use crate::errors::{Error, ErrorClass};

/// The status of a completed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender, MPI_PROC_NULL or MPI_ANY_SOURCE.
    pub source: i32,
    /// Tag of the message, or MPI_ANY_TAG.
    pub tag: i32,
    /// Error class, 0 for success.
    pub error: i32,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
    /// Bytes received, packed.
    pub bytes: u64,
}

impl Status {
    /// The empty status.
    pub const EMPTY: Status = Status {
        source: -1,
        tag: -2,
        error: 0,
        cancelled: false,
        bytes: 0,
    };
    /// The status of a receive from MPI_PROC_NULL.
    pub const PROC_NULL: Status = Status {
        source: -3,
        tag: -2,
        error: 0,
        cancelled: false,
        bytes: 0,
    };
}

/// The error of a request that is no live request.
#[cold]
pub(crate) fn stale(id: RequestId) -> Error {
    let (value, expected) = match id {
        RequestId::NULL => ("MPI_REQUEST_NULL".to_owned(), "a request"),
        _ => (
            format!("{:#x}, freed or never a request", id.0),
            "an active request or MPI_REQUEST_NULL",
        ),
    };
    Error::argument(ErrorClass::ERR_REQUEST, "request", value, expected)
}
