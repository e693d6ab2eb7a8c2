// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stencils and the directions of their messages.

use std::str::FromStr;

use crate::unknown::Unknown;

/// Cells that a step of the program reads around each cell.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Stencil {
    /// Two axes, faces only.
    Five,
    /// Two axes, faces and corners.
    Nine,
    /// Three axes, faces only.
    Seven,
    /// Three axes, faces, edges and corners.
    TwentySeven,
}

/// What a message carries: a face, an edge or a corner of a thread's patch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Class {
    /// The neighbour differs along one axis.
    Face,
    /// Three axes, of which the neighbour differs along two.
    Edge,
    /// The neighbour differs along all axes.
    Corner,
}

/// Where a message goes: -1, 0 or 1 along x, y and z.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Direction(pub [i8; 3]);

impl Stencil {
    /// All stencils.
    pub const ALL: [Self; 4] = [Self::Five, Self::Nine, Self::Seven, Self::TwentySeven];

    /// The stencil of so many points.
    pub fn with_points(points: u32) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|stencil| stencil.points() == points)
    }

    /// Cells read, with the one that is computed.
    pub const fn points(self) -> u32 {
        match self {
            Self::Five => 5,
            Self::Nine => 9,
            Self::Seven => 7,
            Self::TwentySeven => 27,
        }
    }

    /// Number of axes: 2 or 3.
    pub const fn axes(self) -> usize {
        match self {
            Self::Five | Self::Nine => 2,
            Self::Seven | Self::TwentySeven => 3,
        }
    }

    /// The directions of the messages of a thread, x varying fastest. The opposite of the i-th is the i-th from the end.
    pub fn directions(self) -> Vec<Direction> {
        let steps = |axis: usize| if axis < self.axes() { -1..=1 } else { 0..=0 };
        let all = steps(2).flat_map(|z| steps(1).map(move |y| (z, y)));
        let all = all.flat_map(|(z, y)| steps(0).map(move |x| Direction([x, y, z])));
        all.filter(|direction| match self {
            Self::Five | Self::Seven => direction.axes() == 1,
            Self::Nine | Self::TwentySeven => direction.axes() > 0,
        })
        .collect()
    }

    /// The class of a direction.
    pub const fn class(self, direction: Direction) -> Class {
        match (direction.axes(), self.axes()) {
            (0 | 1, _) => Class::Face,
            (2, 3) => Class::Edge,
            _ => Class::Corner,
        }
    }
}

impl FromStr for Stencil {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let found = text.parse().ok().and_then(Self::with_points);
        found.ok_or_else(|| Unknown {
            text: text.to_owned(),
            expected: "5 or 9 points with two axes, 7 or 27 with three",
        })
    }
}

impl Direction {
    /// Number of axes along which it leads.
    pub const fn axes(self) -> usize {
        let [x, y, z] = self.0;
        (x != 0) as usize + (y != 0) as usize + (z != 0) as usize
    }

    /// The direction of the message that comes back.
    pub const fn opposite(self) -> Self {
        let [x, y, z] = self.0;
        Self([-x, -y, -z])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_one_less_than_points_and_opposites_mirror() {
        for stencil in Stencil::ALL {
            let directions = stencil.directions();
            assert_eq!(directions.len() + 1, stencil.points() as usize);
            let mirrored: Vec<Direction> = directions.iter().rev().copied().collect();
            let opposite: Vec<Direction> = directions.iter().map(|one| one.opposite()).collect();
            assert_eq!(mirrored, opposite);
            assert_eq!(Stencil::with_points(stencil.points()), Some(stencil));
        }
        assert_eq!(Stencil::with_points(6), None);
    }

    #[test]
    fn classes_count_axes() {
        let of = |stencil: Stencil, class| {
            let all = stencil.directions();
            all.iter()
                .filter(|one| stencil.class(**one) == class)
                .count()
        };
        let counts =
            |stencil| [Class::Face, Class::Edge, Class::Corner].map(|class| of(stencil, class));
        assert_eq!(counts(Stencil::Nine), [4, 0, 4]);
        assert_eq!(counts(Stencil::Seven), [6, 0, 0]);
        assert_eq!(counts(Stencil::TwentySeven), [6, 12, 8]);
    }
}
