// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collective communication (MPI-5.0, chapter 6): decode, then run the engine's future to its end, or spawn it.
//!
//! [`buffers`] describes the blocks of each rank, [`ending`] the three forms of each call; the others are the calls.

pub(crate) mod all;
pub(crate) mod buffers;
pub(crate) mod ending;
pub(crate) mod neighbour;
pub(crate) mod reduce;
pub(crate) mod rooted;
