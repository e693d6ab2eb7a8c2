// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes in a grid, threads in a grid in each of them.

use crate::error::{AXES, Error};
use crate::stencil::{Direction, Stencil};
use crate::unknown::Unknown;

/// Coordinates or extents along x, y and z; z is 0, or 1, where there are two axes.
pub type Coords = [usize; 3];

/// More threads of a process are refused, and so are more processes.
const LIMIT: usize = 1 << 20;

/// A thread of a process.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// Coordinates of the process.
    pub process: Coords,
    /// Coordinates of the thread in its process.
    pub thread: Coords,
}

/// What lies in some direction of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Neighbour {
    /// Nothing: the domain ends.
    Outside,
    /// A thread of the same process: memory is shared.
    Inside(Coords),
    /// A thread of another process: a message.
    Away(Place),
}

/// A domain of patches, one for each thread of each process, and the stencil that joins them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Grid {
    stencil: Stencil,
    threads: Coords,
    processes: Coords,
    periodic: [bool; 3],
    third_class: bool,
}

impl Grid {
    /// A domain that ends at its border; the grids have as many extents as the stencil has axes.
    ///
    /// ```
    /// use commplan::{Grid, Stencil};
    /// let grid = Grid::new(Stencil::TwentySeven, &[4, 4, 4], &[2, 2, 2])?;
    /// assert_eq!(grid.leaving().all(), 728);
    /// # Ok::<(), commplan::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a number of axes is wrong, an extent is 0, or there are more than 2^20 threads in a process, or processes.
    pub fn new(stencil: Stencil, threads: &[usize], processes: &[usize]) -> Result<Self, Error> {
        Ok(Self {
            stencil,
            threads: extents("threads", threads, stencil)?,
            processes: extents("processes", processes, stencil)?,
            periodic: [false; 3],
            third_class: false,
        })
    }

    /// The same, periodic along some axes.
    ///
    /// # Errors
    /// When the stencil does not have such an axis.
    pub fn periodic(self, periodic: [bool; 3]) -> Result<Self, Error> {
        let stencil = self.stencil;
        match (stencil.axes()..3).find(|&axis| periodic[axis]) {
            Some(axis) => Err(Error::PeriodicAxis { axis, stencil }),
            None => Ok(Self { periodic, ..self }),
        }
    }

    /// The same, periodic along all axes.
    pub fn all_periodic(self) -> Self {
        let axes = self.stencil.axes();
        Self {
            periodic: [0, 1, 2].map(|axis| axis < axes),
            ..self
        }
    }

    /// The same, periodic along the axes of a list such as `x,y`, or along `all`.
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn periodic_along(self, list: &str) -> Result<Self, Error> {
        if list == "all" {
            return Ok(self.all_periodic());
        }
        let mut periodic = [false; 3];
        for name in list.split(',') {
            let axis = AXES.iter().position(|axis| *axis == name);
            let axis = axis.ok_or_else(|| {
                Error::Unknown(Unknown {
                    text: list.to_owned(),
                    expected: "axes such as x,y, or all",
                })
            })?;
            periodic[axis] = true;
        }
        self.periodic(periodic)
    }

    /// The same with a third class for the last interface of periodic axes with an odd number of processes.
    pub fn third_class(self) -> Self {
        Self {
            third_class: true,
            ..self
        }
    }

    /// The grid around an interior process: all neighbours exist and differ, and every class of interface occurs.
    pub fn interior(&self) -> Self {
        let axes = self.stencil.axes();
        Self {
            processes: [0, 1, 2].map(|axis| if axis < axes { 4 } else { 1 }),
            ..self.clone().all_periodic()
        }
    }

    /// The stencil.
    pub const fn stencil(&self) -> Stencil {
        self.stencil
    }

    /// Threads of a process along each axis.
    pub const fn threads(&self) -> Coords {
        self.threads
    }

    /// Processes along each axis.
    pub const fn processes(&self) -> Coords {
        self.processes
    }

    /// Whether an axis is periodic.
    pub const fn is_periodic(&self, axis: usize) -> bool {
        self.periodic[axis]
    }

    /// Number of threads of a process.
    pub fn thread_count(&self) -> usize {
        self.threads.iter().product()
    }

    /// Number of processes.
    pub fn process_count(&self) -> usize {
        self.processes.iter().product()
    }

    /// Number of a thread in its process, x varying fastest.
    pub const fn thread_id(&self, thread: Coords) -> usize {
        index(thread, self.threads)
    }

    /// The thread of a number.
    pub const fn thread_of(&self, id: usize) -> Coords {
        coords(id, self.threads)
    }

    /// Rank of a process, x varying fastest.
    pub const fn rank(&self, process: Coords) -> usize {
        index(process, self.processes)
    }

    /// The process of a rank.
    pub const fn process_of(&self, rank: usize) -> Coords {
        coords(rank, self.processes)
    }

    /// The threads of a process.
    pub fn places(&self, process: Coords) -> impl Iterator<Item = Place> + '_ {
        (0..self.thread_count()).map(move |id| Place {
            process,
            thread: self.thread_of(id),
        })
    }

    /// What lies in a direction.
    pub fn neighbour(&self, from: Place, direction: Direction) -> Neighbour {
        let mut to = from;
        for axis in 0..3 {
            let (thread, extent) = (from.thread[axis], self.threads[axis]);
            let (process, processes) = (from.process[axis], self.processes[axis]);
            let last = process + 1 == processes;
            (to.thread[axis], to.process[axis]) = match direction.0[axis] {
                0 => continue,
                1.. if thread + 1 < extent => (thread + 1, process),
                1.. if !last => (0, process + 1),
                1.. if self.periodic[axis] => (0, 0),
                i8::MIN..0 if thread > 0 => (thread - 1, process),
                i8::MIN..0 if process > 0 => (extent - 1, process - 1),
                i8::MIN..0 if self.periodic[axis] => (extent - 1, processes - 1),
                _ => return Neighbour::Outside,
            };
        }
        if to.process == from.process {
            Neighbour::Inside(to.thread)
        } else {
            Neighbour::Away(to)
        }
    }

    /// Whether a direction leads out of the thread's process along an axis, to another one where there are several.
    pub(crate) const fn leaves_along(
        &self,
        axis: usize,
        thread: Coords,
        direction: Direction,
    ) -> bool {
        match direction.0[axis] {
            0 => false,
            1.. => thread[axis] + 1 == self.threads[axis],
            i8::MIN..0 => thread[axis] == 0,
        }
    }

    /// The class of the interface of a process along an axis, on its high or its low side. Both interfaces of a process differ in
    /// class, and both processes at an interface agree.
    pub(crate) fn interface_class(&self, axis: usize, process: usize, is_high: bool) -> u8 {
        let processes = self.processes[axis];
        // The interface above a process has the number of the process.
        let number = match (is_high, process) {
            (true, _) => process,
            (false, 0) if self.periodic[axis] && processes > 1 => processes - 1,
            // The border, or the interface of a process with itself, is odd.
            (false, 0) => return 1,
            (false, _) => process - 1,
        };
        let is_odd_ring = self.periodic[axis] && processes > 1 && processes % 2 == 1;
        match number % 2 {
            _ if is_odd_ring && number + 1 == processes => 2,
            0 => 0,
            _ => 1,
        }
    }

    /// The first axis whose interfaces need a third class that nobody asked for.
    pub(crate) fn lacks_third_class(&self) -> Option<Error> {
        let is_odd = |&axis: &usize| {
            let processes = self.processes[axis];
            self.periodic[axis] && processes > 1 && processes % 2 == 1
        };
        let axis = (0..3).find(is_odd).filter(|_| !self.third_class)?;
        Some(Error::OddPeriodic {
            axis,
            processes: self.processes[axis],
        })
    }
}

fn extents(grid: &'static str, given: &[usize], stencil: Stencil) -> Result<Coords, Error> {
    if given.len() != stencil.axes() {
        let given = given.len();
        return Err(Error::Axes {
            grid,
            given,
            stencil,
        });
    }
    if let Some(axis) = given.iter().position(|&extent| extent == 0) {
        return Err(Error::Zero { grid, axis });
    }
    let count = given
        .iter()
        .try_fold(1usize, |all, &extent| all.checked_mul(extent));
    if count.is_none_or(|count| count > LIMIT) {
        return Err(Error::TooMany { grid, limit: LIMIT });
    }
    let mut extents = [1; 3];
    extents[..given.len()].copy_from_slice(given);
    Ok(extents)
}

const fn index(of: Coords, extents: Coords) -> usize {
    (of[2] * extents[1] + of[1]) * extents[0] + of[0]
}

const fn coords(index: usize, extents: Coords) -> Coords {
    let [x, y, _] = extents;
    [index % x, index / x % y, index / (x * y)]
}
