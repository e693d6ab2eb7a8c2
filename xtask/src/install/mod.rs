// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask install`: the tree that users build and run with. It can be moved: everything finds itself.

mod command;
mod profile;
mod tree;

pub(crate) use command::run;
pub(crate) use profile::Profile;
pub(crate) use tree::{SUPPRESSIONS, built_as, into_target};
