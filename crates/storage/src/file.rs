// SPDX-License-Identifier: MIT OR Apache-2.0
//! An open file.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use sys::file_ranges::{self, Hold};
use sys::sync::{Mutex, MutexGuard};

use crate::fault::Fault;
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
    /// Held beside each lock of a range, which does not exclude threads of this process.
    threads: Mutex<()>,
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
        let threads = Mutex::new(());
        Ok(Self { file, threads })
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

    /// Locks a range, against other open files and against threads of this process, until the result is dropped.
    ///
    /// # Errors
    /// Where the file system has no locks.
    pub fn lock(&self, hold: Hold, start: u64, bytes: u64) -> Result<Locked<'_>, Fault> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, bytes) = (start.cast_signed(), bytes.max(1).cast_signed());
        let mut pause = FIRST_PAUSE;
        while !file_ranges::try_lock(&self.file, hold, start, bytes)? {
            // A holder that dies gives its lock back.
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        Ok(Locked {
            file: self,
            start,
            bytes,
            _threads: threads,
        })
    }
}

/// A range that is locked.
#[must_use]
pub struct Locked<'a> {
    file: &'a File,
    start: i64,
    bytes: i64,
    _threads: MutexGuard<'a, ()>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // A range that is locked can be unlocked.
        let _ = file_ranges::unlock(&self.file.file, self.start, self.bytes);
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
        let (one, other) = (
            File::open(&path, READ_WRITE).unwrap(),
            File::open(&path, READ_WRITE).unwrap(),
        );
        delete(&path).unwrap();
        let add = |file: &File| {
            for _ in 0..200 {
                let _locked = file.lock(Hold::Exclusive, 0, 8).unwrap();
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
}
