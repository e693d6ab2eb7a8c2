// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many uUARs a context has, and how many of them serve one queue pair only.

use crate::error::Error;

/// Data uUARs of a context by default.
pub const DEFAULT_TOTAL: usize = 16;
/// Low-latency uUARs of a context by default.
pub const DEFAULT_LOW: usize = 4;
/// Most data uUARs of a context.
const MAX_TOTAL: usize = 512;
/// Most uUARs that are not of low latency, beside uUAR 0.
const MAX_OTHERS: usize = 12;

/// Numbers of uUARs, as `MLX5_TOTAL_UUARS` and `MLX5_NUM_LOW_LAT_UUARS` set them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Uuars {
    total: usize,
    low: usize,
}

impl Default for Uuars {
    fn default() -> Self {
        Self {
            total: DEFAULT_TOTAL,
            low: DEFAULT_LOW,
        }
    }
}

impl Uuars {
    /// A context with `total` uUARs on pages of two, of which `low` serve one queue pair each.
    ///
    /// As in the library, more than twelve others make more low-latency ones of the rest.
    ///
    /// # Errors
    /// When `total` is odd, less than 2 or more than 512, or `low` leaves not even uUAR 0.
    pub fn new(total: usize, low: usize) -> Result<Self, Error> {
        if !(2..=MAX_TOTAL).contains(&total) || !total.is_multiple_of(2) {
            return Err(Error::Total { total });
        }
        if low >= total {
            return Err(Error::Low { low, total });
        }
        let low = low.max(total.saturating_sub(MAX_OTHERS));
        Ok(Self { total, low })
    }

    /// All of them.
    pub const fn total(self) -> usize {
        self.total
    }

    /// Those that serve one queue pair each.
    pub const fn low(self) -> usize {
        self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_uuars_are_of_low_latency_for_the_most_part() {
        assert_eq!(Uuars::new(64, 4), Ok(Uuars { total: 64, low: 52 }));
        assert_eq!(Uuars::new(16, 4), Ok(Uuars::default()));
        assert_eq!(Uuars::new(6, 2), Ok(Uuars { total: 6, low: 2 }));
    }

    #[test]
    fn totals_that_make_no_pages_are_refused() {
        for (total, low) in [(0, 0), (5, 1), (514, 4), (16, 16), (2, 2)] {
            let error = Uuars::new(total, low).expect_err("refused").to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
