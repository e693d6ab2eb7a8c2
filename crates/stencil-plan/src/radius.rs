// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a stencil reaches.

use crate::geometry::{DIRECTIONS, Direction, index_of};

/// How many points beyond its own box a rank reads, in each direction.
///
/// The widths of halos are those of the six faces. Halos at edges and corners are as wide as the faces that meet there; they are
/// exchanged unless their own radius is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radius {
    of: [usize; 26],
}

impl Radius {
    /// The same in all directions.
    pub const fn constant(points: usize) -> Self {
        Self { of: [points; 26] }
    }

    /// The faces only: a stencil along the axes.
    pub fn faces(points: usize) -> Self {
        Self::constant(points).edges(0).corners(0)
    }

    /// The same with another radius along the edges; 0: they are not exchanged.
    #[must_use]
    pub fn edges(self, points: usize) -> Self {
        self.all_with(2, points)
    }

    /// The same with another radius at the corners; 0: they are not exchanged.
    #[must_use]
    pub fn corners(self, points: usize) -> Self {
        self.all_with(3, points)
    }

    /// The same with another radius in one direction. No step, and longer steps, change nothing.
    #[must_use]
    pub fn direction(mut self, direction: Direction, points: usize) -> Self {
        if let Some(index) = index_of(direction) {
            self.of[index] = points;
        }
        self
    }

    fn all_with(mut self, axes: usize, points: usize) -> Self {
        for (direction, own) in DIRECTIONS.iter().zip(&mut self.of) {
            if direction.iter().filter(|step| **step != 0).count() == axes {
                *own = points;
            }
        }
        self
    }

    /// The radius of the direction with this index.
    ///
    /// # Panics
    /// When there is no such direction.
    pub const fn of(&self, index: usize) -> usize {
        self.of[index]
    }

    /// Width of the halo at one side of a box: `-1` the low one of an axis, `1` the high one; 0 for other steps.
    pub fn width(&self, axis: usize, side: i8) -> usize {
        let mut direction = [0; 3];
        direction[axis] = side;
        index_of(direction).map_or(0, |index| self.of[index])
    }

    /// Widths at the low sides.
    pub fn low(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.width(axis, -1))
    }

    /// Widths at the high sides.
    pub fn high(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.width(axis, 1))
    }

    /// Widths at both sides together, or the largest number if they add up to more.
    pub(crate) fn widths(&self) -> [usize; 3] {
        let (low, high) = (self.low(), self.high());
        std::array::from_fn(|axis| low[axis].saturating_add(high[axis]))
    }

    /// The thinnest that boxes with neighbours may be along each axis: as thick as the halos that these need, and not empty.
    pub(crate) fn least_sides(&self) -> [usize; 3] {
        let (low, high) = (self.low(), self.high());
        std::array::from_fn(|axis| low[axis].max(high[axis]).max(1))
    }

    /// The largest radius of any direction that touches a side.
    pub fn reach(&self, axis: usize, side: i8) -> usize {
        let touching = DIRECTIONS.iter().zip(self.of);
        touching
            .filter(|(direction, _)| direction[axis] == side)
            .map(|(_, own)| own)
            .max()
            .unwrap_or(0)
    }
}
