// SPDX-License-Identifier: MIT OR Apache-2.0
//! PMIx: Open MPI's launchers and `srun --mpi=pmix`. Its wire protocol is private to its library, which is opened at run time.
//!
//! | module | contents |
//! |---|---|
//! | `abi` | the library's structures, and its functions as safe ones |
//! | `session` | a connection: what a rank asks for, each call with an end |

mod abi;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use session::Session;
