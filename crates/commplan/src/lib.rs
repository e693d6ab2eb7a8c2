// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communication plans of stencil programs with threads: which communicator each thread uses for each message. No MPI calls, no
//! operating system.
//!
//! A [`Grid`] of processes, each with a grid of threads, exchanges halos along the [`Direction`]s of a [`Stencil`]. Messages
//! between threads of one process never go through MPI; the others need a communicator, and threads of one process that share a
//! communicator, or a VCI, wait for each other. A [`Plan`] maps messages to communicators, tags or endpoints:
//!
//! | [`Kind`] | objects | map |
//! |---|---|---|
//! | `naive` | one per thread at the border | a thread sends on its own, and receives on that of the sender |
//! | `edge` | as many as messages leave a process | one for each pair of threads |
//! | `merged` | as few as possible; two axes only | the corner threads of four processes share one |
//! | `tag` | one communicator | sender and receiver stand in the tag ([`TagLayout`]) and select VCIs |
//! | `endpoint` | one endpoint per thread | the thread is the rank |
//!
//! Both ends of a message compute its communicator from their own coordinates alone; [`Plan::check`] compares them for all messages
//! of a grid. [`Grid::leaving`] and [`Grid::lower_bound`] count, [`Exposed`] tells how many threads can communicate at the same
//! time, [`Spread`] how objects fall onto contexts of a network interface.
//!
//! Source: R. Zambre, *Exascalable Communication for Modern Supercomputing* (University of California, Irvine, 2020), chapters 3
//! to 6. Tests of its numbers are in `tests/`.

#![forbid(unsafe_code)]

mod check;
mod contexts;
mod counts;
mod error;
mod exposed;
mod grid;
mod kind;
mod name;
mod plan;
mod stencil;
mod tag;
mod unknown;

pub use check::{Checked, MAX_CHECKED};
pub use contexts::Spread;
pub use counts::{ByClass, Volume, printed_formula};
pub use error::Error;
pub use exposed::Exposed;
pub use grid::{Coords, Grid, Neighbour, Place};
pub use kind::Kind;
pub use plan::{Channel, End, Plan};
pub use stencil::{Class, Direction, Stencil};
pub use tag::{MIN_TAG_UB, TagLayout};
pub use unknown::Unknown;

/// The examples of the page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/commplan.md")]
pub struct PageOnPlans;
