// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two transfers at once, by clocks that can be compared.

/// Begin and end of a transfer in nanoseconds of one clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its begin.
    pub start: f64,
    /// Its end.
    pub end: f64,
}

/// The times of two transfers in opposite directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoWay {
    /// From the first begin to the last end.
    pub whole_ns: f64,
    /// While both moved bytes.
    pub overlap_ns: f64,
}

impl TwoWay {
    /// The times of two intervals.
    pub fn of(one: Interval, other: Interval) -> Self {
        let end = one.end.min(other.end);
        Self {
            whole_ns: one.end.max(other.end) - one.start.min(other.start),
            overlap_ns: (end - one.start.max(other.start)).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_transfers_have_their_exact_overlap() {
        let interval = |start, end| Interval { start, end };
        let both = TwoWay::of(interval(100.0, 300.0), interval(250.0, 600.0));
        assert_eq!((both.whole_ns, both.overlap_ns), (500.0, 50.0));
        let inside = TwoWay::of(interval(0.0, 100.0), interval(20.0, 30.0));
        assert_eq!((inside.whole_ns, inside.overlap_ns), (100.0, 10.0));
        let apart = TwoWay::of(interval(0.0, 10.0), interval(20.0, 30.0));
        assert_eq!((apart.whole_ns, apart.overlap_ns), (30.0, 0.0));
    }
}
