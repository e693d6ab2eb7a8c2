// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules: ranges of numbers, and the cases that a rule matches.

use std::fmt;

use crate::case::Case;
use crate::names::Algorithm;

/// Numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest.
    pub low: u64,
    /// The largest.
    pub high: u64,
}

impl Range {
    /// All numbers.
    pub const ALL: Self = Self {
        low: 0,
        high: u64::MAX,
    };

    /// Whether a number is in the range.
    pub const fn contains(self, number: u64) -> bool {
        self.low <= number && number <= self.high
    }
}

impl fmt::Display for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (0, u64::MAX) => write!(formatter, "*"),
            (low, high) if low == high => write!(formatter, "{}", short(low)),
            (0, high) => write!(formatter, "..{}", short(high)),
            (low, u64::MAX) => write!(formatter, "{}..", short(low)),
            (low, high) => write!(formatter, "{}..{}", short(low), short(high)),
        }
    }
}

/// A number with the largest suffix that leaves it whole: what [`number`](crate::number) reads.
pub fn short(number: u64) -> String {
    let suffixes = [(1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
    let fits = |one: &&(u64, char)| number >= one.0 && number.is_multiple_of(one.0);
    match suffixes.iter().find(fits) {
        Some((factor, suffix)) => format!("{}{suffix}", number / factor),
        None => number.to_string(),
    }
}

/// A rule: which cases use which algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Numbers of ranks that match.
    pub ranks: Range,
    /// Numbers of nodes that match.
    pub nodes: Range,
    /// Bytes of the vector or the largest block that match.
    pub bytes: Range,
    /// Bytes of all blocks that match.
    pub total: Range,
    /// Bytes of the vector or of all blocks, divided by the number of ranks, that match.
    pub share: Range,
    /// Whether only nodes with more ranks than cores match, or only others.
    pub oversubscribed: Option<bool>,
    /// Whether only operations that commute match, or only others.
    pub commutative: Option<bool>,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its number; 0 if it takes none.
    pub parameter: u64,
    /// Index of the file among those of the table.
    pub file: usize,
    /// Line in the file, from 1.
    pub line: usize,
}

impl Rule {
    /// Whether a case meets all conditions.
    #[inline]
    pub fn matches(&self, case: &Case) -> bool {
        self.bytes.contains(case.bytes as u64)
            && self.ranks.contains(u64::from(case.ranks))
            && self.total.contains(case.total as u64)
            && self.nodes.contains(u64::from(case.nodes))
            && self
                .commutative
                .is_none_or(|wanted| wanted == case.commutative)
            && self
                .oversubscribed
                .is_none_or(|wanted| wanted == case.oversubscribed)
            && (self.share == Range::ALL || self.share.contains(case.share()))
    }

    /// The first condition that a case does not meet; `None` if the rule matches.
    pub fn mismatch(&self, case: &Case) -> Option<&'static str> {
        let numbers = [
            ("ranks", self.ranks, u64::from(case.ranks)),
            ("nodes", self.nodes, u64::from(case.nodes)),
            ("bytes", self.bytes, case.bytes as u64),
            ("total", self.total, case.total as u64),
            ("share", self.share, case.share()),
        ];
        let outside = numbers.iter().find(|one| !one.1.contains(one.2));
        let differs = |wanted: Option<bool>, is: bool| wanted.is_some_and(|wanted| wanted != is);
        match outside {
            Some(&(name, ..)) => Some(name),
            None if differs(self.oversubscribed, case.oversubscribed) => Some("oversubscribed"),
            None if differs(self.commutative, case.commutative) => Some("commutative"),
            None => None,
        }
    }
}

/// The rule as text that gives it again.
impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.algorithm.operation().name())?;
        let ranges = [
            ("ranks", self.ranks),
            ("nodes", self.nodes),
            ("bytes", self.bytes),
            ("total", self.total),
            ("share", self.share),
        ];
        for (name, range) in ranges.iter().filter(|one| one.1 != Range::ALL) {
            write!(formatter, " {name}={range}")?;
        }
        let words = [
            ("oversubscribed", self.oversubscribed),
            ("commutative", self.commutative),
        ];
        for (name, wanted) in words {
            match wanted {
                Some(true) => write!(formatter, " {name}=yes")?,
                Some(false) => write!(formatter, " {name}=no")?,
                None => {}
            }
        }
        write!(formatter, " use={}", self.algorithm.name())?;
        match self.parameter {
            0 => Ok(()),
            number => write!(formatter, ":{}", short(number)),
        }
    }
}
