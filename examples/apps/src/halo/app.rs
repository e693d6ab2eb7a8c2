// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that exchange halos.

use commplan::Stencil;

/// A program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum App {
    /// Two axes, 5 or 9 points.
    Halo2d,
    /// Three axes, 7 or 27 points.
    Halo3d,
    /// A solver with three axes and 27 points: each step also needs a sum over all cells.
    Uintah,
}

impl App {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halo2d => "halo2d",
            Self::Halo3d => "halo3d",
            Self::Uintah => "uintah",
        }
    }

    /// Number of axes.
    pub const fn axes(self) -> usize {
        self.default_stencil().axes()
    }

    /// The stencil, unless another one is asked for.
    pub const fn default_stencil(self) -> Stencil {
        match self {
            Self::Halo2d => Stencil::Five,
            Self::Halo3d => Stencil::Seven,
            Self::Uintah => Stencil::TwentySeven,
        }
    }

    /// Whether each step ends with a sum over all cells, on which the next one depends.
    pub const fn has_sum(self) -> bool {
        matches!(self, Self::Uintah)
    }
}
