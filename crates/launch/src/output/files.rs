// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that ranks' output goes to, opened before any rank starts.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::LaunchError;
use crate::host_names::HostNames;
use crate::pattern::PatternValues;
use crate::plan::Routes;

/// Bytes at the end of a file that are looked at for last words.
pub(crate) const LAST_BYTES: u64 = 4096;
/// Lines of last words.
const LAST_LINES: usize = 10;

/// Files of a job's output.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) all: Vec<OutputFile>,
    /// Index into `all` for each rank's standard output and error.
    pub(crate) of: Vec<[Option<usize>; 2]>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct OutputFile {
    pub(crate) path: PathBuf,
    /// `None` when all that goes there passes through the launcher.
    pub(crate) file: Option<File>,
    /// Whether several ranks write to it.
    pub(crate) shared: bool,
    owner: usize,
}

impl Files {
    /// Makes the files of `ranks` ranks, and the folders that they are to lie in. Files that are there already are emptied.
    ///
    /// # Errors
    /// When one of them cannot be written.
    pub(crate) fn open(
        routes: &Routes,
        ranks: u32,
        hosts: &HostNames,
    ) -> Result<Self, LaunchError> {
        let mut files = Self::default();
        if routes.files.iter().all(Option::is_none) {
            return Ok(files);
        }
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for rank in 0..ranks as usize {
            let mut of = [None, None];
            let streams = if routes.merge { 1 } else { 2 };
            for (which, pattern) in routes.files.iter().enumerate().take(streams) {
                let Some(pattern) = pattern else {
                    continue;
                };
                let name = pattern.fill(&PatternValues {
                    rank,
                    ranks: ranks as usize,
                    pid: 0,
                    host: hosts.get(rank),
                    which,
                    elapsed: Duration::ZERO,
                });
                let path = PathBuf::from(OsString::from_vec(name));
                let index = match known.get(&path) {
                    Some(&index) => index,
                    None => {
                        let file = create(&path).map_err(|error| refused(&path, &error))?;
                        known.insert(path.clone(), files.all.len());
                        files.all.push(OutputFile {
                            path,
                            file: Some(file),
                            shared: false,
                            owner: rank,
                        });
                        files.all.len() - 1
                    }
                };
                let file = &mut files.all[index];
                file.shared |= file.owner != rank;
                of[which] = Some(index);
            }
            if routes.merge {
                of[1] = of[0];
            }
            files.of.push(of);
        }
        Ok(files)
    }

    /// The file of a rank's stream.
    pub(crate) fn get(&self, rank: usize, which: usize) -> Option<&OutputFile> {
        self.all.get((*self.of.get(rank)?)[which]?)
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        match std::fs::create_dir_all(folder) {
            // Something that is no folder: opening it tells better.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    // A named pipe without a reader is an error here, rather than the end of all progress.
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

fn refused(path: &Path, error: &io::Error) -> LaunchError {
    let why = match error.raw_os_error() {
        Some(6) => "it is a named pipe that nobody reads".to_owned(),
        _ => error.to_string(),
    };
    LaunchError::usage(format!(
        "cannot write the ranks' output to {}: {why}",
        path.display()
    ))
}

/// The last lines of a file; `None` when it has none, or is not one that can be read again.
pub(crate) fn last_words_in(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let data = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    file.seek(SeekFrom::Start(data.len().saturating_sub(LAST_BYTES)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut bytes).ok()?;
    last_lines(&bytes)
}

/// The last lines of what a rank wrote, indented.
pub(crate) fn last_lines(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.trim_end().lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let last: Vec<_> = last.iter().map(|line| format!("  {line}")).collect();
    (!last.is_empty()).then(|| last.join("\n"))
}
