// SPDX-License-Identifier: MIT OR Apache-2.0
//! The field of all threads of all processes.

use commplan::{Coords, Grid, Place, Stencil};

use crate::hash::hash;

/// Values are modulo this prime, 2^61 - 1.
pub const MODULUS: u64 = (1 << 61) - 1;

/// A field of cells, cut into patches of equal size.
#[derive(Clone, Debug)]
pub struct Domain {
    /// Who owns which patch.
    pub grid: Grid,
    /// Cells along each axis of a patch.
    pub size: usize,
    /// The cells that a step reads. Deep halos need messages along more directions.
    pub stencil: Stencil,
    /// Ghost cells on each side of a patch along each axis of the stencil.
    pub depth: usize,
}

impl Domain {
    /// A field whose patches have one ghost cell on each side, for the stencil of the grid.
    pub const fn new(grid: Grid, size: usize) -> Self {
        Self {
            stencil: grid.stencil(),
            grid,
            size,
            depth: 1,
        }
    }

    /// Cells along an axis of a patch: one along axes that the stencil does not have.
    pub fn patch_extent(&self, axis: usize) -> usize {
        if axis < self.stencil.axes() {
            self.size
        } else {
            1
        }
    }

    /// Cells along each axis.
    pub fn extents(&self) -> Coords {
        let (threads, processes) = (self.grid.threads(), self.grid.processes());
        [0, 1, 2].map(|axis| threads[axis] * processes[axis] * self.patch_extent(axis))
    }

    /// Number of cells, unless it is too large for a number.
    pub fn cells(&self) -> Option<usize> {
        let extents = self.extents();
        let mut extents = extents.iter();
        extents.try_fold(1usize, |all, &extent| all.checked_mul(extent))
    }

    /// The first cell of a thread's patch.
    pub fn origin(&self, place: Place) -> Coords {
        let threads = self.grid.threads();
        [0, 1, 2].map(|axis| {
            let patch = place.process[axis] * threads[axis] + place.thread[axis];
            patch * self.patch_extent(axis)
        })
    }

    /// Number of the cell that lies `by` cells from another one along each axis; nothing beyond the border.
    pub fn cell(&self, from: Coords, by: [isize; 3]) -> Option<usize> {
        let extents = self.extents();
        let mut at = [0; 3];
        for axis in 0..3 {
            let extent = extents[axis].cast_signed();
            let moved = from[axis].cast_signed() + by[axis];
            let is_inside = (0..extent).contains(&moved);
            if !is_inside && !self.grid.is_periodic(axis) {
                return None;
            }
            at[axis] = moved.rem_euclid(extent).cast_unsigned();
        }
        Some((at[2] * extents[1] + at[1]) * extents[0] + at[0])
    }

    /// The coordinates of a cell.
    pub fn coords(&self, cell: usize) -> Coords {
        let [x, y, _] = self.extents();
        [cell % x, cell / x % y, cell / (x * y)]
    }
}

/// What a cell holds at the start: a hash of its number.
pub const fn start(cell: usize) -> u64 {
    hash(cell as u64) % MODULUS
}

/// What the next step adds to each cell, given the wrapping sum of all cells.
pub const fn shift_of(sum: u64) -> u64 {
    sum % MODULUS
}
