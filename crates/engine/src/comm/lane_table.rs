// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the fast stages find the lane that a tag names: one load leads to it.
//!
//! There is an entry for each value of the bits of a tag that name its threads, for sends and for receives from one source. The entry
//! is null until [`super::spread`] has made the lane for a tag with these bits, and keeps its value then: lanes live as long as their
//! communicator.
#![expect(unsafe_code, reason = "the entries lead to communicators")]

// account: rank-translation

use std::ptr::NonNull;

use sys::sync::{AtomicPtr, Ordering};

use super::Comm;

type Entry = AtomicPtr<Comm>;

/// The only entry of communicators without entries of their own.
static NONE: Entry = AtomicPtr::new(std::ptr::null_mut());

/// The entries of a communicator.
pub(super) struct LaneEntries {
    to: Box<[Entry]>,
    from: Box<[Entry]>,
    shift: u32,
}

impl LaneEntries {
    /// Most bits of a tag that have entries: 32 KiB for sends, and the same for receives.
    pub(super) const MOST_BITS: u32 = 12;

    /// Empty entries for all values of some bits of a tag.
    pub(super) fn new(shift: u32, bits: u32) -> Self {
        let empty = || {
            let entry = |_| Entry::new(std::ptr::null_mut());
            (0..1usize << bits).map(entry).collect()
        };
        Self {
            to: empty(),
            from: empty(),
            shift,
        }
    }

    /// The view of the fast stages, for as long as these entries live.
    pub(super) fn table(&self) -> LaneTable {
        LaneTable {
            to: NonNull::from(&self.to[0]),
            from: NonNull::from(&self.from[0]),
            mask: self.to.len() as u32 - 1,
            shift: self.shift,
        }
    }

    /// Tells the fast stages which lane sends with this tag take. It lives as long as the entries.
    pub(super) fn note_to(&self, tag: i32, lane: &Comm) {
        self.note(&self.to, tag, lane);
    }

    /// The same of receives from one source.
    pub(super) fn note_from(&self, tag: i32, lane: &Comm) {
        self.note(&self.from, tag, lane);
    }

    fn note(&self, entries: &[Entry], tag: i32, lane: &Comm) {
        let index = tag as u32 >> self.shift & (entries.len() as u32 - 1);
        let lane = std::ptr::from_ref(lane).cast_mut();
        // PAIRS: comm.lane. What the lane holds is written before.
        entries[index as usize].store(lane, Ordering::Release);
    }
}

/// The entries as the fast stages see them.
#[derive(Clone, Copy)]
pub(crate) struct LaneTable {
    to: NonNull<Entry>,
    from: NonNull<Entry>,
    mask: u32,
    shift: u32,
}

impl LaneTable {
    /// That of a communicator without lanes.
    pub(super) const NONE: Self = Self {
        to: NonNull::from_ref(&NONE),
        from: NonNull::from_ref(&NONE),
        mask: 0,
        shift: 0,
    };

    /// The lane of sends with this tag, if there is one with an entry.
    ///
    /// # Safety
    /// The entries live for `'a`, and what [`LaneEntries`] was told of does.
    // TIER: short
    #[inline(always)]
    pub(super) unsafe fn lane_to<'a>(&self, tag: i32) -> Option<&'a Comm> {
        // SAFETY: the caller's promise.
        unsafe { self.lane(self.to, tag) }
    }

    /// The same of receives from one source.
    ///
    /// # Safety
    /// As there.
    // TIER: short
    #[inline(always)]
    pub(super) unsafe fn lane_from<'a>(&self, tag: i32) -> Option<&'a Comm> {
        // SAFETY: the caller's promise.
        unsafe { self.lane(self.from, tag) }
    }

    /// # Safety
    /// As for [`Self::lane_to`]; the entries are one of the two arrays.
    #[inline(always)]
    unsafe fn lane<'a>(&self, entries: NonNull<Entry>, tag: i32) -> Option<&'a Comm> {
        let index = tag as u32 >> self.shift & self.mask;
        // SAFETY: the mask keeps the index in the array, which lives, as what its entries name does (caller).
        unsafe {
            let entry = entries.add(index as usize).as_ref();
            // PAIRS: comm.lane
            entry.load(Ordering::Acquire).as_ref()
        }
    }
}
