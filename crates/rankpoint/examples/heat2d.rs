// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 2-D heat equation on a unit square: Jacobi iterations with halo exchange, until the residual is small.
//!
//! The same computation as `examples/heat2d.c`: the same numbers come out, on any number of ranks.

use rankpoint::{Communicator, Op, Result, Universe};

const N: usize = 240;
const MAX_STEPS: usize = 4000;

/// This rank's block of the square, with a border of one point.
struct Block {
    first_x: usize,
    first_y: usize,
    nx: usize,
    ny: usize,
    /// Ranks of the neighbours: up, down, left, right.
    neighbours: [Option<usize>; 4],
}

impl Block {
    fn of(world: &Communicator<'_>) -> Self {
        let (rank, size) = (world.rank(), world.size());
        let rows = (1..=size.isqrt())
            .rev()
            .find(|rows| size.is_multiple_of(*rows))
            .unwrap_or(1);
        let columns = size / rows;
        let (row, column) = (rank / columns, rank % columns);
        let (first_x, first_y) = (N * column / columns, N * row / rows);
        Self {
            first_x,
            first_y,
            nx: N * (column + 1) / columns - first_x,
            ny: N * (row + 1) / rows - first_y,
            neighbours: [
                (row > 0).then(|| rank - columns),
                (row + 1 < rows).then(|| rank + columns),
                (column > 0).then(|| rank - 1),
                (column + 1 < columns).then(|| rank + 1),
            ],
        }
    }

    const fn pitch(&self) -> usize {
        self.nx + 2
    }

    /// The points of one edge, as indices: of the border if `outside`, else of the block beside it.
    fn edge(&self, side: usize, outside: bool) -> impl Iterator<Item = usize> {
        let inset = usize::from(!outside);
        let (pitch, nx, ny) = (self.pitch(), self.nx, self.ny);
        let (start, step, count) = match side {
            0 => (inset * pitch + 1, 1, nx),
            1 => ((ny + 1 - inset) * pitch + 1, 1, nx),
            2 => (pitch + inset, pitch, ny),
            _ => (pitch + nx + 1 - inset, pitch, ny),
        };
        (0..count).map(move |index| start + index * step)
    }
}

/// Sends the edges of the block to its neighbours and receives their edges into the border.
fn exchange(world: &Communicator<'_>, block: &Block, field: &mut [f64]) -> Result<()> {
    let opposite = [1, 0, 3, 2];
    let sides: Vec<(usize, usize)> = (0..4)
        .filter_map(|side| Some((side, block.neighbours[side]?)))
        .collect();
    let outgoing: Vec<Vec<f64>> = sides
        .iter()
        .map(|&(side, _)| block.edge(side, false).map(|at| field[at]).collect())
        .collect();
    let mut incoming: Vec<Vec<f64>> = outgoing.iter().map(|edge| vec![0.0; edge.len()]).collect();
    world.scope(|scope| {
        for (&(side, neighbour), edge) in sides.iter().zip(&mut incoming) {
            scope.irecv(&mut edge[..], neighbour, side as i32)?;
        }
        for (&(side, neighbour), edge) in sides.iter().zip(&outgoing) {
            scope.isend(&edge[..], neighbour, opposite[side])?;
        }
        scope.wait_all()
    })?;
    for (&(side, _), edge) in sides.iter().zip(&incoming) {
        for (at, &value) in block.edge(side, true).zip(edge) {
            field[at] = value;
        }
    }
    Ok(())
}

/// One Jacobi step; the largest change of a point.
fn step(block: &Block, now: &[f64], next: &mut [f64]) -> f64 {
    let pitch = block.pitch();
    let mut largest = 0.0f64;
    for y in 1..=block.ny {
        for at in y * pitch + 1..=y * pitch + block.nx {
            next[at] = 0.25 * (now[at - 1] + now[at + 1] + now[at - pitch] + now[at + pitch]);
            largest = largest.max((next[at] - now[at]).abs());
        }
    }
    largest
}

/// A checksum over the bits of all points, weighted by position: equal only if every point is.
fn checksum(block: &Block, field: &[f64]) -> u64 {
    let mut sum = 0u64;
    for y in 1..=block.ny {
        for x in 1..=block.nx {
            let weight = 2 * ((block.first_y + y) * N + block.first_x + x) + 1;
            let bits = field[y * block.pitch() + x].to_bits();
            sum = sum.wrapping_add(bits.wrapping_mul(weight as u64));
        }
    }
    sum
}

#[expect(clippy::print_stdout, reason = "the program shows its result")]
fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let block = Block::of(&world);
    let mut now = vec![0.0; block.pitch() * (block.ny + 2)];
    if block.neighbours[0].is_none() {
        // The upper edge of the square is hot, the others are cold.
        now[..block.pitch()].fill(1.0);
    }
    let mut next = now.clone();

    let (mut steps, mut residual) = (0, 1.0);
    while steps < MAX_STEPS && residual > 1e-4 {
        exchange(&world, &block, &mut now)?;
        let largest = step(&block, &now, &mut next);
        residual = world.all_reduce_value(largest, Op::MAX)?;
        std::mem::swap(&mut now, &mut next);
        steps += 1;
    }

    let sum = world.all_reduce_value(checksum(&block, &now), Op::SUM)?;
    if world.rank() == 0 {
        println!(
            "{} ranks, {steps} steps, residual {residual:.6e}",
            world.size()
        );
        println!("field checksum {sum:016x}");
    }
    Ok(())
}
