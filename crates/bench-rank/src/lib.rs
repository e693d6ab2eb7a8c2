// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ranks of measured jobs do, on whatever MPI library with the standard ABI is opened at run time.
//!
//! A command that measures starts jobs of itself ([`run_rank`]); the first word says what is measured. Rank 0 prints one JSON object
//! a line for each point, which `measure::job` reads. `peer/peer.c` beside this folder prints the same for libraries that lack the
//! standard ABI: when a measurement changes, both change.
//!
//! ```text
//! mpi            a safe face of the MPI calls that ranks make; everything below uses this one
//! measurement    the table of rows, which the command reads as well
//! start, options, output   what is wanted, and what is printed
//! repeat         how often something runs
//! distance       how far the cores of two ranks are from each other meanwhile
//! rows           the rows of the table
//! path           parts of a message's path, which models of latency are made of
//! threads        message rates of several threads
//! global_array   a distributed matrix product by tiles
//! ```

mod distance;
mod global_array;
pub mod measurement;
mod mpi;
mod options;
mod output;
mod path;
mod pattern;
mod repeat;
mod rows;
mod start;
pub mod threads;

pub use global_array::{GETS, GLOBAL_ARRAY, PRODUCTS, PUTS, WRONG};
pub use mpi::version;
pub use path::{
    ANSWERED, CALLS, DISTANCE, HALVES, LINE, MPI_POLL, MPI_RECEIVE, MPI_SEND, NETWORK_PARTS,
    NETWORK_PARTS_AND_QUANTITIES, PARTS, PARTS_AND_QUANTITIES, RAW_HALVES, RAW_POLL, RAW_POST,
    RAW_PROGRESS, WINDOWS, WINDOWS_ANSWERED,
};
pub use start::{EMPTY, MULTIPLE, run_rank};
