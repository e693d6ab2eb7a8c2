// SPDX-License-Identifier: MIT OR Apache-2.0
//! What MPI means: the engine behind every face of Rankpoint.
//!
//! One folder a chapter of MPI, one file a concept. The C library, the Rust API and the tools are faces of this crate:
//! they decode arguments, call one function here and map its error.

pub mod errors;
pub mod settings;

pub use errors::{Error, ErrorClass, Result};
