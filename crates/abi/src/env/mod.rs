// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment (MPI-5.0, chapters 9 and 11): start and end, sessions, and questions about the library. It knows all chapters,
//! because the engine's start defines their predefined objects.

pub(crate) mod alloc_mem;
pub(crate) mod init;
pub(crate) mod inquiry;
pub(crate) mod session;
