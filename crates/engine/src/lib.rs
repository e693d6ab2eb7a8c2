// SPDX-License-Identifier: MIT OR Apache-2.0
//! The semantics of MPI: the engine behind every face of Rankpoint.
//!
//! One folder a chapter of MPI, one file a concept. The C library, the Rust API and the tools are faces of this crate:
//! they decode arguments, call one function here and map its error. A message starts in [`p2p`], travels by a `protocol`,
//! belongs to a VCI ([`progress`]), and ends in [`completion`].

pub mod allocate;
pub mod attr;
mod caches;
pub mod call;
pub mod coll;
pub mod comm;
pub mod completion;
pub mod create;
pub mod datatype;
pub mod device;
pub mod errors;
pub mod file;
pub mod group;
mod identity;
pub mod op;
mod ordering;
mod overlap;
pub mod p2p;
pub mod progress;
mod protocol;
pub mod request;
pub mod rma;
pub mod settings;
pub mod task;
#[cfg(test)]
mod testing;
pub mod topo;
pub(crate) mod vci;

pub use errors::{Error, ErrorClass, Result};
pub use fabric::identity::VciIndex;
pub use overlap::Entered;
