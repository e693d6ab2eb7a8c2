// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of communicators, which both ends of a message find alone: from coordinates, and from the classes of the interfaces
//! between processes.

use crate::grid::{Coords, Grid, Place};
use crate::stencil::{Direction, Stencil};

/// The class of an axis that a message does not cross.
const NOT_CROSSED: u8 = u8::MAX;

/// What tells a communicator from the others. The order of names is that of the communicators' numbers.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Name {
    /// Of all threads.
    All,
    /// Of the thread with this number in each process.
    Thread(usize),
    /// Of a pair of threads at interfaces of these classes; positions along the axes not crossed, first of the thread on the low
    /// side of the first crossed axis.
    Pair {
        classes: [u8; 3],
        low: Coords,
        high: Coords,
    },
    /// Of the four corner threads around a vertex, where interfaces of these classes cross.
    Vertex([u8; 2]),
    /// Of one of these corner threads, that on the high side along an axis or not, and the second threads along the edges that
    /// face it.
    Quadrant {
        classes: [u8; 2],
        is_high: [bool; 2],
    },
}

/// A message from one process to another.
#[derive(Clone, Copy)]
pub(crate) struct Crossing<'g> {
    pub(crate) grid: &'g Grid,
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) direction: Direction,
}

impl Crossing<'_> {
    /// The name of the pair of threads.
    pub(crate) fn pair(self) -> Name {
        let mut classes = [NOT_CROSSED; 3];
        let (mut low, mut high) = (self.from.thread, self.to.thread);
        let mut is_first = true;
        for axis in (0..3).filter(|&axis| self.crosses(axis)) {
            let is_up = self.direction.0[axis] > 0;
            classes[axis] = self.class(axis, is_up);
            if is_first && !is_up {
                std::mem::swap(&mut low, &mut high);
            }
            is_first = false;
            (low[axis], high[axis]) = (0, 0);
        }
        Name::Pair { classes, low, high }
    }

    /// The name of the plan with merged corners.
    pub(crate) fn merged(self) -> Name {
        let (axis, along) = match [self.crosses(0), self.crosses(1)] {
            [true, true] => {
                let is_up = self.direction.0.map(|step| step > 0);
                return Name::Vertex([self.class(0, is_up[0]), self.class(1, is_up[1])]);
            }
            [is_x, _] => (usize::from(!is_x), usize::from(is_x)),
        };
        let last = self.grid.threads()[along] - 1;
        let (mine, theirs) = (self.from.thread[along], self.to.thread[along]);
        let is_up = self.direction.0[axis] > 0;
        let classes = |is_last: bool| {
            let mut classes = [0; 2];
            classes[axis] = self.class(axis, is_up);
            classes[along] = self.class(along, is_last);
            classes
        };
        let is_corner = |position: usize| position == 0 || position == last;
        let is_five = self.grid.stencil() == Stencil::Five;
        if mine == theirs && is_corner(mine) {
            return Name::Vertex(classes(mine == last));
        }
        // The second thread along the edge is a neighbour of the corner in its own process.
        let beside = |corner: usize, other: usize| is_corner(corner) && corner.abs_diff(other) == 1;
        let corner = match (beside(mine, theirs), beside(theirs, mine)) {
            _ if is_five => None,
            (true, _) => Some((mine, !is_up)),
            (_, true) => Some((theirs, is_up)),
            _ => None,
        };
        let Some((corner, is_beyond)) = corner else {
            return self.pair();
        };
        let is_last = corner == last;
        let mut is_high = [false; 2];
        is_high[axis] = is_beyond;
        // The last thread along an axis lies below the vertex.
        is_high[along] = !is_last;
        let classes = classes(is_last);
        Name::Quadrant { classes, is_high }
    }

    fn crosses(self, axis: usize) -> bool {
        self.from.process[axis] != self.to.process[axis]
    }

    fn class(self, axis: usize, is_high: bool) -> u8 {
        let process = self.from.process[axis];
        self.grid.interface_class(axis, process, is_high)
    }
}
