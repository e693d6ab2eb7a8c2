// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cutting a grid into boxes.

use std::ops::Range;

use crate::radius::Radius;

/// Boxes along each axis for `parts` boxes of a grid: the prime factors of `parts`, the largest first, each cut the axis at which
/// the least is exchanged, of those that stay thick enough. `None` if there is no such cut.
pub fn cut(grid: [usize; 3], parts: usize, radius: &Radius) -> Option<[usize; 3]> {
    let (low, high) = (radius.low(), radius.high());
    let mut dims = [1; 3];
    for factor in factors(parts) {
        let fits = |axis: &usize| {
            let thinnest = grid[*axis] / (dims[*axis] * factor);
            thinnest >= low[*axis].max(high[*axis]).max(1)
        };
        // The interface is an area times a radius; the areas are in the ratio of 1 / side.
        let interface =
            |axis: usize| (dims[axis] * (low[axis] + high[axis])) as f64 / grid[axis] as f64;
        let best = (0..3).filter(fits).min_by(|a, b| {
            let side = |axis: usize| dims[axis] as f64 / grid[axis] as f64;
            // Where nothing is exchanged the longest axis is cut.
            let by_side = || side(*a).total_cmp(&side(*b));
            interface(*a).total_cmp(&interface(*b)).then_with(by_side)
        })?;
        dims[best] *= factor;
    }
    Some(dims)
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
        let of = |grid, parts| cut(grid, parts, &Radius::constant(1));
        assert_eq!(of([586; 3], 4), Some([2, 2, 1]));
        assert_eq!(of([293, 293, 586], 6), Some([2, 1, 3]));
        assert_eq!(of([8, 8, 8], 7), Some([7, 1, 1]));
        assert_eq!(of([4, 4, 4], 7), None);
        // What is exchanged along x alone costs nothing at the other axes.
        let along_x = Radius::constant(0).direction([1, 0, 0], 2);
        assert_eq!(cut([100, 10, 10], 4, &along_x), Some([1, 2, 2]));
    }

    #[test]
    fn ranges_differ_by_one() {
        assert_eq!(ranges(10..20, 3), [10..14, 14..17, 17..20]);
    }
}
