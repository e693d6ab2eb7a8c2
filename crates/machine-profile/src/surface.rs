// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times over two quantities.

use serde::Serialize;

use crate::axis::Axis;
use crate::estimate::{Estimate, Origin};
use crate::line::{Position, is_beyond};

/// Times of an operation over two quantities, on a grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Surface {
    /// The entry.
    pub name: String,
    /// Both quantities; they differ.
    pub axes: [Axis; 2],
    /// Grid lines of the first axis, ascending.
    pub x: Vec<u64>,
    /// Grid lines of the second axis, ascending.
    pub y: Vec<u64>,
    /// Median times in nanoseconds: `ns[i][j]` at `x[i]` and `y[j]`.
    pub ns: Vec<Vec<f64>>,
    /// Median absolute deviations of the same.
    pub mad: Vec<Vec<f64>>,
}

impl Surface {
    /// The time at `x` and `y`: on both axes as [`crate::Curve::at`]. Its spread is the largest deviation of the points used.
    pub fn at(&self, x: f64, y: f64) -> Estimate {
        let (row, column) = (Position::of(x, &self.x), Position::of(y, &self.y));
        let corners = |values: &[Vec<f64>]| {
            [row.low, row.high]
                .map(|row| [column.low, column.high].map(|column| values[row][column]))
        };
        let [low, high] = corners(&self.ns).map(|[low, high]| column.mix(low, high));
        let beyond = if is_beyond(x, &self.x) {
            Some((self.axes[0], &self.x))
        } else if is_beyond(y, &self.y) {
            Some((self.axes[1], &self.y))
        } else {
            None
        };
        let origin = match beyond {
            Some((axis, lines)) => Origin::Extrapolated {
                axis,
                from: lines[0],
                to: lines[lines.len() - 1],
            },
            None if row.is_point() && column.is_point() => Origin::Measured,
            None => Origin::Interpolated,
        };
        let spread = corners(&self.mad).into_iter().flatten();
        Estimate {
            ns: row.mix(low, high),
            spread_ns: spread.fold(0.0, f64::max),
            iid: true,
            origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface() -> Surface {
        Surface {
            name: "pack/rows".to_owned(),
            axes: [Axis::Bytes, Axis::Run],
            x: vec![100, 10_000],
            y: vec![1, 100],
            ns: vec![vec![100.0, 10.0], vec![10_000.0, 1000.0]],
            mad: vec![vec![1.0, 2.0], vec![3.0, 4.0]],
        }
    }

    #[test]
    fn corners_are_measured_and_the_middle_is_the_mean_of_logarithms() {
        let here = surface();
        assert_eq!(here.at(100.0, 100.0).ns, 10.0);
        assert_eq!(here.at(100.0, 100.0).origin, Origin::Measured);
        let middle = here.at(1000.0, 10.0);
        assert!((middle.ns - 316.2277).abs() < 1e-3, "{middle:?}");
        assert_eq!(
            (middle.origin, middle.spread_ns),
            (Origin::Interpolated, 4.0)
        );
    }

    #[test]
    fn the_axis_that_was_left_is_named() {
        let beyond = |axis, from, to| Origin::Extrapolated { axis, from, to };
        let here = surface();
        assert_eq!(here.at(1e6, 1.0).origin, beyond(Axis::Bytes, 100, 10_000));
        assert_eq!(here.at(100.0, 500.0).origin, beyond(Axis::Run, 1, 100));
    }
}
