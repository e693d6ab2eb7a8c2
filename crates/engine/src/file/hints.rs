// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hints of files (MPI-5.0, section 14.2.8): the keys that this library knows, those of ROMIO among them, and their values.

use std::sync::PoisonError;

use sys::sync::Mutex;

/// The values that a key may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Any text.
    Text,
    /// A number above 0.
    Number,
    /// An octal number.
    Octal,
    Truth,
    /// enable, disable or automatic.
    Switch,
    /// auto, direct or two-phase.
    Protocol,
}

/// A key.
struct Row {
    key: &'static str,
    /// The value in force where the program gives none; "" for none.
    default: &'static str,
    values: Values,
    /// Whether all ranks give the same.
    is_same: bool,
    /// Whether it counts only when the file is opened.
    at_open: bool,
}

const fn row(key: &'static str, default: &'static str, values: Values, is_same: bool) -> Row {
    Row {
        key,
        default,
        values,
        is_same,
        at_open: false,
    }
}

const fn at_open(row: Row) -> Row {
    Row {
        at_open: true,
        ..row
    }
}

/// The keys. Which have an effect is in `docs/files.md`.
const ROWS: &[Row] = &[
    row("access_style", "", Values::Text, false),
    row("collective_buffering", "", Values::Truth, true),
    row("cb_block_size", "1048576", Values::Number, true),
    row("cb_buffer_size", "16777216", Values::Number, true),
    at_open(row("cb_nodes", "", Values::Number, true)),
    row("chunked", "", Values::Text, true),
    row("chunked_item", "", Values::Text, true),
    row("chunked_size", "", Values::Text, true),
    at_open(row("file_perm", "0666", Values::Octal, true)),
    row("io_node_list", "", Values::Text, true),
    row("nb_proc", "", Values::Number, true),
    row("num_io_nodes", "", Values::Number, true),
    at_open(row("striping_factor", "", Values::Number, true)),
    at_open(row("striping_unit", "", Values::Number, true)),
    row("romio_cb_read", "automatic", Values::Switch, true),
    row("romio_cb_write", "automatic", Values::Switch, true),
    row("romio_ds_read", "automatic", Values::Switch, false),
    row(SIEVED_WRITES, "automatic", Values::Switch, true),
    row("ind_rd_buffer_size", "4194304", Values::Number, false),
    row("ind_wr_buffer_size", "524288", Values::Number, false),
    row(PROTOCOL, "auto", Values::Protocol, true),
    row(SYNC_ON_CLOSE, "false", Values::Truth, true),
];

pub(super) const PROTOCOL: &str = "rankpoint_file_protocol";
pub(super) const SYNC_ON_CLOSE: &str = "rankpoint_sync_on_close";

/// Whether what covers ranges may be read, changed and written back.
pub(super) const SIEVED_WRITES: &str = "romio_ds_write";

impl Row {
    fn is_valid(&self, value: &str) -> bool {
        match self.values {
            Values::Text => true,
            Values::Number => value.trim().parse::<u64>().is_ok_and(|number| number > 0),
            Values::Octal => u32::from_str_radix(value.trim(), 8).is_ok_and(|bits| bits <= 0o777),
            Values::Truth => matches!(value, "true" | "false"),
            Values::Switch => matches!(value, "enable" | "disable" | "automatic"),
            Values::Protocol => matches!(value, "auto" | "direct" | "two-phase"),
        }
    }
}

/// The hints of a file.
#[derive(Debug, Default)]
pub struct FileHints {
    given: Mutex<Vec<(&'static str, String)>>,
}

impl FileHints {
    /// The hints for which `value_of` returns a value that the key may have; other values are ignored.
    pub fn of(value_of: impl Fn(&str) -> Option<String>) -> Self {
        let hints = Self::default();
        hints.take_over(value_of, true);
        hints
    }

    /// Takes over hints as [`Self::of`] does, of a file that is open.
    pub(super) fn set(&self, value_of: impl Fn(&str) -> Option<String>) {
        self.take_over(value_of, false);
    }

    fn take_over(&self, value_of: impl Fn(&str) -> Option<String>, opens: bool) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        for row in ROWS {
            let may_change = opens || !row.at_open;
            let value = value_of(row.key).filter(|value| may_change && row.is_valid(value));
            if let Some(value) = value {
                given.retain(|(key, _)| *key != row.key);
                given.push((row.key, value));
            }
        }
    }

    /// The value of a key in force.
    pub fn get(&self, key: &str) -> Option<String> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let found = given.iter().find(|(known, _)| *known == key);
        let default = || {
            ROWS.iter()
                .find(|row| row.key == key)
                .map(|row| row.default)
        };
        match found {
            Some((_, value)) => Some(value.clone()),
            None => default()
                .filter(|value| !value.is_empty())
                .map(str::to_owned),
        }
    }

    /// The value of a key that is a number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.trim().parse().ok()
    }

    /// The permissions of a file that is created.
    pub(super) fn permissions(&self) -> u32 {
        let value = self.get("file_perm").unwrap_or_default();
        u32::from_str_radix(value.trim(), 8).unwrap_or(0o666)
    }

    /// All keys with a value in force.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let pair = |row: &Row| Some((row.key, self.get(row.key)?));
        ROWS.iter().filter_map(pair).collect()
    }

    /// A number that differs for other values of the keys that all ranks give alike.
    pub(super) fn digest(&self) -> u64 {
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let same = ROWS.iter().filter(|row| row.is_same);
        same.fold(0xcbf2_9ce4_8422_2325, |sum, row| {
            let value = self.get(row.key).unwrap_or_default();
            value.bytes().chain([b',']).fold(sum, step)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_key_cannot_have_are_ignored() {
        let hints = FileHints::of(|key| match key {
            "cb_nodes" => Some("3".to_owned()),
            "cb_buffer_size" => Some("much".to_owned()),
            "file_perm" => Some("640".to_owned()),
            "romio_ds_write" => Some("always".to_owned()),
            _ => None,
        });
        assert_eq!(hints.number("cb_nodes"), Some(3));
        assert_eq!(hints.number("cb_buffer_size"), Some(16 << 20));
        assert_eq!(hints.permissions(), 0o640);
        assert_eq!(hints.get("romio_ds_write").as_deref(), Some("automatic"));
        let before = hints.digest();
        hints.set(|key| (key == "cb_nodes").then(|| "4".to_owned()));
        assert_eq!(hints.digest(), before);
        hints.set(|key| (key == "cb_buffer_size").then(|| "4096".to_owned()));
        assert_ne!(hints.digest(), before);
        assert_eq!(hints.number("cb_buffer_size"), Some(4096));
        let pairs = hints.pairs();
        assert!(pairs.contains(&("romio_cb_read", "automatic".to_owned())));
        assert!(pairs.iter().all(|(key, _)| *key != "striping_unit"));
    }
}
