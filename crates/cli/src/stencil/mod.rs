// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint stencil`: what a stencil computation would exchange, without running it.
//!
//! The crate `stencil_plan` plans. [`options`] reads the command line, [`answer`] counts and writes text and JSON.

mod answer;
mod options;
mod run;

pub(crate) use options::Question;
pub(crate) use run::run;
