// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask apps [--peers] [--write] [NAME...]`: the applications of the publications, by mechanism and by library, with the published
//! gain beside ours.
//!
//! [`catalog`] is the one table of all apps; a row there is all that another app needs. [`options`] reads the command line, [`library`]
//! says how a library compiles and starts programs, [`series`] runs one app in one mode round by round and reads its JSON,
//! [`modes`] writes the table of modes, [`fit`] fits the model T = O + W/P, [`tables`] and [`plot`] write what was measured, [`command`] does all of it in order.

mod catalog;
mod command;
mod fit;
mod library;
mod modes;
mod options;
mod plot;
mod series;
mod tables;

pub(crate) use command::run;
pub(crate) use library::{Cores, Library};
