// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines on standard error, and the end of a process that cannot go on.

use std::ffi::c_int;

/// Status of a process whose library cannot be used, as the dynamic linker has it.
const CANNOT_START: c_int = 127;

/// Writes a line to standard error.
pub(crate) fn say(text: &str) {
    let line = format!("rankpoint interpose: {text}\n");
    // SAFETY: a buffer of this function. There is nobody to report a closed standard error to.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

/// Ends the process with a line.
pub(crate) fn end(text: &str) -> ! {
    say(text);
    // SAFETY: ends the process without its exit functions, which may call MPI.
    unsafe { libc::_exit(CANNOT_START) }
}
