// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors from faults of the system (MPI-5.0, section 14.7).

use storage::{Fault, FaultKind};

use crate::errors::{Error, ErrorClass};

/// The error class of a fault.
pub(super) fn class_of(fault: Fault) -> ErrorClass {
    match fault.kind() {
        FaultKind::Access => ErrorClass::ERR_ACCESS,
        FaultKind::ReadOnly => ErrorClass::ERR_READ_ONLY,
        FaultKind::NoSuchFile => ErrorClass::ERR_NO_SUCH_FILE,
        FaultKind::Exists => ErrorClass::ERR_FILE_EXISTS,
        FaultKind::BadName => ErrorClass::ERR_BAD_FILE,
        FaultKind::InUse => ErrorClass::ERR_FILE_IN_USE,
        FaultKind::NoSpace => ErrorClass::ERR_NO_SPACE,
        FaultKind::Quota => ErrorClass::ERR_QUOTA,
        FaultKind::NoMemory => ErrorClass::ERR_NO_MEM,
        FaultKind::Unsupported => ErrorClass::ERR_UNSUPPORTED_OPERATION,
        FaultKind::Io => ErrorClass::ERR_IO,
    }
}

/// The error of a fault: what could not be done, and the system's reason.
#[cold]
pub(super) fn failed(fault: Fault, what: &str) -> Error {
    Error::new(class_of(fault), format!("cannot {what}: {fault}"))
}
