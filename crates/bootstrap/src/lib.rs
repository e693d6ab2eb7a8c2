// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joining a job that another launcher than `mpiexec` of this project has started.
//!
//! Such a launcher gives each process an [`Access`] to a server: PMI-1 or PMI-2 on a socket, or PMIx through its library. A [`Member`]
//! asks it for rank, size and the node of each rank. The ranks of a node meet on an abstract Unix socket (`node_socket`), where the lowest
//! one hands out the node segment that it has made, as `mpiexec` would. In a job of several nodes it also puts one key into the
//! launcher's key space, with the addresses of all ranks of the node (`cards`); after one barrier any rank fetches the key of a node
//! when it first needs it.
//!
//! Answers of a server are untrusted: each failure is a sentence that names the command or the variable and what was expected. The
//! wire protocols have tests beside them with scripted servers, which speak as Hydra, Intel MPI and Slurm do, and PMIx with a double
//! of its library.

#![deny(unsafe_code)]

mod access;
mod cards;
mod client;
mod fields;
mod mapping;
mod member;
mod node_socket;
mod packets;
mod pmix;
#[cfg(test)]
mod server_tests;
mod stream;
mod text;
mod welcome;

pub use access::Access;
pub use member::Member;
