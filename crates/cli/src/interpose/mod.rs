// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint interpose`: runs a command with this library between its MPI programs and their MPI library ([`run`](mod@run)), and prints what their
//! [`calls`] took.

mod calls;
mod run;

pub(crate) use run::{InterposeOptions, check_layers, dispatcher, preloaded, run};
