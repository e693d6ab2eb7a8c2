// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a collective access is done.

use std::ops::Range;

/// Ranges of so many bytes, or more, are accessed as fast by the rank that has them as through an aggregator.
const LONG_RANGE: u64 = 4096;

/// A part of a file with so many times the bytes that ranks have in it is not worth going through, unless it is short.
const MOST_GAPS: u64 = 16;
const SHORT_PART: u64 = 1 << 20;

/// What a rank says of its part in a collective access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Offset of its first byte.
    pub first: u64,
    /// Where its last byte ends; that of a rank without data is not above `first`.
    pub end: u64,
    /// Bytes that it has.
    pub bytes: u64,
    /// Bytes of its ranges, on average.
    pub mean_range: u64,
    /// Whether its ranges ascend: only those can be cut into domains.
    pub ascends: bool,
}

impl Summary {
    /// Whether the rank has no data.
    pub const fn is_empty(&self) -> bool {
        self.end <= self.first
    }

    /// From its first byte to its last one.
    pub const fn reach(&self) -> Range<u64> {
        self.first..self.end
    }
}

/// What the program asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// What is faster.
    #[default]
    Automatic,
    /// Each rank accesses the file itself.
    Direct,
    /// Aggregators do.
    TwoPhase,
}

/// How a collective access is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Nobody has data.
    None,
    /// Each rank accesses the file itself.
    Direct,
    /// Aggregators access contiguous domains and exchange the data with the ranks.
    TwoPhase,
}

/// The protocol for what all ranks say. `atomic` accesses that overlap must be done in a serial order.
pub fn choose(ranks: &[Summary], preference: Preference, atomic: bool) -> Protocol {
    let with_data = || ranks.iter().filter(|rank| !rank.is_empty());
    if with_data().next().is_none() {
        return Protocol::None;
    }
    if preference == Preference::Direct || ranks.len() == 1 || with_data().any(|rank| !rank.ascends)
    {
        return Protocol::Direct;
    }
    if is_sparse(ranks) {
        return Protocol::Direct;
    }
    if preference == Preference::TwoPhase {
        return Protocol::TwoPhase;
    }
    let are_long = with_data().all(|rank| rank.mean_range >= LONG_RANGE);
    if (are_long && !atomic) || !interleave(ranks) {
        Protocol::Direct
    } else {
        Protocol::TwoPhase
    }
}

/// Whether the part of the file between the first and the last byte of all ranks consists of gaps, nearly.
fn is_sparse(ranks: &[Summary]) -> bool {
    let with_data = || ranks.iter().filter(|rank| !rank.is_empty());
    let first = with_data().map(|rank| rank.first).min().unwrap_or(0);
    let end = with_data().map(|rank| rank.end).max().unwrap_or(0);
    let bytes = with_data().fold(0u64, |all, rank| all.saturating_add(rank.bytes));
    let part = end.saturating_sub(first);
    part > SHORT_PART && part / MOST_GAPS > bytes
}

/// Whether a rank has a byte between those of another one.
fn interleave(ranks: &[Summary]) -> bool {
    let mut reaches: Vec<Range<u64>> = ranks
        .iter()
        .filter(|rank| !rank.is_empty())
        .map(Summary::reach)
        .collect();
    reaches.sort_unstable_by_key(|reach| reach.start);
    reaches
        .array_windows()
        .any(|[before, after]| after.start < before.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(first: u64, end: u64, mean_range: u64) -> Summary {
        Summary {
            first,
            end,
            bytes: (end - first) / 2,
            mean_range,
            ascends: true,
        }
    }

    #[test]
    fn only_short_ranges_that_interleave_go_through_aggregators() {
        let auto = |ranks: &[Summary]| choose(ranks, Preference::Automatic, false);
        let none = rank(7, 7, 0);
        assert_eq!(auto(&[none, none]), Protocol::None);
        assert_eq!(
            auto(&[rank(0, 10, 1), none, rank(10, 20, 1)]),
            Protocol::Direct
        );
        let mixed = [rank(0, 100, 8), none, rank(8, 108, 8)];
        assert_eq!(auto(&mixed), Protocol::TwoPhase);
        let long = mixed.map(|rank| Summary {
            mean_range: 1 << 20,
            ..rank
        });
        assert_eq!(auto(&long), Protocol::Direct);
        assert_eq!(
            choose(&long, Preference::Automatic, true),
            Protocol::TwoPhase
        );
        assert_eq!(choose(&mixed, Preference::Direct, false), Protocol::Direct);
        let sparse = mixed.map(|rank| Summary {
            end: rank.end << 40,
            ..rank
        });
        assert_eq!(
            choose(&sparse, Preference::TwoPhase, true),
            Protocol::Direct
        );
        let apart = [rank(0, 10, 1), rank(10, 20, 1)];
        assert_eq!(
            choose(&apart, Preference::TwoPhase, false),
            Protocol::TwoPhase
        );
        let back = Summary {
            ascends: false,
            ..mixed[0]
        };
        assert_eq!(
            choose(&[back, mixed[2]], Preference::TwoPhase, false),
            Protocol::Direct
        );
    }
}
