// SPDX-License-Identifier: MIT OR Apache-2.0
//! The directory of rings: for each rank a list of the rings towards it.

mod list;
#[cfg(all(test, loom))]
mod models;

pub(crate) use list::published_since;
pub use list::{Entry, RingKey};
