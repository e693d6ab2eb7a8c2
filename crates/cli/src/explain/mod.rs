// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain`: what the library makes of what a program asks for.
//!
//! * [`coll`]: `rankpoint explain coll`, which algorithm a collective uses, by which rule, and what it costs;
//! * [`datatype`]: `rankpoint explain type`, the canonical form of a datatype, how it came about, and how it is packed;
//! * [`file`](mod@file): `rankpoint explain file`, how accesses to files are done, by which rule, and what the other ways cost;
//! * [`message`]: `rankpoint explain message`, how a message travels, by which rule, and what the other variants would do;
//! * [`placement`]: `rankpoint explain placement`, where `reorder` places ranks, and what crosses nodes then;
//! * [`vci`]: `rankpoint explain vci`, which communicators of a program shared a VCI, and what that cost.

mod coll;
mod datatype;
mod file;
mod message;
mod placement;
mod ranges;
mod subject;
mod vci;

pub(crate) use message::SHM_ENTRIES;
pub(crate) use placement::{ENTRIES as PLACEMENT_ENTRIES, curve as placement_curve};
pub(crate) use subject::{Subject, run};
