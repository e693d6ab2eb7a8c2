// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's part of the field, with ghost cells around it.

use commplan::{Coords, Direction, Stencil};

use super::domain::{Domain, MODULUS};

/// Which cells of a side.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The outermost own cells, which are sent.
    Own,
    /// The ghost cells beyond them, which are received.
    Ghost,
}

/// Cells of a patch. Coordinates count from the first ghost cell, so own cells start at the depth along each axis of the stencil.
#[derive(Clone, Debug)]
pub struct Patch {
    now: Vec<u64>,
    next: Vec<u64>,
    /// Own cells along each axis.
    own: Coords,
    /// Ghost cells on each side.
    depth: usize,
    /// Cells along each axis, with ghost cells.
    extents: Coords,
    /// Distances in memory from a cell to those of its stencil.
    offsets: Vec<isize>,
}

impl Patch {
    /// A patch of zeros.
    pub fn new(domain: &Domain) -> Self {
        let (stencil, depth) = (domain.stencil, domain.depth);
        let own = [0, 1, 2].map(|axis| domain.patch_extent(axis));
        let extents =
            [0, 1, 2].map(|axis| own[axis] + 2 * depth * usize::from(axis < stencil.axes()));
        let zeros = vec![0; extents.iter().product()];
        Self {
            now: zeros.clone(),
            next: zeros,
            own,
            depth,
            extents,
            offsets: offsets(stencil, extents),
        }
    }

    /// The places in memory of the cells of a side, x varying fastest.
    pub fn side(&self, direction: Direction, side: Side) -> Vec<usize> {
        self.cells_of(direction, side)
            .map(|at| self.index(at))
            .collect()
    }

    /// For each cell of a side, how far it lies from the first own cell along each axis.
    pub fn steps(&self, direction: Direction, side: Side) -> impl Iterator<Item = [isize; 3]> {
        let first = self.first();
        let cells = self.cells_of(direction, side);
        cells
            .map(move |at| [0, 1, 2].map(|axis| at[axis].cast_signed() - first[axis].cast_signed()))
    }

    /// The own cells: place in memory, and how far each lies from the first one.
    pub fn own_cells(&self) -> Vec<(usize, [isize; 3])> {
        let all = Direction([0; 3]);
        let places = self.side(all, Side::Own);
        places.into_iter().zip(self.steps(all, Side::Own)).collect()
    }

    /// Sets cells, by place in memory.
    pub fn set(&mut self, cells: &[usize], values: &[u64]) {
        for (&cell, &value) in cells.iter().zip(values) {
            self.now[cell] = value;
        }
    }

    /// Copies cells into a vector, whose memory is reused.
    pub fn get(&self, cells: &[usize], into: &mut Vec<u64>) {
        into.clear();
        into.extend(cells.iter().map(|&cell| self.now[cell]));
    }

    /// A cell, by place in memory.
    pub fn at(&self, cell: usize) -> u64 {
        self.now[cell]
    }

    /// Replaces each own cell, and so many ghost cells below and above along each axis, by the sum of the cells of its stencil, and a
    /// value that is added to all. Ghost cells beyond these are lost.
    pub fn update(&mut self, shift: u64, reach: [[usize; 2]; 3]) {
        let first = self.first();
        let [x, y, z] = [0, 1, 2].map(|axis| {
            let [below, above] = reach[axis];
            first[axis] - below..first[axis] + self.own[axis] + above
        });
        for z in z {
            for y in y.clone() {
                let row = self.index([x.start, y, z]);
                for cell in row..row + x.len() {
                    let values = self.offsets.iter();
                    let values =
                        values.map(|&by| u128::from(self.now[cell.wrapping_add_signed(by)]));
                    self.next[cell] = reduce(values.sum::<u128>() + u128::from(shift));
                }
            }
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }

    fn cells_of(&self, direction: Direction, side: Side) -> impl Iterator<Item = Coords> + use<> {
        let (first, depth) = (self.first(), self.depth);
        let range = |axis: usize| {
            let (begin, end) = (first[axis], first[axis] + self.own[axis]);
            match (direction.0[axis], side) {
                (0, _) => begin..end,
                (1.., Side::Own) => end - depth..end,
                (1.., Side::Ghost) => end..end + depth,
                (_, Side::Own) => begin..begin + depth,
                (_, Side::Ghost) => begin - depth..begin,
            }
        };
        let [x, y, z] = [range(0), range(1), range(2)];
        let rows = z.flat_map(move |z| y.clone().map(move |y| (y, z)));
        rows.flat_map(move |(y, z)| x.clone().map(move |x| [x, y, z]))
    }

    /// The first own cell.
    fn first(&self) -> Coords {
        [0, 1, 2].map(|axis| (self.extents[axis] - self.own[axis]) / 2)
    }

    const fn index(&self, at: Coords) -> usize {
        (at[2] * self.extents[1] + at[1]) * self.extents[0] + at[0]
    }
}

/// A sum modulo 2^61 - 1.
pub const fn reduce(sum: u128) -> u64 {
    (sum % MODULUS as u128) as u64
}

fn offsets(stencil: Stencil, extents: Coords) -> Vec<isize> {
    let pitch = [1, extents[0], extents[0] * extents[1]].map(usize::cast_signed);
    let offset = |direction: Direction| {
        let steps = [0, 1, 2].map(|axis| isize::from(direction.0[axis]) * pitch[axis]);
        steps.iter().sum()
    };
    let directions = stencil.directions().into_iter().map(offset);
    directions.chain([0]).collect()
}
