// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times over one quantity.

use serde::Serialize;

use crate::axis::Axis;
use crate::estimate::{Estimate, Origin};
use crate::line::{Position, is_beyond};
use crate::sample::Sample;

/// One measured point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Where on the axis.
    pub x: u64,
    /// The time there.
    #[serde(flatten)]
    pub sample: Sample,
}

/// Times of an operation over one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The entry.
    pub name: String,
    /// The quantity.
    pub axis: Axis,
    /// Where it begins: a position in [`crate::Profile::places`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// Where it ends: a position in [`crate::Profile::places`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<usize>,
    /// At least one point, ascending along the axis.
    pub points: Vec<Point>,
}

impl Curve {
    /// The time at `x`: measured, between points linear in the logarithms of both axes, beyond them with the slope of the last two
    /// points. The estimate tells which. A curve without points, which no file has, gives not a number.
    pub fn at(&self, x: f64) -> Estimate {
        let axis: Vec<u64> = self.points.iter().map(|point| point.x).collect();
        let (Some(&first), Some(&last)) = (axis.first(), axis.last()) else {
            return Estimate {
                ns: f64::NAN,
                spread_ns: f64::NAN,
                iid: false,
                origin: Origin::Interpolated,
            };
        };
        let position = Position::of(x, &axis);
        let low = &self.points[position.low].sample;
        let high = &self.points[position.high].sample;
        let origin = if is_beyond(x, &axis) {
            Origin::Extrapolated {
                axis: self.axis,
                from: first,
                to: last,
            }
        } else if position.is_point() {
            Origin::Measured
        } else {
            Origin::Interpolated
        };
        Estimate {
            ns: position.mix(low.ns, high.ns),
            spread_ns: low.spread_ns().max(high.spread_ns()),
            iid: low.iid && high.iid,
            origin,
        }
    }

    /// The smallest and the largest measured value on the axis.
    pub fn measured(&self) -> Option<(u64, u64)> {
        Some((self.points.first()?.x, self.points.last()?.x))
    }

    /// Largest rate of its points in 10^9 bytes a second, and the bytes of the first point that reaches half of it; none if the
    /// axis has no bytes.
    pub fn peak(&self) -> Option<(f64, u64)> {
        if self.axis != Axis::Bytes {
            return None;
        }
        let rate = |point: &Point| point.x as f64 / point.sample.ns;
        let peak = self.points.iter().map(rate).fold(0.0, f64::max);
        let half = self.points.iter().find(|point| rate(point) >= peak / 2.0)?;
        Some((peak, half.x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u64, f64)]) -> Curve {
        let point = |&(x, ns): &(u64, f64)| Point {
            x,
            sample: Sample {
                ns,
                trimean: ns,
                mad: ns / 10.0,
                n: 16,
                iid: x != 64,
            },
        };
        Curve {
            name: "copy/memcpy".to_owned(),
            axis: Axis::Bytes,
            from: None,
            to: None,
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn measured_points_are_given_as_they_are() {
        let found = curve(&[(1, 5.0), (64, 7.0), (4096, 300.0)]).at(64.0);
        assert_eq!((found.ns, found.origin), (7.0, Origin::Measured));
        assert!(!found.iid);
        assert_eq!(found.spread_ns, 0.7);
    }

    #[test]
    fn between_points_the_logarithms_lie_on_a_line() {
        let found = curve(&[(100, 10.0), (10_000, 1000.0)]).at(1000.0);
        assert!((found.ns - 100.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.origin, Origin::Interpolated);
    }

    #[test]
    fn beyond_the_points_the_slope_goes_on_and_is_marked() {
        let measured = curve(&[(100, 10.0), (1000, 100.0)]);
        let above = measured.at(10_000.0);
        assert!((above.ns - 1000.0).abs() < 1e-6 && above.is_extrapolated());
        let below = measured.at(10.0);
        assert!((below.ns - 1.0).abs() < 1e-9 && below.is_extrapolated());
        let zero = measured.at(0.0);
        assert!(zero.ns == 10.0 && zero.is_extrapolated());
        let told = "1000 ns (extrapolated: measured from 100 to 1000 bytes)";
        assert_eq!(above.to_string(), told);
    }

    #[test]
    fn one_point_stands_for_all_and_is_marked_elsewhere() {
        let single = curve(&[(100, 10.0)]);
        assert!(single.at(1e9).is_extrapolated() && single.at(1e9).ns == 10.0);
        assert_eq!(single.at(100.0).origin, Origin::Measured);
    }

    #[test]
    fn zero_bytes_are_a_point_like_others() {
        let found = curve(&[(0, 10.0), (4, 30.0)]);
        assert_eq!(found.at(0.0).origin, Origin::Measured);
        assert!(found.at(1.0).ns > 10.0 && found.at(1.0).ns < 30.0);
    }

    #[test]
    fn half_of_the_peak_is_reached_by_a_point() {
        let found = curve(&[(100, 100.0), (1000, 200.0), (10_000, 1000.0)]);
        assert_eq!(found.peak(), Some((10.0, 1000)));
    }
}
