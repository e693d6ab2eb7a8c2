// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains and rounds of a collective access.

use std::ops::Range;

/// The parts of a file that aggregators access: contiguous domains, each in windows of one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domains {
    whole: Range<u64>,
    /// Where the first domain begins: at a multiple of the alignment.
    start: u64,
    /// Bytes of a domain, a multiple of the alignment.
    step: u64,
    /// Bytes of a window.
    buffer: u64,
}

impl Domains {
    /// Cuts a part of a file for so many aggregators, at multiples of `alignment`; each accesses at most `buffer` bytes in a round.
    pub fn cut(whole: Range<u64>, aggregators: u32, alignment: u64, buffer: u64) -> Self {
        let alignment = alignment.max(1);
        let start = whole.start - whole.start % alignment;
        let each = (whole.end - start).div_ceil(u64::from(aggregators.max(1)));
        let step = each.max(1).div_ceil(alignment).saturating_mul(alignment);
        Self {
            whole,
            start,
            step,
            buffer: buffer.clamp(1, step),
        }
    }

    /// Number of rounds of an access.
    pub fn rounds(&self) -> u64 {
        self.step.div_ceil(self.buffer)
    }

    /// What an aggregator accesses in a round; may be empty.
    pub fn window(&self, aggregator: u32, round: u64) -> Range<u64> {
        let domain = self
            .start
            .saturating_add(self.step.saturating_mul(aggregator.into()));
        let start = domain.saturating_add(round.saturating_mul(self.buffer));
        let end = start
            .saturating_add(self.buffer)
            .min(domain.saturating_add(self.step));
        start.clamp(self.whole.start, self.whole.end)..end.clamp(self.whole.start, self.whole.end)
    }
}

/// `aggregators` of so many ranks, at equal distances.
pub fn spread(aggregators: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let count = aggregators.clamp(1, ranks.max(1));
    (0..count).map(move |index| (u64::from(index) * u64::from(ranks) / u64::from(count)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_lie_on_the_alignment() {
        let domains = Domains::cut(1000..9000, 3, 1024, 2048);
        let windows = |aggregator| [0, 1].map(|round| domains.window(aggregator, round));
        assert_eq!(domains.rounds(), 2);
        assert_eq!(windows(0), [1000..2048, 2048..3072]);
        assert_eq!(windows(1), [3072..5120, 5120..6144]);
        assert_eq!(windows(2), [6144..8192, 8192..9000]);
    }

    #[test]
    fn aggregators_are_spread_over_the_ranks() {
        assert!(spread(4, 16).eq([0, 4, 8, 12]));
        assert!(spread(3, 4).eq([0, 1, 2]));
        assert!(spread(9, 2).eq([0, 1]));
        assert!(spread(0, 5).eq([0]));
    }
}
