// SPDX-License-Identifier: MIT OR Apache-2.0
//! The node segment: one sparse memory file that all ranks of a node map whole.
//!
//! The launcher creates it before it starts the ranks, so that a local job needs no exchange: a rank maps the file and is
//! ready. The file is as large as the machine's memory but holds only the pages that were touched, so there is no
//! growing, no second file and no dependence on the size of `/dev/shm`; it has no name, so nothing is left behind. Where address
//! space is limited (`ulimit -v`), it takes a quarter of that; where files are (`ulimit -f`), it is as long as they may be.
//!
//! Invariant: offsets below `heap_top` are owned by whoever allocated them; `heap_top` only grows. A process that dies
//! between an allocation and its use leaks pages it never touched, which cost nothing.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use crate::board::{BOARDS_OFFSET, JobHeader, MAGIC, PAGE_BYTES, RankBoard};
use sys::sync::{AtomicU32, AtomicU64, Ordering};
use sys::{limits, memory, random};

/// Smallest segment, whatever the machine's memory.
const MIN_SEGMENT_BYTES: u64 = 1 << 30;
/// Smallest segment where address space is limited: the rings of a few ranks.
const LEAST_SEGMENT_BYTES: u64 = 32 << 20;
/// Payload areas of all rings of a node together stay below this many bytes.
const ALL_RINGS_BYTES: u64 = 64 << 20;
const SEGMENT_NAME: &CStr = c"rankpoint-node";

/// What the creator of a segment knows about the job.
#[derive(Clone, Copy, Debug)]
pub struct SegmentPlan {
    /// Ranks on this node, at least 1.
    pub local_ranks: u32,
    /// Ranks in the whole job.
    pub job_ranks: u32,
    /// Cores that the ranks may use on this node.
    pub cores: u32,
    /// Process id of the launcher; 0 for a singleton.
    pub launcher_pid: u32,
}

/// Creates the memory file of a node and writes its header.
///
/// # Errors
/// What the kernel says when it refuses a memory file.
pub fn create(plan: &SegmentPlan) -> io::Result<OwnedFd> {
    let wanted = memory::physical_memory_bytes().max(MIN_SEGMENT_BYTES);
    // Ranks inherit the limit, and have other things to map.
    let allowed = limits::address_space_limit().map(|limit| (limit / 4).max(LEAST_SEGMENT_BYTES));
    let mapped = allowed.map_or(wanted, |allowed| wanted.min(allowed));
    let (heap_offset, _) = heap_of(plan);
    let longest = limits::file_size_limit().map(|limit| limit.saturating_sub(heap_offset));
    let heap_bytes = longest.map_or(mapped, |longest| {
        mapped.min(longest.max(LEAST_SEGMENT_BYTES)) / PAGE_BYTES as u64 * PAGE_BYTES as u64
    });
    create_with(plan, heap_bytes)
}

/// The same with at most `heap_bytes` bytes for rings and shared memory, of which only what is used exists. Programs of
/// many tests, each rank of which maps it, would run out of addresses otherwise.
///
/// # Errors
/// As for [`create`].
pub fn create_with(plan: &SegmentPlan, heap_bytes: u64) -> io::Result<OwnedFd> {
    let ranks = u64::from(plan.local_ranks);
    let (heap_offset, directory_offset) = heap_of(plan);
    let segment_bytes = (heap_offset + heap_bytes).next_multiple_of(PAGE_BYTES as u64);
    let fair_bytes = (ALL_RINGS_BYTES / (ranks * ranks)).clamp(16 << 10, 256 << 10);
    let ring_payload_bytes = 1u32 << (63 - fair_bytes.leading_zeros());
    let ring_cells: u32 = match plan.local_ranks {
        0..=16 => 256,
        17..=64 => 64,
        _ => 32,
    };

    let file = File::from(memory::memory_file(SEGMENT_NAME, segment_bytes)?);
    let mut header = vec![0u8; PAGE_BYTES];
    let mut put =
        |offset: usize, bytes: &[u8]| header[offset..offset + bytes.len()].copy_from_slice(bytes);
    put(std::mem::offset_of!(JobHeader, magic), &MAGIC.to_ne_bytes());
    put(
        std::mem::offset_of!(JobHeader, local_ranks),
        &plan.local_ranks.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, job_ranks),
        &plan.job_ranks.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, launcher_pid),
        &plan.launcher_pid.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, cores),
        &plan.cores.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, segment_bytes),
        &segment_bytes.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, directory_offset),
        &directory_offset.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, heap_offset),
        &heap_offset.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, job_id),
        &random::random_word()?.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, ring_cells),
        &ring_cells.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, ring_payload_bytes),
        &ring_payload_bytes.to_ne_bytes(),
    );
    put(
        std::mem::offset_of!(JobHeader, heap_top),
        &heap_offset.to_ne_bytes(),
    );
    file.write_all_at(&header, 0)?;
    Ok(file.into())
}

/// Where the heap of a segment begins, and the directory before it.
fn heap_of(plan: &SegmentPlan) -> (u64, u64) {
    let (page, ranks) = (PAGE_BYTES as u64, u64::from(plan.local_ranks));
    let directory_offset = BOARDS_OFFSET + ranks * page;
    let heap_offset = (directory_offset + ranks * ranks * 8).next_multiple_of(page);
    (heap_offset, directory_offset)
}

/// A node segment mapped into this process.
pub struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    header: NonNull<JobHeader>,
    _file: OwnedFd,
}

// SAFETY: the mapping stays where it is until drop, and all shared fields are atomics or written before sharing.
unsafe impl Send for Segment {}
// SAFETY: as for Send.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps a segment that [`create`] made.
    ///
    /// # Errors
    /// When the file is no segment of this version, is truncated, or cannot be mapped.
    pub fn attach(fd: OwnedFd) -> io::Result<Self> {
        let file = File::from(fd);
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let mut magic = [0u8; 8];
        file.read_exact_at(&mut magic, 0)?;
        if u64::from_ne_bytes(magic) != MAGIC || bytes < 2 * PAGE_BYTES {
            return Err(io::Error::other(
                "the inherited descriptor is no Rankpoint node segment of this version",
            ));
        }
        let fd = OwnedFd::from(file);
        let base = memory::map_shared(fd.as_fd(), bytes)?;
        let segment = Self {
            base,
            bytes,
            header: base.cast(),
            _file: fd,
        };
        let header = segment.header();
        let ranks = u64::from(header.local_ranks);
        let fits = header.segment_bytes == bytes as u64
            && header.directory_offset == BOARDS_OFFSET + ranks * PAGE_BYTES as u64
            && header.heap_offset >= header.directory_offset + ranks * ranks * 8
            && header.heap_offset <= header.segment_bytes
            && header.ring_cells.is_power_of_two()
            && header.ring_payload_bytes.is_power_of_two();
        if fits {
            Ok(segment)
        } else {
            Err(io::Error::other(
                "the node segment's header contradicts itself",
            ))
        }
    }

    /// The job's header.
    pub fn header(&self) -> &JobHeader {
        // SAFETY: the mapping is at least two pages long (attach) and lives as long as `self`; the header's plain fields
        // were written before any rank started, the others are atomics.
        unsafe { self.header.as_ref() }
    }

    /// The board of local rank `rank`.
    ///
    /// # Panics
    /// When `rank` is not below the number of local ranks.
    pub fn board(&self, rank: u32) -> &RankBoard {
        assert!(
            rank < self.header().local_ranks,
            "board {rank} of {}",
            self.header().local_ranks
        );
        let offset = BOARDS_OFFSET as usize + rank as usize * PAGE_BYTES;
        // SAFETY: inside the mapping by the assertion and attach's check of the header; page-aligned; all atomics.
        unsafe { self.base.add(offset).cast().as_ref() }
    }

    /// The directory entry of the ring from local rank `source` to local rank `target`: its offset, or 0.
    ///
    /// # Panics
    /// When a rank is not below the number of local ranks.
    pub fn directory(&self, source: u32, target: u32) -> &AtomicU64 {
        let ranks = self.header().local_ranks;
        assert!(
            source < ranks && target < ranks,
            "ring {source} -> {target} of {ranks} ranks"
        );
        let index = target as usize * ranks as usize + source as usize;
        let offset = self.header().directory_offset as usize + index * 8;
        // SAFETY: inside the mapping by the assertion and attach's check of the header; 8-aligned; atomic.
        unsafe { self.base.add(offset).cast().as_ref() }
    }

    /// Takes `bytes` of never-used, zeroed heap, page-aligned.
    ///
    /// # Errors
    /// When the segment is full.
    pub fn allocate(&self, bytes: u64) -> io::Result<u64> {
        let bytes = bytes.next_multiple_of(PAGE_BYTES as u64);
        let top = &self.header().heap_top;
        let limit = self.bytes as u64;
        // Relaxed: the range becomes visible to others only through a later release store of its offset.
        top.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |t| {
            t.checked_add(bytes).filter(|&end| end <= limit)
        })
        .map_err(|used| {
            io::Error::other(format!(
                "the node segment is full ({used} of {limit} bytes used)"
            ))
        })
    }

    /// As [`Self::allocate`], for what makes things faster but is not necessary: at least half of the segment is left for the rest.
    ///
    /// # Errors
    /// When more than half of the segment would be used.
    pub fn allocate_spare(&self, bytes: u64) -> io::Result<u64> {
        // Relaxed: what others take meanwhile matters little.
        let used = self.header().heap_top.load(Ordering::Relaxed);
        if used.saturating_add(bytes) > self.bytes as u64 / 2 {
            return Err(io::Error::other(
                "half of the node segment is left for what is necessary",
            ));
        }
        self.allocate(bytes)
    }

    /// The address of `bytes` bytes at `offset`, if they lie inside the segment.
    pub fn address(&self, offset: u64, bytes: u64) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes)?;
        // SAFETY: `offset` is inside the mapping by the comparison.
        (end <= self.bytes as u64).then(|| unsafe { self.base.add(offset as usize) })
    }

    /// The offset of `address` when the `bytes` bytes there lie inside the segment.
    pub fn offset_of(&self, address: *const u8, bytes: usize) -> Option<u64> {
        let offset = (address as usize).checked_sub(self.base.as_ptr() as usize)?;
        (offset.checked_add(bytes)? <= self.bytes).then_some(offset as u64)
    }

    /// Whether senders must fence before they look at a doorbell, because some rank cannot use membarrier.
    pub fn sender_fences(&self) -> &AtomicU32 {
        &self.header().sender_fences
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `base` and `bytes` come from `map_shared`; borrows of the segment have ended.
        unsafe { memory::unmap(self.base, self.bytes) };
    }
}
