// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of one rank (MPI-5.0, sections 14.4.2 to 14.4.4): at offsets, at the file pointer, at the shared one.

use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

use file_plan::{Costs, Path, PathRow, path};
use storage::{Fault, Hold};
use sys::sync::{Ordering, fence};

use super::conflicts;
use super::covering::Writing;
use super::data::{Buffer, Data};
use super::failure::failed;
use super::object::{File, Pending};
use super::ranges::{self, Covering, Reader, Writer};
use super::report::{self, Report};
use super::shared;
use super::traced::{self, Label};
use super::view::View;
use crate::allocate;
use crate::errors::{Error, ErrorClass, Result};
use crate::progress::Vci;
use crate::request::{RequestId, Status};
use crate::task;

/// Visible bytes of a view with gaps that are accessed at a time.
const LISTED_BYTES: usize = 4 << 20;

pub use file_plan::Action;

/// Where an access begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At an etype of the view.
    At(i64),
    /// At the file pointer of the rank, which moves.
    Pointer,
    /// At the shared file pointer, which moves.
    Shared,
}

/// How far an access came: bytes that were moved, also in front of an error.
#[derive(Debug)]
pub struct Moved {
    /// Packed bytes.
    pub bytes: u64,
    /// Why it ended; no error at the end of the file.
    pub outcome: Result<()>,
}

impl Moved {
    pub(super) const fn failed(error: Error) -> Self {
        Self {
            bytes: 0,
            outcome: Err(error),
        }
    }

    /// The status of a request.
    pub(super) fn status(self) -> Result<Status> {
        let bytes = self.bytes;
        self.outcome.map(|()| Status {
            bytes,
            ..Status::EMPTY
        })
    }
}

/// An access that may begin.
pub(super) struct Access {
    pub(super) action: Action,
    pub(super) storage: Arc<storage::File>,
    pub(super) view: Arc<View>,
    /// The visible bytes of the view that it reads or writes.
    pub(super) positions: Range<u64>,
    pub(super) buffer: Buffer,
    pub(super) is_atomic: bool,
    /// Whether writes lock their ranges, because others read and write back what covers theirs.
    pub(super) locks: bool,
    /// Bytes that one system call covers; 0: no gap is accessed.
    cover_bytes: u64,
    costs: Costs,
    report: Option<Arc<Report>>,
    _writing: Option<Writing>,
}

/// What a rank says of an access, checked by itself; nothing has happened yet.
pub(super) fn prepare(file: &File, action: Action, data: &Data) -> Result<(Arc<View>, u64)> {
    match action {
        Action::Read if !file.mode.reads() => {
            let text = "the file was opened with MPI_MODE_WRONLY";
            return Err(Error::new(ErrorClass::ERR_ACCESS, text));
        }
        Action::Read => {}
        Action::Write => file.check_writes()?,
    }
    let view = file.view();
    view.datarep.check("datatype", data.datatype())?;
    if !data.bytes().is_multiple_of(view.unit()) {
        let text = format!(
            "{} bytes are no whole number of etypes, which have {} bytes",
            data.bytes(),
            view.unit()
        );
        return Err(Error::new(ErrorClass::ERR_IO, text));
    }
    let etypes = data.bytes() / view.unit();
    Ok((view, etypes))
}

/// Finds where an access of so many etypes begins, and moves the pointer by as many.
fn place(file: &File, place: Place, etypes: u64) -> Result<u64> {
    match place {
        Place::At(offset) => {
            file.check_random()?;
            u64::try_from(offset).map_err(|_| {
                Error::argument(ErrorClass::ERR_ARG, "offset", offset, "0 or more etypes")
            })
        }
        Place::Pointer => {
            file.check_random()?;
            Ok(file.pointer.fetch_add(etypes, Ordering::Relaxed))
        }
        Place::Shared => shared::advance(file, etypes),
    }
}

/// The access of data that begins at a place, and the etypes by which a pointer has moved for it. After an error the pointer of the rank is
/// where it was.
pub(super) fn begin(file: &File, action: Action, at: Place, data: Data) -> Result<(Access, u64)> {
    let (view, etypes) = prepare(file, action, &data)?;
    let etype = place(file, at, etypes)?;
    match Access::new(file, action, view, etype, data) {
        Ok(access) => Ok((access, etypes)),
        Err(error) => {
            if at == Place::Pointer {
                file.pointer.fetch_sub(etypes, Ordering::Relaxed);
            }
            Err(error)
        }
    }
}

impl Access {
    /// The access of data that begins at an etype of a view.
    pub(super) fn new(
        file: &File,
        action: Action,
        view: Arc<View>,
        etype: u64,
        data: Data,
    ) -> Result<Self> {
        let start = view.position_of(etype, data.bytes())?;
        let positions = start..start + data.bytes();
        conflicts::note(file, action, &view, &positions);
        let buffer = match view.datarep.converts() {
            true => data.converted(action == Action::Write)?,
            false => data.native(),
        };
        let writing = (action == Action::Write).then(|| Writing::new(file));
        Ok(Self {
            action,
            storage: file.storage.clone(),
            view,
            positions,
            buffer,
            is_atomic: file.is_atomic(),
            locks: writing.is_some() && file.locks(),
            cover_bytes: file.cover_bytes(action),
            costs: file.costs(),
            report: file.report.clone(),
            _writing: writing,
        })
    }

    /// What decides how it is done.
    pub(super) fn facts(&self) -> file_plan::Access {
        let (bytes, reach) = (self.buffer.bytes() as u64, self.reach());
        let covered = reach.end - reach.start;
        let ranges = match covered == bytes {
            true => u64::from(bytes > 0),
            false => bytes.div_ceil(self.view.tiles.mean_range().max(1)).max(2),
        };
        file_plan::Access {
            action: self.action,
            bytes,
            ranges,
            covered,
            is_contiguous: self.buffer.is_contiguous(),
            may_cover: self.cover_bytes > 0,
        }
    }

    /// How it is done.
    pub(super) fn path(&self) -> &'static PathRow {
        path(&self.facts(), &self.costs)
    }

    /// From the first byte in the file to behind the last one; empty without data.
    pub(super) fn reach(&self) -> Range<u64> {
        let tiles = &self.view.tiles;
        let Some(last) = self.positions.end.checked_sub(1) else {
            return 0..0;
        };
        if self.positions.is_empty() {
            return 0..0;
        }
        let first = tiles.offset_of(self.positions.start).unwrap_or(0);
        let last = tiles.offset_of(last).unwrap_or(first);
        // Tiles that overlap may lie in front of earlier ones.
        first.min(last)..first.max(last).saturating_add(1)
    }

    /// The trace event of this access.
    pub(super) fn label(&self) -> Label {
        Label::new(self.action, &self.reach(), self.buffer.bytes() as u64)
    }

    /// Whether it may wait for a lock.
    pub(super) const fn may_wait(&self) -> bool {
        self.is_atomic || self.locks
    }

    /// As [`Self::run`], on the thread that calls MPI.
    pub(super) fn run_here(self, vci: &Vci, wait: &mut dyn FnMut()) -> Moved {
        if !vci.traces() {
            return self.run(wait);
        }
        traced::here(vci, self.label(), || self.run(wait))
    }

    /// Reads or writes, on whatever thread; `wait` is called while another one has a lock.
    pub(super) fn run(mut self, wait: &mut dyn FnMut()) -> Moved {
        let (facts, row) = (self.facts(), self.path());
        let path = row.path;
        if let Some(report) = &self.report {
            report.note_path(&facts, row, path.ps(&facts, &self.costs));
        }
        if path == Path::Nothing {
            return Moved {
                bytes: 0,
                outcome: Ok(()),
            };
        }
        let storage = self.storage.clone();
        let (hold, what) = match self.action {
            Action::Read => (Hold::Shared, "read"),
            Action::Write => (Hold::Exclusive, "write"),
        };
        let locked = self
            .is_atomic
            .then(|| ranges::lock(&storage, hold, self.lock_range(), wait))
            .transpose();
        let locked = match locked {
            Ok(locked) => locked,
            Err(fault) => return Moved::failed(failed(fault, "lock the range of an access")),
        };
        let done = match self.action {
            Action::Read => self.read_all(path),
            Action::Write => self.write_all(path, wait),
        };
        drop(locked);
        let mut outcome = match done.fault {
            None => Ok(()),
            Some(fault) => {
                let (total, at) = (self.buffer.bytes(), self.reach().start);
                let what = format!(
                    "{what} {total} bytes from byte {at} of the file on: {} were done",
                    done.bytes
                );
                Err(failed(fault, &what))
            }
        };
        if self.action == Action::Read {
            outcome = outcome.and(self.buffer.finish_read(done.bytes));
        }
        Moved {
            bytes: done.bytes,
            outcome,
        }
    }

    /// The range that an atomic access locks: the rest of the file where tiles are not in order.
    fn lock_range(&self) -> Range<u64> {
        match self.view.tiles.ascend() {
            true => self.reach(),
            false => 0..i64::MAX as u64,
        }
    }

    /// How many of the bytes left are accessed next.
    fn next_bytes(&self, left: usize, is_contiguous: bool) -> usize {
        let mut bytes = left;
        if !is_contiguous {
            bytes = bytes.min(self.costs.packed_bytes() as usize);
        }
        if !self.view.tiles.are_dense() {
            bytes = bytes.min(LISTED_BYTES);
        }
        bytes
    }

    fn write_all(&self, path: Path, wait: &mut dyn FnMut()) -> storage::Done {
        let (total, mut done, mut packed) = (self.buffer.bytes(), 0, Vec::new());
        let cover_bytes = match path {
            Path::SieveWrite => self.cover_bytes,
            _ => 0,
        };
        // An atomic access holds the lock of all of its bytes.
        let locks = self.locks && !self.is_atomic;
        let how = Covering::of_write(&self.costs, cover_bytes, locks, self.is_atomic);
        while done < total {
            let is_contiguous = self.buffer.slice(done..total).is_some();
            let bytes = self.next_bytes(total - done, is_contiguous);
            let source = match self.buffer.slice(done..done + bytes) {
                Some(slice) => slice,
                None => {
                    if packed.len() < bytes {
                        match allocate::zeroed(bytes) {
                            Ok(memory) => packed = memory,
                            Err(_) => return without_memory(done),
                        }
                    }
                    self.buffer.pack(done, &mut packed[..bytes]);
                    &packed[..bytes]
                }
            };
            let start = self.positions.start + done as u64;
            let mut writer = Writer::new(&self.storage, source, how, wait);
            let mut at = 0;
            let positions = start..start + bytes as u64;
            self.view.tiles.for_each_range(positions, |offset, length| {
                writer.add(&(offset..offset + length), at);
                at += length as usize;
            });
            let outcome = writer.finish();
            done += outcome.bytes as usize;
            if outcome.fault.is_some() {
                let bytes = done as u64;
                return storage::Done { bytes, ..outcome };
            }
        }
        storage::Done::well(total as u64)
    }

    fn read_all(&mut self, path: Path) -> storage::Done {
        let (total, mut done, mut packed) = (self.buffer.bytes(), 0, Vec::new());
        let cover_bytes = match path {
            Path::SieveRead => self.cover_bytes,
            _ => 0,
        };
        let how = Covering::of_read(&self.costs, cover_bytes);
        let storage = self.storage.clone();
        while done < total {
            let is_contiguous = self.buffer.slice(done..total).is_some();
            let bytes = self.next_bytes(total - done, is_contiguous);
            let start = self.positions.start + done as u64;
            let view = self.view.clone();
            let outcome = match self.buffer.slice_mut(done..done + bytes) {
                Some(slice) => read_ranges(&storage, &view, start, slice, how),
                None => {
                    if packed.len() < bytes {
                        match allocate::zeroed(bytes) {
                            Ok(memory) => packed = memory,
                            Err(_) => return without_memory(done),
                        }
                    }
                    let slice = &mut packed[..bytes];
                    let outcome = read_ranges(&storage, &view, start, slice, how);
                    self.buffer.unpack(done, &packed[..outcome.bytes as usize]);
                    outcome
                }
            };
            done += outcome.bytes as usize;
            if outcome.fault.is_some() || outcome.bytes < bytes as u64 {
                let bytes = done as u64;
                return storage::Done { bytes, ..outcome };
            }
        }
        storage::Done::well(total as u64)
    }
}

/// Reads the ranges of a view from a position on.
fn read_ranges(
    storage: &storage::File,
    view: &View,
    start: u64,
    target: &mut [u8],
    how: Covering,
) -> storage::Done {
    let positions = start..start + target.len() as u64;
    let (mut reader, mut at) = (Reader::new(storage, target, how), 0);
    view.tiles.for_each_range(positions, |offset, length| {
        reader.add(&(offset..offset + length), at);
        at += length as usize;
    });
    reader.finish()
}

fn without_memory(done: usize) -> storage::Done {
    storage::Done {
        bytes: done as u64,
        fault: Some(Fault::NO_MEMORY),
    }
}

/// Does work by the thread of crate `storage`, for a task of a VCI.
pub(super) async fn elsewhere<T: Send + 'static>(
    vci: &'static Vci,
    label: Label,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::result::Result<T, Fault> {
    let ring = || {
        // SeqCst: the result is stored before it is seen whether the task's thread sleeps; that thread announces its sleep, then polls.
        // PAIRS: doorbell.asleep
        fence(Ordering::SeqCst);
        vci.ring_own_doorbell();
    };
    let is_traced = vci.traces();
    let ticket = storage::submit(move || traced::timed(is_traced, work), ring)?;
    let poll = |_: &mut std::task::Context<'_>| ticket.take().map_or(Poll::Pending, Poll::Ready);
    let done = std::future::poll_fn(poll).await;
    Ok(traced::record(vci, label, done, true))
}

/// Reads or writes, and returns when that is done (MPI_File_read, MPI_File_write and those _at and `_shared`).
pub fn access(file: &File, action: Action, at: Place, data: Data) -> Moved {
    let (access, etypes) = match begin(file, action, at, data) {
        Ok(begun) => begun,
        Err(error) => return Moved::failed(error),
    };
    let unit = access.view.unit();
    let moved = access.run_here(file.comm.vci(), &mut || file.comm.vci().poll());
    report::count(file, action, &moved);
    if at == Place::Pointer {
        // The pointer stands behind what was done.
        let rest = etypes - moved.bytes / unit;
        file.pointer.fetch_sub(rest, Ordering::Relaxed);
    }
    moved
}

/// Begins to read or write; the request is complete when that is done (MPI_File_iread, MPI_File_iwrite and those _at and `_shared`).
/// Pointers move by the whole access.
///
/// # Errors
/// Those of the arguments; when no request is free. Those of the system are the request's.
pub fn start(file: &Arc<File>, action: Action, at: Place, data: Data) -> Result<RequestId> {
    let (access, _) = begin(file, action, at, data)?;
    spawn(file, access)
}

/// The same at an etype of the view.
pub(super) fn start_at(
    file: &Arc<File>,
    action: Action,
    etype: u64,
    data: Data,
) -> Result<RequestId> {
    spawn(file, Access::new(file, action, file.view(), etype, data)?)
}

fn spawn(file: &Arc<File>, access: Access) -> Result<RequestId> {
    let (kept, pending, vci) = (file.clone(), Pending::new(file), file.comm.vci());
    let action = access.action;
    task::spawn(&file.comm, async move {
        let done = elsewhere(vci, access.label(), move || access.run(&mut || {})).await;
        drop(pending);
        let moved = done.unwrap_or_else(|fault| Moved::failed(failed(fault, "start a thread")));
        report::count(&kept, action, &moved);
        moved.status().map_err(|error| kept.annotate(error))
    })
}
