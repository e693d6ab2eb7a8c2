// SPDX-License-Identifier: MIT OR Apache-2.0
//! The matrices: square, of square tiles, one after the other in the memory of the server.
//!
//! A is stored by rows, so a row of tiles is contiguous; B by columns of tiles, so one of these is; C tile by tile.

use std::ops::Range;

/// The problem, the same in all processes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Tiles along a matrix.
    pub tiles: usize,
    /// Numbers along a tile.
    pub edge: usize,
    /// Processes that calculate: all but the server, or the server if it is alone.
    pub clients: usize,
    /// Threads of each.
    pub threads: usize,
}

impl Problem {
    /// Numbers along a matrix.
    pub const fn side(&self) -> usize {
        self.tiles * self.edge
    }

    /// Numbers of a matrix.
    pub const fn size(&self) -> usize {
        self.side() * self.side()
    }

    /// Numbers of all three.
    pub const fn length(&self) -> usize {
        3 * self.size()
    }

    /// The client that a process is, if it is one.
    pub const fn client(&self, process: usize, processes: usize) -> Option<usize> {
        if processes == 1 {
            Some(0)
        } else {
            process.checked_sub(1)
        }
    }

    /// The tiles of C that a thread of a client calculates, by their numbers, row by row.
    pub fn tiles_of(&self, client: usize, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let first = client * self.threads + thread;
        (first..self.tiles * self.tiles).step_by(self.clients * self.threads)
    }

    /// The thread of its client that calculates a tile.
    pub const fn thread_of(&self, tile: usize) -> usize {
        tile % (self.clients * self.threads) % self.threads
    }

    /// Where the row of tiles of A is that a tile of C needs.
    pub const fn row(&self, tile: usize) -> Range<usize> {
        let length = self.edge * self.side();
        let first = tile / self.tiles * length;
        first..first + length
    }

    /// Where the column of tiles of B is that a tile of C needs.
    pub const fn column(&self, tile: usize) -> Range<usize> {
        let length = self.edge * self.side();
        let first = self.size() + tile % self.tiles * length;
        first..first + length
    }

    /// Where a tile of C is.
    pub const fn tile(&self, tile: usize) -> Range<usize> {
        let length = self.edge * self.edge;
        let first = 2 * self.size() + tile * length;
        first..first + length
    }

    /// A number of A and B by its index in memory: a small integer, so that sums are exact in any order.
    pub const fn value(&self, index: usize) -> f64 {
        ((index * 5 + index / 7) % 11) as f64 - 5.0
    }

    /// A tile of C from a row of tiles of A and a column of tiles of B.
    pub fn multiply(&self, row: &[f64], column: &[f64], tile: &mut [f64]) {
        tile.fill(0.0);
        let rows = row.chunks_exact(self.side());
        for (row, sums) in rows.zip(tile.chunks_exact_mut(self.edge)) {
            for (a, line) in row.iter().zip(column.chunks_exact(self.edge)) {
                sums.iter_mut().zip(line).for_each(|(sum, b)| *sum += a * b);
            }
        }
    }

    /// A tile of C, computed serially from its definition.
    pub fn expected(&self, tile: usize) -> Vec<f64> {
        let (side, edge) = (self.side(), self.edge);
        let (row, column) = (self.row(tile).start, self.column(tile).start);
        let number = |at: usize| {
            let (i, j) = (at / edge, at % edge);
            let a = |k: usize| self.value(row + i * side + k);
            let b = |k: usize| self.value(column + k * edge + j);
            (0..side).map(|k| a(k) * b(k)).sum()
        };
        (0..edge * edge).map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_is_calculated_by_one_thread() {
        for (clients, threads) in [(1, 1), (1, 4), (3, 2), (2, 5)] {
            let problem = Problem {
                tiles: 5,
                edge: 2,
                clients,
                threads,
            };
            let mut all = Vec::new();
            for (client, thread) in (0..clients).flat_map(|it| (0..threads).map(move |t| (it, t))) {
                for tile in problem.tiles_of(client, thread) {
                    assert_eq!(problem.thread_of(tile), thread);
                    all.push(tile);
                }
            }
            all.sort_unstable();
            assert_eq!(all, (0..25).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_tile_is_the_product_of_its_row_and_column() {
        let problem = Problem {
            tiles: 3,
            edge: 4,
            clients: 1,
            threads: 1,
        };
        for tile in 0..9 {
            let of = |range: Range<usize>| range.map(|at| problem.value(at)).collect::<Vec<_>>();
            let mut found = vec![1.0; 16];
            problem.multiply(
                &of(problem.row(tile)),
                &of(problem.column(tile)),
                &mut found,
            );
            assert_eq!(found, problem.expected(tile));
        }
    }
}
