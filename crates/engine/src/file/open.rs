// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening, closing and deleting (MPI-5.0, sections 14.2.1 to 14.2.3).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use storage::{Identity, OpenMode};
use sys::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};

use super::agree::{self, Argument};
use super::conflicts::Log;
use super::failure::failed;
use super::hints::{FileHints, SYNC_ON_CLOSE};
use super::mode::{Mode, bits};
use super::object::File;
use super::report::{self, Report};
use super::view::View;
use super::{shared, size};
use crate::comm::Comm;
use crate::errors::{Error, ErrorClass, Result};
use crate::rma::{self, Window, WindowHints, passive};

/// Names of file systems that ROMIO's users write in front of a name.
const PREFIXES: [&str; 7] = [
    "ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "testfs:",
];

/// Bytes of the shared file pointer.
const POINTER_BYTES: i64 = 8;

/// The path of a name.
pub fn path_of(name: &Path) -> PathBuf {
    let text = name.as_os_str().as_encoded_bytes();
    let prefix = PREFIXES
        .iter()
        .find(|prefix| text.starts_with(prefix.as_bytes()));
    match (prefix, name.to_str()) {
        (Some(prefix), Some(text)) => PathBuf::from(&text[prefix.len()..]),
        _ => name.to_owned(),
    }
}

/// What a rank finds in the file system: the file, and which one it is.
type Found = (storage::File, Identity);

fn open_here(path: &Path, mode: OpenMode) -> Result<Found> {
    let opened = storage::File::open(path, mode)
        .and_then(|file| file.identity().map(|identity| (file, identity)));
    opened.map_err(|fault| failed(fault, &format!("open {}", path.display())))
}

/// Opens the file at rank 0, which creates it if need be, then at the others.
fn open_everywhere(
    comm: &Arc<Comm>,
    path: &Path,
    mode: Mode,
    hints: &FileHints,
    call: &'static str,
) -> Result<Found> {
    let existing = OpenMode {
        read: mode.reads(),
        write: mode.writes(),
        create: None,
        exclusive: false,
    };
    let first = OpenMode {
        create: mode.has(bits::CREATE).then(|| hints.permissions()),
        exclusive: mode.has(bits::CREATE) && mode.has(bits::EXCL),
        ..existing
    };
    let is_first = comm.rank() == 0;
    let created = is_first.then(|| open_here(path, first)).transpose();
    let created = agree::settle(comm, call, created)?;
    let found = match created {
        Some(found) => Ok(found),
        None => open_here(path, existing),
    };
    let (file, identity) = agree::settle(comm, call, found)?;
    let words = [identity.device, identity.inode];
    let all = agree::gather(comm, call, &words)?;
    let other = all
        .chunks_exact(words.len())
        .position(|other| other != &all[..2]);
    // Nodes number the devices of a shared file system as they like.
    if let Some(rank) = other
        && comm.node_index().1 == 1
    {
        let text = format!(
            "{} is another file at rank {rank} than at rank 0",
            path.display()
        );
        return Err(Error::new(ErrorClass::ERR_BAD_FILE, text));
    }
    Ok((file, identity))
}

/// Compares the hints that all ranks give alike.
pub(super) fn compare_hints(comm: &Arc<Comm>, hints: &FileHints, call: &'static str) -> Result<()> {
    let argument = Argument {
        name: "info",
        word: hints.digest(),
        text: "a value of a key that must be the same".to_owned(),
    };
    agree::same(comm, call, &[argument])
}

/// Opens a file, at all ranks of a communicator (MPI_File_open).
///
/// # Errors
/// MPI_ERR_COMM for an intercommunicator, MPI_ERR_AMODE, MPI_ERR_NOT_SAME; those of the system, at all ranks.
pub fn open(
    comm: &Arc<Comm>,
    name: &Path,
    amode: i32,
    hints: Result<FileHints>,
    call: &'static str,
) -> Result<Arc<File>> {
    if comm.remote_size().is_some() {
        let (value, expected) = ("an intercommunicator", "an intracommunicator");
        return Err(Error::argument(
            ErrorClass::ERR_COMM,
            "comm",
            value,
            expected,
        ));
    }
    let amodes = [Argument::number("amode", amode.into())];
    agree::same(comm, call, &amodes)?;
    let mode = Mode::new(amode)?;
    let hints = agree::settle(comm, call, hints)?;
    compare_hints(comm, &hints, call)?;
    let path = path_of(name);
    let (file, _) = open_everywhere(comm, &path, mode, &hints, call)?;
    let bytes = if comm.rank() == 0 {
        POINTER_BYTES as u64
    } else {
        0
    };
    let window = rma::allocate(comm, bytes, POINTER_BYTES, WindowHints::default(), call)?;
    let begun = begin(&window, file, path, mode, hints);
    let begun = match agree::settle(window.comm(), call, begun) {
        Ok(file) => file,
        Err(error) => {
            // The error is what the program should know.
            let _ = end_window(&window, call);
            return Err(error);
        }
    };
    Ok(Arc::new(begun))
}

/// The file over its window.
fn begin(
    window: &Arc<Window>,
    storage: storage::File,
    path: PathBuf,
    mode: Mode,
    hints: FileHints,
) -> Result<File> {
    passive::lock_all(window, 0, "MPI_File_open")?;
    let settings = window.comm().process().settings();
    let file = File {
        comm: window.comm().clone(),
        window: window.clone(),
        path,
        mode,
        storage: Arc::new(storage),
        view: Mutex::new(Arc::new(View::of_bytes()?)),
        pointer: AtomicU64::new(0),
        is_atomic: AtomicBool::new(false),
        locks: AtomicBool::new(false),
        covers: AtomicBool::new(false),
        writes: Arc::new(AtomicUsize::new(0)),
        costs: Mutex::default(),
        pending: Arc::new(AtomicUsize::new(0)),
        split: Mutex::new(None),
        hints,
        report: Report::wanted(&settings.file_report).map(Arc::new),
        log: settings.check.files.then(Log::default),
        error_handler: AtomicU64::new(0),
    };
    let start = match mode.has(bits::APPEND) {
        true => size::size(&file)?,
        false => 0,
    };
    file.pointer.store(start, Ordering::Relaxed);
    if file.comm.rank() == 0 {
        shared::set(&file, start)?;
    }
    Ok(file)
}

fn end_window(window: &Window, call: &'static str) -> Result<()> {
    passive::unlock_all(window)?;
    window.free(call)
}

/// Closes a file, at all ranks (MPI_File_close). It is closed although its last bytes could not be brought to the device, or its name could
/// not be deleted: that error is the result.
///
/// # Errors
/// MPI_ERR_IO, at all ranks, while accesses are in progress: then the file stays open.
pub fn close(file: &File, call: &'static str) -> Result<Option<Error>> {
    agree::settle(&file.comm, call, file.check_idle())?;
    let synced = match file.hints.get(SYNC_ON_CLOSE).as_deref() {
        Some("true") => size::sync(file),
        _ => Ok(()),
    };
    let deletes = file.mode.has(bits::DELETE_ON_CLOSE) && file.comm.rank() == 0;
    let deleted = match deletes {
        // All ranks have come here, and none opens the file by its name any more.
        true => delete(&file.path),
        false => Ok(()),
    };
    // No rank leaves before the file is gone.
    let ended = agree::settle(
        &file.comm,
        call,
        synced.and(deleted).and(report::write(file)),
    );
    Ok(end_window(&file.window, call).and(ended).err())
}

/// Deletes a file (MPI_File_delete).
///
/// # Errors
/// Those of the system, such as MPI_ERR_NO_SUCH_FILE.
pub fn delete(name: &Path) -> Result<()> {
    let path = path_of(name);
    storage::delete(&path).map_err(|fault| failed(fault, &format!("delete {}", path.display())))
}

/// Gives up a file without a call of all ranks: what it needs is freed, and its name deleted if closing would do that, when all ranks have
/// given it up. Nobody learns of errors.
pub fn let_go(file: &Arc<File>) {
    // There is no call that could return its error.
    let _ = report::write(file);
    let kept = file.clone();
    rma::window::let_go_then(&file.window, move || delete_name(&kept));
}

/// Deletes the name of a file that is open for that, at one rank.
fn delete_name(file: &File) {
    if file.mode.has(bits::DELETE_ON_CLOSE) && file.comm.rank() == 0 {
        let _ = delete(&file.path);
    }
}

/// Ends a file that the program has not closed when it finalizes MPI: its name is deleted if closing would do that.
pub fn end(file: &File) {
    // The program has no call left that could return these errors.
    delete_name(file);
    let _ = report::write(file);
}
