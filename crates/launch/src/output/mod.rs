// SPDX-License-Identifier: MIT OR Apache-2.0
//! The output of a job on its way from ranks to terminals, pipes and files.
//!
//! [`outputs`] holds all streams of a job; [`lines`] makes lines of bytes and writes them; [`files`] opens the files that
//! output goes to; [`whole_lines`] decides which streams pass through the launcher for the sake of whole lines.

mod files;
mod lines;
mod outputs;
mod whole_lines;

pub(crate) use files::Files;
pub(crate) use outputs::{Outputs, Role, Streams, Wires};
pub(crate) use whole_lines::WholeLines;
