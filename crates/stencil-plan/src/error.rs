// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a problem.

use std::fmt;

use crate::geometry::AXES;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The grid has no points along an axis.
    NoPoints {
        /// Points along x, y, z.
        grid: [usize; 3],
    },
    /// The grid and its halos have more bytes than there are addresses.
    TooLarge {
        /// Points along x, y, z.
        grid: [usize; 3],
        /// Halos along each axis.
        halos: [usize; 3],
    },
    /// There are no ranks.
    NoRanks,
    /// The grid cannot be cut into so many boxes.
    TooManyBoxes {
        /// Boxes that were asked for.
        boxes: usize,
        /// Points along x, y, z.
        grid: [usize; 3],
        /// The thinnest that boxes may be along each axis.
        least: [usize; 3],
    },
    /// Dimensions that were given do not have as many boxes as there are ranks.
    WrongDims {
        /// Boxes along each axis.
        dims: [usize; 3],
        /// Ranks.
        ranks: usize,
    },
    /// A box is empty, or thinner than a halo that its neighbour needs of it.
    ThinBox {
        /// The axis, 0 to 2.
        axis: usize,
        /// Points of the thinnest box along it.
        side: usize,
        /// The thinnest that it may be: the width of the halo, or a point.
        least: usize,
        /// Boxes along the axis.
        boxes: usize,
    },
    /// Distances are not a matrix of the ranks of a node.
    WrongDistances {
        /// Ranks of a node.
        ranks: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPoints { grid } => write!(
                f,
                "grid {}: expected at least one point along each axis",
                by(grid)
            ),
            Self::TooLarge { grid, halos } => write!(
                f,
                "grid {} and {} points of halos: expected fewer bytes in an exchange than there are addresses",
                by(grid),
                by(halos)
            ),
            Self::NoRanks => f.write_str("ranks: 0; expected at least one"),
            Self::TooManyBoxes { boxes, grid, least } => write!(
                f,
                "grid {} for {boxes} ranks: expected a number of ranks whose prime factors cut its sides into boxes of at least {} points, \
                 the radius along each axis; take fewer ranks or a larger grid",
                by(grid),
                by(least)
            ),
            Self::WrongDims { dims, ranks } => write!(
                f,
                "dims {}: expected a product of {ranks}, the number of ranks",
                by(dims)
            ),
            Self::ThinBox {
                axis,
                side,
                least,
                boxes,
            } => write!(
                f,
                "{boxes} boxes along {}: the thinnest has {side} points; expected at least {least}: no thinner than the radius along this axis, and not empty",
                AXES[*axis]
            ),
            Self::WrongDistances { ranks } => write!(
                f,
                "distances: expected {ranks} rows of {ranks} numbers of 0 and more, one for each rank of a node"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// `AxBxC`.
fn by([x, y, z]: &[usize; 3]) -> String {
    format!("{x}x{y}x{z}")
}
