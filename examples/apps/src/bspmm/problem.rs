// SPDX-License-Identifier: MIT OR Apache-2.0
//! The matrices: square, of square tiles, of which those near the diagonal are not zero.

/// A matrix.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Matrix {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The product.
    C,
}

/// A product of a tile of A and a tile of B, a part of a tile of C.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unit {
    /// Row of tiles.
    pub i: usize,
    /// Column of tiles.
    pub j: usize,
    /// Column of A, row of B.
    pub k: usize,
}

/// Where a tile is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spot {
    /// Number of the process that owns it.
    pub owner: usize,
    /// Index of its first number there.
    pub index: usize,
}

/// The problem, the same in all processes.
#[derive(Clone, Debug)]
pub struct Problem {
    tiles: usize,
    band: usize,
    edge: usize,
    processes: usize,
    /// For each matrix and tile its number, in which tiles are dealt to the processes.
    numbers: [Vec<Option<usize>>; 3],
    kept: [usize; 3],
    units: Vec<Unit>,
}

impl Matrix {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::C];
}

impl Problem {
    /// Deals tiles to processes, and lists the units by their tile of C.
    pub fn new(tiles: usize, band: usize, edge: usize, processes: usize) -> Self {
        let mut problem = Self {
            tiles,
            band,
            edge,
            processes,
            numbers: Default::default(),
            kept: [0; 3],
            units: Vec::new(),
        };
        for matrix in Matrix::ALL {
            let mut count = 0;
            let numbers = (0..tiles * tiles).map(|at| {
                let is_there = problem.is_there(matrix, at / tiles, at % tiles);
                let number = is_there.then_some(count);
                count += usize::from(is_there);
                number
            });
            let numbers = numbers.collect();
            problem.kept[matrix as usize] = count;
            problem.numbers[matrix as usize] = numbers;
        }
        let all = (0..tiles).flat_map(|i| (0..tiles).map(move |j| (i, j)));
        let all = all.flat_map(|(i, j)| (0..tiles).map(move |k| Unit { i, j, k }));
        let is_needed = |unit: &Unit| {
            problem.is_there(Matrix::A, unit.i, unit.k)
                && problem.is_there(Matrix::B, unit.k, unit.j)
        };
        problem.units = all.filter(is_needed).collect();
        problem
    }

    const fn is_there(&self, matrix: Matrix, i: usize, j: usize) -> bool {
        let band = match matrix {
            Matrix::A | Matrix::B => self.band,
            Matrix::C => 2 * self.band,
        };
        i.abs_diff(j) <= band
    }

    /// Numbers along a tile.
    pub const fn edge(&self) -> usize {
        self.edge
    }

    /// Tiles along a matrix.
    pub const fn tiles(&self) -> usize {
        self.tiles
    }

    /// Numbers of a tile.
    pub const fn size(&self) -> usize {
        self.edge * self.edge
    }

    /// Tiles of a matrix that are not zero.
    pub const fn kept(&self, matrix: Matrix) -> usize {
        self.kept[matrix as usize]
    }

    /// All units.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Numbers of a matrix that a process owns, at most.
    pub const fn length(&self, matrix: Matrix) -> usize {
        self.kept(matrix).div_ceil(self.processes) * self.size()
    }

    /// Where a tile is, unless it is zero.
    pub fn spot(&self, matrix: Matrix, i: usize, j: usize) -> Option<Spot> {
        let number = self.numbers[matrix as usize][i * self.tiles + j]?;
        Some(Spot {
            owner: number % self.processes,
            index: number / self.processes * self.size(),
        })
    }

    /// Row and column of the tiles of a process, and the index of the first number of each.
    pub fn owned(
        &self,
        matrix: Matrix,
        process: usize,
    ) -> impl Iterator<Item = (usize, usize, usize)> {
        let all = (0..self.tiles).flat_map(|i| (0..self.tiles).map(move |j| (i, j)));
        all.filter_map(move |(i, j)| {
            let spot = self.spot(matrix, i, j)?;
            (spot.owner == process).then_some((i, j, spot.index))
        })
    }

    /// A tile of A or B: small integers, so that sums are exact in any order.
    pub fn tile(&self, matrix: Matrix, i: usize, j: usize) -> Vec<f64> {
        let first = matrix as usize * 31 + i * 7 + j * 3;
        let value = |at: usize| ((first + at * 5) % 11) as f64 - 5.0;
        (0..self.size()).map(value).collect()
    }

    /// Adds the product of two tiles to a third one.
    pub fn multiply(&self, a: &[f64], b: &[f64], c: &mut [f64]) {
        let edge = self.edge;
        for (a, c) in a.chunks_exact(edge).zip(c.chunks_exact_mut(edge)) {
            for (a, b) in a.iter().zip(b.chunks_exact(edge)) {
                c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
            }
        }
    }

    /// A tile of the product, computed serially.
    pub fn expected(&self, i: usize, j: usize) -> Vec<f64> {
        let mut sum = vec![0.0; self.size()];
        for k in 0..self.tiles {
            if self.is_there(Matrix::A, i, k) && self.is_there(Matrix::B, k, j) {
                let (a, b) = (self.tile(Matrix::A, i, k), self.tile(Matrix::B, k, j));
                self.multiply(&a, &b, &mut sum);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_published_problem() {
        let of = |band| {
            let problem = Problem::new(8, band, 2, 3);
            let kept = Matrix::ALL.map(|matrix| problem.kept(matrix));
            (kept, problem.units().len())
        };
        assert_eq!(of(1), ([22, 22, 34], 62));
        assert_eq!(of(8), ([64, 64, 64], 512));
        assert_eq!(of(0), ([8, 8, 8], 8));
    }

    #[test]
    fn every_tile_has_one_owner_and_memory_of_its_own() {
        let problem = Problem::new(7, 2, 3, 4);
        for matrix in Matrix::ALL {
            let mut all = Vec::new();
            for process in 0..4 {
                for (i, j, index) in problem.owned(matrix, process) {
                    assert!(index + problem.size() <= problem.length(matrix));
                    assert_eq!(problem.spot(matrix, i, j).map(|it| it.index), Some(index));
                    all.push((process, index));
                }
            }
            assert_eq!(all.len(), problem.kept(matrix));
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), problem.kept(matrix));
        }
    }
}
