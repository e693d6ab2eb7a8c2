// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children that a process forks and that go on with its program.
//!
//! Children of `vfork`, `posix_spawn`, `system` and `popen` start another program at once; nothing here concerns them.

use std::io;

/// Has `action` called in each child that this process forks from now on, before `fork` returns there (`man pthread_atfork`). The
/// child has one thread; locks that other threads of its parent held stay taken.
///
/// # Errors
/// When there is no memory.
pub fn in_children(action: extern "C" fn()) -> io::Result<()> {
    // SAFETY: a function without arguments, which lives as long as this library: the C library forgets it when the library is closed.
    let code = unsafe { libc::pthread_atfork(None, None, Some(action)) };
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Ends a forked child at once. Its exit handlers and what its parent had buffered are the parent's.
pub fn end_child(status: i32) -> ! {
    // SAFETY: no preconditions.
    unsafe { libc::_exit(status) }
}

/// Ends the process `pid`, of which this one is a child, or a child's child in its process group. If it has ended already, another
/// process that got its number since is left alone.
pub fn kill_ancestor(pid: u32) {
    // SAFETY: the calls take and return numbers.
    unsafe {
        let is_parent = std::os::unix::process::parent_id() == pid;
        if is_parent || libc::getpgid(pid.cast_signed()) == libc::getpgrp() {
            // It may have ended just now.
            let _ = libc::kill(pid.cast_signed(), libc::SIGKILL);
        }
    }
}
