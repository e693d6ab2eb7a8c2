// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cutting a grid into boxes.

use std::array::from_fn;
use std::collections::HashSet;
use std::ops::Range;

use crate::radius::Radius;

/// Boxes along each axis: those of nodes, and those that each node has for its ranks, where `levels` says how many nodes there are and
/// how many ranks each of them has. The prime factors of both, the largest first, each cut the axis at which the least is exchanged, of
/// those that stay thick enough. `None` if there is no such cut.
pub fn cut(grid: [usize; 3], levels: [usize; 2], radius: &Radius) -> Option<[[usize; 3]; 2]> {
    let factors = levels.iter().enumerate().flat_map(|(level, &parts)| {
        let factors = factors(parts).into_iter();
        factors.map(move |factor| (level, factor))
    });
    let mut cuts = Cuts {
        grid,
        widths: radius.widths(),
        least: radius.least_sides(),
        factors: factors.collect(),
        dims: [[1; 3]; 2],
        dead_ends: HashSet::new(),
    };
    cuts.extend(0).then_some(cuts.dims)
}

/// A search for cuts: the best axis for each factor, or the next best one where the best leaves no axis for a later factor.
struct Cuts {
    grid: [usize; 3],
    /// Widths of the halos at both sides together.
    widths: [usize; 3],
    /// The thinnest that boxes may be.
    least: [usize; 3],
    /// Each with its level.
    factors: Vec<(usize, usize)>,
    /// Boxes of each level so far.
    dims: [[usize; 3]; 2],
    /// So many factors that are used, and boxes of both levels, which no other factors complete.
    dead_ends: HashSet<(usize, [usize; 3])>,
}

impl Cuts {
    /// Whether the factors from this one on have axes, which are noted then.
    fn extend(&mut self, next: usize) -> bool {
        let Some(&(level, factor)) = self.factors.get(next) else {
            return true;
        };
        let boxes = self.boxes();
        if self.dead_ends.contains(&(next, boxes)) {
            return false;
        }
        for axis in self.preferred(factor) {
            self.dims[level][axis] *= factor;
            if self.extend(next + 1) {
                return true;
            }
            self.dims[level][axis] /= factor;
        }
        self.dead_ends.insert((next, boxes));
        false
    }

    /// Boxes along each axis, of both levels.
    fn boxes(&self) -> [usize; 3] {
        let [nodes, ranks] = self.dims;
        from_fn(|axis| nodes[axis] * ranks[axis])
    }

    /// The axes that can be cut into so many parts more, the best one first.
    fn preferred(&self, factor: usize) -> Vec<usize> {
        let (grid, boxes) = (self.grid, self.boxes());
        let fits = |axis: &usize| {
            let thinnest = grid[*axis] / (boxes[*axis] * factor);
            thinnest >= self.least[*axis]
        };
        // The interface is an area times a radius; the areas are in the ratio of 1 / side.
        let interface =
            |axis: usize| boxes[axis] as f64 * self.widths[axis] as f64 / grid[axis] as f64;
        let side = |axis: usize| boxes[axis] as f64 / grid[axis] as f64;
        let mut axes: Vec<usize> = (0..3).filter(fits).collect();
        axes.sort_by(|&a, &b| {
            // Where nothing is exchanged the longest axis is cut.
            let by_side = || side(a).total_cmp(&side(b));
            interface(a).total_cmp(&interface(b)).then_with(by_side)
        });
        axes
    }
}

/// The prime factors of a number, the largest first.
fn factors(mut number: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut factor = 2;
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            found.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    if number > 1 {
        found.push(number);
    }
    found.reverse();
    found
}

/// A range cut into parts whose lengths differ by at most one, the longer ones first.
pub fn ranges(whole: Range<usize>, parts: usize) -> Vec<Range<usize>> {
    let (length, longer) = (whole.len() / parts, whole.len() % parts);
    let mut start = whole.start;
    (0..parts)
        .map(|part| {
            let end = start + length + usize::from(part < longer);
            std::mem::replace(&mut start, end)..end
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_number() {
        assert_eq!(factors(1), []);
        assert_eq!(factors(360), [5, 3, 3, 2, 2, 2]);
        assert_eq!(factors(97), [97]);
    }

    #[test]
    fn the_longest_axis_is_cut_first() {
        let of = |grid, parts| {
            let cuts = cut(grid, [1, parts], &Radius::constant(1));
            cuts.map(|[_, ranks]| ranks)
        };
        assert_eq!(of([586; 3], 4), Some([2, 2, 1]));
        assert_eq!(of([293, 293, 586], 6), Some([2, 1, 3]));
        assert_eq!(of([8, 8, 8], 7), Some([7, 1, 1]));
        assert_eq!(of([4, 4, 4], 7), None);
        // What is exchanged along x alone costs nothing at the other axes.
        let along_x = Radius::constant(0).direction([1, 0, 0], 2);
        assert_eq!(
            cut([100, 10, 10], [1, 4], &along_x),
            Some([[1; 3], [1, 2, 2]])
        );
    }

    #[test]
    fn an_axis_is_left_to_the_factor_that_needs_it() {
        // The best axis for 3 is x, which both factors of 4 need.
        let of = |levels| cut([4, 3, 1], levels, &Radius::constant(1));
        assert_eq!(of([1, 12]), Some([[1; 3], [4, 3, 1]]));
        assert_eq!(of([3, 4]), Some([[1, 3, 1], [4, 1, 1]]));
        assert_eq!(of([4, 3]), Some([[4, 1, 1], [1, 3, 1]]));
        // The thinnest boxes of nodes decide, not the thickest.
        let nodes = cut([9, 4, 1], [2, 5], &Radius::constant(1));
        assert_eq!(nodes, Some([[1, 2, 1], [5, 1, 1]]));
    }

    #[test]
    fn ranges_differ_by_one() {
        assert_eq!(ranges(10..20, 3), [10..14, 14..17, 17..20]);
    }
}
