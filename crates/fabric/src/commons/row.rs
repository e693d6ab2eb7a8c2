// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of one turn, found once for all that a member does in it.

use std::ptr::NonNull;

use super::{Commons, GROUP, Line, Posted, WIDE_BYTES};

/// The lines of one turn, of commons that stay mapped while it is used.
#[derive(Clone, Copy)]
pub struct Row {
    first: NonNull<Line>,
}

impl Commons {
    /// The lines of a turn.
    #[inline(always)]
    pub const fn row(&self, turn: u64) -> Row {
        let number = self.number(turn);
        let offset = (number / GROUP) as usize * self.group_bytes;
        // SAFETY: that is the line of rank 0 (`Commons::line_index`).
        let first = unsafe { self.lines.byte_add(offset).add((number % GROUP) as usize) };
        Row { first }
    }
}

impl Row {
    /// Bytes from the data of one member to those of the next.
    pub const STRIDE: usize = size_of::<Line>() * GROUP as usize;
    /// The same for data that do not fit into a line ([`Commons::wide`]).
    pub const WIDE_STRIDE: usize = WIDE_BYTES * GROUP as usize;

    /// # Safety
    /// There is such a member, or it is the number of members; the commons stay mapped for `'a`.
    #[inline(always)]
    const unsafe fn line<'a>(self, member: u32) -> &'a Line {
        // SAFETY: there is a line for each (Commons::at).
        unsafe { self.first.add(member as usize * GROUP as usize).as_ref() }
    }

    /// The data of the first member; those of the next ones follow at distances of [`Self::STRIDE`].
    ///
    /// # Safety
    /// The commons are mapped.
    #[inline(always)]
    pub const unsafe fn data(self) -> *mut u8 {
        // SAFETY: there is a first member.
        unsafe { &raw const (*self.first.as_ptr()).data }
            .cast_mut()
            .cast()
    }

    /// As [`Commons::post`], with the number of turns before this one that the member has not left.
    ///
    /// # Safety
    /// There is such a member, and the commons are mapped.
    #[inline(always)]
    pub unsafe fn post(self, member: u32, turn: u64, behind: u64, purpose: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.line(member) }.post(turn, behind, purpose);
    }

    /// As [`Commons::posted`].
    ///
    /// # Safety
    /// There is such a member, and the commons are mapped.
    #[inline(always)]
    pub unsafe fn posted(self, member: u32, turn: u64) -> Option<Posted> {
        // SAFETY: the caller's promise.
        unsafe { self.line(member) }.posted(turn)
    }

    /// Whether a member has posted for this purpose, having left all turns before.
    ///
    /// # Safety
    /// There is such a member, and the commons are mapped.
    #[inline(always)]
    pub unsafe fn posted_in_order(self, member: u32, turn: u64, purpose: u64) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.line(member) }.is_posted_in_order(turn, purpose)
    }
}
