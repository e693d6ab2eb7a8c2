// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests (MPI-5.0, sections 3.7 and 13.2): calls that complete and inspect them, and those that the program completes.

pub(crate) mod completion;
pub(crate) mod generalized;
pub(crate) mod get_status;

pub(crate) use completion::{comm_handle, slice};
