// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread whose memory for collective accesses is limited.

use std::cell::Cell;

use crate::errors::{Error, ErrorClass, Result};

thread_local! {
    static MOST_BYTES: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Lets this thread have no memory of more than so many bytes.
pub(super) fn limit(bytes: usize) {
    MOST_BYTES.set(bytes);
}

/// Refuses memory beyond the limit.
pub(in crate::file) fn check(bytes: usize) -> Result<()> {
    match bytes <= MOST_BYTES.get() {
        true => Ok(()),
        false => Err(Error::new(ErrorClass::ERR_NO_MEM, "the limit of a test")),
    }
}
