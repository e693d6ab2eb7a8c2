// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges of files: space on the device, and locks. Files without a name, and the kind of file system of one.
//!
//! The locks belong to the open file description (`F_OFD_SETLK`): they end with the last descriptor of it, so also when the process dies,
//! and closing another descriptor of the same file does not release them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a lock keeps others from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Exclusive locks of others.
    Shared,
    /// All locks of others.
    Exclusive,
}

/// Has the device space for the first `bytes` bytes of a file, which grows if it is shorter.
///
/// # Errors
/// Those of the system, such as ENOSPC.
pub fn allocate(file: &File, bytes: i64) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open, and the call takes no pointers.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) } {
            0 => return Ok(()),
            libc::EINTR => {}
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// A new file in a folder that has no name and goes with its descriptor.
///
/// # Errors
/// Where the file system has no such files, and those of the system.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    options.custom_flags(libc::O_TMPFILE).open(folder)
}

/// The number of the kind of file system on which a file lies (`statfs(2)`).
///
/// # Errors
/// Those of the system.
pub fn file_system(file: &File) -> io::Result<u64> {
    // SAFETY: all-zero bytes are a valid `statfs`, which has numbers only.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the kernel writes into the structure, which lives through the call.
    match unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut found) } {
        // The type of the field differs between C libraries.
        0 => Ok(found.f_type as u32 as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Tries to lock `bytes` bytes of a file from `start` on, at least one; false if another description has a lock that forbids it.
///
/// # Errors
/// Where the file system has no locks.
pub fn try_lock(file: &File, hold: Hold, start: i64, bytes: i64) -> io::Result<bool> {
    let kind = match hold {
        Hold::Shared => libc::F_RDLCK,
        Hold::Exclusive => libc::F_WRLCK,
    };
    match set(file, kind, start, bytes) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Releases what [`try_lock`] has locked.
///
/// # Errors
/// None for a range that was locked.
pub fn unlock(file: &File, start: i64, bytes: i64) -> io::Result<()> {
    set(file, libc::F_UNLCK, start, bytes)
}

fn set(file: &File, kind: i32, start: i64, bytes: i64) -> io::Result<()> {
    let lock = libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: start,
        l_len: bytes,
        l_pid: 0,
    };
    loop {
        // SAFETY: the descriptor is open, and the kernel only reads the structure, which lives through the call.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_names_leave_nothing() {
        let folder = std::env::temp_dir().join(format!("rankpoint-unnamed-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        match unnamed(&folder) {
            Ok(file) => {
                assert_ne!(file_system(&file).unwrap(), 0);
                assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
            }
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP)),
        }
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn descriptions_exclude_each_other_by_ranges() {
        let path = std::env::temp_dir().join(format!("rankpoint-ranges-{}", std::process::id()));
        let open = || {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).unwrap()
        };
        let (one, other) = (open(), open());
        std::fs::remove_file(&path).unwrap();
        allocate(&one, 100).unwrap();
        assert_eq!(other.metadata().unwrap().len(), 100);
        assert!(try_lock(&one, Hold::Exclusive, 10, 10).unwrap());
        assert!(!try_lock(&other, Hold::Shared, 19, 5).unwrap());
        assert!(try_lock(&other, Hold::Exclusive, 20, 5).unwrap());
        unlock(&one, 10, 10).unwrap();
        assert!(try_lock(&other, Hold::Shared, 19, 1).unwrap());
        assert!(try_lock(&one, Hold::Shared, 0, 20).unwrap());
        drop(other);
        assert!(try_lock(&one, Hold::Exclusive, 0, 100).unwrap());
    }
}
