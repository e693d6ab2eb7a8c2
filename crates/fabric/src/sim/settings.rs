// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of a simulated network, as a value and as text.
//!
//! The text is a list of `key=value` separated by commas. [`SimSettings`] prints the text that it
//! is parsed from, so that a failing test can say how to run it again.

use std::fmt;
use std::str::FromStr;

use super::SimError;

/// The properties of a simulated network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimSettings {
    /// Start of the generator that chooses; key `seed`.
    pub seed: u64,
    /// Time between a cell's last byte leaving and the cell's arrival, in ns; key `latency`.
    pub latency_ns: u64,
    /// Time for which a cell occupies its wire besides its bytes, in ns; key `gap`.
    pub gap_ns: u64,
    /// Bytes per microsecond of one wire, 0 for no limit; key `bandwidth`.
    pub bytes_per_us: u64,
    /// Cells (credits) of each ring, a power of two; also the most cells on a wire; key `cells`.
    pub cells: u32,
    /// Bytes of each ring's payload area, a power of two of at least 8192; key `payload`.
    pub payload_bytes: u32,
    /// Whether messages of different pairs may overtake each other; key `reorder` (0 or 1). One
    /// pair keeps its order in any case.
    pub reorder_pairs: bool,
    /// Percent of the turns after which time moves to the next delivery although some rank has not
    /// polled in vain, as if the rank computed for that long; key `early`. Not for enumerations,
    /// which try both.
    pub early_percent: u8,
    /// Whether a delivery gives all ranks a turn, or only its receiver until nothing else is under
    /// way; key `wake` (`all` or `receiver`). Enumerations of messages alone are much shorter with
    /// the receiver only.
    pub wake_all: bool,
    /// The source of choices; key `choices`, which has numbers separated by `.`, or none.
    pub schedule: Schedule,
    /// A rank that dies; key `death`, which has the form `RANK@NS`.
    pub death: Option<Death>,
}

/// The source of choices between events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The generator that starts from the seed.
    Seeded,
    /// A list: the k-th choice among several options takes option `choices[k]`, or the last one if
    /// there are fewer; choices beyond the list take option 0.
    Enumerate {
        /// The options to take.
        choices: Vec<u32>,
    },
}

/// The end of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// The rank that dies.
    pub rank: u32,
    /// When it dies, in virtual ns.
    pub at_ns: u64,
}

impl Default for SimSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            latency_ns: 1000,
            gap_ns: 50,
            bytes_per_us: 10_000,
            cells: 64,
            payload_bytes: 256 << 10,
            reorder_pairs: false,
            early_percent: 0,
            wake_all: true,
            schedule: Schedule::Seeded,
            death: None,
        }
    }
}

const KEYS: &str = "seed, latency, gap, bandwidth, cells, payload, reorder, early, wake, choices \
                    and death";
/// Most cells and most payload bytes of a ring.
const MOST_CELLS: u32 = 1 << 16;
const MOST_PAYLOAD: u32 = 1 << 28;

impl SimSettings {
    /// Sets one key from its text.
    fn set(&mut self, key: &str, value: &str) -> Result<(), SimError> {
        match key {
            "seed" => self.seed = number(key, value, 0, u64::MAX)?,
            "latency" => self.latency_ns = number(key, value, 0, u64::from(u32::MAX))?,
            "gap" => self.gap_ns = number(key, value, 0, u64::from(u32::MAX))?,
            "bandwidth" => self.bytes_per_us = number(key, value, 0, u64::from(u32::MAX))?,
            "cells" => self.cells = power_of_two(key, value, 1, MOST_CELLS)?,
            "payload" => self.payload_bytes = power_of_two(key, value, 8192, MOST_PAYLOAD)?,
            "reorder" => self.reorder_pairs = number(key, value, 0, 1)? == 1,
            "early" => self.early_percent = number(key, value, 0, 100)? as u8,
            "wake" => {
                self.wake_all = match value {
                    "all" => true,
                    "receiver" => false,
                    _ => return Err(refused(key, value, "all or receiver")),
                }
            }
            "choices" => {
                let choices = value.split('.').filter(|text| !text.is_empty());
                let choices = choices.map(|text| text.parse().ok()).collect::<Option<_>>();
                let choices =
                    choices.ok_or_else(|| refused(key, value, "numbers separated by \".\""))?;
                self.schedule = Schedule::Enumerate { choices };
            }
            "death" => {
                let parts = value.split_once('@').and_then(|(rank, at)| {
                    Some(Death {
                        rank: rank.parse().ok()?,
                        at_ns: at.parse().ok()?,
                    })
                });
                let death = parts.ok_or_else(|| refused(key, value, "RANK@NS, such as 1@2000"))?;
                self.death = Some(death);
            }
            _ => {
                let text = format!("unknown key {key:?} of the simulated network; it takes {KEYS}");
                return Err(SimError::Setting(text));
            }
        }
        Ok(())
    }

    /// Checks the sizes, which may not have come from text.
    pub(super) fn check(&self, ranks: u32) -> Result<(), SimError> {
        power_of_two("cells", &self.cells.to_string(), 1, MOST_CELLS)?;
        power_of_two(
            "payload",
            &self.payload_bytes.to_string(),
            512,
            MOST_PAYLOAD,
        )?;
        match self.death {
            Some(death) if death.rank >= ranks => Err(SimError::NoSuchRank {
                rank: death.rank,
                ranks,
            }),
            _ => Ok(()),
        }
    }

    /// How long `bytes` bytes occupy a wire, in ns, rounded up.
    pub(super) fn transfer_ns(&self, bytes: u64) -> u64 {
        match self.bytes_per_us {
            0 => 0,
            speed => bytes.saturating_mul(1000).div_ceil(speed),
        }
    }
}

fn refused(key: &str, value: &str, expected: &str) -> SimError {
    SimError::Setting(format!(
        "{key}={value} of the simulated network: expected {expected}"
    ))
}

fn number(key: &str, value: &str, least: u64, most: u64) -> Result<u64, SimError> {
    let parsed = value.parse().ok();
    parsed
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| refused(key, value, &format!("a number from {least} to {most}")))
}

fn power_of_two(key: &str, value: &str, least: u32, most: u32) -> Result<u32, SimError> {
    let parsed = value.parse::<u32>().ok();
    parsed
        .filter(|number| number.is_power_of_two() && (least..=most).contains(number))
        .ok_or_else(|| {
            let expected = format!("a power of two from {least} to {most}");
            refused(key, value, &expected)
        })
}

impl FromStr for SimSettings {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        let (mut settings, mut seen) = (Self::default(), Vec::new());
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some((key, value)) = part.split_once('=') else {
                let text = format!("{part:?} in the simulated network's settings has no \"=\"");
                return Err(SimError::Setting(text));
            };
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) {
                let text = format!("{key} of the simulated network is given twice");
                return Err(SimError::Setting(text));
            }
            settings.set(key, value)?;
            seen.push(key);
        }
        Ok(settings)
    }
}

impl fmt::Display for SimSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed={},latency={},gap={},bandwidth={},cells={},payload={},reorder={},early={},wake={}",
            self.seed,
            self.latency_ns,
            self.gap_ns,
            self.bytes_per_us,
            self.cells,
            self.payload_bytes,
            u8::from(self.reorder_pairs),
            self.early_percent,
            if self.wake_all { "all" } else { "receiver" },
        )?;
        if let Schedule::Enumerate { choices } = &self.schedule {
            let choices: Vec<_> = choices.iter().map(u32::to_string).collect();
            write!(f, ",choices={}", choices.join("."))?;
        }
        if let Some(Death { rank, at_ns }) = self.death {
            write!(f, ",death={rank}@{at_ns}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Death, Schedule, SimSettings};

    #[test]
    fn settings_are_parsed_from_what_they_print() {
        let settings = SimSettings {
            seed: u64::MAX,
            latency_ns: 7,
            gap_ns: 8,
            bytes_per_us: 9,
            cells: 16,
            payload_bytes: 8192,
            reorder_pairs: true,
            early_percent: 33,
            wake_all: false,
            schedule: Schedule::Enumerate {
                choices: vec![1, 0, 2],
            },
            death: Some(Death { rank: 3, at_ns: 99 }),
        };
        assert_eq!(settings.to_string().parse(), Ok(settings));
        let empty = SimSettings {
            schedule: Schedule::Enumerate { choices: vec![] },
            ..SimSettings::default()
        };
        assert_eq!(empty.to_string().parse(), Ok(empty));
        assert_eq!("".parse(), Ok(SimSettings::default()));
    }

    #[test]
    fn keys_that_are_not_given_keep_their_defaults() {
        let parsed: SimSettings = "seed=3, latency=2000,gap=50,bandwidth=1000,cells=16"
            .parse()
            .unwrap();
        let expected = SimSettings {
            seed: 3,
            latency_ns: 2000,
            gap_ns: 50,
            bytes_per_us: 1000,
            cells: 16,
            ..SimSettings::default()
        };
        assert_eq!(parsed, expected);
    }

    #[test]
    fn errors_name_the_key_and_what_it_takes() {
        for (text, words) in [
            ("cells=3", ["cells=3", "a power of two from 1 to 65536"]),
            ("latency=-1", ["latency=-1", "a number from 0 to"]),
            ("speed=1", ["\"speed\"", "bandwidth"]),
            ("seed", ["\"seed\"", "\"=\""]),
            ("seed=1,seed=2", ["seed", "twice"]),
            ("death=1", ["death=1", "RANK@NS"]),
            ("choices=1.x", ["choices=1.x", "numbers separated"]),
            ("wake=none", ["wake=none", "receiver"]),
            ("early=101", ["early=101", "from 0 to 100"]),
        ] {
            let error = text.parse::<SimSettings>().unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
