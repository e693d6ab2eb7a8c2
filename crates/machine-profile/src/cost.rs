// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single costs.

use serde::Serialize;

use crate::sample::Sample;

/// What one operation takes, such as a system call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The entry.
    pub name: String,
    /// Its time.
    #[serde(flatten)]
    pub sample: Sample,
}
