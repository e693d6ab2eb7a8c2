// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operating system and the processor: everything that is not Rust's standard library and knows
//! nothing of MPI.
//!
//! | module | what it wraps |
//! |---|---|
//! | [`memory`] | anonymous memory files, mappings, sizes of memory and caches |
//! | [`own_memory`] | which addresses are the program's, its heap's or its stack's |
//! | [`reservation`] | memory files of which only the parts in use are accessible |
//! | [`files`] | reading files that a user names |
//! | [`file_ranges`] | space for a range of a file, and locks of ranges |
//! | [`leaks`] | mappings that leak checkers should search for pointers |
//! | [`library`] | C libraries opened at run time |
//! | [`limits`] | `ulimit` |
//! | [`cores`] | which cores a thread may use, binding, yielding, switches, processor time |
//! | [`thread`] | the number of a thread |
//! | [`topology`] | which processors share caches, NUMA nodes and packages |
//! | [`spin`], [`clock`] | the pause between two polls, and clocks |
//! | [`futex`], [`barrier`] | sleeping on a word of shared memory, memory barriers in other processes |
//! | [`cma`] | cross-memory attach: copies between the private memories of two processes |
//! | [`signals`], [`spawn`] | signals as data, starting ranks, the guard that outlives a launcher |
//! | [`fork`] | children that go on with the program |
//! | [`random`] | random numbers |
//! | [`connection`] | connections that show whether a network delivers |
//! | [`socket`] | inherited sockets, descriptors that travel through sockets |
//! | [`sync`] | the atomics of this project: std's, or loom's under `cfg(loom)` |
//!
//! Each function wraps one system call or instruction, checks its result, and states in its `SAFETY`
//! line why the arguments are valid. Any of our crates may use this one; this one uses none of them.

pub mod barrier;
pub mod clock;
pub mod cma;
pub mod connection;
pub mod cores;
pub mod file_ranges;
pub mod files;
pub mod fork;
pub mod futex;
pub mod leaks;
pub mod library;
pub mod limits;
pub mod memory;
pub mod own_memory;
pub mod random;
pub mod reservation;
pub mod signals;
pub mod socket;
pub mod spawn;
pub mod spin;
pub mod sync;
pub mod thread;
pub mod topology;
