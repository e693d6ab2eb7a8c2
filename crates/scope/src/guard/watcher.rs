// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process that sets the clock and restores it. It lives until its input ends, which happens whenever the measuring process
//! does: by itself, by a panic, a signal or a kill.
//!
//! What it prints before it waits: for each kind that it did not set a line with the kind's name and the reason, then `ready`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::record::Record;
use super::settings::{Kind, Setting, write};

/// The last line that the watcher prints before it waits.
pub(super) const READY: &str = "ready";

/// The watcher: `words` are the folder of the processors, the file of the record, and the numbers of processors.
///
/// # Errors
/// When words are missing, nobody listens, or settings cannot be restored.
pub fn run_watcher(mut words: impl Iterator<Item = String>) -> Result<(), String> {
    let mut path = || words.next().map(PathBuf::from);
    let (Some(folder), Some(file)) = (path(), path()) else {
        return Err("expected the folder of processors, and a file".to_owned());
    };
    let cores = words.next().unwrap_or_default();
    let cores: Result<Vec<u32>, _> = cores.split(',').map(str::parse).collect();
    let cores = cores.map_err(|_| "expected numbers of processors, such as 0,1".to_owned())?;
    let (record, refused) = set(&Setting::all(&folder, &cores), &file);
    let mut text: String = refused
        .iter()
        .map(|(kind, reason)| format!("{} {}\n", kind.name(), reason.replace('\n', " ")))
        .collect();
    text += READY;
    text += "\n";
    let mut output = std::io::stdout();
    let told = output.write_all(text.as_bytes());
    let told = told.and_then(|()| output.flush());
    if told.is_ok() {
        // Whatever comes is no reason to restore; the end is.
        let mut input = Vec::new();
        drop(std::io::stdin().read_to_end(&mut input));
    }
    match record {
        Some(record) => record.restore(),
        None => Ok(()),
    }
}

/// Restores what a watcher that was killed has left.
///
/// # Errors
/// When there is no record, another watcher has it, or settings cannot be restored.
pub(super) fn restore(file: &Path) -> Result<(), String> {
    Record::open(file)?.restore()
}

/// Sets what may be set. Gives the record, if anything is changed or was left changed, and why kinds are not set.
fn set(settings: &[Setting], file: &Path) -> (Option<Record>, Vec<(Kind, String)>) {
    let mut refused = Vec::new();
    let mut wanted = Vec::new();
    for kind in Kind::ALL {
        let own: Vec<&Setting> = settings.iter().filter(|it| it.kind == kind).collect();
        // All or nothing of a kind: half of the processors at another clock would be worse than none.
        match own.iter().try_for_each(|setting| setting.open().map(drop)) {
            Ok(()) => wanted.extend(own),
            Err(reason) => refused.push((kind, format!("not set: {reason}"))),
        }
    }
    if wanted.is_empty() {
        return (None, refused);
    }
    let all = |reason: &str| {
        let kinds = Kind::ALL.into_iter();
        kinds
            .map(|kind| (kind, format!("not set: {reason}")))
            .collect()
    };
    let mut record = match Record::open(file) {
        Ok(record) => record,
        Err(reason) => return (None, all(&reason)),
    };
    for setting in &wanted {
        if record.before(&setting.file).is_some() {
            continue;
        }
        match setting.read() {
            Ok(value) => record.values.push((setting.file.clone(), value)),
            Err(reason) => refused.push((setting.kind, format!("not set: {reason}"))),
        }
    }
    if let Err(reason) = record.save() {
        return (Some(record), all(&reason));
    }
    for setting in wanted {
        let is_known = record.before(&setting.file).is_some();
        if is_known && let Err(reason) = write(&setting.file, setting.steady.as_bytes()) {
            refused.push((setting.kind, format!("not set: {reason}")));
        }
    }
    (Some(record), refused)
}
