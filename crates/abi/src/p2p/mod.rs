// SPDX-License-Identifier: MIT OR Apache-2.0
//! Point-to-point communication (MPI-5.0, chapters 3 and 4): [`send`] and [`receive`] have the fast paths.

pub(crate) mod buffer;
pub(crate) mod decode;
pub(crate) mod end;
pub(crate) mod partitioned;
pub(crate) mod persistent;
pub(crate) mod probe;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod sendrecv;
