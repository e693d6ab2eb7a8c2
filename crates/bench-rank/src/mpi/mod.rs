// SPDX-License-Identifier: MIT OR Apache-2.0
//! A safe face of the MPI calls that the benchmark makes, over whatever library was opened at run time.
//!
//! # Safety
//! The functions come from a library with the MPI 5.0 ABI, which fixes their prototypes; [`Mpi::start`] initialises it and
//! only [`Mpi::finish`], which takes the face away, finalises it. Every method ends only when the library is done with the
//! buffers it was given: a window of nonblocking operations is one method. A call that fails ends the process, so no
//! operation outlives its buffers either.
#![expect(
    unsafe_code,
    reason = "MPI is called through pointers of a library opened at run time"
)]

mod call;
mod calls;
pub(crate) mod collective;
pub(crate) mod datatype;
mod library;
mod message;
mod partitions;
mod persistent;
mod rma_stream;
mod stream;
mod tiles;
mod window;

pub(crate) use calls::PersistentSends;
pub(crate) use library::Mpi;
pub use library::version;
pub(crate) use message::{Tags, WINDOW_TAG, Window};
pub(crate) use partitions::Partitions;
pub(crate) use persistent::PersistentReceive;
pub(crate) use rma_stream::{OneSided, RmaStream, WindowSharing};
pub(crate) use stream::{Sharing, Stream};
pub(crate) use tiles::TileWindow;
pub(crate) use window::{PeerGroup, RmaWindow, STRIDED, WindowMemory};
