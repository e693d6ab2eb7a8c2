// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint model`: where the time of a message goes, and what it would gain from a faster component.
//!
//! The crate `models` computes. [`options`] reads the command line, [`source`] the model; [`shown`], [`asked`], [`swept`] and
//! [`windows`] answer, each as a [`report`] that becomes text, Markdown or JSON. [`calibrated`] measures a model's components here,
//! [`between_hosts`] those of messages through a network, [`written`] makes a file of them; [`checked`] compares what it predicts, [`traced`] reads traces of a bus, [`timeline`] those of ranks.

mod asked;
mod between_hosts;
mod calibrated;
mod checked;
mod options;
mod report;
mod run;
mod shown;
mod source;
mod swept;
mod timeline;
mod traced;
mod windows;
mod written;

pub(crate) use options::ModelOptions;
pub(crate) use run::run;
