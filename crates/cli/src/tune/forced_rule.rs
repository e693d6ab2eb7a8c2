// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of one rule that forces an algorithm.

use std::fmt::Write as _;
use std::path::PathBuf;

use algorithms::{Operation, short};

use super::fit::Candidate;

/// A file with one rule, which lives as long as this.
pub(super) struct ForcedRule(pub(super) PathBuf);

impl ForcedRule {
    pub(super) fn write(
        operation: Operation,
        candidate: Candidate,
        (ranks, round): (u32, u64),
    ) -> Result<Self, String> {
        let process = std::process::id();
        let name = format!("rankpoint-tune-{process}-{ranks}-{round}.table");
        let file = std::env::temp_dir().join(name);
        let mut rule = format!("{} use={}", operation.name(), candidate.algorithm.name());
        if candidate.parameter > 0 {
            // Writing to a string cannot fail.
            let _ = write!(rule, ":{}", short(candidate.parameter));
        }
        std::fs::write(&file, rule + "\n")
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(Self(file))
    }
}

impl Drop for ForcedRule {
    fn drop(&mut self) {
        // A file that is left behind harms nobody.
        drop(std::fs::remove_file(&self.0));
    }
}
