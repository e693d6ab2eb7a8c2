// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of little data, in one turn of the commons, on a straight line.
//!
//! They do what [`super::shared`] does, for data that are contiguous and fit into an area, when the members have commons
//! and no other thread is inside MPI; else they answer `None` and have done nothing. Each shows its own data at once and
//! goes on with what is left to do ([`Rest`]): a blocking call waits for the others and does it, a nonblocking one keeps
//! it ([`Begun`]) unless the others have come already. Where there is one member, they are copies.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

mod forms;
mod run;

pub use forms::{at_once, here, now, planned};
pub use run::Run;

use super::choose;
use super::commons::{Purpose, next, open};
use super::shared::{fold, lie_together, usable_in_place};
use super::shown::{Ending, Needs, Rest, copy};
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;
use crate::task::Begun;

/// Copies what a rank alone gives to itself.
///
/// # Safety
/// `from` is readable and `into` writable, and both have the bytes of `from`.
#[inline(always)]
unsafe fn copy_alone(from: Run, into: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { copy(from.base(), into, from.bytes) };
}

/// The turn of an operation, drawn, or a return from the function around it: with `None` where nothing has been done.
macro_rules! meet {
    ($ending:ident, $comm:ident, $purpose:expr, $bytes:expr, ($shown:expr, $shows:expr)) => {{
        let shared = open($comm, $purpose, $bytes)?;
        let next = next($ending, $comm, shared, $purpose, $bytes, $shown);
        if let Err(error) = next.draw($ending.call(), $shows)? {
            return Some(Err(error));
        }
        next.encounter
    }};
}

/// What is left where nothing is combined.
const NOTHING: Rest<&Reduction> = Rest::Nothing;

/// Nobody leaves before everybody entered.
#[inline(always)]
fn barrier<'a, E: Ending<'a>>(ending: E, comm: &'a Comm) -> Option<Result<E::Gives>> {
    if !E::IS_PAIR && comm.membership.is_alone() {
        return Some(Ok(E::Gives::default()));
    }
    let encounter = meet!(ending, comm, Purpose::Barrier, 0, (0, true));
    encounter.post();
    encounter.wake_all();
    Some(ending.go(encounter, Needs::All, NOTHING))
}

/// Copies the root's bytes to everyone.
///
/// # Safety
/// The memory is readable at the root, writable elsewhere, until the operation is complete.
#[inline(always)]
unsafe fn bcast<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    data: Run,
    root: u32,
) -> Option<Result<E::Gives>> {
    if !E::IS_PAIR && comm.membership.is_alone() {
        return Some(Ok(E::Gives::default()));
    }
    let (base, bytes) = (data.base(), data.bytes);
    if bytes == 0 {
        return None;
    }
    let shows = comm.rank() as u32 == root;
    let purpose = Purpose::Bcast;
    let encounter = meet!(ending, comm, purpose, bytes, (bytes, shows));
    if shows {
        // SAFETY: the caller's promise.
        unsafe { encounter.show(base, bytes) };
        encounter.wake_all();
        return Some(ending.go(encounter, Needs::Nobodys, NOTHING));
    }
    let rest = Rest::Copy::<&Reduction> {
        member: root,
        skip: 0,
        target: base,
        bytes,
    };
    Some(ending.go(encounter, Needs::One(root), rest))
}

/// Combines every rank's elements everywhere, or at the root if there is one. In place: `send` is `receive`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type, until the operation is complete;
/// `receive` is not used but at the root.
#[inline(always)]
unsafe fn reduce<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Run,
    receive: Option<Run>,
    count: usize,
    op: &Reduction,
    root: Option<u32>,
) -> Option<Result<E::Gives>> {
    let (base, bytes) = (send.base(), send.bytes);
    if !E::IS_PAIR && comm.membership.is_alone() {
        // SAFETY: the caller's promise.
        unsafe { copy_alone(send, receive?.base()) };
        return Some(Ok(E::Gives::default()));
    }
    if bytes == 0 {
        return None;
    }
    let (me, size) = (comm.rank() as u32, comm.peers);
    if root.is_none() && size > 2 && bytes * size as usize > choose::EACH_FOR_ITSELF_BYTES {
        // SAFETY: the caller's promise.
        return unsafe { allreduce_by_last(ending, comm, send, receive?, count, op) };
    }
    let purpose = match root {
        Some(_) => Purpose::Reduce,
        None => Purpose::Allreduce,
    };
    let takes = root.is_none_or(|root| root == me);
    let target = receive.filter(|_| takes);
    if takes && target.is_none() {
        return None;
    }
    let lies_well =
        target.is_none_or(|target| target.base() != base || usable_in_place(op, me, size));
    let shows = root != Some(me) || !lies_well;
    let encounter = meet!(ending, comm, purpose, bytes, (bytes, shows));
    if shows {
        // SAFETY: the caller's promise.
        unsafe { encounter.show(base, bytes) };
    }
    encounter.wake_for(root);
    let Some(target) = target else {
        return Some(ending.go(encounter, Needs::Nobodys, NOTHING));
    };
    let rest = Rest::Fold {
        op,
        last: encounter.size - 1,
        skip: 0,
        target: target.base(),
        shape: (count, bytes),
        own: lies_well.then_some(base.cast_const()),
    };
    Some(ending.go(encounter, Needs::All, rest))
}

/// As [`reduce`] without a root, for operands that whoever comes last combines for all.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn allreduce_by_last<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
    count: usize,
    op: &Reduction,
) -> Option<Result<E::Gives>> {
    let (size, bytes) = (comm.peers, send.bytes);
    let encounter = meet!(ending, comm, Purpose::Allreduce, bytes, (bytes, true));
    // SAFETY: the caller's promise.
    unsafe { encounter.show(send.base(), bytes) };
    if encounter.is_last() {
        let operand = |rank| encounter.place(rank).cast_const();
        // SAFETY: all have shown theirs, and nobody else writes what is nobody's in particular; places are aligned for every type.
        unsafe { fold(op, size - 1, operand, encounter.place(size), (count, bytes)) };
        encounter.post_common();
    }
    encounter.wake_all();
    let rest = Rest::Copy::<&Reduction> {
        member: size,
        skip: 0,
        target: receive.base(),
        bytes,
    };
    Some(ending.go(encounter, Needs::One(size), rest))
}

/// Every rank's bytes to the root, or to everyone if there is none, one after the other; `send` is `None` for a rank whose
/// piece is in place.
///
/// # Safety
/// `send` is readable, and `receive` writable for a piece of each rank, until the operation is complete; `receive` is not used
/// but at the root.
#[inline(always)]
unsafe fn gather<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Option<Run>,
    receive: Option<Run>,
    root: Option<u32>,
) -> Option<Result<E::Gives>> {
    let me = comm.rank() as u32;
    let takes = root.is_none_or(|root| root == me);
    let into = receive.filter(|_| takes);
    if takes && into.is_none() {
        return None;
    }
    if !E::IS_PAIR && comm.membership.is_alone() {
        // SAFETY: the caller's promise.
        return unsafe { alone(send, into) };
    }
    let (base, bytes) = match (send, into) {
        (Some(own), _) => (own.base(), own.bytes),
        (None, Some(all)) => {
            let bytes = all.bytes / comm.peers as usize;
            (all.base().wrapping_add(bytes * me as usize), bytes)
        }
        (None, None) => return None,
    };
    if bytes == 0 || into.is_some_and(|all| all.bytes != bytes * comm.peers as usize) {
        return None;
    }
    let purpose = match root {
        Some(_) => Purpose::Gather,
        None => Purpose::Allgather,
    };
    let shows = root != Some(me);
    let encounter = meet!(ending, comm, purpose, bytes, (bytes, shows));
    if shows {
        // SAFETY: the caller's promise.
        unsafe { encounter.show(base, bytes) };
    }
    encounter.wake_for(root);
    let Some(all) = into else {
        return Some(ending.go(encounter, Needs::Nobodys, NOTHING));
    };
    let rest = Rest::CopyAll::<&Reduction> {
        skip: 0,
        target: all.base(),
        bytes,
        own: Some(base.cast_const()),
    };
    Some(ending.go(encounter, Needs::All, rest))
}

/// What a rank alone gives itself; `None` where it does not get as much as it gives.
///
/// # Safety
/// `from` is readable and `into` writable.
#[inline(always)]
unsafe fn alone<T: Default>(from: Option<Run>, into: Option<Run>) -> Option<Result<T>> {
    if let (Some(from), Some(into)) = (from, into) {
        if from.bytes != into.bytes {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { copy_alone(from, into.base()) };
    }
    Some(Ok(T::default()))
}

/// Piece `i` of every rank goes to rank `i`, one after the other.
///
/// # Safety
/// `send` is readable and `receive` writable for a piece of each rank, until the operation is complete; they do not overlap.
#[inline(always)]
unsafe fn alltoall<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
) -> Option<Result<E::Gives>> {
    let all = send.bytes;
    if receive.bytes != all {
        return None;
    }
    if !E::IS_PAIR && comm.membership.is_alone() {
        // SAFETY: the caller's promise.
        return unsafe { alone(Some(send), Some(receive)) };
    }
    if all == 0 {
        return None;
    }
    let bytes = match comm.peers as usize {
        2 => all / 2,
        size => all / size,
    };
    let encounter = meet!(ending, comm, Purpose::Alltoall, bytes, (all, true));
    // SAFETY: the caller's promise.
    unsafe { encounter.show(send.base(), all) };
    encounter.wake_all();
    let skip = bytes * encounter.me as usize;
    let rest = Rest::CopyAll::<&Reduction> {
        skip,
        target: receive.base(),
        bytes,
        own: None,
    };
    Some(ending.go(encounter, Needs::All, rest))
}

/// The root's pieces to every rank, one after the other; `receive` is `None` for a root whose piece stays where it is.
///
/// # Safety
/// `send` is readable for a piece of each rank, and not used but at the root; `receive` is writable; until the operation is
/// complete.
#[inline(always)]
unsafe fn scatter<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Option<Run>,
    receive: Option<Run>,
    root: u32,
) -> Option<Result<E::Gives>> {
    let me = comm.rank() as u32;
    let from = send.filter(|_| me == root);
    if me == root && from.is_none() {
        return None;
    }
    if !E::IS_PAIR && comm.membership.is_alone() {
        // SAFETY: the caller's promise.
        return unsafe { alone(from, receive) };
    }
    let size = comm.peers as usize;
    let (bytes, all) = match (from, receive) {
        (Some(all), Some(own)) if own.bytes * size == all.bytes => (own.bytes, all.bytes),
        (Some(_), Some(_)) => return None,
        (Some(all), None) => (all.bytes / size, all.bytes),
        (None, Some(own)) => (own.bytes, own.bytes * size),
        (None, None) => return None,
    };
    if bytes == 0 || bytes > choose::SHORT_BYTES {
        return None;
    }
    let together = lie_together(bytes, comm.peers);
    let (purpose, shown) = (Purpose::Scatter, if together { all } else { bytes });
    let shows = from.is_some();
    let encounter = meet!(ending, comm, purpose, bytes, (shown, shows));
    let own = bytes * me as usize;
    if let Some(pieces) = from {
        // SAFETY: the caller's promise; the root's own piece goes straight to its target.
        unsafe {
            if together {
                encounter.show(pieces.base(), all);
            } else {
                encounter.show_each(pieces.base(), bytes);
            }
            encounter.wake_all();
            if let Some(into) = receive {
                copy(pieces.base().add(own), into.base(), bytes);
            }
        }
        return Some(ending.go(encounter, Needs::Nobodys, NOTHING));
    }
    let Some(into) = receive else {
        return Some(ending.go(encounter, Needs::One(root), NOTHING));
    };
    let rest = Rest::Copy::<&Reduction> {
        member: if together { root } else { me },
        skip: if together { own } else { 0 },
        target: into.base(),
        bytes,
    };
    Some(ending.go(encounter, Needs::One(root), rest))
}

/// Combines the elements of the ranks up to this one, or below it.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
unsafe fn prefix<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
    count: usize,
    op: &Reduction,
    inclusive: bool,
) -> Option<Result<E::Gives>> {
    let bytes = send.bytes;
    if !E::IS_PAIR && comm.membership.is_alone() {
        if inclusive {
            // SAFETY: the caller's promise.
            unsafe { copy_alone(send, receive.base()) };
        }
        return Some(Ok(E::Gives::default()));
    }
    if bytes == 0 {
        return None;
    }
    let chain = open(comm, Purpose::ScanChain, bytes);
    let encounter = match chain {
        Some(shared) => {
            let next = next(ending, comm, shared, Purpose::ScanChain, bytes, bytes);
            if let Err(error) = next.draw_to_pass(ending.call())? {
                return Some(Err(error));
            }
            next.encounter
        }
        None => meet!(ending, comm, Purpose::Scan, bytes, (bytes, true)),
    };
    let me = encounter.me;
    if chain.is_some() {
        let needs = me.checked_sub(1).map_or(Needs::Nobodys, Needs::One);
        let rest = Rest::PassOn {
            op,
            own: send.base(),
            target: receive.base(),
            shape: (count, bytes),
            inclusive,
        };
        return Some(ending.go(encounter, needs, rest));
    }
    // SAFETY: the caller's promise.
    unsafe { encounter.show(send.base(), bytes) };
    for rank in me + 1..encounter.size {
        encounter.wake(rank);
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
                skip: 0,
                target: receive.base(),
                shape: (count, bytes),
                own: None,
            },
        ),
    };
    Some(ending.go(encounter, needs, rest))
}

/// Combines vectors of a part for each rank, all equally long; each rank gets its part. `receive` may lie in `send`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type a part, until the operation is
/// complete.
#[inline(always)]
unsafe fn reduce_scatter<'a, E: Ending<'a>>(
    ending: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
    count: usize,
    op: &Reduction,
) -> Option<Result<E::Gives>> {
    let (bytes, part) = (send.bytes, receive.bytes);
    if !E::IS_PAIR && comm.membership.is_alone() {
        // SAFETY: the caller's promise.
        return unsafe { alone(Some(send), Some(receive)) };
    }
    if bytes == 0 || part * comm.peers as usize != bytes {
        return None;
    }
    let purpose = Purpose::ReduceScatter;
    let encounter = meet!(ending, comm, purpose, bytes, (bytes, true));
    // SAFETY: the caller's promise.
    unsafe { encounter.show(send.base(), bytes) };
    encounter.wake_all();
    let (skip, last) = (part * encounter.me as usize, encounter.size - 1);
    let rest = Rest::Fold {
        op,
        last,
        skip,
        target: receive.base(),
        shape: (count, part),
        own: None,
    };
    Some(ending.go(encounter, Needs::All, rest))
}
