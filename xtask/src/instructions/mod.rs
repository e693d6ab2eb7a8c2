// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask instructions`: instructions per call, counted by callgrind, the write into the ring included.
//!
//! [`calls`] counts point-to-point calls for each thread level and kind of communicator, [`collectives`] those of collectives, [`windows`] those of one-sided
//! operations, [`promises`] those of the calls of `mpi_rankpoint.h`, [`nulls`] those of each null request of an array,
//! [`fortran`] what calls take more from Fortran than from C, [`interposed`] what the interposing library adds to calls that pass through it, [`accounts`] bounds the instructions of each category of
//! them, [`callgrind`] runs a program and reads what its functions cost, [`command`] prints the tables.
//!
//! The counted programs (`tests/c/count_calls.c`, `count_collectives.c`, `count_windows.c`, `count_promises.c`, `count_nulls.c`,
//! `count_interposed.c`, and in `tests/fortran/counted` `count_fortran.f90`) make each call in a function of its own. Only
//! rank 0 runs under callgrind. `--prefix DIR` counts an installed library; one built without LTO takes more than the budgets.

mod accounts;
mod callgrind;
mod calls;
mod collectives;
mod command;
mod fortran;
mod interposed;
mod nulls;
mod profiles;
mod promises;
mod windows;

pub(crate) use command::{Count, count, run};
pub(crate) use profiles::print as print_profiles;
