// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layers, in the order in which a call passes them.

use crate::table::Functions;

/// Gives what a layer has counted, and how often.
pub(crate) type Counts = fn() -> Vec<(String, u64)>;

/// A layer.
pub(crate) struct Layer {
    /// In settings.
    pub(crate) name: &'static str,
    /// Gets the functions behind it, gives those that stand before them; an error ends the process.
    pub(crate) over: fn(Functions) -> Result<Functions, String>,
    /// What it has counted.
    pub(crate) statistics: Counts,
}

/// All layers: the first one is called first.
pub(crate) const LAYERS: &[Layer] = &[];
