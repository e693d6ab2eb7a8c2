// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a layout cannot be built.

use std::fmt;

/// Result of a constructor.
pub type Result<T> = std::result::Result<T, LayoutError>;

/// Why a layout cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// A size or an offset exceeds 63 bits.
    Overflow,
    /// More irregular blocks than fit into memory.
    TooManyBlocks,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "a size or an offset of the type exceeds 63 bits",
            Self::TooManyBlocks => "the type has more irregular blocks than fit into memory",
        })
    }
}

impl std::error::Error for LayoutError {}
