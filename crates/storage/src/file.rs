// SPDX-License-Identifier: MIT OR Apache-2.0
//! An open file.

use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sys::file_ranges::{self, Hold};
use sys::sync::Mutex;

use crate::fault::Fault;
use crate::system::{self, System};
use crate::transfer::{Done, read_whole, write_whole};

/// Pauses between two attempts to lock a range: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_micros(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenMode {
    /// For reads.
    pub read: bool,
    /// For writes.
    pub write: bool,
    /// A file that does not exist is created, with these permissions less the umask.
    pub create: Option<u32>,
    /// A file that exists is refused.
    pub exclusive: bool,
}

/// Which file it is, under whatever name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Device.
    pub device: u64,
    /// Number on the device.
    pub inode: u64,
}

/// An open file. Closed when dropped.
pub struct File {
    file: fs::File,
    /// Ranges that threads of this process have locked: locks of one description do not exclude each other.
    held: Mutex<Vec<Range<u64>>>,
}

impl File {
    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// Those of the system; EISDIR for a folder.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self, Fault> {
        let mut options = fs::File::options();
        options.read(mode.read).write(mode.write);
        if let Some(permissions) = mode.create {
            // std creates only files that it may write, and the standard's modes ask for the same.
            options.mode(permissions);
            options.create(!mode.exclusive).create_new(mode.exclusive);
        }
        let file = retried(|| options.open(path))?;
        if retried(|| file.metadata())?.is_dir() {
            return Err(Fault::IS_FOLDER);
        }
        Ok(Self {
            file,
            held: Mutex::default(),
        })
    }

    /// Reads bytes at an offset, fewer at the end of the file.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Done {
        read_whole(offset, buffer, |bytes, at| self.file.read_at(bytes, at))
    }

    /// Writes bytes at an offset.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Done {
        write_whole(offset, bytes, |bytes, at| self.file.write_at(bytes, at))
    }

    /// Size in bytes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn size(&self) -> Result<u64, Fault> {
        Ok(retried(|| self.file.metadata())?.len())
    }

    /// Truncates or extends the file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_size(&self, bytes: u64) -> Result<(), Fault> {
        Ok(retried(|| self.file.set_len(bytes))?)
    }

    /// Has the device space for the first `bytes` bytes. The file never becomes shorter.
    ///
    /// # Errors
    /// Those of the system.
    pub fn allocate(&self, bytes: u64) -> Result<(), Fault> {
        let bytes = i64::try_from(bytes).map_err(|_| Fault::TOO_LARGE)?;
        if bytes > 0 {
            file_ranges::allocate(&self.file, bytes)?;
        }
        Ok(())
    }

    /// Waits until what this process has written is on the device.
    ///
    /// # Errors
    /// Those of the system, also those of earlier writes.
    pub fn sync(&self) -> Result<(), Fault> {
        Ok(retried(|| self.file.sync_all())?)
    }

    /// Which file it is.
    ///
    /// # Errors
    /// Those of the system.
    pub fn identity(&self) -> Result<Identity, Fault> {
        let found = retried(|| self.file.metadata())?;
        Ok(Identity {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// The file system on which it lies.
    ///
    /// # Errors
    /// Those of the system.
    pub fn system(&self) -> Result<&'static System, Fault> {
        Ok(system::row(file_ranges::file_system(&self.file)?))
    }

    /// Tries to lock a range, against other open files and against threads of this process, until the result is dropped; `None` while
    /// another one has a lock there.
    ///
    /// # Errors
    /// Where the file system has no locks.
    pub fn try_lock(
        self: &Arc<Self>,
        hold: Hold,
        range: Range<u64>,
    ) -> Result<Option<Locked>, Fault> {
        let range = range.start..range.end.max(range.start + 1);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held
            .iter()
            .any(|other| range.start < other.end && other.start < range.end)
        {
            return Ok(None);
        }
        let (start, bytes) = signed(&range);
        if !file_ranges::try_lock(&self.file, hold, start, bytes)? {
            return Ok(None);
        }
        held.push(range.clone());
        drop(held);
        Ok(Some(Locked {
            file: self.clone(),
            range,
        }))
    }

    /// Locks a range as [`Self::try_lock`] does, when it can be; `meanwhile` is called between two attempts. A holder that dies gives its
    /// lock back.
    ///
    /// # Errors
    /// Where the file system has no locks; those of `meanwhile`.
    pub fn lock<E: From<Fault>>(
        self: &Arc<Self>,
        hold: Hold,
        range: Range<u64>,
        mut meanwhile: impl FnMut() -> Result<(), E>,
    ) -> Result<Locked, E> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(locked) = self.try_lock(hold, range.clone())? {
                return Ok(locked);
            }
            meanwhile()?;
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

/// Begin and length of a range, as the system takes them.
const fn signed(range: &Range<u64>) -> (i64, i64) {
    (
        range.start.cast_signed(),
        (range.end - range.start).cast_signed(),
    )
}

/// A range that is locked.
#[must_use]
pub struct Locked {
    file: Arc<File>,
    range: Range<u64>,
}

impl Drop for Locked {
    fn drop(&mut self) {
        let held = self.file.held.lock();
        let mut held = held.unwrap_or_else(PoisonError::into_inner);
        let (start, bytes) = signed(&self.range);
        // A range that is locked can be unlocked.
        let _ = file_ranges::unlock(&self.file.file, start, bytes);
        if let Some(index) = held.iter().position(|range| *range == self.range) {
            held.swap_remove(index);
        }
    }
}

/// Removes the name of a file.
///
/// # Errors
/// Those of the system.
pub fn delete(path: &Path) -> Result<(), Fault> {
    Ok(retried(|| fs::remove_file(path))?)
}

/// A call again while signals interrupt it.
fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultKind;

    const READ_WRITE: OpenMode = OpenMode {
        read: true,
        write: true,
        create: Some(0o600),
        exclusive: false,
    };

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("rankpoint-{name}-{}", std::process::id()))
    }

    #[test]
    fn files_are_created_read_and_deleted() {
        let path = path("storage");
        let exclusive = OpenMode {
            exclusive: true,
            ..READ_WRITE
        };
        let file = File::open(&path, exclusive).unwrap();
        let again = File::open(&path, exclusive).map(drop).unwrap_err();
        assert_eq!(again.kind(), FaultKind::Exists);
        assert_eq!(file.write_at(5, &[1, 2, 3]), Done::well(3));
        let mut read = [9; 10];
        assert_eq!(file.read_at(4, &mut read), Done::well(4));
        assert_eq!(read[..4], [0, 1, 2, 3]);
        file.allocate(4).unwrap();
        assert_eq!(file.size(), Ok(8));
        file.allocate(20).unwrap();
        assert_eq!(file.size(), Ok(20));
        file.set_size(2).unwrap();
        file.sync().unwrap();
        assert_eq!(file.size(), Ok(2));
        let other = File::open(&path, READ_WRITE).unwrap();
        assert_eq!(other.identity(), file.identity());
        delete(&path).unwrap();
        assert_eq!(delete(&path).unwrap_err().kind(), FaultKind::NoSuchFile);
        let folder = OpenMode {
            write: false,
            create: None,
            ..READ_WRITE
        };
        let error = File::open(&std::env::temp_dir(), folder)
            .map(drop)
            .unwrap_err();
        assert_eq!(error.kind(), FaultKind::BadName);
    }

    #[test]
    fn a_locked_range_excludes_threads_and_other_descriptions() {
        let path = path("locked");
        let open = || Arc::new(File::open(&path, READ_WRITE).unwrap());
        let (one, other) = (open(), open());
        delete(&path).unwrap();
        let add = |file: &Arc<File>| {
            for _ in 0..200 {
                let wait = || Ok::<_, Fault>(());
                let _locked = file.lock(Hold::Exclusive, 0..8, wait).unwrap();
                let mut word = [0; 8];
                file.read_at(0, &mut word);
                let next = u64::from_le_bytes(word) + 1;
                file.write_at(0, &next.to_le_bytes());
            }
        };
        std::thread::scope(|scope| {
            for file in [&one, &one, &other, &other] {
                scope.spawn(move || add(file));
            }
        });
        let mut word = [0; 8];
        one.read_at(0, &mut word);
        assert_eq!(u64::from_le_bytes(word), 800);
    }

    #[test]
    fn ranges_of_one_file_are_locked_and_released_by_themselves() {
        let path = path("ranges");
        let open = || Arc::new(File::open(&path, READ_WRITE).unwrap());
        let (one, other) = (open(), open());
        delete(&path).unwrap();
        let free = |file: &Arc<File>, range| {
            let tried = file.try_lock(Hold::Exclusive, range).unwrap();
            tried.is_some()
        };
        let first = one.try_lock(Hold::Exclusive, 0..10).unwrap().unwrap();
        let second = one.try_lock(Hold::Exclusive, 10..20).unwrap().unwrap();
        for file in [&one, &other] {
            assert!(!free(file, 9..10) && !free(file, 19..30) && free(file, 20..30));
        }
        drop(first);
        for file in [&one, &other] {
            assert!(free(file, 0..10) && !free(file, 9..11));
        }
        let called = other.lock(Hold::Exclusive, 15..16, || Err(Fault::IO));
        assert_eq!(called.map(drop), Err(Fault::IO));
        drop(second);
        assert!(free(&other, 0..i64::MAX as u64));
        assert!(!one.system().unwrap().name.is_empty());
    }
}
