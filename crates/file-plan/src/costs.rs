// SPDX-License-Identifier: MIT OR Apache-2.0
//! What accesses to files cost: the values that decide. They are measured where a file lies, or the table's.

use std::fmt;

/// A cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Cost {
    /// A system call that reads or writes, without its bytes.
    Call,
    /// A byte out of the system's cache.
    Read,
    /// A byte into the system's cache.
    Write,
    /// Locking a range and releasing it.
    Lock,
    /// A message between two ranks.
    Message,
    /// A byte on its way between a rank and an aggregator.
    Exchange,
}

/// A cost as texts name it.
#[derive(Clone, Copy, Debug)]
pub struct CostRow {
    /// Which one.
    pub cost: Cost,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Its value where nothing was measured, in picoseconds.
    pub default_ps: u64,
}

/// Number of costs.
pub const COSTS: usize = 6;

/// All costs, in the order of [`Cost`].
pub const COST_ROWS: [CostRow; COSTS] = [
    CostRow {
        cost: Cost::Call,
        name: "call",
        text: "a system call that reads or writes, without its bytes",
        default_ps: 400_000,
    },
    CostRow {
        cost: Cost::Read,
        name: "read",
        text: "a byte out of the system's cache",
        default_ps: 100,
    },
    CostRow {
        cost: Cost::Write,
        name: "write",
        text: "a byte into the system's cache",
        default_ps: 200,
    },
    CostRow {
        cost: Cost::Lock,
        name: "lock",
        text: "locking a range and releasing it",
        default_ps: 2_000_000,
    },
    CostRow {
        cost: Cost::Message,
        name: "message",
        text: "a message between two ranks",
        default_ps: 1_000_000,
    },
    CostRow {
        cost: Cost::Exchange,
        name: "exchange",
        text: "a byte on its way between a rank and an aggregator",
        default_ps: 300,
    },
];

/// A byte is copied so many times between a rank and an aggregator: packed, sent, and put into its place.
const COPIES: u64 = 3;

/// Memory that is packed at a time is so long that its system call takes one of so many parts of the time.
const PACKED_SHARE: u64 = 100;
const PACKED_LEAST: u64 = 64 << 10;
const PACKED_MOST: u64 = 4 << 20;

/// All costs, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs([u64; COSTS]);

impl Default for Costs {
    fn default() -> Self {
        Self(COST_ROWS.map(|row| row.default_ps))
    }
}

impl Costs {
    /// The costs of the words of a message.
    pub const fn of_words(words: [u64; COSTS]) -> Self {
        Self(words)
    }

    /// The costs of a place where these were measured, in picoseconds: a call, a byte read, a byte written, a lock, and a byte copied. That
    /// of a message is the table's.
    #[must_use]
    pub fn measured([call, read, write, lock, copy]: [u64; 5]) -> Self {
        Self::default()
            .with(Cost::Call, call)
            .with(Cost::Read, read)
            .with(Cost::Write, write)
            .with(Cost::Lock, lock)
            .with(Cost::Exchange, copy.saturating_mul(COPIES))
    }

    /// As words of a message.
    pub const fn words(&self) -> [u64; COSTS] {
        self.0
    }

    /// The same with another value of one.
    #[must_use]
    pub fn with(mut self, cost: Cost, ps: u64) -> Self {
        self.0[cost as usize] = ps;
        self
    }

    /// A list such as `call=400,read=0.1` in nanoseconds; what it does not name has its value of `self`.
    ///
    /// # Errors
    /// A sentence that names the part which is not understood.
    pub fn parsed(mut self, text: &str) -> Result<Self, String> {
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let known = part.split_once('=').and_then(|(name, value)| {
                let row = COST_ROWS.iter().find(|row| row.name == name.trim())?;
                let ns: f64 = value.trim().parse().ok()?;
                (0.0..=1e12).contains(&ns).then_some((row.cost, ns))
            });
            let Some((cost, ns)) = known else {
                let names = COST_ROWS.map(|row| row.name).join(", ");
                return Err(format!(
                    "'{part}': expected a cost of {names} and nanoseconds, such as call=400"
                ));
            };
            self.0[cost as usize] = (ns * 1e3).round() as u64;
        }
        Ok(self)
    }

    /// One of them, in picoseconds.
    pub const fn ps(&self, cost: Cost) -> u64 {
        self.0[cost as usize]
    }

    /// So many of one, in picoseconds.
    pub(crate) const fn times(&self, cost: Cost, count: u64) -> u64 {
        self.ps(cost).saturating_mul(count)
    }

    /// The longest gap between two ranges of which reading costs no more than another system call.
    pub fn gap(&self) -> u64 {
        self.ps(Cost::Call) / self.ps(Cost::Read).max(1)
    }

    /// The same between two ranges that are written: a gap is read and written.
    pub fn write_gap(&self) -> u64 {
        let both = self.ps(Cost::Read).saturating_add(self.ps(Cost::Write));
        self.ps(Cost::Call) / both.max(1)
    }

    /// Bytes that are packed before they are written, or read before they are unpacked, at a time.
    pub fn packed_bytes(&self) -> u64 {
        let least = self.times(Cost::Call, PACKED_SHARE) / self.ps(Cost::Write).max(1);
        least.clamp(PACKED_LEAST, PACKED_MOST).next_power_of_two()
    }
}

/// As [`Costs::parsed`] takes it.
impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, row) in COST_ROWS.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", row.name, self.0[index] as f64 / 1e3)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_costs() {
        for (index, row) in COST_ROWS.iter().enumerate() {
            assert_eq!(row.cost as usize, index);
        }
    }

    #[test]
    fn lists_of_costs_are_read_as_they_are_printed() {
        let costs = Costs::default().parsed("call=1500.5, read=0.05").unwrap();
        assert_eq!(costs.ps(Cost::Call), 1_500_500);
        assert_eq!(costs.ps(Cost::Read), 50);
        assert_eq!(costs.ps(Cost::Lock), Costs::default().ps(Cost::Lock));
        assert_eq!(Costs::default().parsed(&costs.to_string()), Ok(costs));
        for wrong in ["call", "calls=3", "call=-1", "call=nan", "call=1,,x=1"] {
            assert!(Costs::default().parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn dear_calls_make_gaps_and_packed_parts_longer() {
        let cheap = Costs::default();
        let dear = cheap.with(Cost::Call, 40_000_000);
        assert_eq!((cheap.gap(), dear.gap()), (4000, 400_000));
        assert_eq!((cheap.write_gap(), dear.write_gap()), (1333, 133_333));
        assert_eq!(cheap.packed_bytes(), 256 << 10);
        assert_eq!(dear.packed_bytes(), PACKED_MOST);
        let free = cheap.with(Cost::Read, 0).with(Cost::Write, 0);
        assert_eq!(free.gap(), 400_000);
        assert_eq!(free.packed_bytes(), PACKED_MOST);
    }
}
