// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a value lies among measured points: which two of them it is read from, and with which weights.

/// Two neighbouring points and the weight of the second; the first has what is left of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// Below 0 or above 1 beyond the points.
    pub(crate) weight: f64,
}

impl Position {
    /// The position of `x` among ascending points, of which there is at least one, by logarithms. Zero has no logarithm: between
    /// 0 and the next point the position is that of the plain values, and below the first point it is the first point.
    pub(crate) fn of(x: f64, points: &[u64]) -> Self {
        let last = points.len() - 1;
        let at = |index| Self {
            low: index,
            high: index,
            weight: 0.0,
        };
        if let Some(index) = points.iter().position(|&point| point as f64 == x) {
            return at(index);
        }
        if last == 0 {
            return at(0);
        }
        let high = points
            .iter()
            .position(|&point| point as f64 > x)
            .unwrap_or(last)
            .max(1);
        let (low, start, end) = (high - 1, points[high - 1] as f64, points[high] as f64);
        let weight = if start > 0.0 && x > 0.0 {
            (x / start).ln() / (end / start).ln()
        } else if start > 0.0 {
            0.0
        } else {
            (x - start) / (end - start)
        };
        Self { low, high, weight }
    }

    /// Whether it is one of the points.
    pub(crate) fn is_point(self) -> bool {
        self.low == self.high
    }

    /// The positive value at this position of a line through positive values in logarithms; plain values where one of them is 0.
    pub(crate) fn mix(self, low: f64, high: f64) -> f64 {
        if self.is_point() {
            low
        } else if low > 0.0 && high > 0.0 {
            low * (high / low).powf(self.weight)
        } else {
            low + (high - low) * self.weight.clamp(0.0, 1.0)
        }
    }
}

/// Whether `x` lies beyond the points.
pub(crate) fn is_beyond(x: f64, points: &[u64]) -> bool {
    let (first, last) = (points[0] as f64, points[points.len() - 1] as f64);
    !(first..=last).contains(&x)
}
