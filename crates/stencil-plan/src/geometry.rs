// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes and directions.

use std::array::from_fn;

/// Names of the axes. The first one is the fastest in memory.
pub const AXES: [char; 3] = ['x', 'y', 'z'];

/// A step to a neighbour: -1, 0 or 1 along each axis.
pub type Direction = [i8; 3];

/// The 26 directions, x fastest. A direction and its opposite have indices that add up to 25.
pub const DIRECTIONS: [Direction; 26] = directions();

const fn directions() -> [Direction; 26] {
    let mut all = [[0i8; 3]; 26];
    let (mut index, mut count) = (0, 0);
    while index < 27 {
        if index != 13 {
            all[count] = [
                (index % 3) as i8 - 1,
                (index / 3 % 3) as i8 - 1,
                (index / 9) as i8 - 1,
            ];
            count += 1;
        }
        index += 1;
    }
    all
}

/// The index of a direction in [`DIRECTIONS`]; `None` for no step, or a longer one.
pub fn index_of(direction: Direction) -> Option<usize> {
    DIRECTIONS.iter().position(|known| *known == direction)
}

/// The index of the opposite direction.
pub const fn opposite(index: usize) -> usize {
    DIRECTIONS.len() - 1 - index
}

/// What is beyond the end of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// The other end.
    #[default]
    Periodic,
    /// Nothing: halos there keep what the program has put into them.
    Open,
}

/// Points of a grid: those with `start[a] <= point[a] < end[a]` along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Box3 {
    /// The first point.
    pub start: [usize; 3],
    /// One beyond the last point.
    pub end: [usize; 3],
}

impl Box3 {
    /// From 0 on, with these sides.
    pub const fn of_sides(sides: [usize; 3]) -> Self {
        Self {
            start: [0; 3],
            end: sides,
        }
    }

    /// Points along each axis.
    pub fn sides(&self) -> [usize; 3] {
        from_fn(|axis| self.end[axis].saturating_sub(self.start[axis]))
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.sides().iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.points() == 0
    }

    /// Whether it has this point.
    pub fn contains(&self, point: [usize; 3]) -> bool {
        (0..3).all(|axis| (self.start[axis]..self.end[axis]).contains(&point[axis]))
    }

    /// Whether it has all points of another one.
    pub fn covers(&self, other: &Self) -> bool {
        let within = |axis: usize| {
            self.start[axis] <= other.start[axis] && other.end[axis] <= self.end[axis]
        };
        other.is_empty() || (0..3).all(within)
    }

    /// The same box relative to a point that is below it.
    #[must_use]
    pub fn relative_to(&self, origin: [usize; 3]) -> Self {
        Self {
            start: from_fn(|axis| self.start[axis] - origin[axis]),
            end: from_fn(|axis| self.end[axis] - origin[axis]),
        }
    }

    /// The same box shifted up.
    #[must_use]
    pub fn shifted(&self, by: [usize; 3]) -> Self {
        Self {
            start: from_fn(|axis| self.start[axis] + by[axis]),
            end: from_fn(|axis| self.end[axis] + by[axis]),
        }
    }

    /// All points, x fastest.
    pub fn iter(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let Self { start, end } = *self;
        (start[2]..end[2]).flat_map(move |z| {
            (start[1]..end[1]).flat_map(move |y| (start[0]..end[0]).map(move |x| [x, y, z]))
        })
    }
}
