// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: anonymous memory files, mappings, and what the node has.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use crate::limits::{self, explained};

/// A new anonymous memory file of so many bytes that is closed on exec. Its length is sealed: a
/// process that could shorten it would end all others that map it (SIGBUS).
pub fn memory_file(name: &CStr, bytes: u64) -> io::Result<OwnedFd> {
    // A file that is too long does not only fail: the kernel sends SIGXFSZ.
    if let Some(limit) = limits::of_file(bytes) {
        return Err(io::Error::other(format!(
            "a file of {bytes} bytes in memory is needed, but {limit}"
        )));
    }
    // SAFETY: `name` is NUL-terminated by its type; the call takes no other pointer.
    let fd =
        unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(explained(io::Error::last_os_error()));
    }
    // SAFETY: the call above returned this descriptor to us alone.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.set_len(bytes)?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: the call takes numbers only.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}

/// Another descriptor of the open file that `fd` stands for, which programs that this one starts do not inherit.
///
/// # Errors
/// When `fd` is not open, or there can be no further descriptor.
pub fn duplicate(fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: numbers only; a closed descriptor gives EBADF.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(explained(io::Error::last_os_error()));
    }
    // SAFETY: the call above returned this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Takes ownership of a descriptor that this process inherited, after checking that it is open.
pub fn inherited_file(fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks for flags; a closed descriptor gives EBADF.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above; programs started by this one must not inherit the segment.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open (checked above) and the launcher left it to this process for this purpose.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Maps `bytes` of a file shared, without access rights and memory, and keeps them out of core dumps.
pub(crate) fn reserve_shared(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<NonNull<u8>> {
    let base = map(bytes, libc::PROT_NONE, libc::MAP_SHARED, fd.as_raw_fd())?;
    // SAFETY: the range is the mapping made above. Kernels that refuse only write longer core dumps.
    let _ = unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_DONTDUMP) };
    Ok(base)
}

/// Maps `bytes` of a file shared from a page on, readable and writable, and keeps them out of core dumps.
pub fn map_shared(fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<NonNull<u8>> {
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping at an address of the kernel's choice disturbs no existing memory.
    let base = unsafe {
        let anywhere = std::ptr::null_mut();
        libc::mmap(anywhere, bytes, protection, flags, fd.as_raw_fd(), offset)
    };
    if base == libc::MAP_FAILED {
        return Err(explained(io::Error::last_os_error()));
    }
    // SAFETY: the range is the mapping made above. Kernels that refuse only write longer core dumps.
    let _ = unsafe { libc::madvise(base, bytes, libc::MADV_DONTDUMP) };
    NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mmap returned a null address"))
}

/// Reserves addresses that nobody can read or write.
pub fn reserve_addresses(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    map(bytes, libc::PROT_NONE, flags, -1)
}

/// Makes pages of a mapping readable and writable.
///
/// # Safety
/// The range is page-aligned and inside one mapping of the caller, who alone decides about its
/// access rights.
pub(crate) unsafe fn make_accessible(base: NonNull<u8>, bytes: usize) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range belongs to the caller (`# Safety`), and more rights invalidate no reference.
    match unsafe { libc::mprotect(base.as_ptr().cast(), bytes, protection) } {
        0 => Ok(()),
        _ => Err(explained(io::Error::last_os_error())),
    }
}

/// Includes pages of a mapping in core dumps, or leaves them out. A kernel that refuses changes
/// nothing.
///
/// # Safety
/// The range is page-aligned and inside one mapping of the caller.
pub unsafe fn set_dumped(base: NonNull<u8>, bytes: usize, dumped: bool) {
    let advice = if dumped {
        libc::MADV_DODUMP
    } else {
        libc::MADV_DONTDUMP
    };
    // SAFETY: the range belongs to the caller (`# Safety`); the advice changes no contents.
    let _ = unsafe { libc::madvise(base.as_ptr().cast(), bytes, advice) };
}

/// Reserves `bytes` of zeroed private memory; pages cost nothing until they are touched.
pub fn map_private(bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    map(
        bytes,
        protection,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        -1,
    )
}

fn map(bytes: usize, protection: i32, flags: i32, fd: i32) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh mapping at an address of the kernel's choice disturbs no existing memory.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            protection,
            flags | libc::MAP_NORESERVE,
            fd,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        let error = explained(io::Error::last_os_error());
        let mebibytes = bytes.div_ceil(1 << 20);
        let text = format!(
            "cannot map {mebibytes} MiB of address space, little of which becomes memory: {error}"
        );
        return Err(io::Error::new(error.kind(), text));
    }
    NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mmap returned a null address"))
}

/// Replaces the first bytes of a shared mapping of a file by a private one, readable and writable: what this process writes there
/// from now on, no other process sees.
///
/// # Safety
/// `base` is the address of a mapping of at least `bytes` bytes of the file from its beginning, a whole number of pages.
pub(crate) unsafe fn make_private(
    base: NonNull<u8>,
    bytes: usize,
    fd: BorrowedFd<'_>,
) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: replaces a mapping of the same bytes (`# Safety`), so references stay valid.
    let mapped = unsafe {
        libc::mmap(
            base.as_ptr().cast(),
            bytes,
            protection,
            flags,
            fd.as_raw_fd(),
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Undoes a mapping.
///
/// # Safety
/// `base` and `bytes` come from a function of this module that maps, and nothing refers to the memory any more.
pub unsafe fn unmap(base: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise. The result can only tell of bad arguments, which the promise excludes.
    let _ = unsafe { libc::munmap(base.as_ptr().cast(), bytes) };
}

/// Makes a mapping inaccessible for ever; its addresses stay taken, its memory is free.
///
/// # Safety
/// As for [`unmap`].
pub(crate) unsafe fn bury(base: NonNull<u8>, bytes: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: replaces the caller's own mapping, to which nothing refers. Where the system refuses, the old one stays.
    let _ = unsafe { libc::mmap(base.as_ptr().cast(), bytes, libc::PROT_NONE, flags, -1, 0) };
}

/// Gives the pages of a shared mapping back to the system; they read as zero afterwards.
///
/// # Safety
/// The range is page-aligned, inside one shared mapping of a memory file, and nobody needs its contents.
pub unsafe fn discard_shared(base: NonNull<u8>, bytes: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    let rc = unsafe { libc::madvise(base.as_ptr().cast(), bytes, libc::MADV_REMOVE) };
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Bytes of physical memory of this node.
pub fn physical_memory_bytes() -> u64 {
    // SAFETY: sysconf takes a number and returns one.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    // SAFETY: as above.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(page).unwrap_or(4096)
}

/// Bytes of the largest cache that this processor reaches, if the system tells.
pub fn cache_bytes() -> Option<usize> {
    cache_by_kernel().or_else(|| {
        #[cfg(target_env = "gnu")]
        // SAFETY: sysconf takes a number and returns one.
        let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
        #[cfg(not(target_env = "gnu"))]
        let bytes = 0;
        usize::try_from(bytes).ok().filter(|&bytes| bytes > 0)
    })
}

/// The kernel's value; the C library counts the caches of all groups of cores of some processors as one.
fn cache_by_kernel() -> Option<usize> {
    let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
    let kib: usize = size.trim().strip_suffix('K')?.parse().ok()?;
    kib.checked_mul(1 << 10).filter(|&bytes| bytes > 0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn address_space_that_nobody_has_is_told_by_its_size() {
        let text = map_private(1 << 62).unwrap_err().to_string();
        assert!(text.contains("cannot map 4398046511104 MiB"), "{text}");
    }
}
