// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between the private memories of two processes, where the kernel allows it.
//!
//! One copy instead of two for large messages. Containers and hardened kernels often forbid it, so nobody may rely on
//! it: [`read`] tells, and the engine falls back to copying through the ring. Process ids can also mean other processes in
//! another pid namespace, so a first copy from a peer must go through [`verify`].

use std::io;

/// A range of another process's memory.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Process id of the owner.
    pub pid: u32,
    /// Address there.
    pub address: u64,
}

/// Reads `bytes` bytes at `remote` into `target`.
///
/// # Errors
/// The kernel's answer; [`io::ErrorKind::UnexpectedEof`] when the remote range ends early.
///
/// # Safety
/// `target` is writable for `bytes` bytes.
pub unsafe fn read(remote: Remote, target: *mut u8, bytes: usize) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        // SAFETY: `done` is below `bytes`, so this is the rest of the caller's range.
        let rest = unsafe { target.add(done) };
        let here = libc::iovec {
            iov_base: rest.cast(),
            iov_len: bytes - done,
        };
        let there = libc::iovec {
            iov_base: (remote.address as usize + done) as *mut _,
            iov_len: bytes - done,
        };
        let pid = libc::pid_t::try_from(remote.pid).map_err(io::Error::other)?;
        // SAFETY: both vectors live through the call; the kernel checks the remote addresses itself.
        let copied =
            unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
        match usize::try_from(copied) {
            Err(_) => return Err(io::Error::last_os_error()),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
        }
    }
    Ok(())
}

/// Whether `remote` is readable and holds `expected`: the proof that the pid means the peer we think of.
pub fn verify(remote: Remote, expected: u64) -> bool {
    let mut word = 0u64;
    // SAFETY: `word` is writable for its eight bytes.
    unsafe { read(remote, (&raw mut word).cast(), 8) }.is_ok() && word == expected
}
