// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times read from a profile, with where they come from.

use std::fmt;

use crate::axis::Axis;

/// Where an estimated value comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// A measured point.
    Measured,
    /// Between measured points.
    Interpolated,
    /// Beyond the measured points along this axis: with the slope of the last two, or the one value where there is but one.
    Extrapolated {
        /// The axis.
        axis: Axis,
        /// The smallest measured value on it.
        from: u64,
        /// The largest.
        to: u64,
    },
}

/// A time read from a curve or surface. Displayed, it tells when it lies beyond what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Estimate {
    /// The time in nanoseconds.
    pub ns: f64,
    /// What it may differ by in nanoseconds: that of the points it was made of (see [`crate::Sample::spread_ns`]). Nothing is
    /// known about extrapolated values, so this is a lower bound there.
    pub spread_ns: f64,
    /// Whether the points it was made of passed the checks of independence.
    pub iid: bool,
    /// Where it comes from.
    pub origin: Origin,
}

impl Estimate {
    /// Whether it lies beyond what was measured.
    pub fn is_extrapolated(&self) -> bool {
        matches!(self.origin, Origin::Extrapolated { .. })
    }

    /// 10^9 bytes a second when so many bytes take this time.
    pub fn gb_per_s(&self, bytes: f64) -> f64 {
        bytes / self.ns
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.ns {
            ns if ns < 10.0 => 2,
            ns if ns < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{:.digits$} ns", self.ns)?;
        if let Origin::Extrapolated { axis, from, to } = self.origin {
            let unit = axis.unit();
            write!(f, " (extrapolated: measured from {from} to {to} {unit})")?;
        }
        Ok(())
    }
}
