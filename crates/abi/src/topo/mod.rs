// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual topologies (MPI-5.0, chapter 8).

pub(crate) mod cart;
pub(crate) mod graph;
