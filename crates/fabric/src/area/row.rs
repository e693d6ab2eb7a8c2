// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of one round, found once for all that a member does in it.

use std::ptr::NonNull;

use super::memory::{GROUP, Line, Published, SharedArea, WIDE_BYTES};

/// The lines of one round, of an area that stays mapped while the row is used.
#[derive(Clone, Copy)]
pub struct Row {
    first: NonNull<Line>,
}

impl SharedArea {
    /// The lines of a round.
    #[inline(always)]
    pub const fn row(&self, round: u64) -> Row {
        let number = self.number(round);
        let offset = (number / GROUP) as usize * self.group_bytes;
        // SAFETY: that is the line of rank 0 (`SharedArea::line_index`).
        let first = unsafe { self.lines.byte_add(offset).add((number % GROUP) as usize) };
        Row { first }
    }
}

impl Row {
    /// Bytes from the data of one member to those of the next.
    pub const STRIDE: usize = size_of::<Line>() * GROUP as usize;
    /// The same for data that do not fit into a line ([`SharedArea::wide`]).
    pub const WIDE_STRIDE: usize = WIDE_BYTES * GROUP as usize;

    /// # Safety
    /// There is such a member, or it is the number of members; the area stays mapped for `'a`.
    #[inline(always)]
    const unsafe fn line<'a>(self, member: u32) -> &'a Line {
        // SAFETY: there is a line for each (SharedArea::at).
        unsafe { self.first.add(member as usize * GROUP as usize).as_ref() }
    }

    /// The data of the first member; those of the next ones follow at distances of [`Self::STRIDE`].
    ///
    /// # Safety
    /// The area is mapped.
    #[inline(always)]
    pub const unsafe fn data(self) -> *mut u8 {
        // SAFETY: there is a first member.
        unsafe { &raw const (*self.first.as_ptr()).data }
            .cast_mut()
            .cast()
    }

    /// As [`SharedArea::publish`], with the number of rounds before this one that the member has not left.
    ///
    /// # Safety
    /// There is such a member, and the area is mapped.
    #[inline(always)]
    pub unsafe fn publish(self, member: u32, round: u64, behind: u64, purpose: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.line(member) }.publish(round, behind, purpose);
    }

    /// As [`SharedArea::published`].
    ///
    /// # Safety
    /// There is such a member, and the area is mapped.
    #[inline(always)]
    pub unsafe fn published(self, member: u32, round: u64) -> Option<Published> {
        // SAFETY: the caller's promise.
        unsafe { self.line(member) }.published(round)
    }

    /// Whether a member has published for this purpose and has left all rounds before.
    ///
    /// # Safety
    /// There is such a member, and the area is mapped.
    #[inline(always)]
    pub unsafe fn published_in_order(self, member: u32, round: u64, purpose: u64) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.line(member) }.is_published_in_order(round, purpose)
    }
}
