// SPDX-License-Identifier: MIT OR Apache-2.0
//! The node segment: one sparse memory file that all ranks of a node map.
//!
//! The launcher creates it before it starts the ranks, so that a local job needs no exchange: a rank maps the file and is
//! ready. The file is as large as the node's memory but holds only the pages that were touched, so there is no
//! growing, no second file and no dependence on the size of `/dev/shm`; it has no name, so nothing is left behind. Where address
//! space is limited (`ulimit -v`), it takes a quarter of that; where files are (`ulimit -f`), it is as long as they may be.
//!
//! Each rank reserves addresses for the whole file, and gives itself access to the parts that it uses.
//! All words in the segment are writable for every rank, so no rank relies on any of them: the
//! header is checked once and copied ([`Job`]), and offsets become addresses in [`Segment::address`].
//!
//! Invariant: offsets below `heap_top` are owned by the process that allocated them; `heap_top` only grows. A process that dies
//! between an allocation and its use leaks pages it never touched, which cost nothing.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;

use crate::board::{BOARD_BYTES, BOARDS_OFFSET, JobHeader, MAGIC, PAGE_BYTES, RankBoard, VciBoard};
use crate::capacity::MOST_PROCESSES;
pub use crate::capacity::SegmentPlan;
use crate::directory::{self, Entry, RingKey};
use crate::identity::{PeerIndex, VciIndex};
use crate::ring::RingView;
use sys::reservation::Reservation;
use sys::sync::{AtomicU32, Ordering};
use sys::{limits, memory, random};

/// Smallest segment, whatever the node's memory.
const MIN_SEGMENT_BYTES: u64 = 1 << 30;
/// Smallest segment where address space is limited: the rings of a few ranks.
const LEAST_SEGMENT_BYTES: u64 = 32 << 20;
/// Payload areas of all rings of a node together stay below this many bytes.
const ALL_RINGS_BYTES: u64 = 64 << 20;
/// Ranks of one node at most.
const MOST_LOCAL_RANKS: u32 = 1 << 16;
/// Cells that a ring may have.
const RING_CELLS: RangeInclusive<u32> = 8..=1 << 16;
/// Bytes that the payload area of a ring may have.
const RING_PAYLOAD_BYTES: RangeInclusive<u32> = 4 << 10..=16 << 20;
/// A rank makes this much of the segment accessible at once.
const PART_BYTES: usize = 16 << 20;
const SEGMENT_NAME: &CStr = c"rankpoint-node";

/// Creates the memory file of a node and writes its header.
///
/// # Errors
/// The kernel's error, when it refuses a memory file.
pub fn create(plan: &SegmentPlan) -> io::Result<OwnedFd> {
    let wanted = memory::physical_memory_bytes().max(MIN_SEGMENT_BYTES);
    // Ranks inherit the limit, and have other things to map.
    let allowed = limits::address_space_limit().map(|limit| (limit / 4).max(LEAST_SEGMENT_BYTES));
    let mapped = allowed.map_or(wanted, |allowed| wanted.min(allowed));
    let heap_offset = plan.heap_offset();
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
    let heap_offset = plan.heap_offset();
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
    let words = [
        (offset_of!(JobHeader, local_ranks), plan.local_ranks),
        (offset_of!(JobHeader, job_ranks), plan.job_ranks),
        (offset_of!(JobHeader, capacity), plan.capacity()),
        (offset_of!(JobHeader, launcher_pid), plan.launcher_pid),
        (offset_of!(JobHeader, cores), plan.cores),
        (offset_of!(JobHeader, ring_cells), ring_cells),
        (
            offset_of!(JobHeader, ring_payload_bytes),
            ring_payload_bytes,
        ),
    ];
    for (offset, word) in words {
        put(offset, &word.to_ne_bytes());
    }
    let long_words = [
        (offset_of!(JobHeader, magic), MAGIC),
        (offset_of!(JobHeader, segment_bytes), segment_bytes),
        (offset_of!(JobHeader, heap_offset), heap_offset),
        (offset_of!(JobHeader, job_id), random::random_word()?),
        (offset_of!(JobHeader, heap_top), heap_offset),
    ];
    for (offset, word) in long_words {
        put(offset, &word.to_ne_bytes());
    }
    file.write_all_at(&header, 0)?;
    Ok(file.into())
}

/// What the creator of a segment wrote into its header, checked and copied when the segment was
/// attached: the header itself is writable for every rank of the node.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Ranks on this node when the job started.
    pub local_ranks: u32,
    /// Ranks of the job when it started.
    pub job_ranks: u32,
    /// Processes that the job has room for: those that it started with, and those that can be added.
    pub capacity: u32,
    /// Process id of the launcher; 0 for a singleton.
    pub launcher_pid: u32,
    /// Processor cores that the ranks may use on this node.
    pub cores: u32,
    /// Identity of the job, random.
    pub id: u64,
    /// Cells of a ring (power of two).
    pub ring_cells: u32,
    /// Bytes of a ring's payload area (power of two).
    pub ring_payload_bytes: u32,
    /// Offset of the first heap byte.
    pub heap_offset: u64,
    /// Index of this node in the job.
    pub node: u32,
}

impl Job {
    /// Reads the header of a segment of `bytes` bytes; `None` when it contradicts itself.
    fn read(file: &File, bytes: usize) -> io::Result<Option<Self>> {
        let mut header = [0u8; PAGE_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let word32 = |offset: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&header[offset..offset + 4]);
            u32::from_ne_bytes(word)
        };
        let word64 = |offset: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&header[offset..offset + 8]);
            u64::from_ne_bytes(word)
        };
        let job = Self {
            local_ranks: word32(offset_of!(JobHeader, local_ranks)),
            job_ranks: word32(offset_of!(JobHeader, job_ranks)),
            capacity: word32(offset_of!(JobHeader, capacity)),
            launcher_pid: word32(offset_of!(JobHeader, launcher_pid)),
            cores: word32(offset_of!(JobHeader, cores)),
            id: word64(offset_of!(JobHeader, job_id)),
            ring_cells: word32(offset_of!(JobHeader, ring_cells)),
            ring_payload_bytes: word32(offset_of!(JobHeader, ring_payload_bytes)),
            heap_offset: word64(offset_of!(JobHeader, heap_offset)),
            node: word32(offset_of!(JobHeader, node)),
        };
        let plan = SegmentPlan {
            local_ranks: job.local_ranks,
            job_ranks: job.job_ranks,
            reserve: job.capacity.saturating_sub(job.job_ranks),
            cores: job.cores,
            launcher_pid: job.launcher_pid,
        };
        let is_consistent = (1..=MOST_LOCAL_RANKS).contains(&job.local_ranks)
            && job.job_ranks >= job.local_ranks
            && (job.job_ranks..=MOST_PROCESSES).contains(&job.capacity)
            && word64(offset_of!(JobHeader, segment_bytes)) == bytes as u64
            && plan.heap_offset() == job.heap_offset
            && job.heap_offset <= bytes as u64
            && job.ring_cells.is_power_of_two()
            && RING_CELLS.contains(&job.ring_cells)
            && job.ring_payload_bytes.is_power_of_two()
            && RING_PAYLOAD_BYTES.contains(&job.ring_payload_bytes);
        Ok(is_consistent.then_some(job))
    }
}

/// Brings the cards of the node that a world rank is on into the segment.
pub type FetchCards = dyn Fn(u32) -> io::Result<()> + Send + Sync;

/// A node segment mapped into this process.
pub struct Segment {
    pub(crate) memory: Reservation,
    job: Job,
    header: NonNull<JobHeader>,
    /// Where cards of other nodes come from, if not from the launcher ([`nodes`](crate::nodes)).
    pub(crate) cards: std::sync::OnceLock<Box<FetchCards>>,
}

// SAFETY: the mapping stays where it is until drop, and all shared fields are atomics or written before sharing.
unsafe impl Send for Segment {}
// SAFETY: as for Send.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps a segment that [`create`] made. Only its header and boards are accessible at first;
    /// [`Self::address`] opens the rest where it is used.
    ///
    /// # Errors
    /// When the file is no segment of this version, is truncated, or cannot be mapped.
    pub fn attach(fd: OwnedFd) -> io::Result<Self> {
        let file = File::from(fd);
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let mut magic = [0u8; 8];
        if bytes >= 2 * PAGE_BYTES {
            file.read_exact_at(&mut magic, 0)?;
        }
        if u64::from_ne_bytes(magic) != MAGIC {
            return Err(io::Error::other(
                "the inherited descriptor is no Rankpoint node segment of this version",
            ));
        }
        let job = Job::read(&file, bytes)?
            .ok_or_else(|| io::Error::other("the node segment's header contradicts itself"))?;
        let memory = Reservation::of_file(OwnedFd::from(file), bytes, PART_BYTES)?;
        let header = usize::try_from(job.heap_offset)
            .ok()
            .and_then(|bytes| memory.open(0, bytes))
            .ok_or_else(|| io::Error::other("the node segment's header cannot be mapped"))?;
        Ok(Self {
            memory,
            job,
            header: header.cast(),
            cards: std::sync::OnceLock::new(),
        })
    }

    /// The job, as the creator of the segment described it.
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// Where the segment begins.
    pub(crate) const fn base(&self) -> NonNull<u8> {
        self.memory.base()
    }

    /// The words of the header that change while the job runs. Any rank may have written anything
    /// there.
    pub fn header(&self) -> &JobHeader {
        // SAFETY: `attach` opened the header, which lives as long as `self`; nothing reads its
        // fields but the atomic ones.
        unsafe { self.header.as_ref() }
    }

    /// The board of a process, all zero if it is on another node or has not been added.
    ///
    /// # Panics
    /// When the job has no room for such a process.
    pub fn board(&self, process: PeerIndex) -> &RankBoard {
        let count = self.job.capacity;
        assert!(process.get() < count, "board {process} of {count}");
        let offset = BOARDS_OFFSET as usize + process.get() as usize * BOARD_BYTES;
        // SAFETY: inside the range that `attach` opened, by the assertion and its check of the header;
        // page-aligned; all atomics.
        unsafe { self.memory.base().add(offset).cast().as_ref() }
    }

    /// Makes a ring, which nobody knows yet, and returns its offset.
    ///
    /// # Errors
    /// When the segment is full.
    pub fn make_ring(&self) -> io::Result<(u64, RingView)> {
        let ring = self.allocate(self.entry_offset() + size_of::<Entry>() as u64)?;
        let view = self
            .ring(ring)
            .ok_or_else(|| io::Error::other("the system gives no memory for a ring"))?;
        Ok((ring, view))
    }

    /// The part of a VCI of a process that other processes see.
    ///
    /// # Panics
    /// When the job has no such process.
    pub fn vci_board(&self, process: PeerIndex, vci: VciIndex) -> &VciBoard {
        self.board(process).vci(vci)
    }

    /// Enters a ring of [`Self::make_ring`] into the list of the VCI of process `target`, which is on this node, that the key names.
    ///
    /// # Panics
    /// When the job has no such process.
    pub fn publish_ring(&self, target: PeerIndex, ring: u64, key: RingKey) {
        if let Some(entry) = self.entry(ring) {
            let head = &self.vci_board(target, key.target_vci).newest_ring;
            entry.publish(head, ring, key);
        }
    }

    /// The rings towards a VCI of process `target` that were published since `known` was the newest one
    /// (0: all), the oldest first, and which is the newest one now.
    ///
    /// # Errors
    /// When a rank has damaged the list.
    ///
    /// # Panics
    /// As [`Self::board`].
    pub fn rings_since(
        &self,
        target: PeerIndex,
        vci: VciIndex,
        known: u64,
    ) -> io::Result<(u64, Vec<(RingKey, RingView)>)> {
        let most = self.memory.len() as u64 / self.entry_offset();
        let head = &self.vci_board(target, vci).newest_ring;
        let found = directory::published_since(head, known, most, |ring| self.entry(ring));
        let rings = found.and_then(|(newest, found)| {
            let count = self.processes();
            let is_here = |key: &RingKey| key.source.get() < count && key.target_vci == vci;
            let rings = (found.into_iter().rev())
                .map(|(ring, key)| Some((key, self.ring(ring).filter(|_| is_here(&key))?)));
            Some((newest, rings.collect::<Option<_>>()?))
        });
        rings.ok_or_else(|| {
            let text = format!("another process has damaged the list of rings to rank {target}");
            io::Error::other(text)
        })
    }

    /// The ring at an offset, if it can be one.
    fn ring(&self, ring: u64) -> Option<RingView> {
        let base = self.ring_memory(ring)?;
        let (cells, payload_bytes) = (self.job.ring_cells, self.job.ring_payload_bytes);
        // SAFETY: memory of the segment that is long enough and aligned (`ring_memory`), and was zero
        // when it was allocated. A process that enters a ring twice makes two receivers read the
        // same atomic words.
        Some(unsafe { RingView::at(base, cells, payload_bytes) })
    }

    /// The entry behind the ring at an offset, if it can be one.
    fn entry(&self, ring: u64) -> Option<&Entry> {
        let base = self.ring_memory(ring)?;
        // SAFETY: inside the range of `ring_memory`, a line behind lines; all atomics.
        Some(unsafe { base.add(self.entry_offset() as usize).cast().as_ref() })
    }

    /// The memory of a ring and its entry.
    fn ring_memory(&self, ring: u64) -> Option<NonNull<u8>> {
        let is_ring = ring >= self.job.heap_offset && ring.is_multiple_of(PAGE_BYTES as u64);
        let bytes = self.entry_offset() + size_of::<Entry>() as u64;
        self.address(ring, bytes).filter(|_| is_ring)
    }

    /// Where the entry of a ring lies, from the ring's start on.
    fn entry_offset(&self) -> u64 {
        let bytes = RingView::bytes(self.job.ring_cells, self.job.ring_payload_bytes);
        bytes.next_multiple_of(align_of::<Entry>() as u64)
    }

    /// Takes `bytes` of never-used, zeroed heap, page-aligned.
    ///
    /// # Errors
    /// When the segment is full.
    pub fn allocate(&self, bytes: u64) -> io::Result<u64> {
        let page = PAGE_BYTES as u64;
        let limit = self.memory.len() as u64;
        // Relaxed: the range becomes visible to others only through a later release store of its offset.
        let taken =
            self.header()
                .heap_top
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |top| {
                    let bytes = bytes.checked_next_multiple_of(page)?;
                    let end = top.checked_add(bytes)?;
                    let is_heap = top >= self.job.heap_offset && top.is_multiple_of(page);
                    (is_heap && end <= limit).then_some(end)
                });
        taken.map_err(|used| {
            io::Error::other(format!(
                "the node segment has no {bytes} bytes left ({used} of {limit} used){}",
                limits::of_shared_memory()
            ))
        })
    }

    /// As [`Self::allocate`], for memory that makes things faster but is not necessary: at least half
    /// of the segment is left for the rest.
    ///
    /// # Errors
    /// When more than half of the segment would be used.
    pub fn allocate_spare(&self, bytes: u64) -> io::Result<u64> {
        // Relaxed: concurrent allocations may exceed the half a little.
        let used = self.header().heap_top.load(Ordering::Relaxed);
        if used.saturating_add(bytes) > self.memory.len() as u64 / 2 {
            return Err(io::Error::other(
                "half of the node segment is left for what is necessary",
            ));
        }
        self.allocate(bytes)
    }

    /// The address of `bytes` bytes at `offset`, made accessible; `None` when they do not lie inside
    /// the part of the segment that has been allocated.
    pub fn address(&self, offset: u64, bytes: u64) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes)?;
        // Relaxed: a process that learnt the offset from a release store also sees the allocation before it.
        if end > self.header().heap_top.load(Ordering::Relaxed) {
            return None;
        }
        let offset = usize::try_from(offset).ok()?;
        self.memory.open(offset, usize::try_from(bytes).ok()?)
    }

    /// The offset of `address` when the `bytes` bytes there lie inside the segment.
    pub fn offset_of(&self, address: *const u8, bytes: usize) -> Option<u64> {
        let offset = (address as usize).checked_sub(self.memory.base().as_ptr() as usize)?;
        (offset.checked_add(bytes)? <= self.memory.len()).then_some(offset as u64)
    }

    /// Whether senders must fence before they look at a doorbell, because some rank cannot use membarrier.
    pub fn sender_fences(&self) -> &AtomicU32 {
        &self.header().sender_fences
    }
}

#[cfg(test)]
mod tests {
    use sys::sync::AtomicU64;

    use super::*;

    const PLAN: SegmentPlan = SegmentPlan {
        local_ranks: 3,
        job_ranks: 5,
        reserve: 2,
        cores: 2,
        launcher_pid: 7,
    };

    fn create_small() -> File {
        File::from(create_with(&PLAN, 1 << 20).unwrap())
    }

    fn attach(file: &File) -> io::Result<Segment> {
        Segment::attach(file.try_clone().unwrap().into())
    }

    #[test]
    fn no_rank_can_change_the_length_of_the_file() {
        let file = create_small();
        let bytes = file.metadata().unwrap().len();
        for length in [0, 4096, bytes - 1, bytes + 1] {
            assert!(file.set_len(length).is_err(), "{length}");
        }
        assert_eq!(file.metadata().unwrap().len(), bytes);
    }

    #[test]
    fn a_garbled_header_is_refused_or_harmless() {
        let mut seed = random::random_word().unwrap() | 1;
        println!("seed {seed}");
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut accepted = 0;
        for round in 0..500 {
            let file = create_small();
            for _ in 0..1 + round % 3 {
                let (value, offset) = (next(), next() % 256);
                let bytes = value.to_ne_bytes();
                let count = [1, 2, 4, 8][(next() % 4) as usize];
                file.write_all_at(&bytes[..count], offset).unwrap();
            }
            let Ok(segment) = attach(&file) else { continue };
            accepted += 1;
            for process in (0..segment.job().local_ranks).map(PeerIndex::new) {
                let _ = segment.board(process).vcis[0].may_want_core(1);
            }
            for bytes in [1, 1 << 16, u64::MAX, next()] {
                if let Ok(offset) = segment.allocate(bytes) {
                    assert!(offset >= segment.job().heap_offset);
                    assert!(segment.address(offset, bytes).is_some());
                }
                let _ = segment.allocate_spare(bytes);
                let _ = segment.address(next(), bytes);
            }
        }
        assert!(accepted > 0);
    }

    #[test]
    fn a_running_job_keeps_the_sizes_of_its_start() {
        let file = create_small();
        let segment = attach(&file).unwrap();
        file.write_all_at(&[0xff; PAGE_BYTES], 0).unwrap();
        let job = segment.job();
        assert_eq!((job.local_ranks, job.job_ranks, job.cores), (3, 5, 2));
        let board = segment.board(PeerIndex::new(2));
        assert_eq!(board.pid.load(Ordering::Relaxed), 0);
        assert!(segment.allocate(1).is_err() && segment.allocate_spare(1).is_err());
        assert!(segment.address(u64::MAX, 1).is_none());
    }

    #[test]
    fn addresses_lead_to_allocated_memory_only() {
        let segment = attach(&create_small()).unwrap();
        let offset = segment.allocate(5000).unwrap();
        assert!(segment.address(offset, 8192).is_some());
        assert!(segment.address(offset, 8193).is_none());
        assert!(segment.address(offset + 8192, 1).is_none());
        let base = segment.address(offset, 5000).unwrap();
        assert_eq!(segment.offset_of(base.as_ptr(), 5000), Some(offset));
        assert!(segment.allocate(1 << 20).is_err());
    }

    const TARGET: PeerIndex = PeerIndex::new(1);
    const VCI: VciIndex = VciIndex::of_bits(5);

    fn key(source: u32) -> RingKey {
        RingKey {
            source: PeerIndex::new(source),
            source_vci: VciIndex::of_bits(4),
            target_vci: VCI,
        }
    }

    fn sources(rings: &[(RingKey, RingView)]) -> Vec<u32> {
        rings.iter().map(|(key, _)| key.source.get()).collect()
    }

    #[test]
    fn a_receiver_finds_each_ring_once_in_the_order_of_their_making() {
        let file = File::from(create_with(&PLAN, 64 << 20).unwrap());
        let (here, there) = (attach(&file).unwrap(), attach(&file).unwrap());
        let publish = |source| {
            let (ring, _) = there.make_ring().unwrap();
            there.publish_ring(TARGET, ring, key(source));
        };
        assert!(here.rings_since(TARGET, VCI, 0).unwrap().1.is_empty());
        publish(2);
        publish(0);
        let (newest, rings) = here.rings_since(TARGET, VCI, 0).unwrap();
        assert_eq!(sources(&rings), [2, 0]);
        assert_eq!(rings[0].0, key(2));
        publish(1);
        let (last, rings) = here.rings_since(TARGET, VCI, newest).unwrap();
        assert_eq!(sources(&rings), [1]);
        assert!(here.rings_since(TARGET, VCI, last).unwrap().1.is_empty());
        let elsewhere = here.rings_since(PeerIndex::new(0), VCI, 0);
        assert!(elsewhere.unwrap().1.is_empty());
    }

    #[test]
    fn a_damaged_list_is_an_error() {
        let file = File::from(create_with(&PLAN, 64 << 20).unwrap());
        let segment = attach(&file).unwrap();
        let rings = [0, 2].map(|source| {
            let (ring, _) = segment.make_ring().unwrap();
            segment.publish_ring(TARGET, ring, key(source));
            ring
        });
        let head = &segment.vci_board(TARGET, VCI).newest_ring;
        let is_refused = || segment.rings_since(TARGET, VCI, 0).is_err();
        for offset in [1, 4096, rings[0] + 64, rings[1] + 4096 * 4096, u64::MAX] {
            head.store(offset, Ordering::Relaxed);
            assert!(is_refused(), "{offset}");
        }
        // A list that leads in a circle, and a sender that does not exist.
        head.store(rings[1], Ordering::Relaxed);
        let oldest = segment.entry(rings[0]).unwrap();
        for (end, number, refused) in [(rings[1], 0, true), (0, 5, true), (0, 0, false)] {
            oldest.publish(&AtomicU64::new(end), rings[0], key(number));
            assert_eq!(is_refused(), refused);
        }
    }
}
