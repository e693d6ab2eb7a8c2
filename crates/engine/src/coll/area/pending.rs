// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is left of a collective of little data when the own data are published ([`super::short`]): waiting for others' data, and
//! copying or combining them.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;

use sys::sync::Ordering;

use crate::call::CallName;
use crate::coll::area::Round;
use crate::coll::area::fold::fold;
use crate::coll::area::passing::{Passing, pass_on};
use crate::coll::area::spec::{Going, Needs, Then, copy};
use crate::comm::Comm;
use crate::errors::{Error, Result};
use crate::op::Reduction;
use crate::request::RequestId;
use crate::task::{self, Begun, Kept, new_request};

/// It waits for the others: the name of the MPI call.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Waiting(pub(in crate::coll) &'static str);

/// It gives what is left to do, and nothing has been done where it would have to wait before its own data are published.
#[derive(Clone, Copy)]
pub(in crate::coll) struct AtOnce;

/// As [`AtOnce`], for operations on a communicator on which only one is under way at a time.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Planned;

impl<'a> Going<'a> for Waiting {
    type Gives = ();

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        Some(self.0)
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>>(self, round: Round<'a>, needs: Needs, rest: Then<R>) -> Result<()> {
        if round.is_simple(needs) {
            return round.finish_simply(needs, &rest);
        }
        let published = Published { round, needs, rest };
        published.wait_and_finish(self.0)
    }
}

impl<'a> Going<'a> for AtOnce {
    type Gives = Begun<'a>;

    const ROOM_IS_EXACT: bool = true;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>>(
        self,
        round: Round<'a>,
        needs: Needs,
        rest: Then<R>,
    ) -> Result<Begun<'a>> {
        if round.is_simple(needs) {
            // Most often a constant, which whoever asks for it knows then.
            return match round.finish_simply(needs, &rest) {
                Ok(()) => Ok(None),
                Err(error) => failed(error),
            };
        }
        let published = Published { round, needs, rest };
        published.linger()
    }
}

impl<'a> Going<'a> for Planned {
    type Gives = Begun<'a>;

    const IN_ORDER: bool = true;

    #[inline(always)]
    fn call(self) -> Option<&'static str> {
        None
    }

    #[inline(always)]
    fn go<R: Borrow<Reduction>>(
        self,
        round: Round<'a>,
        needs: Needs,
        rest: Then<R>,
    ) -> Result<Begun<'a>> {
        AtOnce.go(round, needs, rest)
    }
}

#[cold]
#[inline(never)]
fn failed<T>(error: Error) -> Result<T> {
    Err(error)
}

/// A collective of which the own data are published: what it waits for, and what is to be done then.
pub(in crate::coll) struct Published<'a, R = Reduction> {
    pub(in crate::coll) round: Round<'a>,
    pub(in crate::coll) needs: Needs,
    pub(in crate::coll) rest: Then<R>,
}

impl task::Waiting for Published<'_> {
    fn is_ready(&self) -> bool {
        self.round.look(self.needs).is_some()
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { round, needs, rest } = *self;
        match round.look(needs) {
            Some(left) => round.finish(needs, left, &rest),
            // It was there (is_ready).
            None => Ok(()),
        }
    }
}

/// Looks for the others' data before they are waited for elsewhere: who comes at the same time has published its data about as soon as
/// a request could be made.
const LINGER: u32 = 32;

impl<'a, R: Borrow<Reduction>> Published<'a, R> {
    /// Waits for the others' data and does what is left.
    #[inline(never)]
    fn wait_and_finish(&self, call: &'static str) -> Result<()> {
        let left = self.round.wait(call, self.needs)?;
        self.round.finish(self.needs, left, &self.rest)
    }

    /// Does what is left if the others' data come at once; else that is the result.
    #[inline(never)]
    fn linger(self) -> Result<Begun<'a>> {
        let Self { round, needs, rest } = self;
        if let Some(left) = (0..LINGER).find_map(|_| round.look(needs)) {
            return round.finish(needs, left, &rest).map(|()| None);
        }
        let published = Published {
            round,
            needs,
            rest: rest.map(|op| op.borrow().clone()),
        };
        Ok(Some(Box::new(Kept(Box::new(published)))))
    }
}

impl Round<'_> {
    /// Does what is left when all data are there and tell nothing new ([`Self::is_simple`]).
    #[inline(always)]
    fn finish_simply<R: Borrow<Reduction>>(self, needs: Needs, rest: &Then<R>) -> Result<()> {
        self.act(rest);
        self.end_simply(needs)
    }

    /// The same if they are of members that have left all rounds before `left`.
    fn finish<R: Borrow<Reduction>>(self, needs: Needs, left: u64, rest: &Then<R>) -> Result<()> {
        self.act(rest);
        self.end(needs, left)
    }

    #[inline(always)]
    fn act<R: Borrow<Reduction>>(self, rest: &Then<R>) {
        match rest {
            Then::Nothing => {}
            &Then::Copy {
                member,
                skip,
                target,
                bytes,
            } => {
                let source = self.place(member).wrapping_add(skip);
                // SAFETY: the member publishes `published` bytes; `target` is writable (caller of what started this).
                unsafe { copy(source, target, bytes) };
            }
            &Then::CopyOwn { own, target, bytes } => {
                // SAFETY: as above.
                unsafe { copy(own, target, bytes) };
            }
            &Then::CopyFolded { target, shape, .. } => {
                // SAFETY: as above; what is nobody's in particular is as long.
                unsafe { copy(self.place(self.size), target, shape.1) };
            }
            &Then::CopyAll {
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
            &Then::Fold {
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
                // SAFETY: all have published `published` bytes; places are aligned for every type; the caller's promise.
                unsafe { fold(op.borrow(), last, operand, target, shape) };
            }
            &Then::PassOn {
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
                // SAFETY: the member below has published, and the own place was entered (`prefix`); the caller's promise.
                unsafe {
                    let place = |member| self.place(member);
                    pass_on((self.me, self.size), &passing, place, || {
                        self.publish();
                        self.wake(self.me + 1);
                    });
                }
            }
        }
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
pub fn keep(comm: &Comm, call: CallName, published: Kept<'_>) -> Result<RequestId> {
    let request = new_request(comm, call)?;
    // SAFETY: the request counts as pending on the communicator, which lives as long (Comm::hold_operation).
    comm.vci.start_waiting(request, unsafe { published.keep() });
    Ok(request)
}
