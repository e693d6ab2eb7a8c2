// SPDX-License-Identifier: MIT OR Apache-2.0
//! Under which conditions a profile was measured, and what is not in it.

use serde::Serialize;

/// A condition that measurements asked for, such as the governor of the processor's clock.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Control {
    /// Its name: `governor`, `boost`, `affinity`, `load`.
    pub name: String,
    /// What was asked for.
    pub asked: String,
    /// What held while measuring, and why when it is something else.
    pub held: String,
}

/// An entry without values.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Skipped {
    /// The entry.
    pub name: String,
    /// Why it was not measured.
    pub reason: String,
}
