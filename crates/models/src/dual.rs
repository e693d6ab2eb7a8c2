// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value with its derivative, so that one evaluation gives both.

use std::ops::{Add, Div, Mul, Sub};

/// A value and its derivative by the scale of the components that are marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dual {
    pub(crate) value: f64,
    pub(crate) slope: f64,
}

impl Dual {
    /// A value that no component changes.
    pub(crate) const fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    /// The larger one; of equal ones the first.
    pub(crate) fn max(self, other: Self) -> Self {
        if other.value > self.value {
            other
        } else {
            self
        }
    }

    /// The smaller one; of equal ones the first.
    pub(crate) fn min(self, other: Self) -> Self {
        if other.value < self.value {
            other
        } else {
            self
        }
    }

    /// The next whole number; it is constant except where it jumps.
    pub(crate) fn ceil(self) -> Self {
        Self::constant(self.value.ceil())
    }
}

impl Add for Dual {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: self.slope + other.slope,
        }
    }
}

impl Sub for Dual {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            value: self.value - other.value,
            slope: self.slope - other.slope,
        }
    }
}

impl Mul for Dual {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }
}

impl Div for Dual {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Self {
            value: self.value / other.value,
            slope: (self.slope * other.value - self.value * other.slope)
                / (other.value * other.value),
        }
    }
}
