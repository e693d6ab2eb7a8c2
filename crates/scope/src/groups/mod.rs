// SPDX-License-Identifier: MIT OR Apache-2.0
//! The groups of entries; each module gives its rows.

mod atomics;
mod both;
mod calls;
mod chase;
mod copies;
mod double;
mod gpu;
mod line;
mod loopback;
mod numa;
mod pack;
mod pages;
mod peer;
mod streams;
mod table;
mod transfer;
mod wake;

pub(crate) use line::yardstick;
pub use peer::run_peer;
pub use table::entries;
