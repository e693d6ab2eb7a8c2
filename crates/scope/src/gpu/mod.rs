// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs as measurements use them: through the driver that is found at run time.
//!
//! ```text
//! calls     the driver's functions for streams, events, memory of all kinds, copies and graphs
//! kernels   the gate, and kernels that do nothing with arguments of many lengths
//! unit      a GPU with all of these, its streams and events
//! copies    copies by the driver, and graphs of kernels
//! memory    pinned and managed memory
//! gate      transfers behind a gate, timed by events
//! ```
//!
//! Opening the driver and kernels that copy are those of `layout-cuda`. Tests run everything on a double of the driver, whose clock is
//! exact.

mod calls;
mod copies;
mod gate;
mod kernels;
mod memory;
mod unit;

pub(crate) use calls::{Box2, Box3, Done, Side2, Side3};
pub(crate) use copies::Graph;
pub(crate) use gate::{Gate, Way};
pub(crate) use kernels::ARGUMENTS;
pub(crate) use memory::{Managed, PAGE, Pinned};
pub(crate) use unit::{Reach, Stream, Unit};
