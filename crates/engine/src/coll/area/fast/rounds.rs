// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each collective of little data as one round, whatever drives it.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

use super::Span;
use crate::coll::area::Purpose;
use crate::coll::area::describe::{self, Members, Operands};
use crate::coll::area::drive::{Driver, open};
use crate::coll::area::spec::{Contiguous, Publish, Shelf};
use crate::coll::select;
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// This member and the number of members.
#[inline(always)]
const fn members(comm: &Comm) -> Members {
    Members {
        me: comm.rank() as u32,
        size: comm.peers,
    }
}

impl Span {
    #[inline(always)]
    const fn contiguous(self) -> Contiguous {
        Contiguous(self.base())
    }
}

/// Nobody leaves before everybody entered.
#[inline(always)]
pub(super) fn barrier<'a, E: Driver<'a>>(driver: E, comm: &'a Comm) -> Option<Result<E::Output>> {
    if comm.area.is_single() {
        return Some(Ok(E::Output::default()));
    }
    // SAFETY: there are no data.
    unsafe { driver.take(comm, describe::barrier()) }
}

/// Copies the root's bytes to everyone.
///
/// # Safety
/// The memory is readable at the root, writable elsewhere, until the operation is complete.
#[inline(always)]
pub(super) unsafe fn bcast<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    data: Span,
    root: u32,
) -> Option<Result<E::Output>> {
    if comm.area.is_single() {
        return Some(Ok(E::Output::default()));
    }
    if data.bytes == 0 {
        return None;
    }
    let spec = |me| describe::bcast(me, root, data.contiguous(), data.bytes);
    // One call for each role, so that the compiler keeps what is constant in each.
    if comm.rank() as u32 == root {
        // SAFETY: this function's own promise.
        return unsafe { driver.take(comm, spec(root)) };
    }
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, spec(comm.rank() as u32)) }
}

/// Combines every rank's elements everywhere, or at the root if there is one. In place: `send` is `receive`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type, until the operation is complete;
/// `receive` is not used but at the root.
#[inline(always)]
pub(super) unsafe fn reduce<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Span,
    receive: Option<Span>,
    count: usize,
    op: &Reduction,
    root: Option<u32>,
) -> Option<Result<E::Output>> {
    let bytes = send.bytes;
    if comm.area.is_single() {
        // SAFETY: this function's own promise.
        return Some(unsafe { driver.copy_single(send, receive?.base()) });
    }
    if bytes == 0 {
        return None;
    }
    let members = members(comm);
    let operands = Operands {
        send: send.contiguous(),
        own: send.base().cast_const(),
        target: None,
        shape: (count, bytes),
    };
    let Some(root) = root else {
        let target = receive?.base();
        if describe::combines_last(bytes, members.size) {
            // SAFETY: this function's own promise.
            return unsafe { allreduce_by_last(driver, comm, operands, target, op) };
        }
        let spec = describe::allreduce(members, operands, (target, Contiguous(target)), op, false);
        // SAFETY: this function's own promise.
        return unsafe { driver.take(comm, spec) };
    };
    if root != members.me {
        // SAFETY: this function's own promise.
        return unsafe { driver.take(comm, describe::reduce(members, operands, op, root)) };
    }
    let operands = Operands {
        target: Some(receive?.base()),
        ..operands
    };
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, describe::reduce(members, operands, op, members.me)) }
}

/// As [`reduce`] without a root, for operands that the last member to come combines for all.
///
/// # Safety
/// As there.
#[inline(never)]
pub(super) unsafe fn allreduce_by_last<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    operands: Operands<Contiguous>,
    target: *mut u8,
    op: &Reduction,
) -> Option<Result<E::Output>> {
    let spec = describe::allreduce(
        members(comm),
        operands,
        (target, Contiguous(target)),
        op,
        true,
    );
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, spec) }
}

/// Every rank's bytes to the root, or to everyone if there is none, one after the other; `send` is `None` for a rank whose
/// block is in place.
///
/// # Safety
/// `send` is readable, and `receive` writable for a block of each rank, until the operation is complete; `receive` is not used
/// but at the root ([`Driver::ROOM_IS_EXACT`]: not given).
#[inline(always)]
pub(super) unsafe fn gather<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Option<Span>,
    receive: Option<Span>,
    root: Option<u32>,
) -> Option<Result<E::Output>> {
    let me = comm.rank() as u32;
    let takes = match E::ROOM_IS_EXACT {
        true => receive.is_some(),
        false => root.is_none_or(|root| root == me),
    };
    let into = receive.filter(|_| takes);
    if takes && into.is_none() {
        return None;
    }
    if comm.area.is_single() {
        // SAFETY: this function's own promise.
        return unsafe { copy_for_single(driver, send, into) };
    }
    let (own, bytes) = match (send, into) {
        (Some(own), _) => (own.base(), own.bytes),
        (None, Some(all)) => {
            let bytes = all.bytes / comm.peers as usize;
            (all.base().wrapping_add(bytes * me as usize), bytes)
        }
        (None, None) => return None,
    };
    if bytes == 0 {
        return None;
    }
    let own = Contiguous(own);
    let Some(all) = into else {
        // SAFETY: this function's own promise.
        return unsafe { driver.take(comm, describe::gather(root, own, (None, None), bytes)) };
    };
    if all.bytes != bytes * comm.peers as usize {
        return None;
    }
    let copied = (Some(all.contiguous()), Some(own));
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, describe::gather(root, own, copied, bytes)) }
}

/// The copy of a communicator with one member; `None` if it receives another length than it sends.
///
/// # Safety
/// `from` is readable and `into` writable, until the operation is complete.
#[inline(always)]
pub(super) unsafe fn copy_for_single<'a, E: Driver<'a>>(
    driver: E,
    from: Option<Span>,
    into: Option<Span>,
) -> Option<Result<E::Output>> {
    let (Some(from), Some(into)) = (from, into) else {
        return Some(Ok(E::Output::default()));
    };
    if from.bytes != into.bytes {
        return None;
    }
    // SAFETY: this function's own promise.
    Some(unsafe { driver.copy_single(from, into.base()) })
}

/// Block `i` of every rank goes to rank `i`, one after the other.
///
/// # Safety
/// `send` is readable and `receive` writable for a block of each rank, until the operation is complete; they do not overlap.
#[inline(always)]
pub(super) unsafe fn alltoall<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Span,
    receive: Span,
) -> Option<Result<E::Output>> {
    let all = send.bytes;
    if receive.bytes != all {
        return None;
    }
    if comm.area.is_single() {
        // SAFETY: this function's own promise.
        return Some(unsafe { driver.copy_single(send, receive.base()) });
    }
    if all == 0 {
        return None;
    }
    let bytes = match comm.peers as usize {
        2 => all / 2,
        size => all / size,
    };
    let shelf = Shelf {
        stride: bytes,
        has_own: true,
        writes_own: true,
    };
    let (from, into) = (send.contiguous(), receive.contiguous());
    // SAFETY: this function's own promise.
    unsafe {
        driver.take(
            comm,
            describe::alltoall(members(comm), from, into, shelf, bytes),
        )
    }
}

/// The root's blocks to every rank, one after the other; `receive` is `None` for a root whose block stays where it is.
///
/// # Safety
/// `send` is readable for a block of each rank, and not used but at the root; `receive` is writable; until the operation is
/// complete.
#[inline(always)]
pub(super) unsafe fn scatter<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Option<Span>,
    receive: Option<Span>,
    root: u32,
) -> Option<Result<E::Output>> {
    let members = members(comm);
    let from = send.filter(|_| members.me == root);
    if members.me == root && from.is_none() {
        return None;
    }
    if comm.area.is_single() {
        // SAFETY: this function's own promise.
        return unsafe { copy_for_single(driver, from, receive) };
    }
    let size = comm.peers as usize;
    let bytes = match (from, receive) {
        (Some(all), Some(own)) if own.bytes * size == all.bytes => own.bytes,
        (Some(_), Some(_)) => return None,
        (Some(all), None) => all.bytes / size,
        (None, Some(own)) => own.bytes,
        (None, None) => return None,
    };
    if bytes == 0 || bytes > select::FAST_BYTES {
        return None;
    }
    let into = receive.map(Span::contiguous);
    let Some(all) = from.map(Span::contiguous) else {
        let spec = describe::scatter(members, root, None, (into, None), bytes);
        // SAFETY: this function's own promise.
        return unsafe { driver.take(comm, spec) };
    };
    let own = Contiguous(all.0.wrapping_add(bytes * root as usize));
    let spec = describe::scatter(members, root, Some(all), (into, Some(own)), bytes);
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, spec) }
}

/// Combines the elements of the ranks up to this one, or below it.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
pub(super) unsafe fn prefix<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Span,
    receive: Span,
    count: usize,
    op: &Reduction,
    inclusive: bool,
) -> Option<Result<E::Output>> {
    let (own, bytes, target) = (send.base().cast_const(), send.bytes, receive.base());
    if comm.area.is_single() {
        if !inclusive {
            return Some(Ok(E::Output::default()));
        }
        // SAFETY: this function's own promise.
        return Some(unsafe { driver.copy_single(send, target) });
    }
    if bytes == 0 {
        return None;
    }
    let (me, shape) = (comm.rank() as u32, (count, bytes));
    if open(comm, Purpose::ScanChain, bytes).is_some() {
        let spec = describe::pass_on(me, (own, target), shape, op, inclusive);
        // SAFETY: this function's own promise.
        return unsafe { driver.take(comm, spec) };
    }
    let operands = Operands {
        send: send.contiguous(),
        own,
        target: Some(target),
        shape,
    };
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, describe::prefix(me, operands, op, inclusive)) }
}

/// Combines vectors of a part for each rank, all equally long; each rank gets its part. `receive` may lie in `send`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type a part, until the operation is
/// complete.
#[inline(always)]
pub(super) unsafe fn reduce_scatter<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Span,
    receive: Span,
    count: usize,
    op: &Reduction,
) -> Option<Result<E::Output>> {
    let (bytes, part) = (send.bytes, receive.bytes);
    if comm.area.is_single() {
        // SAFETY: this function's own promise.
        return unsafe { copy_for_single(driver, Some(send), Some(receive)) };
    }
    if bytes == 0 || part * comm.peers as usize != bytes {
        return None;
    }
    let published = (Publish::Own(send.contiguous()), bytes);
    let own = (part * comm.rank() as usize, receive.base());
    let spec = describe::reduce_scatter(comm.peers, published, own, (count, part), op);
    // SAFETY: this function's own promise.
    unsafe { driver.take(comm, spec) }
}
