// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain`: what the library makes of what a program asks for.
//!
//! * [`coll`]: `rankpoint explain coll`, which algorithm a collective uses, by which rule, and what it costs;
//! * [`datatype`]: `rankpoint explain type`, the canonical form of a datatype, how it came about, and how it is packed;
//! * [`message`]: `rankpoint explain message`, how a message travels, by which rule, and what the other variants would do;
//! * [`vci`]: `rankpoint explain vci`, which communicators of a program shared a VCI, and what that cost.

mod coll;
mod datatype;
mod message;
mod subject;
mod vci;

pub(crate) use message::SHM_ENTRIES;
pub(crate) use subject::{Subject, run};
