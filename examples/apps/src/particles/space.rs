// SPDX-License-Identifier: MIT OR Apache-2.0
//! The box, which is periodic and divided into a patch for each thread, and the particles in it.

use std::ops::Range;

use commplan::{Grid, Place};
use rankpoint::Datatype;

use crate::hash::hash_of;
use crate::threads::part;

/// A particle.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Datatype)]
#[repr(C)]
pub struct Particle {
    /// Its number.
    pub id: u64,
    /// Its cell along each axis.
    pub at: [i32; 3],
    /// Cells that it moves in a step along each axis.
    pub momentum: [i32; 3],
}

/// The box.
#[derive(Clone, Debug)]
pub struct Space {
    /// Who owns which patch.
    pub grid: Grid,
    /// Cells along each axis.
    pub size: usize,
    /// Number of particles.
    pub particles: u64,
    /// Largest momentum along an axis.
    pub speed: u64,
}

/// Sums over particles, which no exchange changes.
pub type Sums = [u64; 5];

/// What the sums are.
pub const SUMS: [&str; 5] = [
    "the number of particles",
    "the sum of their numbers",
    "the momentum along x",
    "the momentum along y",
    "the momentum along z",
];

impl Particle {
    /// A hash of its number and cell.
    pub fn hash(&self) -> u64 {
        let [x, y, z] = self.at.map(|it| u64::from(it.cast_unsigned()));
        hash_of([self.id, x, y, z])
    }

    /// Its part of the sums.
    pub fn add_to(&self, sums: &mut Sums) {
        let [x, y, z] = self.momentum.map(|it| i64::from(it).cast_unsigned());
        let all = sums.iter_mut().zip([1, self.id, x, y, z]);
        all.for_each(|(sum, it)| *sum = sum.wrapping_add(it));
    }
}

impl Space {
    /// A particle at the start.
    pub fn particle(&self, id: u64) -> Particle {
        let of =
            |what: u64, axis: usize, below: u64| (hash_of([id, what, axis as u64]) % below) as i32;
        let (size, speeds) = (self.size as u64, 2 * self.speed + 1);
        Particle {
            id,
            at: [0, 1, 2].map(|axis| of(0, axis, size)),
            momentum: [0, 1, 2].map(|axis| of(1, axis, speeds) - self.speed as i32),
        }
    }

    /// A particle after some steps.
    pub fn after(&self, steps: u64, id: u64) -> Particle {
        let start = self.particle(id);
        let to = |axis: usize| {
            let moved = i128::from(start.momentum[axis]) * i128::from(steps);
            (i128::from(start.at[axis]) + moved).rem_euclid(self.size as i128) as i32
        };
        Particle {
            at: [0, 1, 2].map(to),
            ..start
        }
    }

    /// The sums of all particles.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        (0..self.particles).for_each(|id| self.particle(id).add_to(&mut sums));
        sums
    }

    /// The cells of a thread's patch along each axis.
    pub fn patch(&self, place: Place) -> [Range<i32>; 3] {
        let (threads, processes) = (self.grid.threads(), self.grid.processes());
        [0, 1, 2].map(|axis| {
            let patch = place.process[axis] * threads[axis] + place.thread[axis];
            let cells = part(&(0..self.size), patch, threads[axis] * processes[axis]);
            cells.start as i32..cells.end as i32
        })
    }

    /// Moves a particle of a patch by one step, and gives the direction in which it leaves.
    pub fn advance(&self, particle: &mut Particle, patch: &[Range<i32>; 3]) -> [i8; 3] {
        let mut direction = [0; 3];
        for axis in 0..3 {
            let to = particle.at[axis] + particle.momentum[axis];
            direction[axis] = match &patch[axis] {
                cells if to < cells.start => -1,
                cells if to >= cells.end => 1,
                _ => 0,
            };
            particle.at[axis] = to.rem_euclid(self.size as i32);
        }
        direction
    }
}

#[cfg(test)]
mod tests {
    use commplan::Stencil;

    use super::*;

    #[test]
    fn patches_divide_the_box_and_particles_leave_them_to_neighbours() {
        let grid = Grid::new(Stencil::TwentySeven, &[1, 2, 3], &[2, 1, 1]).unwrap();
        let space = Space {
            grid: grid.all_periodic(),
            size: 7,
            particles: 200,
            speed: 2,
        };
        let mut owners = vec![0; 200];
        let processes = [0, 1].map(|rank| space.grid.process_of(rank));
        let places = processes.iter().flat_map(|&it| space.grid.places(it));
        for place in places {
            let patch = space.patch(place);
            let is_in = |particle: &Particle, patch: &[Range<i32>; 3]| {
                (0..3).all(|axis| patch[axis].contains(&particle.at[axis]))
            };
            for id in 0..200 {
                let mut particle = space.particle(id);
                if !is_in(&particle, &patch) {
                    continue;
                }
                owners[id as usize] += 1;
                let direction = space.advance(&mut particle, &patch);
                assert_eq!(particle, space.after(1, id));
                let to = match space.grid.neighbour(place, commplan::Direction(direction)) {
                    commplan::Neighbour::Away(to) => to,
                    commplan::Neighbour::Inside(thread) => Place { thread, ..place },
                    commplan::Neighbour::Outside => unreachable!(),
                };
                assert!(is_in(&particle, &space.patch(to)), "{particle:?}");
            }
        }
        assert_eq!(owners, [1; 200]);
    }
}
