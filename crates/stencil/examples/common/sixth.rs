// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivatives of sixth order along a row of points.

use stencil::View;

/// Points that a derivative reaches to each side.
pub(crate) const REACH: i64 = 3;
const FIRST: [f64; 3] = [3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0];
const SECOND: [f64; 3] = [3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0];
const SECOND_CENTER: f64 = -49.0 / 18.0;
/// Of mixed derivatives, by points on the diagonals.
const MIXED: [f64; 3] = [270.0 / 720.0, -27.0 / 720.0, 2.0 / 720.0];

/// A row of a quantity, and the rows around it.
pub(crate) struct Lines<'a> {
    center: &'a [f64],
    /// Rows at distances 1 to 3 below and above.
    y: [[&'a [f64]; 2]; 3],
    z: [[&'a [f64]; 2]; 3],
    /// Rows at equal distances along y and z: below and above in y, each below and above in z.
    yz: [[&'a [f64]; 4]; 3],
    per_spacing: f64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(
        view: &View<'a, f64>,
        xs: std::ops::Range<i64>,
        y: i64,
        z: i64,
        spacing: f64,
    ) -> Self {
        let wide = xs.start - REACH..xs.end + REACH;
        let row = |dy: i64, dz: i64| view.row(wide.clone(), y + dy, z + dz);
        let distances = [1, 2, 3];
        Self {
            center: row(0, 0),
            y: distances.map(|k| [row(-k, 0), row(k, 0)]),
            z: distances.map(|k| [row(0, -k), row(0, k)]),
            yz: distances.map(|k| [row(-k, -k), row(-k, k), row(k, -k), row(k, k)]),
            per_spacing: 1.0 / spacing,
        }
    }

    pub(crate) fn value(&self, i: usize) -> f64 {
        self.center[i + 3]
    }

    /// The derivatives along x, y, z.
    pub(crate) fn gradient(&self, i: usize) -> [f64; 3] {
        let i = i + 3;
        let mut sums = [0.0; 3];
        for (k, factor) in FIRST.into_iter().enumerate() {
            sums[0] += factor * (self.center[i + k + 1] - self.center[i - k - 1]);
            sums[1] += factor * (self.y[k][1][i] - self.y[k][0][i]);
            sums[2] += factor * (self.z[k][1][i] - self.z[k][0][i]);
        }
        sums.map(|sum| sum * self.per_spacing)
    }

    /// The second derivatives along x, y, z.
    pub(crate) fn second(&self, i: usize) -> [f64; 3] {
        let i = i + 3;
        let mut sums = [SECOND_CENTER * self.center[i]; 3];
        for (k, factor) in SECOND.into_iter().enumerate() {
            sums[0] += factor * (self.center[i + k + 1] + self.center[i - k - 1]);
            sums[1] += factor * (self.y[k][1][i] + self.y[k][0][i]);
            sums[2] += factor * (self.z[k][1][i] + self.z[k][0][i]);
        }
        sums.map(|sum| sum * self.per_spacing * self.per_spacing)
    }

    /// The mixed derivatives xy, xz, yz.
    pub(crate) fn mixed(&self, i: usize) -> [f64; 3] {
        let i = i + 3;
        let mut sums = [0.0; 3];
        for (k, factor) in MIXED.into_iter().enumerate() {
            let (low, high) = (i - k - 1, i + k + 1);
            let diagonal =
                |[below, above]: [&[f64]; 2]| above[high] - above[low] - below[high] + below[low];
            sums[0] += factor * diagonal(self.y[k]);
            sums[1] += factor * diagonal(self.z[k]);
            let [low_low, low_high, high_low, high_high] = self.yz[k].map(|row| row[i]);
            sums[2] += factor * (high_high - high_low - low_high + low_low);
        }
        sums.map(|sum| sum * self.per_spacing * self.per_spacing)
    }
}
