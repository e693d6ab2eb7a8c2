// SPDX-License-Identifier: MIT OR Apache-2.0
//! The request slab of a VCI: every pending operation and every unexpected message is one entry.
//!
//! An entry ([`super::entry`]) starts with its *record*: the fields for matching (context, tag, peer, bytes, kind). The other fields have
//! a meaning in this process only (buffers, callbacks). The slab lies in a memory file that only this process maps; for a hang report the
//! launcher reads the records through the kernel, without the rank's help. The slab is
//! reserved as address space at start and touched only as far as used, so entries never move and nothing is reallocated.
//!
//! A [`RequestId`] is an index and a generation: a stale or invented one is recognised by two compares. The index contains the VCI:
//! each VCI has a slab of its own. Indices start at 4096 because the C ABI reserves the handle values below (MPI-5.0, chapter 20); a
//! request handle in C *is* a `RequestId`.
// account: request
use std::ptr::NonNull;

use fabric::board::{RequestRecord, VciBoard, kind};
use sys::leaks::Root;
use sys::reservation::Reservation;
use sys::sync::Ordering;
use sys::{limits, memory};

use super::entry::{RequestEntry, Role};
use crate::call::CallName;
use crate::errors::{Error, ErrorClass, Result};
use crate::identity::VciIndex;

/// Index of an entry: the VCI in the upper bits, the place in its slab in the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RequestIndex(pub(crate) u32);

impl RequestIndex {
    /// No entry.
    pub(crate) const NONE: RequestIndex = RequestIndex(0);
}

/// Bits of an index that name the entry in the slab of its VCI. Those of all VCIs leave the sign bit, for indices are Fortran's handles.
const SLAB_BITS: u32 = 31 - VciIndex::BITS;
/// Entries that a slab may have.
const MOST_ENTRIES: u32 = 1 << SLAB_BITS;

/// First index in use; below lie the handle values that the ABI reserves.
pub(crate) const FIRST_INDEX: u32 = 4096;

/// Entries that a rank has at least.
const LEAST_CAPACITY: u32 = 1024;
/// The slab becomes accessible in parts of this size, the first of which also covers the entries that are never used.
const PART_BYTES: usize = 1 << 20;
/// Top byte of a request id: tells requests from other handles.
const REQUEST_TAG: u64 = 0x52 << 56;
/// The same of requests whose operations were complete when they were made, and a byte of zeros, which the handles of communicators have
/// there: text that lies where a request should be has another one.
const ENDED_TAG: u64 = 0x7200 << 48;
const ENDED_MASK: u64 = 0xffff << 48;
const GENERATION_MASK: u32 = 0x00ff_ffff;

/// Names a pending operation: index and generation. The null request is the ABI's constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RequestId(pub u64);

impl RequestId {
    /// MPI_REQUEST_NULL.
    pub const NULL: RequestId = RequestId(0x180);
    /// The request of a send that was complete when it returned: shared by all, never freed.
    pub const SENT: RequestId = RequestId(ENDED_TAG | FIRST_INDEX as u64);

    /// The request of a collective that was complete when it returned, on the communicator with this handle: its number only, for
    /// there is nothing to keep.
    #[inline(always)]
    pub const fn ended(call: CallName, comm_handle: u64) -> Self {
        Self(comm_handle << 8 | (ENDED_TAG | call.number()))
    }

    /// Whether the operation was complete when its request was made.
    #[inline(always)]
    pub const fn is_ended(self) -> bool {
        self.0 & ENDED_MASK == ENDED_TAG
    }

    /// As [`Self::is_ended`] of an id in memory, by the two bytes that tell.
    #[inline(always)]
    pub const fn is_ended_at(&self) -> bool {
        let last = if cfg!(target_endian = "little") { 3 } else { 0 };
        let halves = std::ptr::from_ref(self).cast::<u16>();
        // SAFETY: an id has eight bytes.
        unsafe { *halves.add(last) == (ENDED_TAG >> 48) as u16 }
    }

    /// Of a collective that was complete when its request was made: its call, and the communicator's handle without the top byte.
    pub const fn ended_collective(self) -> Option<(CallName, u64)> {
        if !self.is_ended() || self.0 == Self::SENT.0 {
            return None;
        }
        Some((
            CallName::from_number(self.0 & 0xff),
            (self.0 & !ENDED_MASK) >> 8,
        ))
    }

    /// The VCI that the request belongs to; any one of what was complete when its request was made, and of what is no request.
    #[inline(always)]
    pub(crate) const fn vci(self) -> VciIndex {
        Self::vci_of_index(self.0 as u32)
    }

    /// The number of the request's VCI, and its index in the slab of that VCI.
    pub const fn index_parts(self) -> (u32, u32) {
        let index = self.0 as u32;
        (index >> SLAB_BITS, index & (MOST_ENTRIES - 1))
    }

    /// The index of the request with these parts.
    pub const fn index_of_parts(vci: u32, entry: u32) -> u32 {
        vci << SLAB_BITS | entry
    }

    /// The VCI of the request with this index.
    #[inline(always)]
    pub(crate) const fn vci_of_index(index: u32) -> VciIndex {
        VciIndex::of_bits(index >> SLAB_BITS)
    }

    const fn new(index: RequestIndex, generation: u32) -> Self {
        Self(REQUEST_TAG | (generation as u64) << 32 | index.0 as u64)
    }

    /// The id of the same entry when it is used again.
    #[inline(always)]
    const fn next_generation(self) -> Self {
        let generation = (self.0 >> 32) as u32 + 1;
        Self(REQUEST_TAG | ((generation & GENERATION_MASK) as u64) << 32 | self.0 as u32 as u64)
    }
}

/// The slab.
pub(crate) struct RequestSlab {
    /// Where the entry with index 0 of VCI 0 would be: it is outside the memory for other VCIs.
    slab: *mut RequestEntry,
    /// Index of the first entry.
    first: u32,
    /// The first free entry that was used before, or null.
    free: *mut RequestEntry,
    capacity: u32,
    /// Entries that were ever used, which are the first ones.
    used: u32,
    board: NonNull<VciBoard>,
    /// Why there are no further ones, whatever the capacity.
    closed: Option<Error>,
    /// The entries point to boxes on the heap.
    _root: Root,
    /// The memory of all entries; those in use are accessible.
    pub(crate) memory: Reservation,
}

impl RequestSlab {
    /// The slab of VCI `vci` with at most `capacity` entries, announced on `board`.
    ///
    /// # Safety
    /// `board` is this VCI's and stays mapped while the slab lives.
    pub(crate) unsafe fn new(
        board: NonNull<VciBoard>,
        vci: VciIndex,
        capacity: u32,
    ) -> Result<Self> {
        // Fewer where the system allows no file for as many.
        let most = limits::file_size_limit().map(|limit| limit / size_of::<RequestEntry>() as u64);
        let most = most.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        let capacity = capacity
            .min(most.saturating_sub(FIRST_INDEX).max(LEAST_CAPACITY))
            .min(MOST_ENTRIES - FIRST_INDEX);
        let entries = capacity as usize + FIRST_INDEX as usize;
        let bytes = entries * size_of::<RequestEntry>();
        let file = memory::memory_file(c"rankpoint-requests", bytes as u64)?;
        let memory = Reservation::of_file(file, bytes, PART_BYTES)?;
        let vci_bits = u32::from(vci.get()) << SLAB_BITS;
        let slab = memory.base().cast::<RequestEntry>().as_ptr();
        let slab = slab.wrapping_sub(vci_bits as usize);
        // SAFETY: the caller's promise; all fields are atomics.
        let words = unsafe { board.as_ref() };
        let first = FIRST_INDEX as usize * size_of::<RequestEntry>();
        words
            .request_stride
            .store(size_of::<RequestEntry>() as u32, Ordering::Relaxed);
        words
            .requests_file
            .store(1 + memory.descriptor() as u32, Ordering::Relaxed);
        words.requests_offset.store(first as u64, Ordering::Relaxed);
        let mut slab = Self {
            slab,
            first: vci_bits | FIRST_INDEX,
            free: std::ptr::null_mut(),
            capacity,
            used: 0,
            board,
            closed: None,
            _root: Root::new(memory.base(), bytes),
            memory,
        };
        let done = slab.take(Role::Send, kind::COMPLETE)?;
        slab.entry_mut(done).id = RequestId::SENT;
        Ok(slab)
    }

    /// Takes a free entry; its generation is kept, `extra` is empty, `error` and the record's `next` are 0, all other fields
    /// are the caller's to fill.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM when there are as many requests as there may be.
    // TIER: short
    #[inline(always)]
    pub(crate) fn take(&mut self, role: Role, record_kind: u8) -> Result<RequestIndex> {
        match self.take_free(role, record_kind) {
            Some(entry) => Ok(entry.index()),
            None => self.take_fresh(role, record_kind),
        }
    }

    /// As [`Self::take`], but only an entry that was used before.
    // TIER: short
    #[inline(always)]
    pub(crate) fn take_free(&mut self, role: Role, record_kind: u8) -> Option<&mut RequestEntry> {
        // SAFETY: `free` is null or leads to an entry that was used; `&mut self` makes this the only reference.
        let entry = unsafe { self.free.as_mut() }?;
        self.free = entry.next_free;
        entry.record.kind = record_kind;
        entry.record.role = role as u8;
        entry.record.flags = 0;
        Some(entry)
    }

    #[cold]
    #[inline(never)]
    fn take_fresh(&mut self, role: Role, record_kind: u8) -> Result<RequestIndex> {
        if self.used >= self.capacity {
            return Err(self.full());
        }
        let index = RequestIndex(self.first + self.used);
        let place = (FIRST_INDEX + self.used) as usize * size_of::<RequestEntry>();
        if self.memory.open(place, size_of::<RequestEntry>()).is_none() {
            let text = format!("the system gives no memory for operation {}", self.used);
            return Err(Error::new(ErrorClass::ERR_NO_MEM, text));
        }
        self.used += 1;
        let entry = self.entry_mut(index);
        entry.id = RequestId::new(index, 0);
        entry.record.kind = record_kind;
        entry.record.role = role as u8;
        entry.record.flags = 0;
        // SAFETY: the board outlives the slab (RequestSlab::new); its fields are atomics.
        unsafe { self.board.as_ref() }
            .requests_len
            .store(self.used, Ordering::Relaxed);
        Ok(index)
    }

    /// Frees an entry: ids that name it become stale.
    // TIER: short
    #[inline(always)]
    pub(crate) fn release(&mut self, index: RequestIndex) {
        let next = self.free;
        let entry = self.entry_mut(index);
        entry.record.kind = kind::FREE;
        entry.record.next = RequestIndex::NONE.0;
        entry.id = entry.id.next_generation();
        entry.next_free = next;
        if entry.extra.is_some() || entry.error != 0 {
            clean(entry);
        }
        self.free = entry;
    }

    /// The error of a slab without a free entry.
    fn full(&self) -> Error {
        (self.closed.clone()).unwrap_or_else(|| of_full_slab(self.capacity))
    }

    /// Gives this process, a forked child, a copy of the entries, and gives out no further one.
    pub(crate) fn close(&mut self, why: Error) {
        // Where the kernel refuses a copy, entries of requests that exist stay those of the parent.
        let _ = self.memory.make_private(self.memory.len());
        (self.free, self.capacity) = (std::ptr::null_mut(), self.used);
        self.closed = Some(why);
    }

    /// Whether [`Self::take`] finds an entry.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_null() || self.used < self.capacity
    }

    /// The place of an entry among those that were ever used.
    #[inline(always)]
    pub(crate) const fn place(&self, index: RequestIndex) -> usize {
        index.0.wrapping_sub(self.first) as usize
    }

    /// Entries that were ever used: no more than that many are pending.
    #[inline(always)]
    pub(crate) const fn used(&self) -> usize {
        self.used as usize
    }

    /// The id of a live entry.
    #[inline(always)]
    pub(crate) fn id(&self, index: RequestIndex) -> RequestId {
        self.entry(index).id
    }

    /// The entry that `id` names, if it is live and of this slab; that of [`RequestId::SENT`] for what was complete when its
    /// request was made.
    // TIER: short
    #[inline(always)]
    pub(crate) fn find(&self, id: RequestId) -> Option<RequestIndex> {
        let index = id.0 as u32;
        if index.wrapping_sub(self.first) < self.used {
            let index = RequestIndex(index);
            if self.id(index) == id && self.record(index).kind != kind::FREE {
                return Some(index);
            }
        }
        self.find_ended(id)
    }

    #[cold]
    #[inline(never)]
    fn find_ended(&self, id: RequestId) -> Option<RequestIndex> {
        // The first entry is that of all that was complete when its request was made.
        let first = RequestIndex(self.first);
        if id == RequestId::SENT {
            return Some(first);
        }
        let (call, _) = id.ended_collective()?;
        call.is_known().then_some(first)
    }

    /// The entry that `id` names or named: a free entry has another id than any that was given out.
    // TIER: short
    #[inline(always)]
    pub(crate) fn named(&mut self, id: RequestId) -> Option<&mut RequestEntry> {
        let index = id.0 as u32;
        if index.wrapping_sub(self.first) >= self.used {
            return None;
        }
        let entry = self.entry_mut(RequestIndex(index));
        (entry.id == id).then_some(entry)
    }

    /// The id of the live entry with this index.
    pub(crate) fn at_index(&self, index: u32) -> Option<RequestId> {
        let used = index.wrapping_sub(self.first) < self.used;
        let index = RequestIndex(index);
        (used && self.record(index).kind != kind::FREE).then(|| self.id(index))
    }

    /// Every index that was ever used.
    pub(crate) fn indices(&self) -> impl Iterator<Item = RequestIndex> + use<> {
        (self.first..self.first + self.used).map(RequestIndex)
    }

    #[inline(always)]
    pub(crate) fn record(&self, index: RequestIndex) -> &RequestRecord {
        &self.entry(index).record
    }

    #[inline(always)]
    pub(crate) fn record_mut(&mut self, index: RequestIndex) -> &mut RequestRecord {
        &mut self.entry_mut(index).record
    }

    #[inline(always)]
    pub(crate) fn entry(&self, index: RequestIndex) -> &RequestEntry {
        debug_assert!(index.0.wrapping_sub(self.first) < self.used);
        // SAFETY: a RequestIndex other than NONE comes from `take` or `find` of this slab, so it was used and is inside the reservation;
        // all-zero memory is a valid RequestEntry, and only this process maps it.
        unsafe { &*self.slab.wrapping_add(index.0 as usize) }
    }

    #[inline(always)]
    pub(crate) fn entry_mut(&mut self, index: RequestIndex) -> &mut RequestEntry {
        debug_assert!(index.0.wrapping_sub(self.first) < self.used);
        // SAFETY: as in `entry`; `&mut self` makes this the only reference.
        unsafe { &mut *self.slab.wrapping_add(index.0 as usize) }
    }
}

impl Drop for RequestSlab {
    fn drop(&mut self) {
        for index in self.indices() {
            clean(self.entry_mut(index));
        }
    }
}

#[cold]
#[inline(never)]
fn clean(entry: &mut RequestEntry) {
    entry.error = 0;
    if let Some(extra) = entry.extra.take()
        && let Some(action) = extra.on_release
    {
        action();
    }
}

/// The error of a slab whose entries are all in use.
#[cold]
fn of_full_slab(capacity: u32) -> Error {
    let bytes = (u64::from(capacity + FIRST_INDEX) + 1) * size_of::<RequestEntry>() as u64;
    let limit = match limits::of_file(bytes) {
        Some(limit) => format!("and {limit}"),
        None => "the limit set by RANKPOINT_REQUESTS".to_owned(),
    };
    let text = format!("{capacity} requests are pending, {limit}");
    Error::new(ErrorClass::ERR_NO_MEM, text)
}
