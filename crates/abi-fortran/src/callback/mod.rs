// SPDX-License-Identifier: MIT OR Apache-2.0
//! Procedures of the program that the MPI library calls.
//!
//! | callback | what leads to the procedure |
//! |---|---|
//! | attributes ([`keyval`]), datareps ([`datarep`]), generalised requests ([`grequest`]) | C's `extra_state` points to a record |
//! | operations ([`op`]), error handlers ([`errhandler`]) | C passes no state: one C function for each procedure ([`slots`]) |
//!
//! Handles go to the procedures as INTEGERs, which `TYPE(MPI_Comm)` and the other types of `mpi_f08` are, too.

pub(crate) mod datarep;
pub(crate) mod errhandler;
pub(crate) mod grequest;
pub(crate) mod keyval;
pub(crate) mod op;
mod slots;
