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

use rankpoint::{Communicator, Result};

/// The world, and a communicator of its ranks backwards; with the world rank of each rank.
fn communicators<'u>(world: &Communicator<'u>) -> Result<[(Communicator<'u>, Vec<usize>); 2]> {
    let size = world.size();
    let reversed = world.split(0, size - 1 - world.rank())?;
    Ok([
        (world.duplicate()?, (0..size).collect()),
        (reversed, (0..size).rev().collect()),
    ])
}
