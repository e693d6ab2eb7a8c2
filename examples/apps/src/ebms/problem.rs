// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bands of values, dealt to nodes, and the particles that look them up.

use std::ops::Range;

use crate::hash::hash_of;
use crate::threads::part;

/// The problem, the same in all processes.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// Number of bands.
    pub bands: usize,
    /// Values of a band.
    pub values: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Workers of each node.
    pub workers: usize,
    /// Particles of all nodes.
    pub particles: usize,
    /// Lookups of a particle in each band.
    pub lookups: usize,
}

impl Problem {
    /// The values of each band that a node owns.
    pub const fn block(&self, node: usize) -> Range<usize> {
        part(&(0..self.values), node, self.nodes)
    }

    /// The values of a block that are those of a worker, on each node.
    pub const fn share(&self, node: usize, worker: usize) -> Range<usize> {
        part(&self.block(node), worker, self.workers)
    }

    /// The values of a whole band that a worker compares.
    pub const fn compared(&self, worker: usize) -> Range<usize> {
        part(&(0..self.values), worker, self.workers)
    }

    /// The particles of a worker.
    pub const fn particles_of(&self, node: usize, worker: usize) -> Range<usize> {
        let all = part(&(0..self.particles), node, self.nodes);
        part(&all, worker, self.workers)
    }

    /// A value.
    pub fn value(&self, band: usize, at: usize) -> u64 {
        hash_of([band as u64, at as u64])
    }

    /// Which value of a band a particle looks up.
    pub fn place(&self, particle: usize, band: usize, lookup: usize) -> usize {
        let hash = hash_of([particle as u64, band as u64, lookup as u64]);
        (hash % self.values as u64) as usize
    }

    /// The sum of all that a particle looks up, computed serially.
    pub fn expected(&self, particle: usize) -> u64 {
        let bands = 0..self.bands;
        let all = bands.flat_map(|band| (0..self.lookups).map(move |lookup| (band, lookup)));
        let values = all.map(|(band, lookup)| self.value(band, self.place(particle, band, lookup)));
        values.fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_particle_is_somebodys_once() {
        let problem = Problem {
            bands: 1,
            values: 29,
            nodes: 3,
            workers: 4,
            particles: 17,
            lookups: 1,
        };
        let mut workers = (0..3).flat_map(|node| (0..4).map(move |worker| (node, worker)));
        let workers: Vec<_> = workers.by_ref().collect();
        let shares = workers
            .iter()
            .flat_map(|&(node, it)| problem.share(node, it));
        assert!(shares.eq(0..29));
        let particles = workers.iter();
        let particles = particles.flat_map(|&(node, it)| problem.particles_of(node, it));
        assert!(particles.eq(0..17));
        assert!((0..4).flat_map(|it| problem.compared(it)).eq(0..29));
    }
}
