// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is left of a collective of little data when the own data are shown ([`super::short`]): waiting for others' data, and
//! copying or combining them.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;
use std::future::Future;
use std::sync::Arc;

use fabric::sync::Ordering;

use super::commons::Encounter;
use super::passing::{Passing, pass_on};
use super::shared::fold;
use crate::call::CallName;
use crate::comm::{Comm, create};
use crate::errors::{Error, Result};
use crate::op::Reduction;
use crate::task::{self, Begun, Boxed, Kept, Plan, ShortPlan, new_request};
use crate::vci::operations::RequestId;

/// Copies bytes that may be a single word.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes.
#[inline(always)]
pub(super) unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
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

/// How a call goes on when its own data are shown.
pub(super) trait Ending<'a>: Copy {
    /// What it gives; the default where nothing is left.
    type Gives: Default;

    /// Whether it is known that there are two members.
    const IS_PAIR: bool = false;

    /// Whether it is known that this member has left all turns of the commons.
    const IN_ORDER: bool = false;

    /// The name of the MPI call, for the hang report, if it may wait before its own data are shown.
    fn call(self) -> Option<&'static str>;

    /// Goes on.
    fn go<R: Borrow<Reduction>>(
        self,
        encounter: Encounter<'a>,
        needs: Needs,
        rest: Rest<R>,
    ) -> Result<Self::Gives>;
}

/// It waits for the others: the name of the MPI call.
#[derive(Clone, Copy)]
pub(super) struct Waiting(pub(super) &'static str);

/// It gives what is left to do, and nothing has been done where it would have to wait before its own data are shown.
#[derive(Clone, Copy)]
pub(super) struct AtOnce;

/// As [`AtOnce`], for operations on a communicator on which only one is under way at a time; of two members if `PAIR`.
#[derive(Clone, Copy)]
pub(super) struct Planned<const PAIR: bool>;

impl<'a> Ending<'a> for Waiting {
    type Gives = ();

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        Some(self.0)
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>>(
        self,
        encounter: Encounter<'a>,
        needs: Needs,
        rest: Rest<R>,
    ) -> Result<()> {
        if encounter.is_simple(needs) {
            return encounter.finish_simply(needs, &rest);
        }
        let shown = Shown {
            encounter,
            needs,
            rest,
        };
        shown.wait_and_finish(self.0)
    }
}

impl<'a> Ending<'a> for AtOnce {
    type Gives = Begun<'a>;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>>(
        self,
        encounter: Encounter<'a>,
        needs: Needs,
        rest: Rest<R>,
    ) -> Result<Begun<'a>> {
        if encounter.is_simple(needs) {
            // Most often a constant, which whoever asks for it knows then.
            return match encounter.finish_simply(needs, &rest) {
                Ok(()) => Ok(None),
                Err(error) => failed(error),
            };
        }
        let shown = Shown {
            encounter,
            needs,
            rest,
        };
        shown.linger()
    }
}

impl<'a, const PAIR: bool> Ending<'a> for Planned<PAIR> {
    type Gives = Begun<'a>;

    const IS_PAIR: bool = PAIR;
    const IN_ORDER: bool = true;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>>(
        self,
        encounter: Encounter<'a>,
        needs: Needs,
        rest: Rest<R>,
    ) -> Result<Begun<'a>> {
        AtOnce.go(encounter, needs, rest)
    }
}

#[cold]
#[inline(never)]
fn failed<T>(error: Error) -> Result<T> {
    Err(error)
}

/// Whose data an operation needs.
#[derive(Clone, Copy)]
pub(super) enum Needs {
    Nobodys,
    One(u32),
    All,
    /// Those of the ranks below.
    Lower,
}

/// What is left to do when they are there. `R` is the reduction, lent or owned.
pub(super) enum Rest<R> {
    Nothing,
    /// `bytes` bytes, `skip` bytes into what a member shows, go to `target`.
    Copy {
        member: u32,
        skip: usize,
        target: *mut u8,
        bytes: usize,
    },
    /// A piece of every member, one after the other, go to `target`.
    CopyAll {
        skip: usize,
        target: *mut u8,
        bytes: usize,
        /// The own piece, if it is not to be taken from what is shown.
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
    /// The elements of the rank below are combined with the own ones, and shown to the one above.
    PassOn {
        op: R,
        own: *const u8,
        target: *mut u8,
        /// Elements, and their bytes.
        shape: (usize, usize),
        inclusive: bool,
    },
}

/// A collective of which the own data are shown: what it waits for, and what is to be done then.
pub(super) struct Shown<'a, R = Reduction> {
    pub(super) encounter: Encounter<'a>,
    pub(super) needs: Needs,
    pub(super) rest: Rest<R>,
}

impl task::Waiting for Shown<'_> {
    fn is_ready(&self) -> bool {
        self.encounter.look(self.needs).is_some()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self {
            encounter,
            needs,
            rest,
        } = *self;
        match encounter.look(needs) {
            Some(left) => encounter.finish(needs, left, &rest),
            // It was there (is_ready).
            None => Ok(()),
        }
    }
}

/// Looks for the others' data before they are waited for elsewhere: who comes at the same time has shown its data about as soon as
/// a request could be made.
const LINGER: u32 = 32;

impl<'a, R: Borrow<Reduction>> Shown<'a, R> {
    /// Waits for the others' data and does what is left.
    #[inline(never)]
    fn wait_and_finish(&self, call: &'static str) -> Result<()> {
        let left = self.encounter.wait(call, self.needs)?;
        self.encounter.finish(self.needs, left, &self.rest)
    }

    /// Does what is left if the others' data come at once; else that is the result.
    #[inline(never)]
    fn linger(self) -> Result<Begun<'a>> {
        let Self {
            encounter,
            needs,
            rest,
        } = self;
        if let Some(left) = (0..LINGER).find_map(|_| encounter.look(needs)) {
            return encounter.finish(needs, left, &rest).map(|()| None);
        }
        let shown = Shown {
            encounter,
            needs,
            rest: rest.owned(),
        };
        Ok(Some(Box::new(Kept(Box::new(shown)))))
    }
}

impl<R: Borrow<Reduction>> Rest<R> {
    /// The same with a reduction of its own.
    fn owned(self) -> Rest<Reduction> {
        match self {
            Self::Nothing => Rest::Nothing,
            Self::Copy {
                member,
                skip,
                target,
                bytes,
            } => Rest::Copy {
                member,
                skip,
                target,
                bytes,
            },
            Self::CopyAll {
                skip,
                target,
                bytes,
                own,
            } => Rest::CopyAll {
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
            } => Rest::Fold {
                op: op.borrow().clone(),
                last,
                skip,
                target,
                shape,
                own,
            },
            Self::PassOn {
                op,
                own,
                target,
                shape,
                inclusive,
            } => Rest::PassOn {
                op: op.borrow().clone(),
                own,
                target,
                shape,
                inclusive,
            },
        }
    }
}

impl Encounter<'_> {
    /// Does what is left when all data are there and tell nothing new ([`Self::is_simple`]).
    #[inline(always)]
    fn finish_simply<R: Borrow<Reduction>>(self, needs: Needs, rest: &Rest<R>) -> Result<()> {
        self.act(rest);
        self.end_simply(needs)
    }

    /// The same if they are of members that have left all turns before `left`.
    fn finish<R: Borrow<Reduction>>(self, needs: Needs, left: u64, rest: &Rest<R>) -> Result<()> {
        self.act(rest);
        self.end(needs, left)
    }

    #[inline(always)]
    fn act<R: Borrow<Reduction>>(self, rest: &Rest<R>) {
        match rest {
            Rest::Nothing => {}
            &Rest::Copy {
                member,
                skip,
                target,
                bytes,
            } => {
                let source = self.place(member).wrapping_add(skip);
                // SAFETY: the member shows `shown` bytes; `target` is writable (caller of what started this).
                unsafe { copy(source, target, bytes) };
            }
            &Rest::CopyAll {
                skip,
                target,
                bytes,
                own,
            } => {
                for member in 0..self.size {
                    let source = match own.filter(|_| member == self.me) {
                        Some(own) => own,
                        None => self.place(member).wrapping_add(skip),
                    };
                    let target = target.wrapping_add(bytes * member as usize);
                    // SAFETY: as above; `target` holds a piece of each.
                    unsafe { copy(source, target, bytes) };
                }
            }
            &Rest::Fold {
                ref op,
                last,
                skip,
                target,
                shape,
                own,
            } => {
                let operand = |rank| match own.filter(|_| rank == self.me) {
                    Some(own) => own,
                    None => self.place(rank).wrapping_add(skip).cast_const(),
                };
                // SAFETY: all have posted `shown` bytes; places are aligned for every type; the caller's promise.
                unsafe { fold(op.borrow(), last, operand, target, shape) };
            }
            &Rest::PassOn {
                ref op,
                own,
                target,
                shape,
                inclusive,
            } => {
                let passing = Passing {
                    op: op.borrow(),
                    own,
                    target,
                    shape,
                    inclusive,
                };
                // SAFETY: the member below has posted, and the own place was entered (`prefix`); the caller's promise.
                unsafe {
                    let place = |member| self.place(member);
                    pass_on((self.me, self.size), &passing, place, || {
                        self.post();
                        self.wake(self.me + 1);
                    });
                }
            }
        }
    }

    /// Shows each other member `bytes` bytes from `source` on, at its own place, for which there is room.
    ///
    /// # Safety
    /// `source` is readable for as many bytes of each member.
    #[inline(never)]
    pub(super) unsafe fn show_each(self, source: *const u8, bytes: usize) {
        for member in (0..self.size).filter(|&member| member != self.me) {
            let from = source.wrapping_add(bytes * member as usize);
            // SAFETY: places hold `bytes` bytes (meet_at_once), and nobody else shows anything in this turn.
            unsafe { copy(from, self.place(member), bytes) };
        }
        self.post();
    }

    /// Shows `bytes` bytes at `source`, for which there is a place.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes, which are as many as the turn was drawn for.
    #[inline(always)]
    pub(super) unsafe fn show(self, source: *const u8, bytes: usize) {
        // SAFETY: the own place holds `bytes` bytes (meet_at_once), which nobody reads before they are posted.
        unsafe { copy(source, self.place(self.me), bytes) };
        self.post();
    }
}

/// The request of a collective that was complete when it was started.
#[inline(always)]
pub fn ended(comm: &Comm, call: CallName) -> RequestId {
    RequestId::ended(call, comm.handle.load(Ordering::Relaxed))
}

/// The request of a collective that has been started, of which this is left.
///
/// # Errors
/// When no operation is free.
#[inline(never)]
pub fn keep(comm: &Comm, call: CallName, shown: Kept<'_>) -> Result<RequestId> {
    let request = new_request(comm, call)?;
    // SAFETY: the request counts as pending on the communicator, which lives as long (Comm::hold_operation).
    comm.vci.start_waiting(request, unsafe { shown.keep() });
    Ok(request)
}

/// A persistent request of a collective, each start of which takes the straight line, where there is one and it is possible, or
/// runs a future that `again` makes for the communicator that it is given.
///
/// Members may start their requests in any order (MPI-5.0, section 6.13), so each request has a communicator of its own, on
/// which nothing else is started. That one goes with the request.
///
/// # Errors
/// When no operation or no context is free.
pub fn plan<W: Future<Output = Result<()>> + 'static>(
    call: &'static str,
    comm: &Arc<Comm>,
    short: Option<ShortPlan>,
    again: impl Fn(Arc<Comm>) -> W + 'static,
) -> Result<RequestId> {
    let name = CallName::of_collective(call);
    let own = create::hidden(comm, call)?;
    let home = own.clone();
    let again = move || -> Boxed { task::apart(&home, name, again(home.clone())) };
    let again = Box::new(again);
    let request = task::plan_collective(&own, name, Plan { short, again });
    // The request counts as pending on it.
    own.free();
    request
}
