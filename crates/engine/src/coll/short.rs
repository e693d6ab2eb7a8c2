// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocking collectives of little data, in one turn of the commons, on a straight line.
//!
//! They do what [`super::shared`] does, for data that are contiguous and fit into an area, when the members have commons
//! and no other thread is inside MPI; else they answer `None` and have done nothing.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use super::choose;
use super::commons::{Meeting, Purpose, meet_at_once};
use super::shared::{fold, usable_in_place};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;
use crate::p2p::Memory;

/// Copies bytes that may be a single word.
///
/// # Safety
/// `source` is readable and `target` writable for `bytes` bytes.
#[inline(always)]
unsafe fn copy(source: *const u8, target: *mut u8, bytes: usize) {
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

/// What a member gives to or takes from a collective: a run of bytes.
fn run(memory: &Memory<'_>) -> Option<(*mut u8, usize)> {
    let short = memory.layout.is_none() && memory.bytes <= choose::SHORT_BYTES;
    short.then_some((memory.base, memory.bytes))
}

impl Meeting<'_> {
    /// Shows `bytes` bytes at `source` in the only turn, and wakes whoever is in `wakes`.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes.
    #[inline(always)]
    unsafe fn show(&self, call: &'static str, source: *const u8, bytes: usize) -> Result<()> {
        self.enter_now(call, bytes)?;
        // SAFETY: the own place holds `bytes` bytes (meet_at_once), which nobody reads before they are posted.
        unsafe { copy(source, self.place(0, self.me, bytes), bytes) };
        self.post(0);
        Ok(())
    }
}

/// Nobody leaves before everybody entered.
pub fn barrier(call: &'static str, comm: &Comm) -> Option<Result<()>> {
    let meeting = meet_at_once(comm, Purpose::Barrier, 0, 0)?;
    let work = || {
        meeting.enter_now(call, 0)?;
        meeting.post(0);
        meeting.wake_all();
        meeting.all_posted_now(call)?;
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// Copies the root's bytes to everyone.
///
/// # Safety
/// The memory is readable at the root, writable elsewhere.
pub unsafe fn bcast(
    call: &'static str,
    comm: &Comm,
    memory: &Memory<'_>,
    root: u32,
) -> Option<Result<()>> {
    let (base, bytes) = run(memory).filter(|&(_, bytes)| bytes > 0)?;
    let meeting = meet_at_once(comm, Purpose::Bcast, bytes, bytes)?;
    let work = || {
        if meeting.me == root {
            // SAFETY: the caller's promise.
            unsafe { meeting.show(call, base, bytes)? };
            meeting.wake_all();
        } else {
            meeting.posted_now(call, root)?;
            // SAFETY: the root shows `bytes` bytes; the caller's promise.
            unsafe { copy(meeting.place(0, root, bytes), base, bytes) };
        }
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// Combines every rank's elements everywhere, or at the root if there is one. In place: `send` is `receive`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type; `receive` is not used but at the
/// root.
pub unsafe fn reduce(
    call: &'static str,
    comm: &Comm,
    send: &Memory<'_>,
    receive: Option<&Memory<'_>>,
    count: usize,
    op: &Reduction,
    root: Option<u32>,
) -> Option<Result<()>> {
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
    let meeting = meet_at_once(comm, purpose, bytes, bytes)?;
    let me = meeting.me;
    let target = receive.filter(|_| root.is_none_or(|root| root == me));
    let lies_well =
        target.is_none_or(|target| target.base != base || usable_in_place(op, me, meeting.size));
    let work = || {
        if root != Some(me) || !lies_well {
            // SAFETY: the caller's promise.
            unsafe { meeting.show(call, base, bytes)? };
        }
        match root {
            None => meeting.wake_all(),
            Some(root) if root != me => meeting.wake(root),
            Some(_) => {}
        }
        if let Some(target) = target {
            meeting.all_posted_now(call)?;
            let operand = |rank| {
                if rank == me && lies_well {
                    base.cast_const()
                } else {
                    meeting.place(0, rank, bytes).cast_const()
                }
            };
            let last = meeting.size - 1;
            // SAFETY: all others have posted `bytes` bytes; the caller's promise; places are aligned for every type.
            unsafe { fold(op, last, operand, target.base, (count, bytes)) };
        }
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// Every rank's bytes to the root, or to everyone if there is none, one after the other; `send` is `None` for a rank whose
/// piece is in place.
///
/// # Safety
/// `send` is readable; `receive` is writable for a piece of each rank, and not used but at the root.
pub unsafe fn gather(
    call: &'static str,
    comm: &Comm,
    send: Option<&Memory<'_>>,
    receive: Option<&Memory<'_>>,
    root: Option<u32>,
) -> Option<Result<()>> {
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
    let meeting = meet_at_once(comm, purpose, bytes, bytes)?;
    let work = || {
        if root != Some(me) {
            // SAFETY: the caller's promise.
            unsafe { meeting.show(call, base, bytes)? };
        }
        match root {
            None => meeting.wake_all(),
            Some(root) if root != me => meeting.wake(root),
            Some(_) => {}
        }
        if let Some(all) = into {
            for member in 0..meeting.size {
                let target = all.base.wrapping_add(bytes * member as usize);
                let source = if member == me {
                    base.cast_const()
                } else {
                    meeting.posted_now(call, member)?;
                    meeting.place(0, member, bytes).cast_const()
                };
                // SAFETY: the member shows `bytes` bytes, or they are the own ones; `target` holds a piece of each.
                unsafe { copy(source, target, bytes) };
            }
        }
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// Piece `i` of every rank goes to rank `i`, one after the other.
///
/// # Safety
/// `send` is readable and `receive` writable for a piece of each rank; they do not overlap.
pub unsafe fn alltoall(
    call: &'static str,
    comm: &Comm,
    send: &Memory<'_>,
    receive: &Memory<'_>,
) -> Option<Result<()>> {
    let (from, all) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    if receive.layout.is_some() || receive.bytes != all {
        return None;
    }
    let bytes = all / comm.size() as usize;
    let meeting = meet_at_once(comm, Purpose::Alltoall, bytes, all)?;
    let work = || {
        // SAFETY: the caller's promise.
        unsafe { meeting.show(call, from, all)? };
        meeting.wake_all();
        meeting.all_posted_now(call)?;
        for member in 0..meeting.size {
            let source = meeting.place(0, member, all);
            let target = receive.base.wrapping_add(bytes * member as usize);
            // SAFETY: the member shows a piece for each; `receive` holds one of each.
            unsafe { copy(source.add(bytes * meeting.me as usize), target, bytes) };
        }
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// The root's pieces to every rank, one after the other; `receive` is `None` for a root whose piece stays where it is.
///
/// # Safety
/// `send` is readable for a piece of each rank, and not used but at the root; `receive` is writable.
pub unsafe fn scatter(
    call: &'static str,
    comm: &Comm,
    send: Option<&Memory<'_>>,
    receive: Option<&Memory<'_>>,
    root: u32,
) -> Option<Result<()>> {
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
    let all = bytes * size;
    let into = match receive {
        Some(memory) => Some(run(memory)?.0),
        None => None,
    };
    if bytes == 0 || all > choose::SHORT_BYTES {
        return None;
    }
    let meeting = meet_at_once(comm, Purpose::Scatter, bytes, all)?;
    let work = || {
        let source = match from {
            Some(pieces) => {
                // SAFETY: the caller's promise.
                unsafe { meeting.show(call, pieces.base, all)? };
                meeting.wake_all();
                pieces.base
            }
            None => {
                meeting.posted_now(call, root)?;
                meeting.place(0, root, all)
            }
        };
        if let Some(target) = into {
            // SAFETY: a piece for each rank starts at `source`; the caller's promise.
            unsafe { copy(source.add(bytes * me as usize), target, bytes) };
        }
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// Combines the elements of the ranks up to this one, or below it.
///
/// # Safety
/// As for [`reduce`].
pub unsafe fn prefix(
    call: &'static str,
    comm: &Comm,
    send: &Memory<'_>,
    receive: &Memory<'_>,
    count: usize,
    op: &Reduction,
    inclusive: bool,
) -> Option<Result<()>> {
    let (base, bytes) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    let meeting = meet_at_once(comm, Purpose::Scan, bytes, bytes)?;
    let me = meeting.me;
    let work = || {
        // SAFETY: the caller's promise.
        unsafe { meeting.show(call, base, bytes)? };
        for rank in me + 1..meeting.size {
            meeting.wake(rank);
        }
        let below = if inclusive {
            Some(me)
        } else {
            me.checked_sub(1)
        };
        if let Some(last) = below {
            for rank in 0..me {
                meeting.posted_now(call, rank)?;
            }
            let operand = |rank| meeting.place(0, rank, bytes).cast_const();
            // SAFETY: the ranks below have posted `bytes` bytes; the caller's promise.
            unsafe { fold(op, last, operand, receive.base, (count, bytes)) };
        }
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}

/// Combines vectors of a part for each rank, all equally long; each rank gets its part. `receive` may lie in `send`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type a part.
pub unsafe fn reduce_scatter(
    call: &'static str,
    comm: &Comm,
    send: &Memory<'_>,
    receive: &Memory<'_>,
    count: usize,
    op: &Reduction,
) -> Option<Result<()>> {
    let (base, bytes) = run(send).filter(|&(_, bytes)| bytes > 0)?;
    let meeting = meet_at_once(comm, Purpose::ReduceScatter, bytes, bytes)?;
    let part = bytes / meeting.size as usize;
    let work = || {
        // SAFETY: the caller's promise.
        unsafe { meeting.show(call, base, bytes)? };
        meeting.wake_all();
        meeting.all_posted_now(call)?;
        let first = part * meeting.me as usize;
        let operand = |rank| {
            let start = meeting.place(0, rank, bytes).cast_const();
            start.wrapping_add(first)
        };
        let last = meeting.size - 1;
        // SAFETY: all have posted `bytes` bytes; the caller's promise.
        unsafe { fold(op, last, operand, receive.base, (count, part)) };
        meeting.leave(0);
        Ok(())
    };
    Some(work().and_then(|()| meeting.outcome()))
}
