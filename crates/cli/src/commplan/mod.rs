// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint commplan`: which communicator each thread of a stencil program uses, how many that takes, and whether both ends of
//! each message agree.
//!
//! The crate `commplan` plans and counts. [`options`] reads the command line, [`answer`] collects what is told, as [`text`] or
//! JSON, [`times`] takes from the machine profile how long messages take, [`table`] writes a plan's map as tables in Rust or C.

mod answer;
mod options;
mod run;
mod table;
mod text;
mod times;

pub(crate) use options::CommplanOptions;
pub(crate) use run::run;
pub(crate) use times::{FACE_BYTES, MESSAGES};
