// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point-to-point communication (MPI-5.0, chapters 3 and 4): [`message`] has the fast paths of sends and receives.

pub(crate) mod buffer;
pub(crate) mod message;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod probe;
pub(crate) mod sendrecv;
