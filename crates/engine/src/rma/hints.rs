// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hints of windows (MPI-5.0, section 12.2.1 and following): the keys that this library knows, and their values.

use std::sync::PoisonError;

use sys::sync::{AtomicBool, Mutex, Ordering};

use crate::device::{self, MEMORY_KEY};
use crate::identity::MOST_VCIS;

/// Keys whose value is true or false.
const TRUTHS: &[&str] = &[
    "no_locks",
    "same_size",
    "same_disp_unit",
    "alloc_shared_noncontig",
];
/// VCIs over which puts and gets by messages are spread.
pub(super) const NUM_VCIS: &str = "rankpoint_num_vcis";

/// Ordering of accumulates by default.
const ALL_ORDERED: &str = "rar,raw,war,waw";

/// Alignment of all memory of windows, in bytes.
const ALIGNMENT: u64 = 4096;

/// The hints of a window.
#[derive(Debug, Default)]
pub struct WindowHints {
    /// Keys and values.
    known: Mutex<Vec<(&'static str, String)>>,
    /// Whether no_locks is true.
    no_locks: AtomicBool,
}

/// Whether a value is one that its key may have.
fn is_valid(key: &str, value: &str) -> bool {
    match key {
        "accumulate_ordering" => {
            let mut parts = value.split(',').map(str::trim);
            value == "none" || parts.all(|part| ALL_ORDERED.split(',').any(|known| known == part))
        }
        "accumulate_ops" => matches!(value, "same_op" | "same_op_no_op"),
        "mpi_accumulate_granularity" => value.parse::<u64>().is_ok(),
        NUM_VCIS => value
            .parse::<usize>()
            .is_ok_and(|vcis| (1..=MOST_VCIS).contains(&vcis)),
        MEMORY_KEY => device::is_memory(value),
        // More than the alignment of windows is not promised.
        "mpi_minimum_memory_alignment" => value
            .parse::<u64>()
            .is_ok_and(|bytes| bytes.is_power_of_two() && bytes <= ALIGNMENT),
        _ => matches!(value, "true" | "false"),
    }
}

/// Every known key.
fn keys() -> impl Iterator<Item = &'static str> {
    let others = [
        "accumulate_ordering",
        "accumulate_ops",
        "mpi_accumulate_granularity",
        "mpi_minimum_memory_alignment",
        NUM_VCIS,
        MEMORY_KEY,
    ];
    TRUTHS.iter().copied().chain(others)
}

impl WindowHints {
    /// The hints for which `value_of` returns a value that the key may have; other values are ignored.
    pub fn of(value_of: impl Fn(&str) -> Option<String>) -> Self {
        let hints = Self::default();
        hints.take_over(value_of);
        hints
    }

    /// Takes over hints as [`Self::of`] does, of a window that exists: it keeps its VCIs and its memory.
    pub fn set(&self, value_of: impl Fn(&str) -> Option<String>) {
        let is_fixed = |key: &str| key == NUM_VCIS || key == MEMORY_KEY;
        self.take_over(|key| value_of(key).filter(|_| !is_fixed(key)));
    }

    /// Notes that the window's memory is the host's, whatever was requested.
    pub(super) fn set_host_memory(&self) {
        self.take_over(|key| (key == MEMORY_KEY).then(|| device::SYSTEM.to_owned()));
    }

    /// Notes how many VCIs the window uses.
    pub(super) fn set_vcis(&self, vcis: usize) {
        self.take_over(|key| (key == NUM_VCIS).then(|| vcis.to_string()));
    }

    fn take_over(&self, value_of: impl Fn(&str) -> Option<String>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys() {
            if let Some(value) = value_of(key).filter(|value| is_valid(key, value)) {
                known.retain(|(old, _)| *old != key);
                if key == "no_locks" {
                    // Relaxed: calls that change hints and that lock are ordered by the program.
                    self.no_locks.store(value == "true", Ordering::Relaxed);
                }
                known.push((key, value));
            }
        }
    }

    /// Whether the program promised that it locks nothing (`no_locks`).
    pub(super) fn no_locks(&self) -> bool {
        self.no_locks.load(Ordering::Relaxed)
    }

    /// The value of a key, if it was given.
    pub fn get(&self, key: &str) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.clone())
    }

    /// Whether a key has the value true.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).as_deref() == Some("true")
    }

    /// The value of a key that is a number; 0 if it was not given.
    pub fn number(&self, key: &str) -> u64 {
        let value = self.get(key).and_then(|value| value.parse().ok());
        value.unwrap_or(0)
    }

    /// All keys with the values in force.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let default = |key: &str| match key {
            "accumulate_ordering" => ALL_ORDERED.to_owned(),
            "accumulate_ops" => "same_op_no_op".to_owned(),
            "mpi_accumulate_granularity" => "0".to_owned(),
            "mpi_minimum_memory_alignment" => ALIGNMENT.to_string(),
            NUM_VCIS => "1".to_owned(),
            MEMORY_KEY => device::SYSTEM.to_owned(),
            _ => "false".to_owned(),
        };
        keys()
            .map(|key| (key, self.get(key).unwrap_or_else(|| default(key))))
            .collect()
    }
}
