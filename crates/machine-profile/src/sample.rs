// SPDX-License-Identifier: MIT OR Apache-2.0
//! A measured time: never one number alone.

use serde::Serialize;

/// Statistics of the time of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The median in nanoseconds.
    pub ns: f64,
    /// Tukey's trimean in nanoseconds: a quarter of lower quartile, twice the median and upper quartile.
    pub trimean: f64,
    /// The median absolute deviation from the median, in nanoseconds.
    pub mad: f64,
    /// How many values the statistics are of; each of them may be the mean of many repetitions.
    pub n: u64,
    /// Whether the values passed the checks that they are independent and of one distribution.
    pub iid: bool,
}

impl Sample {
    /// Half the width of a 95 % confidence interval of the median, in nanoseconds. The interval is that of a normal distribution
    /// with this median absolute deviation, so it is an estimate, and too narrow for values that are not independent.
    pub fn confidence_ns(&self) -> f64 {
        /// Standard deviation over median absolute deviation.
        const SIGMA: f64 = 1.4826;
        /// Standard error of a median over that of a mean: the root of pi over 2.
        const MEDIAN: f64 = 1.2533;
        /// Quantile of the normal distribution for 95 % on both sides.
        const QUANTILE: f64 = 1.96;
        QUANTILE * MEDIAN * SIGMA * self.mad / (self.n.max(1) as f64).sqrt()
    }

    /// What the value may differ by, in nanoseconds: the confidence interval of independent values, the whole spread of others.
    pub fn spread_ns(&self) -> f64 {
        if self.iid {
            self.confidence_ns()
        } else {
            self.mad.max(self.confidence_ns())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_independent_count_with_their_spread() {
        let sample = Sample {
            ns: 100.0,
            trimean: 100.0,
            mad: 4.0,
            n: 400,
            iid: true,
        };
        assert!((sample.confidence_ns() - 0.7284).abs() < 1e-3);
        assert_eq!(sample.spread_ns(), sample.confidence_ns());
        let dependent = Sample {
            iid: false,
            ..sample
        };
        assert_eq!(dependent.spread_ns(), 4.0);
    }
}
