// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a member does in the only round of an operation of little data, said before anything is done: [`super::short`] says it, and how the
//! call ends ([`Driver`]) decides who does it when.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;

use crate::coll::area::fold::fold;
use crate::coll::area::short::Run;
use crate::coll::area::{NextRound, Purpose, Round, open};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// What a member does in its round. `R` is the reduction, lent or owned.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Spec<R> {
    pub(in crate::coll) purpose: Purpose,
    /// Bytes that all members agree on, of a vector or a piece: what stamps tell.
    pub(in crate::coll) bytes: usize,
    /// Bytes at the place of each member that publishes anything.
    pub(in crate::coll) published: usize,
    pub(in crate::coll) publish: Publish,
    pub(in crate::coll) wakes: Wakes,
    pub(in crate::coll) needs: Needs,
    pub(in crate::coll) rest: Then<R>,
}

/// What a member publishes before it looks at anybody.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Publish {
    Nothing,
    /// That it has come.
    Stamp,
    /// Its own data.
    Own(*const u8),
    /// The same, and is counted in: the last one does what is nobody's in particular.
    Counted(*const u8),
    /// For each other member a piece, at that one's place.
    Each(*const u8),
    /// Its data to the member above alone, when it has seen those of the member below.
    Later,
}

/// Who needs what a member publishes.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Wakes {
    Nobody,
    One(u32),
    Above,
    All,
}

/// Whose data an operation needs.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Needs {
    Nobodys,
    One(u32),
    All,
    /// Those of the ranks below.
    Lower,
}

/// What is left to do when they are there.
#[derive(Clone, Copy)]
pub(in crate::coll) enum Then<R> {
    Nothing,
    /// `bytes` bytes, `skip` bytes into what a member publishes, go to `target`.
    Copy {
        member: u32,
        skip: usize,
        target: *mut u8,
        bytes: usize,
    },
    /// The member's own piece goes to `target`.
    CopyOwn {
        own: *const u8,
        target: *mut u8,
        bytes: usize,
    },
    /// A piece of every member, one after the other, go to `target`.
    CopyAll {
        skip: usize,
        target: *mut u8,
        bytes: usize,
        /// The own piece, if it is not to be taken from what is published.
        own: Option<*const u8>,
    },
    /// The elements of ranks `0..=last` are combined.
    Fold {
        op: R,
        last: u32,
        skip: usize,
        target: *mut u8,
        /// Elements, and their bytes.
        shape: (usize, usize),
        own: Option<*const u8>,
    },
    /// What the last one that was counted in has combined ([`Publish::Counted`]) goes to `target`.
    CopyFolded {
        op: R,
        target: *mut u8,
        shape: (usize, usize),
    },
    /// The elements of the rank below are combined with the own ones, and published to the one above.
    PassOn {
        op: R,
        own: *const u8,
        target: *mut u8,
        shape: (usize, usize),
        inclusive: bool,
    },
}

/// How a call ends that has something to do.
pub(in crate::coll) trait Driver<'a>: Copy {
    /// What it gives; the default where nothing is left.
    type Gives: Default;

    /// Whether a caller gives room for results to a rank that gets some, and to no other. A nonblocking call does: it has stored its
    /// request since it looked who is the root, and the compiler would look again.
    const ROOM_IS_EXACT: bool = false;

    /// What a rank alone gives to itself: `from` goes to `into`.
    ///
    /// # Safety
    /// `from` is readable and `into` writable, for the bytes of `from`, until the operation is complete.
    unsafe fn copy_alone(self, from: Run, into: *mut u8) -> Result<Self::Gives>;

    /// Takes the round of an operation; `None` where that is not possible, and nothing has been done.
    ///
    /// # Safety
    /// The step's addresses are readable, its targets writable, until the operation is complete.
    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: Spec<R>,
    ) -> Option<Result<Self::Gives>>;
}

/// How a call goes on when its own data are published.
pub(in crate::coll) trait Going<'a>: Copy {
    /// As [`Driver::Gives`].
    type Gives: Default;

    /// As [`Driver::ROOM_IS_EXACT`].
    const ROOM_IS_EXACT: bool = false;

    /// Whether it is known that this member has left all rounds of the area.
    const IN_ORDER: bool = false;

    /// The name of the MPI call, for the hang report, if it may wait before its own data are published.
    fn call(self) -> Option<&'static str>;

    /// Goes on.
    fn go<R: Borrow<Reduction>>(
        self,
        round: Round<'a>,
        needs: Needs,
        rest: Then<R>,
    ) -> Result<Self::Gives>;
}

/// Copies bytes that may be a single word.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes.
#[inline(always)]
pub(in crate::coll) unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if bytes == size_of::<u64>() {
            let word = source.cast::<u64>().read_unaligned();
            target.cast::<u64>().write_unaligned(word);
        } else {
            std::ptr::copy(source, target, bytes);
        }
    }
}

impl<'a, G: Going<'a>> Driver<'a> for G {
    type Gives = G::Gives;

    const ROOM_IS_EXACT: bool = G::ROOM_IS_EXACT;

    #[inline(always)]
    unsafe fn copy_alone(self, from: Run, into: *mut u8) -> Result<G::Gives> {
        // SAFETY: the caller's promise.
        unsafe { copy(from.base(), into, from.bytes()) };
        Ok(G::Gives::default())
    }

    #[inline(always)]
    unsafe fn take<R: Borrow<Reduction>>(
        self,
        comm: &'a Comm,
        spec: Spec<R>,
    ) -> Option<Result<G::Gives>> {
        let Spec {
            purpose,
            bytes,
            published,
            publish,
            wakes,
            needs,
            rest,
        } = spec;
        let shared = open(comm, purpose, bytes)?;
        let next = NextRound::new(self, comm, shared, purpose, bytes, published);
        let drawn = match publish {
            Publish::Later => next.draw_to_pass(self.call())?,
            Publish::Nothing => next.draw(self.call(), false)?,
            _ => next.draw(self.call(), true)?,
        };
        if let Err(error) = drawn {
            return Some(Err(error));
        }
        let round = next.round;
        // SAFETY: the caller's promise; the round was drawn for as many bytes.
        unsafe {
            match publish {
                Publish::Nothing | Publish::Later => {}
                Publish::Stamp => round.publish(),
                Publish::Own(data) => round.publish_data(data, published),
                Publish::Each(pieces) => round.publish_each(pieces, published),
                Publish::Counted(data) => {
                    round.publish_data(data, published);
                    round.fold_if_last(&rest);
                }
            }
        }
        match wakes {
            Wakes::Nobody => {}
            Wakes::One(member) => round.wake(member),
            Wakes::Above => round.wake_above(),
            Wakes::All => round.wake_all(),
        }
        Some(self.go(round, needs, rest))
    }
}

impl<R> Spec<R> {
    /// The same with another reduction.
    pub(in crate::coll) fn map<S>(self, change: impl FnOnce(R) -> S) -> Spec<S> {
        let Self {
            purpose,
            bytes,
            published,
            publish,
            wakes,
            needs,
            rest,
        } = self;
        Spec {
            purpose,
            bytes,
            published,
            publish,
            wakes,
            needs,
            rest: rest.map(change),
        }
    }
}

impl<R> Then<R> {
    /// The same with another reduction.
    pub(in crate::coll) fn map<S>(self, change: impl FnOnce(R) -> S) -> Then<S> {
        match self {
            Self::Nothing => Then::Nothing,
            Self::Copy {
                member,
                skip,
                target,
                bytes,
            } => Then::Copy {
                member,
                skip,
                target,
                bytes,
            },
            Self::CopyOwn { own, target, bytes } => Then::CopyOwn { own, target, bytes },
            Self::CopyAll {
                skip,
                target,
                bytes,
                own,
            } => Then::CopyAll {
                skip,
                target,
                bytes,
                own,
            },
            Self::Fold {
                op,
                last,
                skip,
                target,
                shape,
                own,
            } => Then::Fold {
                op: change(op),
                last,
                skip,
                target,
                shape,
                own,
            },
            Self::CopyFolded { op, target, shape } => Then::CopyFolded {
                op: change(op),
                target,
                shape,
            },
            Self::PassOn {
                op,
                own,
                target,
                shape,
                inclusive,
            } => Then::PassOn {
                op: change(op),
                own,
                target,
                shape,
                inclusive,
            },
        }
    }
}

impl Round<'_> {
    /// Counts this member in, which has published its operand; the last one combines those of all for all.
    #[inline(never)]
    fn fold_if_last<R: Borrow<Reduction>>(self, rest: &Then<R>) {
        let Then::CopyFolded { op, shape, .. } = rest else {
            return;
        };
        if self.is_last() {
            let operand = |rank| self.place(rank).cast_const();
            // SAFETY: all have published theirs, and nobody else writes what is nobody's in particular; places are aligned for every type.
            unsafe {
                fold(
                    op.borrow(),
                    self.size - 1,
                    operand,
                    self.place(self.size),
                    *shape,
                )
            };
            self.publish_common();
        }
    }

    /// Shows each other member `bytes` bytes from `source` on, at its own place, for which there is room.
    ///
    /// # Safety
    /// `source` is readable for as many bytes of each member.
    #[inline(never)]
    unsafe fn publish_each(self, source: *const u8, bytes: usize) {
        for member in (0..self.size).filter(|&member| member != self.me) {
            let from = source.wrapping_add(bytes * member as usize);
            // SAFETY: places hold `bytes` bytes (Driver::take), and nobody else publishes anything in this round.
            unsafe { copy(from, self.place(member), bytes) };
        }
        self.publish();
    }

    /// Shows `bytes` bytes at `source`, for which there is a place.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes, which are as many as the round was drawn for.
    #[inline(always)]
    unsafe fn publish_data(self, source: *const u8, bytes: usize) {
        // SAFETY: the own place holds `bytes` bytes (Driver::take), which nobody reads before they are published.
        unsafe { copy(source, self.place(self.me), bytes) };
        self.publish();
    }
}
