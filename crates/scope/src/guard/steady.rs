// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measuring process's side of a steady clock.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use machine_profile::Control;

use super::settings::{FOLDER, Kind, Setting, controls};
use super::watcher::{READY, restore};

/// The record of settings that are changed. Only a user who may change them may write there.
const RECORD: &str = "/run/rankpoint-steady-clock";
/// What the clock needs to reach its rate.
const SETTLE: Duration = Duration::from_millis(50);

/// A clock that is kept steady until this is dropped, as far as the system allows.
pub struct SteadyClock {
    settings: Vec<Setting>,
    refused: Vec<(String, String)>,
    /// The watcher and its input; none where nothing was asked for.
    watcher: Option<(Child, Option<ChildStdin>)>,
    record: PathBuf,
}

impl SteadyClock {
    /// Leaves governor and boost as they are.
    pub fn left_alone(cores: &[u32]) -> Self {
        Self {
            settings: Setting::all(Path::new(FOLDER), cores),
            refused: Vec::new(),
            watcher: None,
            record: PathBuf::from(RECORD),
        }
    }

    /// Sets the governor of these processors to `performance` and turns boost off. `command` starts the watcher (see
    /// [`crate::run_watcher`]). What the system refuses is told by [`Self::controls`].
    ///
    /// # Errors
    /// When the watcher cannot be started.
    pub fn set(command: &[String], cores: &[u32]) -> Result<Self, String> {
        let (program, words) = command.split_first().ok_or("no program for the watcher")?;
        let numbers: Vec<String> = cores.iter().map(u32::to_string).collect();
        let mut command = Command::new(program);
        command
            .args(words)
            .args([FOLDER, RECORD, &numbers.join(",")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Signals of the terminal end the measuring process only.
        sys::spawn::lead_session(&mut command);
        let child = command.spawn();
        let mut child = child.map_err(|error| format!("cannot start {program}: {error}"))?;
        let input = child.stdin.take();
        let mut refused = Vec::new();
        let output = child.stdout.take().map(BufReader::new);
        let mut is_ready = false;
        for line in output.into_iter().flat_map(|output| output.lines()) {
            let line = line.map_err(|error| format!("the watcher of the clock: {error}"))?;
            is_ready = line == READY;
            if is_ready {
                break;
            }
            if let Some((kind, reason)) = line.split_once(' ') {
                refused.push((kind.to_owned(), reason.to_owned()));
            }
        }
        if !is_ready {
            drop(input);
            drop(child.wait());
            return Err("the watcher of the clock ended early".to_owned());
        }
        std::thread::sleep(SETTLE);
        Ok(Self {
            settings: Setting::all(Path::new(FOLDER), cores),
            refused,
            watcher: Some((child, input)),
            record: PathBuf::from(RECORD),
        })
    }

    /// What was asked for and what holds, for the profile.
    pub fn controls(&self) -> Vec<Control> {
        let is_set = self.watcher.is_some();
        let asked = |kind: Kind| match is_set {
            true => kind.wanted().to_owned(),
            false => "as it is".to_owned(),
        };
        let refused = |kind: Kind| {
            let found = self.refused.iter().find(|(name, _)| name == kind.name());
            found.map(|(_, reason)| reason.clone())
        };
        controls(&self.settings, asked, refused)
    }
}

impl Drop for SteadyClock {
    fn drop(&mut self) {
        let Some((mut child, input)) = self.watcher.take() else {
            return;
        };
        drop(input);
        let is_restored = child.wait().is_ok_and(|status| status.success());
        if !is_restored && self.record.exists() {
            // The watcher was killed. If this fails, too, the record stays for the next run, which restores its values.
            drop(restore(&self.record));
        }
    }
}
