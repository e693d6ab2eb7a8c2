// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places: where threads run and memory lies.

use serde::Serialize;

/// What a place is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// A processor of this host, as the kernel numbers them.
    Core,
    /// The memory of a NUMA node.
    Numa,
    /// A GPU.
    Gpu,
    /// Another host.
    Host,
}

impl PlaceKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Core, Self::Numa, Self::Gpu, Self::Host];

    /// Its name in a profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Numa => "numa",
            Self::Gpu => "gpu",
            Self::Host => "host",
        }
    }
}

/// A place of a machine. Curves, surfaces and matrices name places by their position in [`crate::Profile::places`].
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Place {
    /// Its name in tables and plots, such as `core 0`; for another host its address.
    pub name: String,
    /// What it is.
    pub kind: PlaceKind,
    /// The system's number of it: processor, NUMA node, GPU.
    pub index: u64,
    /// The first processor that shares the cache of the last level, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l3: Option<u64>,
    /// The NUMA node, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa: Option<u64>,
}
