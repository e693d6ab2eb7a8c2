// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that measurements work on: mappings of their own, touched before they are used.
//!
//! # Safety
//! A mapping is made by this module for reading and writing, is as long as it says, and lives until it is dropped. Threads that
//! measure write the same bytes at the same time only through the functions of [`crate::kernels`], which treat them as plain
//! bytes whose values nobody relies on.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Bytes of a small page.
pub(crate) const PAGE: usize = 4096;
/// Bytes of a huge page.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// Pages of memory.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the head of this file.
unsafe impl Send for Mapping {}
// SAFETY: the head of this file.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private zeroed memory that is not touched yet.
    ///
    /// # Errors
    /// When there is not so much.
    pub(crate) fn untouched(bytes: usize) -> Result<Self, String> {
        let bytes = whole_pages(bytes);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) };
        Self::of(start, bytes)
    }

    /// Private memory, each page touched.
    ///
    /// # Errors
    /// When there is not so much.
    pub(crate) fn touched(bytes: usize) -> Result<Self, String> {
        let mapping = Self::untouched(bytes)?;
        mapping.touch(PAGE);
        Ok(mapping)
    }

    /// A mapping of a memory file, shared with all others of it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn shared(file: &OwnedFd, bytes: usize) -> Result<Self, String> {
        let bytes = whole_pages(bytes);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses, of a file that is as long (`memory_file`).
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                access,
                MapFlags::SHARED,
                file.as_fd(),
                0,
            )
        };
        Self::of(start, bytes)
    }

    fn of(start: rustix::io::Result<*mut std::ffi::c_void>, bytes: usize) -> Result<Self, String> {
        let start = start.map_err(|error| format!("{bytes} bytes of memory: {error}"))?;
        let start = NonNull::new(start.cast()).ok_or("a mapping at address 0")?;
        Ok(Self { start, bytes })
    }

    /// Its begin.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Writes one byte in each piece of so many bytes.
    pub(crate) fn touch(&self, step: usize) {
        for offset in (0..self.bytes).step_by(step) {
            // SAFETY: inside the mapping (the head of this file).
            unsafe { self.start().add(offset).write_volatile(1) };
        }
    }

    /// Advises the kernel about all of it.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: a mapping of this module, of which nobody keeps references to values; discarded pages read as zero.
        unsafe { madvise(self.start().cast(), self.bytes, advice) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: a mapping of this module that nobody uses any more. An error leaves memory mapped, which harms nobody.
        let _ = unsafe { munmap(self.start().cast(), self.bytes) };
    }
}

/// A memory file of so many bytes.
///
/// # Errors
/// When the system refuses.
pub(crate) fn memory_file(bytes: usize) -> Result<OwnedFd, String> {
    const NAME: &CStr = c"rankpoint-scope";
    let bytes = whole_pages(bytes) as u64;
    let refused = |error: io::Error| format!("a memory file of {bytes} bytes: {error}");
    sys::memory::memory_file(NAME, bytes).map_err(refused)
}

fn whole_pages(bytes: usize) -> usize {
    bytes.max(1).next_multiple_of(PAGE)
}
