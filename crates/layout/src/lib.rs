// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes: MPI type maps as data, and the copies between them and packed bytes.
//!
//! A [`Layout`] says where the bytes of one element lie relative to a base address, in the order in which MPI packs them
//! (MPI-5.0, chapter 5). It knows no MPI calls and no operating system. Constructors reduce what they build to one of
//! three forms ([`form`]): contiguous, one strided run of blocks, or a list of blocks, so that equal objects that were
//! described differently cost the same.

pub mod form;
mod kernel;

pub use form::{Layout, LayoutError};
