// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between the private memories of two processes, where the kernel allows it.
//!
//! One copy instead of two for large messages. Containers and hardened kernels often forbid it, so nobody may rely on
//! it: the kernel's answer tells, and the engine falls back to copying through the ring. Process ids can also mean other processes in
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

/// A range of memory, as the kernel takes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Span {
    /// Address of its first byte.
    pub address: usize,
    /// Length in bytes.
    pub bytes: usize,
}

const _: () = assert!(
    size_of::<Span>() == size_of::<libc::iovec>()
        && std::mem::offset_of!(Span, bytes) == std::mem::offset_of!(libc::iovec, iov_len)
);

/// Where the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the other process to this one.
    Read,
    /// From this process to the other one.
    Write,
}

/// Ranges that the kernel takes in one call.
const MOST_SPANS: usize = 1024;

/// The ranges without their first `bytes` bytes, and without empty ones at the front.
fn advance(spans: &mut [Span], mut bytes: usize) -> &mut [Span] {
    let mut first = 0;
    while let Some(span) = spans.get(first).filter(|span| span.bytes <= bytes) {
        bytes -= span.bytes;
        first += 1;
    }
    let rest = &mut spans[first..];
    if let Some(span) = rest.first_mut() {
        span.address += bytes;
        span.bytes -= bytes;
    }
    rest
}

/// Copies between ranges of this process and of process `pid`, in the order of both lists, until one list ends. The ranges are used up.
///
/// # Errors
/// The kernel's answer; [`io::ErrorKind::UnexpectedEof`] when a range ends early.
///
/// # Safety
/// The ranges `here` are readable, or writable for [`Direction::Read`]. A write changes only memory that the other process expects to
/// change.
pub unsafe fn transfer(
    pid: u32,
    direction: Direction,
    here: &mut [Span],
    there: &mut [Span],
) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let (mut here, mut there) = (advance(here, 0), advance(there, 0));
    while !here.is_empty() && !there.is_empty() {
        let counts = (here.len().min(MOST_SPANS), there.len().min(MOST_SPANS));
        let local: *const libc::iovec = here.as_ptr().cast();
        let remote: *const libc::iovec = there.as_ptr().cast();
        let (local_count, remote_count) = (counts.0 as libc::c_ulong, counts.1 as libc::c_ulong);
        // SAFETY: spans have the layout of the kernel's vectors, which live through the call; the caller's promise for the ranges here,
        // and the kernel checks those of the other process.
        let copied = unsafe {
            match direction {
                Direction::Read => {
                    libc::process_vm_readv(pid, local, local_count, remote, remote_count, 0)
                }
                Direction::Write => {
                    libc::process_vm_writev(pid, local, local_count, remote, remote_count, 0)
                }
            }
        };
        match usize::try_from(copied) {
            Err(_) => return Err(io::Error::last_os_error()),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                here = advance(here, count);
                there = advance(there, count);
            }
        }
    }
    Ok(())
}

/// Whether an error of [`transfer`] says that an address is not memory, or not with this access.
pub fn is_fault(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EFAULT) || error.kind() == io::ErrorKind::UnexpectedEof
}

/// Reads `bytes` bytes at `remote` into `target`.
///
/// # Errors
/// As for [`transfer`].
///
/// # Safety
/// `target` is writable for `bytes` bytes.
pub unsafe fn read(remote: Remote, target: *mut u8, bytes: usize) -> io::Result<()> {
    let span = |address| [Span { address, bytes }];
    let (mut here, mut there) = (span(target as usize), span(remote.address as usize));
    // SAFETY: the caller's promise; nothing is written in the other process.
    unsafe { transfer(remote.pid, Direction::Read, &mut here, &mut there) }
}

/// Writes `bytes` bytes at `source` to `remote`.
///
/// # Errors
/// As for [`transfer`]; some bytes may have been written then.
///
/// # Safety
/// `source` is readable for `bytes` bytes, and the other process expects its memory at `remote` to change.
pub unsafe fn write(remote: Remote, source: *const u8, bytes: usize) -> io::Result<()> {
    let span = |address| [Span { address, bytes }];
    let (mut here, mut there) = (span(source as usize), span(remote.address as usize));
    // SAFETY: the caller's promise.
    unsafe { transfer(remote.pid, Direction::Write, &mut here, &mut there) }
}

/// Whether an error of [`transfer`] says that the system forbids the access: a filter of system calls, a hardened kernel, or other
/// rights of the other process.
pub fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS)
    )
}

/// Whether `remote` is readable and holds `expected`: the proof that the pid means the peer we think of.
pub fn verify(remote: Remote, expected: u64) -> bool {
    let mut word = 0u64;
    // SAFETY: `word` is writable for its eight bytes.
    unsafe { read(remote, (&raw mut word).cast(), 8) }.is_ok() && word == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(memory: &mut [u8], each: usize, step: usize, count: usize) -> Vec<Span> {
        let base = memory.as_mut_ptr() as usize;
        assert!((count - 1) * step + each <= memory.len());
        let span = |index| Span {
            address: base + index * step,
            bytes: each,
        };
        (0..count).map(span).collect()
    }

    #[test]
    fn long_lists_of_ranges_are_copied_in_order() {
        let own = Remote {
            pid: std::process::id(),
            address: 0,
        };
        let word = 77u64;
        let address = (&raw const word) as u64;
        if !verify(Remote { address, ..own }, 77) {
            // The kernel forbids it.
            return;
        }
        for count in [4, 1000, 1024, 1028, 5000] {
            // Four bytes here, three there; the lists end at different ranges.
            let mut from: Vec<u8> = (0..count * 8).map(|index| index as u8).collect();
            let mut to = vec![0u8; count * 8];
            let (mut here, mut there) = (
                spans(&mut from, 3, 8, count),
                spans(&mut to, 4, 5, count * 3 / 4),
            );
            let packed: Vec<u8> = from
                .chunks(8)
                .flat_map(|eight| &eight[..3])
                .copied()
                .collect();
            // SAFETY: both vectors are writable and live through the call.
            unsafe { transfer(own.pid, Direction::Write, &mut here, &mut there) }.unwrap();
            let bytes = count * 3 / 4 * 4;
            let copied: Vec<u8> = to
                .chunks(5)
                .flat_map(|five| five.iter().take(4))
                .copied()
                .collect();
            assert_eq!(copied[..bytes], packed[..bytes], "{count}");
        }
    }

    #[test]
    fn bytes_are_written_where_they_belong_and_nowhere_else() {
        let mut memory = [7u8; 64];
        let remote = Remote {
            pid: std::process::id(),
            address: (&raw mut memory[16]) as u64,
        };
        let source = [9u8; 32];
        // SAFETY: `source` has 32 bytes, as `memory` has from its sixteenth on.
        match unsafe { write(remote, source.as_ptr(), source.len()) } {
            Ok(()) => {
                let memory = std::hint::black_box(&memory);
                assert_eq!(memory[16..48], source);
                assert!(memory[..16].iter().chain(&memory[48..]).all(|&it| it == 7));
            }
            Err(error) => assert!(is_refused(&error), "{error}"),
        }
        let nobody = Remote {
            pid: i32::MAX as u32,
            address: 4096,
        };
        // SAFETY: there is no such process.
        let error = unsafe { write(nobody, source.as_ptr(), 1) }.unwrap_err();
        assert!(!is_fault(&error), "{error}");
    }

    #[test]
    fn memory_that_is_not_there_is_a_fault() {
        let mut byte = [0u8; 1];
        let mut here = spans(&mut byte, 1, 1, 1);
        let mut there = [Span {
            address: 8,
            bytes: 1,
        }];
        // SAFETY: nothing lies at address 8.
        let outcome =
            unsafe { transfer(std::process::id(), Direction::Write, &mut here, &mut there) };
        let error = outcome.unwrap_err();
        assert!(
            is_fault(&error) || error.kind() == io::ErrorKind::PermissionDenied,
            "{error}"
        );
    }
}
