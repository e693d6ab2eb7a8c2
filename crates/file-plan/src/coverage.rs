// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes of a part of a file the ranks of a collective access write or want: one bit a byte, so that many small ranges in any order
//! cost no sorting.

use std::ops::Range;

/// Bytes of a part of a file.
#[derive(Clone, Debug)]
pub struct Coverage {
    part: Range<u64>,
    bits: Vec<u64>,
}

impl Coverage {
    /// None of the bytes of a part.
    pub fn new(part: Range<u64>) -> Self {
        let bytes = part.end.saturating_sub(part.start) as usize;
        let bits = vec![0; bytes.div_ceil(64)];
        Self { part, bits }
    }

    /// Adds a range that lies in the part.
    pub fn add(&mut self, range: Range<u64>) {
        let mut at = range.start.saturating_sub(self.part.start) as usize;
        let end = range.end.min(self.part.end).saturating_sub(self.part.start) as usize;
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            self.bits[at / 64] |= (u64::MAX >> (64 - bits)) << (at % 64);
            at += bits;
        }
    }

    /// The place of the next byte from `at` on that is covered, or is not; the end of the part if there is none.
    fn next(&self, at: usize, covered: bool) -> usize {
        let most = (self.part.end - self.part.start) as usize;
        let word = |index: usize| match covered {
            true => self.bits[index],
            false => !self.bits[index],
        };
        let (mut index, mut skip) = (at / 64, at % 64);
        while index < self.bits.len() {
            let left = word(index) >> skip << skip;
            if left != 0 {
                return most.min(index * 64 + left.trailing_zeros() as usize);
            }
            (index, skip) = (index + 1, 0);
        }
        most
    }

    /// The ranges of the bytes, in order; gaps of up to `gap` bytes are part of them.
    pub fn ranges(&self, gap: u64) -> Vec<Range<u64>> {
        let most = self.part.end.saturating_sub(self.part.start) as usize;
        let mut found: Vec<Range<u64>> = Vec::new();
        let mut at = 0;
        while at < most {
            let start = self.next(at, true);
            if start == most {
                break;
            }
            let end = self.next(start, false);
            let range = self.part.start + start as u64..self.part.start + end as u64;
            match found.last_mut() {
                Some(last) if range.start - last.end <= gap => last.end = range.end,
                _ => found.push(range),
            }
            at = end;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_in_any_order() {
        let mut coverage = Coverage::new(1000..1300);
        for range in [
            1290..1300,
            1000..1001,
            1063..1065,
            1100..1164,
            1060..1063,
            1150..1200,
        ] {
            coverage.add(range);
        }
        let exact = [1000..1001, 1060..1065, 1100..1200, 1290..1300];
        assert_eq!(coverage.ranges(0), exact);
        assert_eq!(coverage.ranges(35), [1000..1001, 1060..1200, 1290..1300]);
        assert_eq!(coverage.ranges(100), vec![1000..1300]);
        assert_eq!(Coverage::new(5..5).ranges(0), []);
        assert_eq!(Coverage::new(5..500).ranges(0), []);
    }
}
