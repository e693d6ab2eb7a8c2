// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 2-D heat equation on a unit square: Jacobi iterations with halo exchange, until the residual is small.
//!
//! The same computation as `examples/heat2d.c`: the same numbers come out, on any number of ranks.

use rankpoint::{Cart, Op, Result, SectionMut, Universe, balanced_dims};

const N: usize = 240;
const MAX_STEPS: usize = 4000;

/// This rank's block of the square, with a border of one point.
struct Block {
    first_x: usize,
    first_y: usize,
    nx: usize,
    ny: usize,
}

impl Block {
    fn of(grid: &Cart<'_, 2>) -> Self {
        let ([rows, columns], [row, column]) = (grid.dims(), grid.coords());
        let (first_x, first_y) = (N * column / columns, N * row / rows);
        Self {
            first_x,
            first_y,
            nx: N * (column + 1) / columns - first_x,
            ny: N * (row + 1) / rows - first_y,
        }
    }

    const fn pitch(&self) -> usize {
        self.nx + 2
    }
}

/// Sends the edges of the block to its neighbours, and receives their edges into the border: straight from and into the
/// field, also where they are columns.
fn exchange(grid: &Cart<'_, 2>, block: &Block, field: &mut [f64]) -> Result<()> {
    let whole = SectionMut::new(field, [block.ny + 2, block.pitch()])?;
    let (upper, rest) = whole.split_at(0, 1)?;
    let (middle, lower) = rest.split_at(0, block.ny)?;
    let (left, rest) = middle.split_at(1, 1)?;
    let (inner, right) = rest.split_at(1, block.nx)?;
    let without_corners = [0..1, 1..block.nx + 1];
    let border = [
        [
            upper.part(without_corners.clone())?,
            lower.part(without_corners)?,
        ],
        [left, right],
    ];
    let edge = |y, x| inner.as_section().part([y, x]);
    let (ny, nx) = (block.ny, block.nx);
    let edges = [
        [edge(0..1, 0..nx)?, edge(ny - 1..ny, 0..nx)?],
        [edge(0..ny, 0..1)?, edge(0..ny, nx - 1..nx)?],
    ];
    grid.neighbour_exchange(edges, border)
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
    let dims = balanced_dims(world.size(), [None, None])?;
    let Some(grid) = world.cart(dims, [false; 2])? else {
        return Ok(());
    };
    let block = Block::of(&grid);
    let mut now = vec![0.0; block.pitch() * (block.ny + 2)];
    if grid.coords()[0] == 0 {
        // The upper edge of the square is hot, the others are cold.
        now[..block.pitch()].fill(1.0);
    }
    let mut next = now.clone();

    let (mut steps, mut residual) = (0, 1.0);
    while steps < MAX_STEPS && residual > 1e-4 {
        exchange(&grid, &block, &mut now)?;
        let largest = step(&block, &now, &mut next);
        residual = grid.all_reduce_value(largest, Op::MAX)?;
        std::mem::swap(&mut now, &mut next);
        steps += 1;
    }

    let sum = grid.all_reduce_value(checksum(&block, &now), Op::SUM)?;
    if world.rank() == 0 {
        println!(
            "{} ranks, {steps} steps, residual {residual:.6e}",
            world.size()
        );
        println!("field checksum {sum:016x}");
    }
    Ok(())
}
