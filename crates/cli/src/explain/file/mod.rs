// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain file`: how accesses to files are done, why, and what each way costs.
//!
//! An access comes from options ([`pattern`]) and goes through the two tables of `file-plan` that ranks go through, too ([`answer`]); or a
//! program is run with `RANKPOINT_FILE_REPORT`, and the files that its ranks write are read ([`program`]). [`text`] prints. `tests` holds
//! whole outputs.

mod answer;
mod options;
mod pattern;
mod program;
mod run;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use options::FileOptions;
pub(super) use run::run;
