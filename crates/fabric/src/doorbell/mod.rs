// SPDX-License-Identifier: MIT OR Apache-2.0
//! The doorbell: how a rank sleeps without missing a message, and how a sender wakes it at almost no cost.

#[cfg(all(test, loom))]
mod models;
mod sleeper;

pub use sleeper::{SLEEPS, Sleeper, any_asleep, prepare};
pub(crate) use sleeper::{covering, ring};
