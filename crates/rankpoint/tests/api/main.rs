// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Rust API, call by call. One program, so that what all of these tests use is compiled and linked once.

mod checked_types;
mod collective;
mod communicator;
mod counters;
mod datatypes;
mod files;
mod inter;
mod nonblocking;
mod nonblocking_collective;
mod partitioned;
mod persistent;
mod point_to_point;
mod promises;
mod protocols;
mod random_views;
mod shared;
mod topology;
mod window_promises;
mod windows;
