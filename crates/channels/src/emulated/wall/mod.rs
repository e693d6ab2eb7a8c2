// SPDX-License-Identifier: MIT OR Apache-2.0
//! An emulated network interface in memory, in real time: with threads, locks, atomics and cache lines that are those of this node.
//!
//! | file | contents |
//! |---|---|
//! | `lock` | the lock of uUARs, queue pairs, completion queues and fetch units |
//! | `ring` | a completion queue's entries, written by lanes and read by threads |
//! | `lane` | a uUAR: its two buffers, and what the network interface does with a WQE |
//! | `objects` | the objects, as [`Interface`](crate::Interface) has them; uUARs are given out by the drivers' policies |
//! | `run` | the microbenchmark |
//!
//! There is no bus and no device: the thread that rings a lane does its work. What takes time here, locks, changes of threads, and
//! cache lines that several cores write, is real; what a bus or a device would add is in the virtual clock's emulation only.

mod lane;
mod lock;
mod objects;
mod ring;
mod run;

pub use objects::{
    WallCompletions, WallContext, WallDomain, WallNic, WallPair, WallProtection, WallRegion,
};
pub use run::{WallRun, run_wall};
