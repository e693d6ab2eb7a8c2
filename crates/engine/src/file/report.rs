// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of accesses, and the report of how they were done (setting `RANKPOINT_FILE_REPORT`), which `rankpoint explain file` reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::PoisonError;

use fabric::counters::Counter;
use file_plan::{Action, PathRow, Protocol, ProtocolRow};
use sys::sync::Mutex;

use super::access::Moved;
use super::object::File;
use crate::errors::{Error, ErrorClass, Result};

/// Accesses that were done alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// `rank`, or `all` for the choice of a collective access.
    scope: &'static str,
    action: &'static str,
    name: &'static str,
    rule: &'static str,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    accesses: u64,
    bytes: u64,
    /// As the costs predict it.
    ns: u64,
}

/// How the accesses of a rank to a file were done.
pub(super) struct Report {
    folder: String,
    rows: Mutex<BTreeMap<Key, Sum>>,
}

const fn word(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
    }
}

impl Report {
    /// The report in a folder; none where that is empty.
    pub(super) fn wanted(folder: &str) -> Option<Self> {
        let folder = folder.trim();
        (!folder.is_empty()).then(|| Self {
            folder: folder.to_owned(),
            rows: Mutex::default(),
        })
    }

    fn add(&self, key: Key, bytes: u64, ps: u64) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = rows.entry(key).or_default();
        sum.accesses += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.ns = sum.ns.saturating_add(ps / 1000);
    }

    /// Notes how this rank accesses the file.
    pub(super) fn note_path(&self, access: &file_plan::Access, row: &PathRow, ps: u64) {
        let key = Key {
            scope: "rank",
            action: word(access.action),
            name: row.name,
            rule: row.rule,
        };
        self.add(key, access.bytes, ps);
    }

    /// Notes how a collective access is done.
    pub(super) fn note_protocol(&self, all: &file_plan::Collective<'_>, row: &ProtocolRow) {
        let key = Key {
            scope: "all",
            action: word(all.action),
            name: row.name,
            rule: row.rule,
        };
        let bytes = all.ranks.iter().map(|rank| rank.bytes);
        self.add(
            key,
            bytes.fold(0, u64::saturating_add),
            all.ps(row.protocol),
        );
    }
}

/// Writes what a file's report has to say, behind that of other files of the process, and forgets it.
///
/// # Errors
/// MPI_ERR_OTHER when the file cannot be written.
#[cold]
pub(super) fn write(file: &File) -> Result<()> {
    let Some(report) = &file.report else {
        return Ok(());
    };
    let rows = std::mem::take(&mut *report.rows.lock().unwrap_or_else(PoisonError::into_inner));
    let (mut text, costs) = (String::new(), file.costs());
    for (key, sum) in rows {
        // Tabs and ends of lines in a name would be other columns. Writing to a string cannot fail.
        let path = file.path.display().to_string().replace(['\t', '\n'], " ");
        let _ = writeln!(
            text,
            "{path}\t{costs}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            key.scope, key.action, key.name, key.rule, sum.accesses, sum.bytes, sum.ns
        );
    }
    let rank = file.comm.process().rank();
    let target = std::path::Path::new(&report.folder).join(format!("rank-{rank}.tsv"));
    let written = std::fs::create_dir_all(&report.folder).and_then(|()| {
        let mut options = std::fs::File::options();
        let mut target = options.create(true).append(true).open(&target)?;
        target.write_all(text.as_bytes())
    });
    written.map_err(|error| {
        let target = target.display();
        let text = format!("RANKPOINT_FILE_REPORT: cannot write {target}: {error}");
        Error::new(ErrorClass::ERR_OTHER, text)
    })
}

/// Counts an access that has ended.
pub(super) fn count(file: &File, action: Action, moved: &Moved) {
    let mut state = file.comm.vci().enter();
    let (accesses, bytes) = match action {
        Action::Read => (Counter::FileReads, Counter::FileBytesRead),
        Action::Write => (Counter::FileWrites, Counter::FileBytesWritten),
    };
    state.count(accesses);
    state.count_many(bytes, moved.bytes);
}

/// Counts the rounds of a collective access with aggregators.
pub(super) fn count_rounds(file: &File, all: &file_plan::Collective<'_>, protocol: Protocol) {
    if protocol == Protocol::TwoPhase {
        let rounds = all.domains().rounds();
        let mut state = file.comm.vci().enter();
        state.count_many(Counter::FileRounds, rounds);
    }
}

/// Counts a call of MPI_File_sync.
pub(super) fn count_sync(file: &File) {
    file.comm.vci().enter().count(Counter::FileSyncs);
}
