// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint explain message`: how a message travels, by which rule, what it costs, and why not otherwise.
//!
//! * [`options`]: the message, its receive and the fabric, as a user says them;
//! * [`measured`]: times of the fabric from the machine profile;
//! * [`choose`]: the path, and the rules that led there;
//! * [`answer`]: what the emulator of the crate `protocols` says of every variant;
//! * [`text`]: the answer for people and as JSON. The tests compare it with the files in `golden`.

mod answer;
mod choose;
mod measured;
mod options;
mod run;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use measured::SHM_ENTRIES;
pub(crate) use options::MessageOptions;
pub(crate) use run::run;
