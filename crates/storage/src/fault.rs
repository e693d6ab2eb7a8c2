// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the system reports when it does not do what it was asked for.

use std::fmt;
use std::io;

/// A system call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The system's number of the error, above 0.
    pub errno: i32,
}

/// The kinds of faults that callers tell apart (MPI-5.0, section 14.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Permission denied.
    Access,
    /// The file system is read-only.
    ReadOnly,
    /// There is no such file.
    NoSuchFile,
    /// The file exists.
    Exists,
    /// The name cannot be that of a file.
    BadName,
    /// The file is in use.
    InUse,
    /// No space on the device.
    NoSpace,
    /// The quota is used up.
    Quota,
    /// No memory.
    NoMemory,
    /// The file system cannot do it.
    Unsupported,
    /// Anything else.
    Io,
}

/// Numbers of errors on Linux, which are the same on all processors that this project supports, and their kinds.
const KINDS: &[(i32, FaultKind)] = &[
    (1, FaultKind::Access),       // EPERM
    (2, FaultKind::NoSuchFile),   // ENOENT
    (12, FaultKind::NoMemory),    // ENOMEM
    (13, FaultKind::Access),      // EACCES
    (16, FaultKind::InUse),       // EBUSY
    (17, FaultKind::Exists),      // EEXIST
    (20, FaultKind::BadName),     // ENOTDIR
    (21, FaultKind::BadName),     // EISDIR
    (26, FaultKind::InUse),       // ETXTBSY
    (28, FaultKind::NoSpace),     // ENOSPC
    (30, FaultKind::ReadOnly),    // EROFS
    (36, FaultKind::BadName),     // ENAMETOOLONG
    (40, FaultKind::BadName),     // ELOOP
    (95, FaultKind::Unsupported), // EOPNOTSUPP
    (122, FaultKind::Quota),      // EDQUOT
];

impl Fault {
    /// EIO: where the system gives no number.
    pub const IO: Self = Self { errno: 5 };
    /// ENOMEM.
    pub const NO_MEMORY: Self = Self { errno: 12 };
    /// EISDIR.
    pub(crate) const IS_FOLDER: Self = Self { errno: 21 };
    /// EFBIG.
    pub(crate) const TOO_LARGE: Self = Self { errno: 27 };

    /// Its kind.
    pub fn kind(self) -> FaultKind {
        let found = KINDS.iter().find(|row| row.0 == self.errno);
        found.map_or(FaultKind::Io, |row| row.1)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        error
            .raw_os_error()
            .map_or(Self::IO, |errno| Self { errno })
    }
}

/// The system's sentence.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.errno).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_the_kinds_of_their_numbers() {
        let kind = |errno| Fault { errno }.kind();
        assert_eq!(kind(28), FaultKind::NoSpace);
        assert_eq!(kind(122), FaultKind::Quota);
        assert_eq!(kind(116), FaultKind::Io);
        let missing = std::fs::File::open("/nonexistent/file").unwrap_err();
        assert_eq!(Fault::from(missing).kind(), FaultKind::NoSuchFile);
        assert!(Fault::IO.to_string().contains("os error 5"));
    }
}
