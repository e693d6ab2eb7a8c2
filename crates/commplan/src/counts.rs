// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages, bounds and volumes of a grid.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use crate::grid::{Coords, Grid};
use crate::stencil::{Class, Direction};

/// Numbers by class of message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ByClass {
    /// Faces.
    pub faces: u64,
    /// Edges, of three axes.
    pub edges: u64,
    /// Corners.
    pub corners: u64,
}

impl ByClass {
    /// All classes.
    pub const fn all(self) -> u64 {
        self.faces + self.edges + self.corners
    }

    /// Cells in as many messages of patches with `size` cells along each of `axes` axes.
    const fn cells(self, size: u64, axes: usize) -> u128 {
        let size = size as u128;
        let (face, edge) = if axes == 3 {
            (size * size, size)
        } else {
            (size, 1)
        };
        self.faces as u128 * face + self.edges as u128 * edge + self.corners as u128
    }

    fn add(&mut self, class: Class, count: u64) {
        let of_class = match class {
            Class::Face => &mut self.faces,
            Class::Edge => &mut self.edges,
            Class::Corner => &mut self.corners,
        };
        of_class.add_assign(count);
    }
}

/// The published number of communicators for [x, y, z] threads and a 27-point stencil, said to be the least. Its term for corners
/// counts threads at several faces more than once.
pub const fn printed_formula([x, y, z]: Coords) -> ByClass {
    let (x, y, z) = (x as u64, y as u64, z as u64);
    ByClass {
        faces: 2 * (x * y + y * z + x * z),
        edges: 4 * (x * z + y * z - z) + 4 * (x * y + y * z - y) + 4 * (x * y + x * z - x),
        corners: 8 * (x * y + y * z + x * z - 1),
    }
}

/// Messages of one step, and how many of them stay within a process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Volume {
    /// All messages.
    pub all: ByClass,
    /// Those between threads of one process, which need no MPI.
    pub inside: ByClass,
    axes: usize,
}

impl Volume {
    /// Cells in all messages, and in those inside a process, for patches of `size` cells along each axis.
    pub const fn cells(&self, size: u64) -> (u128, u128) {
        let (all, inside) = (self.all, self.inside);
        (all.cells(size, self.axes), inside.cells(size, self.axes))
    }
}

impl Grid {
    /// Messages that leave an interior process in one step.
    pub fn leaving(&self) -> ByClass {
        let volume = self.interior_volume();
        ByClass {
            faces: volume.all.faces - volume.inside.faces,
            edges: volume.all.edges - volume.inside.edges,
            corners: volume.all.corners - volume.inside.corners,
        }
    }

    /// Threads of an interior process that exchange messages with other processes.
    pub fn border_threads(&self) -> u64 {
        let directions = self.stencil().directions();
        let ids = 0..self.thread_count();
        let at_border = ids.filter(|&id| {
            let thread = self.thread_of(id);
            directions
                .iter()
                .any(|&direction| self.leaves(thread, direction))
        });
        at_border.count() as u64
    }

    /// Fewest communicators with which no two threads of an interior process share one. A communicator serves at most one pair of
    /// threads of two processes, so a thread needs as many as it has partners in one of its neighbours.
    pub fn lower_bound(&self) -> u64 {
        let directions = self.stencil().directions();
        let needs = |id: usize| {
            let thread = self.thread_of(id);
            let mut partners = BTreeMap::<[i8; 3], u64>::new();
            for &direction in &directions {
                let crossed = |axis: usize| self.leaves_along(axis, thread, direction);
                let process =
                    [0, 1, 2].map(|axis| if crossed(axis) { direction.0[axis] } else { 0 });
                if process != [0; 3] {
                    partners.entry(process).or_default().add_assign(1);
                }
            }
            partners.into_values().max().unwrap_or(0)
        };
        (0..self.thread_count()).map(needs).sum()
    }

    /// Messages of an interior process.
    pub fn interior_volume(&self) -> Volume {
        self.volume_by(|axis, step| {
            let threads = self.threads()[axis] as u64;
            let inside = if step == 0 { threads } else { threads - 1 };
            (threads, inside)
        })
    }

    /// Messages of the whole domain.
    pub fn domain_volume(&self) -> Volume {
        self.volume_by(|axis, step| {
            let (threads, processes) = (self.threads()[axis] as u64, self.processes()[axis] as u64);
            let all = threads * processes;
            match (step, self.is_periodic(axis)) {
                (0, _) => (all, all),
                (_, false) => (all - 1, all - processes),
                (_, true) if processes == 1 => (all, all),
                (_, true) => (all, all - processes),
            }
        })
    }

    /// Sums over the directions; `along` gives, for an axis and a step along it, the positions with a neighbour, and those whose
    /// neighbour belongs to the same process.
    fn volume_by(&self, along: impl Fn(usize, i8) -> (u64, u64)) -> Volume {
        let (mut all, mut inside) = (ByClass::default(), ByClass::default());
        for direction in self.stencil().directions() {
            let counts = [0, 1, 2].map(|axis| along(axis, direction.0[axis]));
            let class = self.stencil().class(direction);
            all.add(class, counts.iter().map(|count| count.0).product());
            inside.add(class, counts.iter().map(|count| count.1).product());
        }
        let axes = self.stencil().axes();
        Volume { all, inside, axes }
    }

    fn leaves(&self, thread: Coords, direction: Direction) -> bool {
        (0..3).any(|axis| self.leaves_along(axis, thread, direction))
    }
}
