// SPDX-License-Identifier: MIT OR Apache-2.0
//! Models that are shipped.

mod table;

pub use table::{PRESETS, preset};
