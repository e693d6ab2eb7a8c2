// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of little data, in one turn of the commons, on a straight line.
//!
//! They do what [`super::shared`] does, for data that are contiguous and fit into an area, when the members have commons
//! and no other thread is inside MPI; else they answer `None` and have done nothing. Each shows its own data at once and
//! goes on with what is left to do ([`Rest`]): a blocking call waits for the others and does it, a nonblocking one keeps
//! it ([`Begun`]) unless the others have come already.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use std::borrow::Borrow;

use super::choose;
use super::commons::{Meeting, Purpose, meet_at_once};
use super::shared::{lie_together, usable_in_place};
use super::shown::{Begun, Needs, Rest, Start};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;
use crate::p2p::Memory;

/// What a member gives to or takes from a collective: a run of bytes.
fn run(memory: &Memory<'_>) -> Option<(*mut u8, usize)> {
    let short = memory.layout.is_none() && memory.bytes <= choose::SHORT_BYTES;
    short.then_some((memory.base, memory.bytes))
}

/// What a call does when its own data are shown.
trait Then<'a, R, T>: FnOnce(&Meeting<'a>, Needs, Rest<R>) -> Result<T> {}

impl<'a, R, T, F: FnOnce(&Meeting<'a>, Needs, Rest<R>) -> Result<T>> Then<'a, R, T> for F {}

/// Nobody leaves before everybody entered.
#[inline(always)]
fn barrier<'a, T>(
    start: Start,
    comm: &'a Comm,
    then: impl Then<'a, Reduction, T>,
) -> Option<Result<T>> {
    let meeting = meet_at_once(start, comm, Purpose::Barrier, 0, 0)?;
    // SAFETY: no bytes.
    let shown = unsafe { meeting.show(start, std::ptr::null(), 0) };
    if let Err(error) = shown {
        return Some(Err(error));
    }
    meeting.wake_all();
    Some(then(&meeting, Needs::All, Rest::Nothing))
}

/// Copies the root's bytes to everyone.
///
/// # Safety
/// The memory is readable at the root, writable elsewhere, until the operation is complete.
#[inline(always)]
unsafe fn bcast<'a, T>(
    start: Start,
    comm: &'a Comm,
    memory: &Memory<'_>,
    root: u32,
    then: impl Then<'a, Reduction, T>,
) -> Option<Result<T>> {
    let (base, bytes) = run(memory).filter(|&(_, bytes)| bytes > 0)?;
    let meeting = meet_at_once(start, comm, Purpose::Bcast, bytes, bytes)?;
    if meeting.me == root {
        // SAFETY: the caller's promise.
        let shown = unsafe { meeting.show(start, base, bytes) };
        if let Err(error) = shown {
            return Some(Err(error));
        }
        meeting.wake_all();
        return Some(then(&meeting, Needs::Nobodys, Rest::Nothing));
    }
    Some(then(
        &meeting,
        Needs::One(root),
        Rest::Copy {
            member: root,
            shown: bytes,
            skip: 0,
            target: base,
            bytes,
        },
    ))
}

/// Combines every rank's elements everywhere, or at the root if there is one. In place: `send` is `receive`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type, until the operation is complete;
/// `receive` is not used but at the root.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "a reduction has as many")]
unsafe fn reduce<'a, R: Borrow<Reduction>, T>(
    start: Start,
    comm: &'a Comm,
    send: &Memory<'_>,
    receive: Option<&Memory<'_>>,
    count: usize,
    op: R,
    root: Option<u32>,
    then: impl Then<'a, R, T>,
) -> Option<Result<T>> {
    let (base, bytes) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    let size = comm.size() as usize;
    if size > 2 && bytes * size > choose::EACH_FOR_ITSELF_BYTES {
        return None;
    }
    let purpose = if root.is_some() {
        Purpose::Reduce
    } else {
        Purpose::Allreduce
    };
    let meeting = meet_at_once(start, comm, purpose, bytes, bytes)?;
    let me = meeting.me;
    let target = receive.filter(|_| root.is_none_or(|root| root == me));
    let lies_well = target
        .is_none_or(|target| target.base != base || usable_in_place(op.borrow(), me, meeting.size));
    if root != Some(me) || !lies_well {
        // SAFETY: the caller's promise.
        if let Err(error) = unsafe { meeting.show(start, base, bytes) } {
            return Some(Err(error));
        }
    }
    meeting.wake_for(root);
    let (needs, rest) = match target {
        None => (Needs::Nobodys, Rest::Nothing),
        Some(target) => (
            Needs::All,
            Rest::Fold {
                op,
                last: meeting.size - 1,
                shown: bytes,
                skip: 0,
                target: target.base,
                shape: (count, bytes),
                own: lies_well.then_some(base.cast_const()),
            },
        ),
    };
    Some(then(&meeting, needs, rest))
}

/// Every rank's bytes to the root, or to everyone if there is none, one after the other; `send` is `None` for a rank whose
/// piece is in place.
///
/// # Safety
/// `send` is readable, and `receive` writable for a piece of each rank, until the operation is complete; `receive` is not used
/// but at the root.
#[inline(always)]
unsafe fn gather<'a, T>(
    start: Start,
    comm: &'a Comm,
    send: Option<&Memory<'_>>,
    receive: Option<&Memory<'_>>,
    root: Option<u32>,
    then: impl Then<'a, Reduction, T>,
) -> Option<Result<T>> {
    let (size, me) = (comm.size() as usize, comm.rank() as u32);
    let takes = root.is_none_or(|root| root == me);
    let into = match receive.filter(|_| takes) {
        None => None,
        Some(memory) if memory.layout.is_none() => Some(memory),
        Some(_) => return None,
    };
    let (base, bytes) = match (send, into) {
        (Some(memory), _) => run(memory)?,
        (None, Some(all)) => {
            let bytes = all.bytes / size;
            (all.base.wrapping_add(bytes * me as usize), bytes)
        }
        (None, None) => return None,
    };
    if bytes == 0 || bytes > choose::SHORT_BYTES {
        return None;
    }
    let purpose = if root.is_some() {
        Purpose::Gather
    } else {
        Purpose::Allgather
    };
    let meeting = meet_at_once(start, comm, purpose, bytes, bytes)?;
    if root != Some(me) {
        // SAFETY: the caller's promise.
        if let Err(error) = unsafe { meeting.show(start, base, bytes) } {
            return Some(Err(error));
        }
    }
    meeting.wake_for(root);
    let (needs, rest) = match into {
        None => (Needs::Nobodys, Rest::Nothing),
        Some(all) => (
            Needs::All,
            Rest::CopyAll {
                shown: bytes,
                skip: 0,
                target: all.base,
                bytes,
                own: Some(base.cast_const()),
            },
        ),
    };
    Some(then(&meeting, needs, rest))
}

/// Piece `i` of every rank goes to rank `i`, one after the other.
///
/// # Safety
/// `send` is readable and `receive` writable for a piece of each rank, until the operation is complete; they do not overlap.
#[inline(always)]
unsafe fn alltoall<'a, T>(
    start: Start,
    comm: &'a Comm,
    send: &Memory<'_>,
    receive: &Memory<'_>,
    then: impl Then<'a, Reduction, T>,
) -> Option<Result<T>> {
    let (from, all) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    if receive.layout.is_some() || receive.bytes != all {
        return None;
    }
    let bytes = all / comm.size() as usize;
    let meeting = meet_at_once(start, comm, Purpose::Alltoall, bytes, all)?;
    // SAFETY: the caller's promise.
    let shown = unsafe { meeting.show(start, from, all) };
    if let Err(error) = shown {
        return Some(Err(error));
    }
    meeting.wake_all();
    let skip = bytes * meeting.me as usize;
    Some(then(
        &meeting,
        Needs::All,
        Rest::CopyAll {
            shown: all,
            skip,
            target: receive.base,
            bytes,
            own: None,
        },
    ))
}

/// The root's pieces to every rank, one after the other; `receive` is `None` for a root whose piece stays where it is.
///
/// # Safety
/// `send` is readable for a piece of each rank, and not used but at the root; `receive` is writable; until the operation is
/// complete.
#[inline(always)]
unsafe fn scatter<'a, T>(
    start: Start,
    comm: &'a Comm,
    send: Option<&Memory<'_>>,
    receive: Option<&Memory<'_>>,
    root: u32,
    then: impl Then<'a, Reduction, T>,
) -> Option<Result<T>> {
    let (size, me) = (comm.size() as usize, comm.rank() as u32);
    let from = match send.filter(|_| me == root) {
        None => None,
        Some(memory) if memory.layout.is_none() => Some(memory),
        Some(_) => return None,
    };
    let bytes = match (from, receive) {
        (Some(all), _) => all.bytes / size,
        (None, Some(memory)) => memory.bytes,
        (None, None) => return None,
    };
    let into = match receive {
        Some(memory) => Some(run(memory)?.0),
        None => None,
    };
    if bytes == 0 || bytes > choose::SHORT_BYTES {
        return None;
    }
    let all = bytes * size;
    let together = lie_together(bytes, size as u32);
    let shown = if together { all } else { bytes };
    let meeting = meet_at_once(start, comm, Purpose::Scatter, bytes, shown)?;
    let needs = match from {
        Some(pieces) => {
            // SAFETY: the caller's promise; the root's own piece goes straight to its target.
            let outcome = unsafe {
                if together {
                    meeting.show(start, pieces.base, all)
                } else {
                    let own = into.map(|target| (target, pieces.base.add(bytes * me as usize)));
                    meeting.show_each(start, pieces.base, bytes).inspect(|()| {
                        if let Some((target, own)) = own {
                            std::ptr::copy(own, target, bytes);
                        }
                    })
                }
            };
            if let Err(error) = outcome {
                return Some(Err(error));
            }
            meeting.wake_all();
            Needs::Nobodys
        }
        None => Needs::One(root),
    };
    let rest = match into {
        None => Rest::Nothing,
        // The root's own piece is in what it shows.
        Some(target) if together => Rest::Copy {
            member: root,
            shown: all,
            skip: bytes * me as usize,
            target,
            bytes,
        },
        Some(_) if from.is_some() => Rest::Nothing,
        Some(target) => Rest::Copy {
            member: me,
            shown: bytes,
            skip: 0,
            target,
            bytes,
        },
    };
    Some(then(&meeting, needs, rest))
}

/// Combines the elements of the ranks up to this one, or below it.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "a reduction has as many")]
unsafe fn prefix<'a, R: Borrow<Reduction>, T>(
    start: Start,
    comm: &'a Comm,
    send: &Memory<'_>,
    receive: &Memory<'_>,
    count: usize,
    op: R,
    inclusive: bool,
    then: impl Then<'a, R, T>,
) -> Option<Result<T>> {
    let (base, bytes) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    if let Some(meeting) = meet_at_once(start, comm, Purpose::ScanChain, bytes, bytes) {
        if let Start::Waiting(call) = start
            && meeting.me + 1 < meeting.size
            && let Err(error) = meeting.enter_now(call, bytes)
        {
            return Some(Err(error));
        }
        let needs = meeting.me.checked_sub(1).map_or(Needs::Nobodys, Needs::One);
        let rest = Rest::PassOn {
            op,
            own: base,
            target: receive.base,
            shape: (count, bytes),
            inclusive,
        };
        return Some(then(&meeting, needs, rest));
    }
    let meeting = meet_at_once(start, comm, Purpose::Scan, bytes, bytes)?;
    let me = meeting.me;
    // SAFETY: the caller's promise.
    if let Err(error) = unsafe { meeting.show(start, base, bytes) } {
        return Some(Err(error));
    }
    for rank in me + 1..meeting.size {
        meeting.wake(rank);
    }
    let below = if inclusive {
        Some(me)
    } else {
        me.checked_sub(1)
    };
    let (needs, rest) = match below {
        None => (Needs::Nobodys, Rest::Nothing),
        Some(last) => (
            Needs::Lower,
            Rest::Fold {
                op,
                last,
                shown: bytes,
                skip: 0,
                target: receive.base,
                shape: (count, bytes),
                own: None,
            },
        ),
    };
    Some(then(&meeting, needs, rest))
}

/// Combines vectors of a part for each rank, all equally long; each rank gets its part. `receive` may lie in `send`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type a part, until the operation is
/// complete.
#[inline(always)]
unsafe fn reduce_scatter<'a, R: Borrow<Reduction>, T>(
    start: Start,
    comm: &'a Comm,
    send: &Memory<'_>,
    receive: &Memory<'_>,
    count: usize,
    op: R,
    then: impl Then<'a, R, T>,
) -> Option<Result<T>> {
    let (base, bytes) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    let meeting = meet_at_once(start, comm, Purpose::ReduceScatter, bytes, bytes)?;
    let part = bytes / meeting.size as usize;
    // SAFETY: the caller's promise.
    let shown = unsafe { meeting.show(start, base, bytes) };
    if let Err(error) = shown {
        return Some(Err(error));
    }
    meeting.wake_all();
    let (skip, last) = (part * meeting.me as usize, meeting.size - 1);
    Some(then(
        &meeting,
        Needs::All,
        Rest::Fold {
            op,
            last,
            shown: bytes,
            skip,
            target: receive.base,
            shape: (count, part),
            own: None,
        },
    ))
}

/// Writes both forms of the operations: to their ends, and with what is left as the result.
macro_rules! forms {
    ($($name:ident($($argument:ident: $kind:ty),* $(; $op:ident $(, $more:ident: $sort:ty)*)?);)*) => {
        /// The blocking forms, each a function of its own: whoever calls them has much else to do, and few registers to spare.
        pub mod now {
            use super::{Comm, Memory, Reduction, Result, Start};

            $(
                #[doc = concat!("`", stringify!($name), "` to its end.")]
                ///
                /// # Safety
                /// What is sent is readable, what is received is writable, until it returns.
                pub unsafe fn $name(
                    call: &'static str,
                    comm: &Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<()>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Start::Waiting(call), comm, $($argument,)* $($op, $($more,)*)? |meeting, needs, rest| {
                            meeting.wait_and_act(call, needs, &rest)
                        })
                    }
                }
            )*

            /// Nobody leaves before everybody entered.
            pub fn barrier(call: &'static str, comm: &Comm) -> Option<Result<()>> {
                super::barrier(Start::Waiting(call), comm, |meeting, needs, rest| {
                    meeting.wait_and_act(call, needs, &rest)
                })
            }
        }

        /// The forms that do not wait: what is left to do is the result, if anything is.
        pub mod at_once {
            use super::{Begun, Comm, Memory, Reduction, Result, Start};

            $(
                #[doc = concat!("`", stringify!($name), "` started.")]
                ///
                /// # Safety
                /// What is sent is readable, what is received is writable, until the rest is done.
                pub unsafe fn $name<'a>(
                    comm: &'a Comm,
                    $($argument: $kind,)*
                    $($op: &Reduction, $($more: $sort,)*)?
                ) -> Option<Result<Begun<'a>>> {
                    // SAFETY: passed on.
                    unsafe {
                        super::$name(Start::AtOnce, comm, $($argument,)* $($op, $($more,)*)? |meeting, needs, rest| {
                            meeting.begin(needs, rest)
                        })
                    }
                }
            )*

            /// Nobody leaves before everybody entered.
            pub fn barrier(comm: &Comm) -> Option<Result<Begun<'_>>> {
                super::barrier(Start::AtOnce, comm, |meeting, needs, rest| {
                    meeting.begin(needs, rest)
                })
            }
        }
    };
}

forms! {
    bcast(memory: &Memory<'_>, root: u32);
    reduce(send: &Memory<'_>, receive: Option<&Memory<'_>>, count: usize; op, root: Option<u32>);
    gather(send: Option<&Memory<'_>>, receive: Option<&Memory<'_>>, root: Option<u32>);
    alltoall(send: &Memory<'_>, receive: &Memory<'_>);
    scatter(send: Option<&Memory<'_>>, receive: Option<&Memory<'_>>, root: u32);
    prefix(send: &Memory<'_>, receive: &Memory<'_>, count: usize; op, inclusive: bool);
    reduce_scatter(send: &Memory<'_>, receive: &Memory<'_>, count: usize; op);
}
