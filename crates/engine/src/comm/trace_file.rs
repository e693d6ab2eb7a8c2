// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file of a rank's trace (setting `RANKPOINT_TRACE`).

use std::fs::{File, create_dir_all, remove_file};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use fabric::trace::RankTrace;
use sys::{clock, files};

use super::Process;

/// The rank in the name of a file.
const RANK: &str = "%r";
/// Where the system tells the host's name, and a text that no other start of any host has: the clock starts with it.
const HOST: &str = "/proc/sys/kernel/hostname";
const CLOCK: &str = "/proc/sys/kernel/random/boot_id";

impl Process {
    /// Writes what was recorded of this rank's messages, where messages are traced; what went wrong, if anything. That is no error: the
    /// job has done what it was to do.
    #[must_use]
    pub fn write_trace(&'static self) -> Option<String> {
        let file = self.trace_file()?;
        let written = self.prepare_folder(&file).and_then(|()| {
            let mut out = BufWriter::new(File::create(&file)?);
            self.told_trace().write(&mut out)?;
            out.flush()
        });
        let shown = file.display();
        written.err().map(|error| {
            format!(
                "RANKPOINT_TRACE: cannot write {shown}: {error}; the trace of rank {} is lost",
                self.rank()
            )
        })
    }

    /// Tries whether the file can be written, before the job takes its time, and removes that of an earlier job; what would go wrong.
    pub(super) fn try_trace_file(&self) -> Option<String> {
        let file = self.trace_file()?;
        let made = self.prepare_folder(&file);
        let tried = made.and_then(|()| File::create(&file).and_then(|_| remove_file(&file)));
        let shown = file.display();
        tried
            .err()
            .map(|error| format!("RANKPOINT_TRACE: {shown} cannot be written: {error}"))
    }

    fn trace_file(&self) -> Option<PathBuf> {
        let target = &self.settings().trace;
        let rank = self.rank();
        match (target.is_empty(), target.contains(RANK)) {
            (true, _) => None,
            (false, true) => Some(target.replace(RANK, &rank.to_string()).into()),
            (false, false) => Some(Path::new(target).join(format!("rank-{rank}.trace"))),
        }
    }

    fn prepare_folder(&self, file: &Path) -> std::io::Result<()> {
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), create_dir_all)
    }

    fn told_trace(&'static self) -> RankTrace {
        let told = |file| files::read_text(file).map(|text| text.trim().to_owned());
        let host = told(HOST).unwrap_or_default();
        let vcis = self.vcis().iter();
        RankTrace {
            rank: self.rank(),
            size: self.size(),
            clock: told(CLOCK).unwrap_or_else(|_| host.clone()),
            host,
            now_ns: [clock::monotonic_ns(), clock::calendar_ns()],
            vcis: vcis
                .filter_map(|vci| vci.enter().told_trace(vci.index()))
                .collect(),
        }
    }
}
