// SPDX-License-Identifier: MIT OR Apache-2.0
//! The field computed serially, cell by cell, without patches.

use super::domain::{Domain, shift_of, start};
use super::patch::reduce;
use crate::hash::weighted;

/// Cells of all steps that are kept at most.
const MAX_CELLS: usize = 1 << 22;

/// The field at the start and after each step.
#[derive(Clone, Debug)]
pub struct Reference {
    fields: Vec<Vec<u64>>,
}

impl Reference {
    /// The field of so many steps, with or without a sum over all cells in each; only the start of a large one.
    pub fn of(domain: &Domain, steps: usize, has_sum: bool) -> Self {
        let cells = domain
            .cells()
            .and_then(|cells| cells.checked_mul(steps + 1));
        let mut fields = Vec::new();
        if let (Some(..=MAX_CELLS), Some(cells)) = (cells, domain.cells()) {
            fields.push((0..cells).map(start).collect::<Vec<u64>>());
            let mut shift = 0;
            for step in 0..steps {
                let field = next(domain, &fields[step], shift);
                if has_sum {
                    shift = shift_of(field.iter().fold(0, |sum, value| sum.wrapping_add(*value)));
                }
                fields.push(field);
            }
        }
        Self { fields }
    }

    /// The value of a cell after some steps, if it is known.
    pub fn value(&self, steps: usize, cell: usize) -> Option<u64> {
        match (self.fields.get(steps), steps) {
            (Some(field), _) => field.get(cell).copied(),
            (None, 0) => Some(start(cell)),
            (None, _) => None,
        }
    }

    /// The checksum of the field after some steps, if it is known.
    pub fn checksum(&self, steps: usize) -> Option<u64> {
        let cells = self.fields.get(steps)?.iter().enumerate();
        Some(cells.fold(0, |sum, (cell, &value)| {
            sum.wrapping_add(weighted(cell, value))
        }))
    }
}

fn next(domain: &Domain, field: &[u64], shift: u64) -> Vec<u64> {
    let directions = domain.stencil.directions();
    let sum = |cell: usize| {
        let at = domain.coords(cell);
        let around = directions
            .iter()
            .filter_map(|one| domain.cell(at, one.0.map(isize::from)));
        let cells = around.chain([cell]);
        reduce(cells.map(|one| u128::from(field[one])).sum::<u128>() + u128::from(shift))
    };
    (0..field.len()).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use commplan::{Grid, Stencil};

    use super::*;
    use crate::halo::domain::MODULUS;

    #[test]
    fn a_field_of_one_cell_grows_by_its_stencil() {
        let grid = Grid::new(Stencil::Nine, &[1, 1], &[1, 1]).unwrap();
        let of = |grid: Grid, steps| {
            let domain = Domain::new(grid, 1);
            Reference::of(&domain, steps, false).checksum(steps)
        };
        let first = u128::from(start(0));
        assert_eq!(of(grid.clone(), 3), Some(start(0)));
        // Around a ring of one cell each of the nine cells is the cell itself.
        let expected = (first * 81 % u128::from(MODULUS)) as u64;
        assert_eq!(of(grid.all_periodic(), 2), Some(expected));
    }

    #[test]
    fn of_a_large_field_the_start_is_known() {
        let grid = Grid::new(Stencil::Seven, &[8, 8, 8], &[2, 2, 2]).unwrap();
        let reference = Reference::of(&Domain::new(grid, 64), 1, false);
        assert_eq!(reference.value(0, 12345), Some(start(12345)));
        assert_eq!((reference.value(1, 0), reference.checksum(0)), (None, None));
    }
}
