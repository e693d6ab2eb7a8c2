// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a round: what a member publishes, whom it wakes, whose data it needs, and what it does then.
//!
//! [`super::describe`] writes descriptions. Blocking, nonblocking and persistent calls with little data take one round of
//! contiguous memory ([`Contiguous`]; [`super::drive`], [`super::persistent`]). Futures take a sequence of rounds with parts of any
//! blocks ([`super::long`]).
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;

use super::Purpose;
use super::fold::{Slots, fold};
use super::round::{Apart, Round};
use crate::op::Reduction;

/// What a member does in a round. `R` is the reduction, lent or owned.
#[derive(Clone, Copy)]
pub(super) struct Spec<D, R> {
    pub(super) purpose: Purpose,
    /// Bytes that all members agree on, of a vector or a block: part of the stamp.
    pub(super) bytes: usize,
    /// Bytes in the slot of each member that publishes data.
    pub(super) published: usize,
    pub(super) publish: Publish<D>,
    pub(super) wakes: Wakes,
    pub(super) needs: Needs,
    pub(super) then: Then<D>,
    /// The operation, where operands are combined.
    pub(super) op: Option<R>,
}

/// What a member publishes before it looks at another member.
#[derive(Clone, Copy)]
pub(super) enum Publish<D> {
    Nothing,
    /// That it has come.
    Stamp,
    /// Its data.
    Own(D),
    /// Its operand, of so many elements and bytes; the member that is counted in last combines the operands of all.
    Counted(D, (usize, usize)),
    /// For each other member a block, in that member's slot.
    Each(D),
    /// For each member a block, in its own slot.
    Blocks(D, Shelf),
    /// Its data for the next higher member alone, when it has those of the next lower one ([`Then::PassOn`]).
    Later,
}

/// The members that read what a member publishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    Nobody,
    Above,
    Any,
}

impl<D> Publish<D> {
    #[inline(always)]
    pub(super) const fn readers(&self) -> Readers {
        match self {
            Self::Nothing => Readers::Nobody,
            Self::Later => Readers::Above,
            _ => Readers::Any,
        }
    }
}

/// How blocks lie in a slot.
#[derive(Clone, Copy)]
pub(super) struct Shelf {
    /// Bytes from one block to the next.
    pub(super) stride: usize,
    /// Whether the owner's block has a place among them.
    pub(super) has_own: bool,
    /// Whether the owner's block is written there.
    pub(super) writes_own: bool,
}

impl Shelf {
    /// Where the block for `member` begins in what `owner` publishes.
    #[inline(always)]
    pub(super) const fn start(self, owner: u32, member: u32) -> usize {
        let before = member - (!self.has_own && member > owner) as u32;
        before as usize * self.stride
    }
}

/// The members that need what a member publishes.
#[derive(Clone, Copy)]
pub(super) enum Wakes {
    Nobody,
    One(u32),
    Above,
    All,
}

/// The members whose data a member needs.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    Nobodys,
    /// One member's, or the common data for the number of members.
    One(u32),
    All,
    Lower,
}

/// What a member does when these data are there.
#[derive(Clone, Copy)]
pub(super) enum Then<D> {
    Nothing,
    /// Copies `bytes` bytes, `skip` bytes into what `member` publishes.
    Copy {
        member: u32,
        skip: usize,
        target: D,
        bytes: usize,
    },
    /// Copies its own block.
    CopyOwn {
        own: D,
        target: D,
        bytes: usize,
    },
    /// Copies a block of every member: the own one from `own`, if it is not in place.
    CopyAll {
        shelf: Shelf,
        target: D,
        bytes: usize,
        own: Option<D>,
    },
    /// Combines the operands of members `0..=last`, which lie `skip` bytes into what they publish; its own one from `own`, if
    /// that is given.
    Fold {
        last: u32,
        skip: usize,
        target: *mut u8,
        /// Elements, and their bytes.
        shape: (usize, usize),
        own: Option<*const u8>,
    },
    /// Copies what the last member has combined ([`Publish::Counted`]).
    CopyFolded {
        target: D,
        shape: (usize, usize),
    },
    /// Combines its operand with that of the next lower member, and publishes the result for the next higher one.
    PassOn {
        own: *const u8,
        target: *mut u8,
        shape: (usize, usize),
        inclusive: bool,
    },
}

impl<D, R> Spec<D, R> {
    /// Whether all that is copied is single words.
    #[inline(always)]
    pub(super) const fn copies_words(&self) -> bool {
        let published = match self.publish {
            Publish::Nothing | Publish::Stamp | Publish::Later => WORD_BYTES,
            _ => self.published,
        };
        let taken = match self.then {
            Then::Copy { bytes, .. }
            | Then::CopyOwn { bytes, .. }
            | Then::CopyAll { bytes, .. } => bytes,
            _ => WORD_BYTES,
        };
        published == WORD_BYTES && taken == WORD_BYTES
    }
}

/// Bytes that [`copy`] moves at once.
const WORD_BYTES: usize = size_of::<u64>();

/// Memory of this member that a round publishes or fills.
pub(super) trait Data: Copy {
    /// Whether blocks of it lie one after the other without gaps.
    const CONTIGUOUS: bool;

    /// The block of a member, where each has `bytes` bytes.
    fn block(self, member: u32, bytes: usize) -> Self;

    /// Its address, if it is contiguous.
    fn address(self) -> Option<*const u8>;

    /// Copies it into a slot.
    ///
    /// # Safety
    /// It is readable, and `slot` writable, for `bytes` bytes.
    unsafe fn pack(self, slot: *mut u8, bytes: usize);

    /// Copies it from a slot.
    ///
    /// # Safety
    /// It is writable, and `slot` readable, for `bytes` bytes.
    unsafe fn unpack(self, slot: *const u8, bytes: usize);

    /// Copies it to other memory of this member.
    ///
    /// # Safety
    /// It is readable, and `target` writable, for `bytes` bytes.
    unsafe fn copy_to(self, target: Self, bytes: usize);
}

/// Contiguous memory.
#[derive(Clone, Copy)]
pub(super) struct Contiguous(pub(super) *mut u8);

impl Data for Contiguous {
    const CONTIGUOUS: bool = true;

    #[inline(always)]
    fn block(self, member: u32, bytes: usize) -> Self {
        Self(self.0.wrapping_add(bytes * member as usize))
    }

    #[inline(always)]
    fn address(self) -> Option<*const u8> {
        Some(self.0)
    }

    #[inline(always)]
    unsafe fn pack(self, slot: *mut u8, bytes: usize) {
        // SAFETY: this function's own promise.
        unsafe { copy(self.0, slot, bytes) };
    }

    #[inline(always)]
    unsafe fn unpack(self, slot: *const u8, bytes: usize) {
        // SAFETY: this function's own promise.
        unsafe { copy(slot, self.0, bytes) };
    }

    #[inline(always)]
    unsafe fn copy_to(self, target: Self, bytes: usize) {
        // SAFETY: this function's own promise.
        unsafe { copy(self.0, target.0, bytes) };
    }
}

/// Copies bytes that may be a single word.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes.
#[inline(always)]
pub(super) unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: this function's own promise.
    unsafe {
        if bytes == WORD_BYTES {
            let word = source.cast::<u64>().read_unaligned();
            target.cast::<u64>().write_unaligned(word);
        } else {
            std::ptr::copy(source, target, bytes);
        }
    }
}

impl<D, R: Borrow<Reduction>> Spec<D, R> {
    /// The operation.
    #[inline(always)]
    pub(super) fn op(&self) -> Option<&Reduction> {
        self.op.as_ref().map(Borrow::borrow)
    }
}

impl<const LOCKED: bool> Round<'_, LOCKED> {
    /// Publishes what a description says.
    ///
    /// # Safety
    /// The description's data are readable, and the own slot was entered for `published` bytes.
    #[inline(always)]
    pub(super) unsafe fn publish_as<D: Data>(
        self,
        publish: Publish<D>,
        bytes: usize,
        op: Option<&Reduction>,
    ) {
        // SAFETY: this function's own promise; no member reads the own slot before its stamp is published.
        unsafe {
            match publish {
                Publish::Nothing | Publish::Later => {}
                Publish::Stamp => self.publish(),
                Publish::Own(data) => {
                    data.pack(self.slot(self.me), bytes);
                    self.publish();
                }
                Publish::Counted(data, shape) => {
                    if let Some(op) = op {
                        Apart::of(self).publish_counted(data, shape, op);
                    }
                }
                Publish::Each(data) => Apart::of(self).publish_each(data, bytes),
                Publish::Blocks(data, shelf) => Apart::of(self).publish_blocks(data, shelf),
            }
        }
    }

    /// Wakes the members that need what this one has published.
    #[inline(always)]
    pub(super) fn wake_those(self, wakes: Wakes) {
        match wakes {
            Wakes::Nobody => {}
            Wakes::One(member) => self.wake(member),
            Wakes::Above => self.wake_above(),
            Wakes::All => self.wake_all(),
        }
    }

    /// Copies the own block, if that is to be done.
    ///
    /// # Safety
    /// The description's memory is readable and writable as it says.
    #[inline(always)]
    pub(super) unsafe fn copy_own<D: Data>(self, then: Then<D>) {
        match then {
            // SAFETY: this function's own promise.
            Then::CopyOwn { own, target, bytes } => unsafe { own.copy_to(target, bytes) },
            Then::CopyAll {
                target,
                bytes,
                own: Some(own),
                ..
                // SAFETY: this function's own promise.
            } => unsafe { own.copy_to(target.block(self.me, bytes), bytes) },
            _ => {}
        }
    }

    /// Does what is left when all needed data are there, but for the own block ([`Self::copy_own`]).
    ///
    /// # Safety
    /// The needed members have published, and the description's memory is readable and writable as it says.
    #[inline(always)]
    pub(super) unsafe fn act<D: Data>(self, then: Then<D>, op: Option<&Reduction>) {
        // SAFETY, of all blocks: this function's own promise. A member's slot holds what the description publishes until this
        // member leaves the round, and slots are aligned for every type.
        match (then, op) {
            (Then::Nothing | Then::CopyOwn { .. }, _) => {}
            (
                Then::Copy {
                    member,
                    skip,
                    target,
                    bytes,
                },
                _,
            ) => {
                // SAFETY: as above.
                unsafe { target.unpack(self.slot(member).wrapping_add(skip), bytes) };
            }
            (Then::CopyFolded { target, shape }, _) => {
                // SAFETY: as above.
                unsafe { target.unpack(self.slot(self.size), shape.1) };
            }
            (
                Then::CopyAll {
                    shelf,
                    target,
                    bytes,
                    ..
                },
                _,
            ) => {
                // Members start with different slots, so that not all read the same one at a time.
                let mut owner = self.me;
                for _ in 1..self.size {
                    owner = match owner + 1 {
                        next if next == self.size => 0,
                        next => next,
                    };
                    let slot = self.slot(owner).wrapping_add(shelf.start(owner, self.me));
                    // SAFETY: as above.
                    unsafe { target.block(owner, bytes).unpack(slot, bytes) };
                }
            }
            (
                Then::Fold {
                    last,
                    skip,
                    target,
                    shape,
                    own,
                },
                Some(op),
            ) => {
                // SAFETY: as above.
                unsafe { fold(op, last, self.operands(skip, own), target, shape) };
            }
            (
                Then::PassOn {
                    own,
                    target,
                    shape,
                    inclusive,
                },
                Some(op),
            ) => {
                // SAFETY: as above; the own slot was entered unless this is the last member.
                unsafe { self.pass_on(op, (own, target), shape, inclusive) };
            }
            (Then::Fold { .. } | Then::PassOn { .. }, None) => {}
        }
    }

    /// The operands of the members, `skip` bytes into what they publish, but for the own one if that lies elsewhere.
    #[inline(always)]
    fn operands(self, skip: usize, own: Option<*const u8>) -> Slots {
        Slots {
            first: self.slot(0).wrapping_add(skip),
            stride: self.stride,
            own: own.map(|own| (self.me, own)),
        }
    }

    /// Combines the operand of the next lower member with the own one, and publishes that for the next higher one.
    ///
    /// # Safety
    /// The next lower member has published; the own slot was entered unless this is the last member; `own` is readable and
    /// `target` writable for the shape.
    #[inline(always)]
    unsafe fn pass_on(
        self,
        op: &Reduction,
        (own, target): (*const u8, *mut u8),
        shape: (usize, usize),
        inclusive: bool,
    ) {
        let bytes = shape.1;
        let below = self.me.checked_sub(1);
        let below = below.map(|below| self.slot(below).cast_const());
        let published = (self.me + 1 < self.size).then(|| self.slot(self.me));
        // SAFETY: this function's own promise; slots stay as they are until this member leaves the round.
        unsafe {
            if let Some(published) = published {
                match below {
                    Some(below) => op.apply_into(below, own, published, shape),
                    None => copy(own, published, bytes),
                }
                self.publish();
                self.wake(self.me + 1);
            }
            match (inclusive, below, published) {
                (true, None, _) => copy(own, target, bytes),
                (true, Some(_), Some(published)) => copy(published, target, bytes),
                (true, Some(below), None) => op.apply_into(below, own, target, shape),
                (false, Some(below), _) => copy(below, target, bytes),
                (false, None, _) => {}
            }
        }
    }
}

impl<const LOCKED: bool> Apart<'_, LOCKED> {
    /// Publishes an operand and counts this member in; the last member combines the operands of all.
    ///
    /// # Safety
    /// As for [`Round::publish_as`].
    #[inline(never)]
    unsafe fn publish_counted<D: Data>(&self, data: D, shape: (usize, usize), op: &Reduction) {
        let round = self.round;
        // SAFETY: this function's own promise; all members have published their operands when the last one is counted in, and it
        // alone writes the common slot. Slots are aligned for every type.
        unsafe {
            // No other member looks at the operand of the last one.
            let own = data.address().filter(|_| round.comes_last());
            if own.is_none() {
                data.pack(round.slot(round.me), shape.1);
            }
            round.publish();
            if round.is_last() {
                let common = round.slot(round.size);
                fold(op, round.size - 1, round.operands(0, own), common, shape);
                round.publish_common();
            }
        }
    }

    /// Publishes for each other member a block in that member's slot.
    ///
    /// # Safety
    /// As for [`Round::publish_as`]; no other member publishes data in this round.
    #[inline(never)]
    unsafe fn publish_each<D: Data>(&self, data: D, bytes: usize) {
        let round = self.round;
        for member in (0..round.size).filter(|&member| member != round.me) {
            // SAFETY: this function's own promise.
            unsafe { data.block(member, bytes).pack(round.slot(member), bytes) };
        }
        round.publish();
    }

    /// Publishes for each member a block in the own slot.
    ///
    /// # Safety
    /// As for [`Round::publish_as`].
    #[inline(never)]
    unsafe fn publish_blocks<D: Data>(&self, data: D, shelf: Shelf) {
        let round = self.round;
        let slot = round.slot(round.me);
        for member in 0..round.size {
            if shelf.writes_own || member != round.me {
                let target = slot.wrapping_add(shelf.start(round.me, member));
                // SAFETY: this function's own promise; targets are a stride apart, and blocks are no longer.
                unsafe { data.block(member, shelf.stride).pack(target, shelf.stride) };
            }
        }
        round.publish();
    }
}
