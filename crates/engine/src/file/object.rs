// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file object.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use file_plan::{Action, Costs};
use sys::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};

use super::conflicts::Log;
use super::hints::FileHints;
use super::mode::{Mode, bits};
use super::report::Report;
use super::split::Split;
use super::view::View;
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::rma::Window;

/// A file that the ranks of a communicator have opened. Shared by reference; closed through [`super::open::close`].
pub struct File {
    /// The communicator of the file's window.
    pub(super) comm: Arc<Comm>,
    /// Its memory at rank 0 is the shared file pointer.
    pub(super) window: Arc<Window>,
    pub(super) path: PathBuf,
    pub(super) mode: Mode,
    pub(super) storage: Arc<storage::File>,
    pub(super) view: Mutex<Arc<View>>,
    /// The file pointer of this rank, in etypes.
    pub(super) pointer: AtomicU64,
    pub(super) is_atomic: AtomicBool,
    /// Whether writes of this rank lock their ranges.
    pub(super) locks: AtomicBool,
    /// Whether those of all ranks do, so that writes may cover gaps.
    pub(super) covers: AtomicBool,
    /// Writes in progress.
    pub(super) writes: Arc<AtomicUsize>,
    /// What accesses cost, the same at all ranks.
    pub(super) costs: Mutex<Costs>,
    /// Nonblocking accesses in progress.
    pub(super) pending: Arc<AtomicUsize>,
    pub(super) split: Mutex<Option<Split>>,
    pub(super) hints: FileHints,
    pub(super) report: Option<Arc<Report>>,
    /// What this rank has accessed, where conflicts are looked for.
    pub(super) log: Option<Log>,
    /// The C face's error handler of this file; 0 before it has one.
    pub error_handler: AtomicU64,
}

impl File {
    /// The communicator that carries the messages of the file. Its handle is that of the file, so that errors of requests find it.
    pub const fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// The ranks that have opened it (MPI_File_get_group).
    pub fn group(&self) -> &Group {
        self.comm.group()
    }

    /// The mode in which it was opened.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Its name, as this rank gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the file to an error's text.
    #[cold]
    pub fn annotate(&self, error: Error) -> Error {
        error.on(format!(
            "file {}, rank {} of {}",
            self.path.display(),
            self.comm.rank(),
            self.comm.size()
        ))
    }

    /// The view in force.
    pub(super) fn view(&self) -> Arc<View> {
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        view.clone()
    }

    /// Whether accesses are atomic.
    pub fn is_atomic(&self) -> bool {
        self.is_atomic.load(Ordering::Relaxed)
    }

    /// Whether writes lock their ranges. A write counts itself before it asks (`covering`).
    pub(super) fn locks(&self) -> bool {
        // SeqCst: as in `covering::Writing::new`.
        // PAIRS: file.locking
        self.locks.load(Ordering::SeqCst)
    }

    /// What accesses cost.
    pub(super) fn costs(&self) -> Costs {
        *self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that one system call covers with the gaps between ranges; 0: no gap is accessed.
    pub(super) fn cover_bytes(&self, action: Action) -> u64 {
        let (key, permitted) = match action {
            Action::Read => {
                let disabled = self.hints.get("romio_ds_read").as_deref() == Some("disable");
                ("ind_rd_buffer_size", !disabled)
            }
            Action::Write => ("ind_wr_buffer_size", self.covers.load(Ordering::Relaxed)),
        };
        match permitted {
            true => self.hints.number(key).unwrap_or(0),
            false => 0,
        }
    }

    /// Refuses a call while accesses are in progress.
    ///
    /// # Errors
    /// MPI_ERR_IO, which names what is in progress.
    pub(super) fn check_idle(&self) -> Result<()> {
        let split = self.split.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(split) = &*split {
            let text = format!("{} was called, and its end was not", split.begun_by);
            return Err(Error::new(ErrorClass::ERR_IO, text));
        }
        match self.pending.load(Ordering::Relaxed) {
            0 => Ok(()),
            count => {
                let text = format!("{count} nonblocking accesses of the file are in progress");
                Err(Error::new(ErrorClass::ERR_IO, text))
            }
        }
    }

    /// Refuses a call on a sequential file.
    ///
    /// # Errors
    /// MPI_ERR_UNSUPPORTED_OPERATION.
    pub(super) fn check_random(&self) -> Result<()> {
        if self.mode.has(bits::SEQUENTIAL) {
            let text = "the file was opened with MPI_MODE_SEQUENTIAL, which permits only the shared file pointer";
            return Err(Error::new(ErrorClass::ERR_UNSUPPORTED_OPERATION, text));
        }
        Ok(())
    }

    /// Refuses a change of a file that was opened for reads.
    ///
    /// # Errors
    /// MPI_ERR_READ_ONLY.
    pub(super) fn check_writes(&self) -> Result<()> {
        if !self.mode.writes() {
            let text = "the file was opened with MPI_MODE_RDONLY";
            return Err(Error::new(ErrorClass::ERR_READ_ONLY, text));
        }
        Ok(())
    }

    /// Hints in force, and the name of the file (MPI_File_get_info).
    pub fn info(&self) -> Vec<(&'static str, String)> {
        let mut pairs = self.hints.pairs();
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        pairs.push(("filename", path.display().to_string()));
        pairs
    }

    /// Changes hints (MPI_File_set_info).
    ///
    /// # Errors
    /// MPI_ERR_NOT_SAME when ranks give other values for keys that must be the same.
    pub fn set_info(
        &self,
        value_of: impl Fn(&str) -> Option<String>,
        call: &'static str,
    ) -> Result<()> {
        self.hints.set(value_of);
        self.compare_hints(call)
    }

    /// Compares the hints that all ranks give alike.
    pub(super) fn compare_hints(&self, call: &'static str) -> Result<()> {
        super::open::compare_hints(&self.comm, &self.hints, call)
    }
}

/// A nonblocking access in progress.
pub(super) struct Pending(Arc<AtomicUsize>);

impl Pending {
    pub(super) fn new(file: &File) -> Self {
        file.pending.fetch_add(1, Ordering::Relaxed);
        Self(file.pending.clone())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
