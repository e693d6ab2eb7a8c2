// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators (MPI-5.0, chapter 7).

pub(crate) mod communicator;
mod endpoints;
pub(crate) mod inter;
pub(crate) mod split_type;

pub(crate) use communicator::{hints_of, intra, publish};
