// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a network interface has: its limits, the memory of its objects, and the times of its emulation, as a TOML file.
//!
//! Two profiles are part of this crate: `connectx4` and `hfi160`. Every key is a row in `keys.rs`; a file with an unknown
//! key, or a value out of its range, is refused with its line.

mod keys;
mod profile;
mod read;

pub use profile::{Constants, Limits, Memory, Profile, Timing};
