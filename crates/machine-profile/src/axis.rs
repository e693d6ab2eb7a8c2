// SPDX-License-Identifier: MIT OR Apache-2.0
//! What values are measured over, and in which unit.

use serde::Serialize;

/// The quantity along an axis.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Bytes that move.
    Bytes,
    /// Threads that take part.
    Threads,
    /// Pages of the size that the name tells.
    Pages,
    /// Bytes of a contiguous run.
    Run,
    /// Bytes from the begin of a run to that of the next.
    Stride,
    /// Calls that one measured call stands for, such as the kernels of a graph.
    Calls,
    /// Bytes of arguments of a kernel.
    Arguments,
}

impl Axis {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Bytes,
        Self::Threads,
        Self::Pages,
        Self::Run,
        Self::Stride,
        Self::Calls,
        Self::Arguments,
    ];

    /// Its name in a profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Threads => "threads",
            Self::Pages => "pages",
            Self::Run => "run",
            Self::Stride => "stride",
            Self::Calls => "calls",
            Self::Arguments => "arguments",
        }
    }

    /// The unit of its values in a sentence.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Bytes | Self::Run | Self::Stride | Self::Arguments => "bytes",
            Self::Threads => "threads",
            Self::Pages => "pages",
            Self::Calls => "calls",
        }
    }
}

/// The unit of a matrix.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// 10^9 bytes a second.
    #[serde(rename = "GB/s")]
    GbPerS,
}

impl Unit {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Ns, Self::GbPerS];

    /// Its name in a profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::GbPerS => "GB/s",
        }
    }
}
