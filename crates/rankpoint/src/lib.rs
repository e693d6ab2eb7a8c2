// SPDX-License-Identifier: MIT OR Apache-2.0
//! Safe, typed MPI for Rust on the Rankpoint engine.
