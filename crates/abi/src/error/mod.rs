// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors (MPI-5.0, chapter 9): how a failed call reports them, codes and classes, and the program's error handlers.
//!
//! [`mod@raise`] hands an error of the engine to the handler of its communicator, [`window`] to that of its window, [`mod@file`] to that of
//! files; [`handlers`] and [`codes`] are the calls.

pub(crate) mod codes;
pub(crate) mod file;
pub(crate) mod handlers;
pub(crate) mod raise;
pub(crate) mod window;

pub(crate) use file::{compare_accesses, run_file, run_without_file};
pub(crate) use raise::{
    begin_with_handler, fatal, follow_world, inactive, inactive_on, note_freed, raise, raise_to,
    run, run_any_time, tell,
};
pub(crate) use window::run_window;
