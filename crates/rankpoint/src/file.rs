// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files (MPI-5.0, chapter 14) that all ranks of a communicator open together.
//!
//! # Safety
//! Every access is complete when its call returns, so no buffer outlives its borrow. What is read into are [`Plain`] elements, of which any
//! bytes are values.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use engine::datatype::{Datatype as EngineType, Memory, Predefined, Width, predefined};
use engine::file::mode::bits;
use engine::file::{
    Action, Data, File as EngineFile, FileHints, Moved, Place, access, collective, conflicts, open,
    ordered, shared, size, view,
};
use engine::{Error, ErrorClass, Result};

use crate::errors::report;
use crate::threads::{OneThread, Threads};
use crate::{Communicator, Plain};

/// How a file is opened; all ranks give the same.
///
/// ```
/// let universe = rankpoint::Universe::init()?;
/// let world = universe.world();
/// let path = std::env::temp_dir().join(format!("rankpoint-doc-{}", std::process::id()));
///
/// let options = rankpoint::OpenOptions::new().read().write().create().delete_on_close();
/// let mut file = options.open(&world, &path)?;
///
/// // Each rank writes its numbers behind those of the ranks before.
/// let mine = [world.rank() as u64; 3];
/// file.write_at_all(24 * world.rank() as u64, &mine)?;
/// world.barrier()?;
///
/// // Each rank sees one number of three.
/// file.view::<u64>(0, rankpoint::Strided::every(1, 3))?;
/// let mut firsts = vec![0u64; world.size()];
/// assert_eq!(file.read_at_all(0, &mut firsts)?, world.size());
/// assert!(firsts.iter().enumerate().all(|(rank, &first)| first == rank as u64));
/// file.close()?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct OpenOptions {
    amode: i32,
    hints: Vec<(String, String)>,
}

impl OpenOptions {
    /// None: at least one of [`Self::read`] and [`Self::write`] is needed.
    pub const fn new() -> Self {
        Self {
            amode: 0,
            hints: Vec::new(),
        }
    }

    const fn with(mut self, bit: i32) -> Self {
        self.amode |= bit;
        self
    }

    /// For reads.
    pub const fn read(self) -> Self {
        self.with(bits::RDONLY)
    }

    /// For writes.
    pub const fn write(self) -> Self {
        self.with(bits::WRONLY)
    }

    /// A file that does not exist is created.
    pub const fn create(self) -> Self {
        self.with(bits::CREATE)
    }

    /// A file that does not exist is created, and one that exists is refused.
    pub const fn create_new(self) -> Self {
        self.with(bits::CREATE | bits::EXCL)
    }

    /// The shared file pointer begins at the end of the file.
    pub const fn append(self) -> Self {
        self.with(bits::APPEND)
    }

    /// The file is deleted when it is closed.
    pub const fn delete_on_close(self) -> Self {
        self.with(bits::DELETE_ON_CLOSE)
    }

    /// A hint (`docs/files.md` has their keys); unknown ones are ignored.
    pub fn hint(mut self, key: &str, value: &str) -> Self {
        self.hints.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The modes in the engine's words, which has one for both accesses.
    const fn mode(&self) -> i32 {
        const BOTH: i32 = bits::RDONLY | bits::WRONLY;
        match self.amode & BOTH {
            BOTH => self.amode & !BOTH | bits::RDWR,
            _ => self.amode,
        }
    }

    /// Opens a file. Called by all ranks (MPI_File_open).
    ///
    /// # Errors
    /// Those of the system, and of options that do not fit (`ERR_AMODE`) or differ (`ERR_NOT_SAME`), at all ranks.
    pub fn open<'u, T: Threads>(
        &self,
        comm: &Communicator<'u, T>,
        path: impl AsRef<Path>,
    ) -> Result<File<'u, T>> {
        const CALL: &str = "OpenOptions::open";
        comm.run(CALL, |comm| {
            let value_of = |key: &str| {
                let found = self.hints.iter().rev().find(|hint| hint.0 == key);
                found.map(|hint| hint.1.clone())
            };
            let hints = Ok(FileHints::of(value_of));
            let file = open::open(comm.shared(), path.as_ref(), self.mode(), hints, CALL)?;
            Ok(File {
                file,
                unit: 1,
                is_closed: false,
                universe: PhantomData,
            })
        })
    }
}

/// Which elements of a file a rank sees: blocks of some, at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    length: usize,
    stride: usize,
}

impl Strided {
    /// All elements.
    pub const ALL: Self = Self {
        length: 1,
        stride: 1,
    };

    /// The first `length` of every `stride` elements.
    pub const fn every(length: usize, stride: usize) -> Self {
        Self { length, stride }
    }
}

/// A file that all ranks of a communicator have opened ([`OpenOptions`]).
///
/// Positions count what a rank sees: bytes at first, elements after [`Self::view`]. A file that is dropped without [`Self::close`] is
/// closed, too, when all ranks have dropped it, but no error is seen.
pub struct File<'u, T: Threads = OneThread> {
    file: Arc<EngineFile>,
    /// Bytes of what positions count.
    unit: usize,
    is_closed: bool,
    universe: PhantomData<(&'u (), T)>,
}

impl<T: Threads> File<'_, T> {
    fn run<R>(&self, call: &'static str, outcome: Result<R>) -> Result<R> {
        let outcome = outcome.map_err(|error| self.file.annotate(error));
        outcome.map_err(|error| report(self.file.comm(), call, error))
    }

    /// Elements that were moved.
    fn moved<E>(&self, call: &'static str, moved: Moved) -> Result<usize> {
        let elements = (moved.bytes / size_of::<E>().max(1) as u64) as usize;
        self.run(call, moved.outcome.map(|()| elements))
    }

    /// From now on this rank sees elements `E` from byte `start` of the file on: those of `blocks`, over and over. Called by all ranks, whose
    /// elements have the same size (MPI_File_set_view).
    ///
    /// # Errors
    /// For blocks that are empty or overlap (`ERR_ARG`), at all ranks.
    pub fn view<E: Plain>(&mut self, start: u64, blocks: Strided) -> Result<()> {
        const CALL: &str = "File::view";
        let types = || {
            let etype = committed(EngineType::contiguous(
                size_of::<E>() as i64,
                byte()?,
                Width::Count,
            ))?;
            let block = EngineType::contiguous(blocks.length as i64, &etype, Width::Count)?;
            let extent = etype.layout().extent() * blocks.stride as i64;
            if blocks.length == 0 || blocks.stride < blocks.length {
                let value = format!("{} of {}", blocks.length, blocks.stride);
                let expected = "at least one element of as many or more";
                return Err(Error::argument(
                    ErrorClass::ERR_ARG,
                    "blocks",
                    value,
                    expected,
                ));
            }
            let filetype = EngineType::resized(0, extent, &block, Width::Count);
            Ok((etype, committed(filetype)?))
        };
        let start = i64::try_from(start).unwrap_or(i64::MIN);
        let set = view::set_view(&self.file, start, types(), "native", CALL);
        self.run(CALL, set)?;
        self.unit = size_of::<E>();
        Ok(())
    }

    /// Bytes of what positions count.
    pub const fn unit(&self) -> usize {
        self.unit
    }

    /// Reads elements at a position; returns how many there were before the end of the file (MPI_File_read_at).
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_at<E: Plain>(&self, position: u64, into: &mut [E]) -> Result<usize> {
        let data = read_data(into);
        let moved = data.map(|data| access::access(&self.file, Action::Read, at(position), data));
        self.moved::<E>("File::read_at", moved.unwrap_or_else(failed))
    }

    /// Writes elements at a position (MPI_File_write_at).
    ///
    /// # Errors
    /// Those of the system.
    pub fn write_at<E: Plain>(&self, position: u64, elements: &[E]) -> Result<()> {
        let data = write_data(elements);
        let moved = data.map(|data| access::access(&self.file, Action::Write, at(position), data));
        let moved = self.moved::<E>("File::write_at", moved.unwrap_or_else(failed));
        moved.map(drop)
    }

    /// As [`Self::read_at`], called by all ranks, each with its position (MPI_File_read_at_all).
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_at_all<E: Plain>(&self, position: u64, into: &mut [E]) -> Result<usize> {
        const CALL: &str = "File::read_at_all";
        let (data, action) = (read_data(into), Action::Read);
        let moved = collective::access_all(&self.file, action, at(position), data, CALL);
        self.moved::<E>(CALL, moved)
    }

    /// As [`Self::write_at`], called by all ranks, each with its position (MPI_File_write_at_all).
    ///
    /// # Errors
    /// Those of the system.
    pub fn write_at_all<E: Plain>(&self, position: u64, elements: &[E]) -> Result<()> {
        const CALL: &str = "File::write_at_all";
        let (data, action) = (write_data(elements), Action::Write);
        let moved = collective::access_all(&self.file, action, at(position), data, CALL);
        self.moved::<E>(CALL, moved).map(drop)
    }

    /// Reads the next elements that no rank has read so (MPI_File_read_shared).
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_shared<E: Plain>(&self, into: &mut [E]) -> Result<usize> {
        let data = read_data(into);
        let moved = data.map(|data| access::access(&self.file, Action::Read, Place::Shared, data));
        self.moved::<E>("File::read_shared", moved.unwrap_or_else(failed))
    }

    /// Writes elements behind those that any rank has written so (MPI_File_write_shared).
    ///
    /// # Errors
    /// Those of the system.
    pub fn write_shared<E: Plain>(&self, elements: &[E]) -> Result<()> {
        let data = write_data(elements);
        let moved = data.map(|data| access::access(&self.file, Action::Write, Place::Shared, data));
        let moved = self.moved::<E>("File::write_shared", moved.unwrap_or_else(failed));
        moved.map(drop)
    }

    /// Writes the elements of all ranks in rank order, behind what was written at the shared pointer (MPI_File_write_ordered).
    ///
    /// # Errors
    /// Those of the system.
    pub fn write_ordered<E: Plain>(&self, elements: &[E]) -> Result<()> {
        const CALL: &str = "File::write_ordered";
        let data = write_data(elements);
        let moved = ordered::access_ordered(&self.file, Action::Write, data, CALL);
        self.moved::<E>(CALL, moved).map(drop)
    }

    /// Where the shared pointer is (MPI_File_get_position_shared).
    ///
    /// # Errors
    /// Those of the messages.
    pub fn shared_position(&self) -> Result<u64> {
        self.run("File::shared_position", shared::position(&self.file))
    }

    /// Size in bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn size(&self) -> Result<u64> {
        self.run("File::size", size::size(&self.file))
    }

    /// Truncates or extends the file. Called by all ranks.
    ///
    /// # Errors
    /// Those of the system; when sizes differ.
    pub fn set_size(&self, bytes: u64) -> Result<()> {
        const CALL: &str = "File::set_size";
        let bytes = i64::try_from(bytes).unwrap_or(-1);
        self.run(CALL, size::set_size(&self.file, bytes, CALL))
    }

    /// Brings what this rank has written to the device; waits for no other rank (MPI_File_sync).
    ///
    /// # Errors
    /// Those of the system. With `RANKPOINT_CHECK=files`, which has all ranks wait for each other, `ERR_IO` for accesses in conflict.
    pub fn sync(&self) -> Result<()> {
        const CALL: &str = "File::sync";
        let synced = size::sync(&self.file);
        self.run(CALL, synced.and(conflicts::compare(&self.file, true, CALL)))
    }

    /// Has accesses that overlap be done in a serial order, or not. Called by all ranks (MPI_File_set_atomicity).
    ///
    /// # Errors
    /// Where the file system has no locks.
    pub fn set_atomic(&self, atomic: bool) -> Result<()> {
        const CALL: &str = "File::set_atomic";
        self.run(CALL, size::set_atomicity(&self.file, atomic, CALL))
    }

    /// Closes the file. Called by all ranks (MPI_File_close).
    ///
    /// # Errors
    /// Those of the system.
    pub fn close(mut self) -> Result<()> {
        const CALL: &str = "File::close";
        let compared = conflicts::compare(&self.file, false, CALL);
        let closed = open::close(&self.file, CALL);
        self.is_closed = closed.is_ok();
        let closed = closed.and_then(|last| last.map_or(Ok(()), Err));
        self.run(CALL, closed.and(compared))
    }
}

impl<T: Threads> Drop for File<'_, T> {
    fn drop(&mut self) {
        if !self.is_closed {
            open::let_go(&self.file);
        }
    }
}

impl<T: Threads> fmt::Debug for File<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("path", &self.file.path())
            .field("unit", &self.unit)
            .finish_non_exhaustive()
    }
}

/// The place of a position; one that no file has is refused by the engine.
fn at(position: u64) -> Place {
    Place::At(i64::try_from(position).unwrap_or(-1))
}

fn failed(error: Error) -> Moved {
    Moved {
        bytes: 0,
        outcome: Err(error),
    }
}

fn byte() -> Result<&'static Arc<EngineType>> {
    let row = Predefined::find(predefined::BYTE);
    let row = row.ok_or_else(|| Error::new(ErrorClass::ERR_TYPE, "there is no MPI_BYTE"))?;
    Ok(row.datatype())
}

fn committed(datatype: Result<Arc<EngineType>>) -> Result<Arc<EngineType>> {
    datatype.inspect(|datatype| datatype.commit())
}

fn read_data<E: Plain>(into: &mut [E]) -> Result<Data> {
    let memory = Memory::contiguous(into.as_mut_ptr().cast(), size_of_val(into));
    // SAFETY: the memory is borrowed exclusively until the access is complete; any bytes are values (Plain).
    Ok(unsafe { Data::new(&memory, byte()?.clone(), size_of_val(into)) })
}

fn write_data<E: Plain>(elements: &[E]) -> Result<Data> {
    let start = elements.as_ptr().cast_mut().cast();
    let memory = Memory::contiguous(start, size_of_val(elements));
    // SAFETY: the elements are borrowed until the access is complete, and a write only reads them; they have no padding (Plain).
    Ok(unsafe { Data::new(&memory, byte()?.clone(), size_of_val(elements)) })
}
