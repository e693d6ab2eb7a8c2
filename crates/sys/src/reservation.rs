// SPDX-License-Identifier: MIT OR Apache-2.0
//! A memory file mapped at a fixed address of which only the parts in use are accessible.
//!
//! The whole file is mapped without access rights (`PROT_NONE`), so that its addresses are taken but
//! tools that read all accessible memory (leak checkers, debuggers) skip it. [`Reservation::open`]
//! makes a range accessible, in whole parts. Core dumps leave the mapping out.
//!
//! Invariant: a set bit in `opened` means that its part is readable and writable; parts are never
//! closed again. Threads may open the same part at once, because opening twice changes nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

use crate::memory;
use crate::sync::{AtomicU64, Ordering};

/// The largest page of the processors that Linux runs on.
const PAGE_BYTES: usize = 64 << 10;
const MOST_PART_BYTES: usize = 1 << 30;
const PARTS_A_WORD: usize = u64::BITS as usize;

/// A memory file's place in this process's address space.
pub struct Reservation {
    base: NonNull<u8>,
    bytes: usize,
    part_bytes: usize,
    /// One bit for each part.
    opened: Box<[AtomicU64]>,
    file: OwnedFd,
}

// SAFETY: the mapping stays where it is until drop; `opened` is atomic.
unsafe impl Send for Reservation {}
// SAFETY: as for Send.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves addresses for the first `bytes` bytes of a memory file, to be opened in parts of
    /// `part_bytes`, rounded up to a power of two of at least a page. The kernel keeps a record for
    /// each run of parts with the same access rights, so parts should not be too small.
    ///
    /// # Errors
    /// When the address space is exhausted or limited (`ulimit -v`).
    pub fn of_file(file: OwnedFd, bytes: usize, part_bytes: usize) -> io::Result<Self> {
        let base = memory::reserve_shared(file.as_fd(), bytes)?;
        let part_bytes = part_bytes
            .clamp(PAGE_BYTES, MOST_PART_BYTES)
            .next_power_of_two();
        let words = bytes.div_ceil(part_bytes).div_ceil(PARTS_A_WORD);
        Ok(Self {
            base,
            bytes,
            part_bytes,
            opened: (0..words).map(|_| AtomicU64::new(0)).collect(),
            file,
        })
    }

    /// Bytes of the reservation.
    pub const fn len(&self) -> usize {
        self.bytes
    }

    /// Whether the reservation has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The first address. Only opened parts may be accessed.
    pub const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The descriptor of the file.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Gives memory and file back to the system, without an end of the reservation: for tests that make many jobs, whose processes are
    /// never dropped.
    ///
    /// # Safety
    /// Nobody uses the reservation any more, and it is never dropped.
    pub unsafe fn abandon(&self) {
        // SAFETY: mapped by `of_file` with this length, and nobody uses it (`# Safety`).
        unsafe { memory::bury(self.base, self.bytes) };
        // SAFETY: open, and `file` is never dropped.
        unsafe { libc::close(self.file.as_raw_fd()) };
    }

    /// Gives this process a copy of the first `bytes` bytes, a whole number of pages: a child that shares the file with its parent
    /// writes to the copy from now on.
    ///
    /// # Errors
    /// When the kernel refuses it; the bytes stay shared.
    pub fn make_private(&self, bytes: usize) -> io::Result<()> {
        assert!(bytes <= self.bytes, "{bytes} bytes of {}", self.bytes);
        // SAFETY: the mapping begins with the file and has `self.bytes` bytes (`of_file`).
        unsafe { memory::make_private(self.base, bytes, self.file.as_fd()) }
    }

    /// Writes to the file, which every process that maps it sees, also where this one has a copy.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write_shared(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (address, length) = (bytes.as_ptr().cast(), bytes.len());
        let offset = offset.cast_signed();
        // SAFETY: readable for its length.
        let written = unsafe { libc::pwrite(self.descriptor(), address, length, offset) };
        if usize::try_from(written) != Ok(length) {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Makes `bytes` bytes at `offset` accessible and returns their address; `None` when they lie
    /// outside the reservation or the kernel refuses.
    pub fn open(&self, offset: usize, bytes: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes)?;
        let parts = offset / self.part_bytes..end.div_ceil(self.part_bytes);
        if !parts.clone().all(|part| self.is_open(part)) {
            self.open_parts(parts.start, parts.end)?;
        }
        // SAFETY: `offset` is at most the length of the mapping.
        Some(unsafe { self.base.add(offset) })
    }

    fn is_open(&self, part: usize) -> bool {
        // Relaxed: the access right belongs to the process since the system call that came before
        // the bit; no data are published with it.
        let word = self.opened[part / PARTS_A_WORD].load(Ordering::Relaxed);
        word >> (part % PARTS_A_WORD) & 1 != 0
    }

    #[cold]
    fn open_parts(&self, first: usize, end: usize) -> Option<()> {
        let start = first * self.part_bytes;
        let bytes = (end * self.part_bytes).min(self.bytes) - start;
        // SAFETY: `start` lies inside the mapping; `first` is the part of a checked offset.
        let address = unsafe { self.base.add(start) };
        // SAFETY: the range is page-aligned and inside this mapping, to which only this type gives
        // access rights.
        unsafe { memory::make_accessible(address, bytes) }.ok()?;
        for part in first..end {
            let bit = 1 << (part % PARTS_A_WORD);
            self.opened[part / PARTS_A_WORD].fetch_or(bit, Ordering::Relaxed);
        }
        Some(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: mapped by `of_file` with this length; borrows of the memory have ended.
        unsafe { memory::unmap(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART_BYTES: usize = 1 << 20;

    /// Access rights and kernel flags (`VmFlags`) of the mapping that holds an address.
    fn rights_and_flags(address: usize) -> (String, String) {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut rights = None;
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap_or_default();
            if let Some((start, end)) = first.split_once('-') {
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                let holds = (number(start)..number(end)).contains(&address);
                rights = holds.then(|| words.next().unwrap().to_owned());
            } else if let (Some(rights), Some(flags)) = (&rights, line.strip_prefix("VmFlags:")) {
                return (rights.clone(), flags.to_owned());
            }
        }
        panic!("no mapping at {address:#x}");
    }

    #[test]
    fn only_opened_parts_are_accessible_and_no_part_is_dumped() {
        let bytes = 100 * PART_BYTES + 4096;
        let file = memory::memory_file(c"test", bytes as u64).unwrap();
        let reservation = Reservation::of_file(file, bytes, PART_BYTES).unwrap();
        let base = reservation.base().as_ptr() as usize;
        assert_eq!(rights_and_flags(base).0, "---s");
        let end = reservation.open(70 * PART_BYTES - 8, 16).unwrap();
        // SAFETY: opened just now, for 16 bytes.
        unsafe { end.as_ptr().write_bytes(7, 16) };
        for (part, rights) in [(68, "---s"), (69, "rw-s"), (70, "rw-s"), (71, "---s")] {
            let (found, flags) = rights_and_flags(base + part * PART_BYTES);
            assert_eq!(found, rights, "part {part}");
            assert!(flags.split_whitespace().any(|flag| flag == "dd"), "{flags}");
        }
        let last = reservation.open(bytes - 1, 1).unwrap();
        // SAFETY: opened just now.
        assert_eq!(unsafe { last.as_ptr().read() }, 0);
    }

    #[test]
    fn what_is_abandoned_holds_no_memory_and_no_file() {
        let bytes = 4 * PART_BYTES;
        let file = memory::memory_file(c"test", bytes as u64).unwrap();
        let reservation =
            std::mem::ManuallyDrop::new(Reservation::of_file(file, bytes, PART_BYTES).unwrap());
        reservation.open(0, bytes).unwrap();
        let link = format!("/proc/self/fd/{}", reservation.descriptor());
        let named =
            || std::fs::read_link(&link).is_ok_and(|to| to.ends_with("memfd:test (deleted)"));
        assert!(named());
        // SAFETY: nobody uses it, and it is not dropped.
        unsafe { reservation.abandon() };
        assert!(!named());
        let base = reservation.base().as_ptr() as usize;
        assert_eq!(rights_and_flags(base).0, "---p");
    }

    #[test]
    fn a_copy_is_its_own_and_the_file_is_still_written() {
        let bytes = 4 * PART_BYTES;
        let file = memory::memory_file(c"test", bytes as u64).unwrap();
        let attach = |file| Reservation::of_file(file, bytes, PART_BYTES).unwrap();
        let (parent, child) = (attach(file.try_clone().unwrap()), attach(file));
        let first = |of: &Reservation| of.open(0, bytes).unwrap().cast::<u32>().as_ptr();
        let (here, there) = (first(&parent), first(&child));
        let beyond = PART_BYTES / size_of::<u32>();
        // SAFETY: both are mapped and opened; nothing else uses the file.
        unsafe {
            here.write_volatile(1);
            child.make_private(PART_BYTES).unwrap();
            assert_eq!(there.read_volatile(), 1);
            there.write_volatile(2);
            assert_eq!(here.read_volatile(), 1);
            child.write_shared(0, &3u32.to_ne_bytes()).unwrap();
            assert_eq!(here.read_volatile(), 3);
            there.add(beyond).write_volatile(4);
            assert_eq!(here.add(beyond).read_volatile(), 4);
        }
    }

    #[test]
    fn ranges_outside_are_refused() {
        let file = memory::memory_file(c"test", 8192).unwrap();
        let reservation = Reservation::of_file(file, 8192, 1).unwrap();
        assert!(reservation.open(8192, 0).is_some());
        for (offset, bytes) in [(8193, 0), (8192, 1), (0, 8193), (usize::MAX, 2)] {
            assert!(reservation.open(offset, bytes).is_none());
        }
    }
}
