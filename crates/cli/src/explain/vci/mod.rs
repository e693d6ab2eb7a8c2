// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain vci`: which communicators of a program shared a VCI, and what that cost.
//!
//! [`run()`] starts the program with `RANKPOINT_VCI_REPORT`, so that each rank writes a [`report`] when it finalizes MPI; [`text`] prints
//! them as tables, [`advice`] says what to do about VCIs whose locks threads waited for.

mod advice;
mod report;
mod run;
mod text;

pub(crate) use run::{VciOptions, run};
