// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all servers tell, and how long a line to one may be.

/// Bytes of a line, its end included: Slurm loses longer ones without an error.
pub(crate) const LINE_BYTES: usize = 1023;

/// The job of a process, as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// The name of this start of ranks at the launcher.
    pub(crate) step: String,
    /// The node of each rank, numbered in the order in which they first occur.
    pub(crate) node_of: Vec<u32>,
    /// MPI_APPNUM.
    pub(crate) app_number: Option<i32>,
    /// MPI_UNIVERSE_SIZE.
    pub(crate) universe_size: Option<u32>,
}
