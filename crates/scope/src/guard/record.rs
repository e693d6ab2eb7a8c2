// SPDX-License-Identifier: MIT OR Apache-2.0
//! What settings were before they were changed: a file that is there as long as they are changed.
//!
//! The file is locked by the watcher that has changed them. A watcher that finds a record without a lock comes after one that was
//! killed: the values of the record are the user's, those of the kernel are not.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::settings;

/// A record that is locked.
pub(super) struct Record {
    file: File,
    path: PathBuf,
    /// Files of settings, and their values before.
    pub(super) values: Vec<(PathBuf, Vec<u8>)>,
}

impl Record {
    /// Opens and locks a record, with the values that an earlier watcher has left.
    ///
    /// # Errors
    /// When it cannot be made, another watcher has it, or its values cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(|error| told(&error))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err("another measurement has set it and restores it".to_owned());
        }
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| told(&error))?;
        let values = text.lines().map(parse).collect::<Option<_>>();
        let values = values
            .ok_or_else(|| told(&"expected lines of a hexadecimal value and a file: remove it"))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            values,
        })
    }

    /// The value of a file before anybody changed it.
    pub(super) fn before(&self, file: &Path) -> Option<&[u8]> {
        let found = self.values.iter().find(|(known, _)| known == file);
        found.map(|(_, value)| value.as_slice())
    }

    /// Writes the values, before anything is changed.
    pub(super) fn save(&mut self) -> Result<(), String> {
        let text: String = self
            .values
            .iter()
            .map(|(file, value)| {
                let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{digits} {}\n", file.display())
            })
            .collect();
        let written = self.file.set_len(0).and_then(|()| {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(text.as_bytes())?;
            self.file.sync_all()
        });
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Gives all settings their values back, and removes the record.
    ///
    /// # Errors
    /// What could not be restored; the record stays then.
    pub(super) fn restore(self) -> Result<(), String> {
        let mut failed = Vec::new();
        for (file, value) in &self.values {
            let is_right = std::fs::read(file).is_ok_and(|found| found == *value);
            if !is_right {
                failed.extend(settings::write(file, value).err());
            }
        }
        if !failed.is_empty() {
            return Err(format!("cannot restore {}", failed.join(", ")));
        }
        let removed = std::fs::remove_file(&self.path);
        removed.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

/// A line of a record.
fn parse(line: &str) -> Option<(PathBuf, Vec<u8>)> {
    let (digits, file) = line.split_once(' ')?;
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_whole = digits.len().is_multiple_of(2);
    let value = digits
        .as_bytes()
        .chunks(2)
        .map(byte)
        .collect::<Option<_>>()?;
    is_whole.then(|| (PathBuf::from(file), value))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BUSY: &str = "another measurement has set it and restores it";

    /// Opens a record that is unlocked here. A program that another test starts holds its lock, too, until it runs.
    fn once_free(path: &Path) -> Result<Record, String> {
        for _ in 0..1000 {
            match Record::open(path) {
                Err(why) if why == BUSY => std::thread::sleep(Duration::from_millis(10)),
                opened => return opened,
            }
        }
        Record::open(path)
    }

    #[test]
    fn values_come_back_as_they_were_and_others_must_wait() {
        let path = std::env::temp_dir().join(format!("rankpoint-record-{}", std::process::id()));
        let mut record = Record::open(&path).unwrap();
        let values = vec![(PathBuf::from("/a b"), b"power save\n\0".to_vec())];
        record.values.clone_from(&values);
        record.save().unwrap();
        let refused = Record::open(&path).map(|_| ()).unwrap_err();
        assert_eq!(refused, BUSY);
        drop(record);
        assert_eq!(once_free(&path).unwrap().values, values);
        std::fs::write(&path, "7 /x\n").unwrap();
        let refused = once_free(&path).map(|_| ()).unwrap_err();
        assert!(refused.contains("expected lines of"), "{refused}");
        std::fs::remove_file(&path).unwrap();
    }
}
