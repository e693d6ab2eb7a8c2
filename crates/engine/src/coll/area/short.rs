// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of little data, in one round of the area, on a straight line.
//!
//! They do what [`super::shared`] does, for data that are contiguous and fit into an buffer, when the members have area
//! and no other thread is inside MPI; else they answer `None` and have done nothing. Here stands what each member publishes, whom it needs,
//! and what it does then ([`Step`]). A blocking call publishes its data, waits for the others and does the rest; a nonblocking one keeps what is left
//! ([`Begun`](crate::task::Begun)) unless the others have come already; a persistent one keeps all of it ([`super::planned`]). Where there is one
//! member, they are copies.
#![expect(unsafe_code, reason = "data are addresses that programs gave")]

mod forms;

pub use super::run::Run;
pub use forms::{at_once, described, here, now};

use crate::coll::area::fold::usable_in_place;
use crate::coll::area::long::lie_together;
use crate::coll::area::spec::{Driver, Needs, Publish, Spec, Then, Wakes};
use crate::coll::area::{Purpose, open};
use crate::coll::select;
use crate::comm::Comm;
use crate::errors::Result;
use crate::op::Reduction;

/// What is left where nothing is combined.
const NOTHING: Then<&Reduction> = Then::Nothing;

/// Nobody leaves before everybody entered.
#[inline(always)]
fn barrier<'a, E: Driver<'a>>(driver: E, comm: &'a Comm) -> Option<Result<E::Gives>> {
    if comm.area.is_single() {
        return Some(Ok(E::Gives::default()));
    }
    let spec = Spec {
        purpose: Purpose::Barrier,
        bytes: 0,
        published: 0,
        publish: Publish::Stamp,
        wakes: Wakes::All,
        needs: Needs::All,
        rest: NOTHING,
    };
    // SAFETY: there are no data.
    unsafe { driver.take(comm, spec) }
}

/// Copies the root's bytes to everyone.
///
/// # Safety
/// The memory is readable at the root, writable elsewhere, until the operation is complete.
#[inline(always)]
unsafe fn bcast<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    data: Run,
    root: u32,
) -> Option<Result<E::Gives>> {
    if comm.area.is_single() {
        return Some(Ok(E::Gives::default()));
    }
    let (base, bytes) = (data.base(), data.bytes);
    if bytes == 0 {
        return None;
    }
    let spec = Spec {
        purpose: Purpose::Bcast,
        bytes,
        published: bytes,
        publish: Publish::Own(base),
        wakes: Wakes::All,
        needs: Needs::Nobodys,
        rest: NOTHING,
    };
    if comm.rank() as u32 == root {
        // SAFETY: the caller's promise.
        return unsafe { driver.take(comm, spec) };
    }
    let spec = Spec {
        publish: Publish::Nothing,
        wakes: Wakes::Nobody,
        needs: Needs::One(root),
        rest: Then::Copy::<&Reduction> {
            member: root,
            skip: 0,
            target: base,
            bytes,
        },
        ..spec
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// Combines every rank's elements everywhere, or at the root if there is one. In place: `send` is `receive`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type, until the operation is complete;
/// `receive` is not used but at the root.
#[inline(always)]
unsafe fn reduce<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Run,
    receive: Option<Run>,
    count: usize,
    op: &Reduction,
    root: Option<u32>,
) -> Option<Result<E::Gives>> {
    let (base, bytes) = (send.base(), send.bytes);
    if comm.area.is_single() {
        // SAFETY: the caller's promise.
        return Some(unsafe { driver.copy_alone(send, receive?.base()) });
    }
    if bytes == 0 {
        return None;
    }
    let (me, size) = (comm.rank() as u32, comm.peers);
    let spec = Spec {
        purpose: match root {
            Some(_) => Purpose::Reduce,
            None => Purpose::Allreduce,
        },
        bytes,
        published: bytes,
        publish: Publish::Own(base),
        wakes: root.map_or(Wakes::All, Wakes::One),
        needs: Needs::Nobodys,
        rest: NOTHING,
    };
    if root.is_some_and(|root| root != me) {
        // SAFETY: the caller's promise.
        return unsafe { driver.take(comm, spec) };
    }
    let target = receive?.base();
    if root.is_none() && size > 2 && bytes * size as usize > select::EACH_FOR_ITSELF_BYTES {
        // SAFETY: the caller's promise.
        return unsafe { allreduce_by_last(driver, comm, send, target, count, op) };
    }
    let lies_well = target != base || usable_in_place(op, me, size);
    let is_root = root.is_some();
    let spec = Spec {
        publish: match is_root && lies_well {
            true => Publish::Nothing,
            false => Publish::Own(base),
        },
        wakes: if is_root { Wakes::Nobody } else { Wakes::All },
        needs: Needs::All,
        rest: Then::Fold {
            op,
            last: size - 1,
            skip: 0,
            target,
            shape: (count, bytes),
            own: lies_well.then_some(base.cast_const()),
        },
        ..spec
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// As [`reduce`] without a root, for operands that whoever comes last combines for all.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn allreduce_by_last<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Run,
    target: *mut u8,
    count: usize,
    op: &Reduction,
) -> Option<Result<E::Gives>> {
    let bytes = send.bytes;
    let spec = Spec {
        purpose: Purpose::Allreduce,
        bytes,
        published: bytes,
        publish: Publish::Counted(send.base()),
        wakes: Wakes::All,
        needs: Needs::One(comm.peers),
        rest: Then::CopyFolded {
            op,
            target,
            shape: (count, bytes),
        },
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// Every rank's bytes to the root, or to everyone if there is none, one after the other; `send` is `None` for a rank whose
/// piece is in place.
///
/// # Safety
/// `send` is readable, and `receive` writable for a piece of each rank, until the operation is complete; `receive` is not used
/// but at the root ([`Driver::ROOM_IS_EXACT`]: not given).
#[inline(always)]
unsafe fn gather<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Option<Run>,
    receive: Option<Run>,
    root: Option<u32>,
) -> Option<Result<E::Gives>> {
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
        // SAFETY: the caller's promise.
        return unsafe { alone(driver, send, into) };
    }
    let (base, bytes) = match (send, into) {
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
    let spec = Spec {
        purpose: match root {
            Some(_) => Purpose::Gather,
            None => Purpose::Allgather,
        },
        bytes,
        published: bytes,
        publish: Publish::Own(base),
        wakes: root.map_or(Wakes::All, Wakes::One),
        needs: Needs::Nobodys,
        rest: NOTHING,
    };
    let Some(all) = into else {
        // SAFETY: the caller's promise.
        return unsafe { driver.take(comm, spec) };
    };
    if all.bytes != bytes * comm.peers as usize {
        return None;
    }
    let is_root = root.is_some();
    let spec = Spec {
        publish: if is_root {
            Publish::Nothing
        } else {
            spec.publish
        },
        wakes: if is_root { Wakes::Nobody } else { Wakes::All },
        needs: Needs::All,
        rest: Then::CopyAll::<&Reduction> {
            skip: 0,
            target: all.base(),
            bytes,
            own: Some(base.cast_const()),
        },
        ..spec
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// What a rank alone gives itself; `None` where it does not get as much as it gives.
///
/// # Safety
/// `from` is readable and `into` writable, until the operation is complete.
#[inline(always)]
unsafe fn alone<'a, E: Driver<'a>>(
    driver: E,
    from: Option<Run>,
    into: Option<Run>,
) -> Option<Result<E::Gives>> {
    let (Some(from), Some(into)) = (from, into) else {
        return Some(Ok(E::Gives::default()));
    };
    if from.bytes != into.bytes {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { driver.copy_alone(from, into.base()) })
}

/// Piece `i` of every rank goes to rank `i`, one after the other.
///
/// # Safety
/// `send` is readable and `receive` writable for a piece of each rank, until the operation is complete; they do not overlap.
#[inline(always)]
unsafe fn alltoall<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
) -> Option<Result<E::Gives>> {
    let all = send.bytes;
    if receive.bytes != all {
        return None;
    }
    if comm.area.is_single() {
        // SAFETY: the caller's promise.
        return Some(unsafe { driver.copy_alone(send, receive.base()) });
    }
    if all == 0 {
        return None;
    }
    let bytes = match comm.peers as usize {
        2 => all / 2,
        size => all / size,
    };
    let skip = bytes * comm.rank() as usize;
    let spec = Spec {
        purpose: Purpose::Alltoall,
        bytes,
        published: all,
        publish: Publish::Own(send.base()),
        wakes: Wakes::All,
        needs: Needs::All,
        rest: Then::CopyAll::<&Reduction> {
            skip,
            target: receive.base(),
            bytes,
            own: Some(send.base().wrapping_add(skip).cast_const()),
        },
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// The root's pieces to every rank, one after the other; `receive` is `None` for a root whose piece stays where it is.
///
/// # Safety
/// `send` is readable for a piece of each rank, and not used but at the root; `receive` is writable; until the operation is
/// complete.
#[inline(always)]
unsafe fn scatter<'a, E: Driver<'a>>(
    driver: E,
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
    if comm.area.is_single() {
        // SAFETY: the caller's promise.
        return unsafe { alone(driver, from, receive) };
    }
    let size = comm.peers as usize;
    let (bytes, all) = match (from, receive) {
        (Some(all), Some(own)) if own.bytes * size == all.bytes => (own.bytes, all.bytes),
        (Some(_), Some(_)) => return None,
        (Some(all), None) => (all.bytes / size, all.bytes),
        (None, Some(own)) => (own.bytes, own.bytes * size),
        (None, None) => return None,
    };
    if bytes == 0 || bytes > select::SHORT_BYTES {
        return None;
    }
    let together = lie_together(bytes, comm.peers);
    let own = bytes * me as usize;
    let spec = Spec {
        purpose: Purpose::Scatter,
        bytes,
        published: if together { all } else { bytes },
        publish: Publish::Nothing,
        wakes: Wakes::Nobody,
        needs: Needs::One(root),
        rest: NOTHING,
    };
    if let Some(pieces) = from {
        let pieces = pieces.base().cast_const();
        let spec = Spec {
            publish: match together {
                true => Publish::Own(pieces),
                false => Publish::Each(pieces),
            },
            wakes: Wakes::All,
            needs: Needs::Nobodys,
            rest: receive.map_or(NOTHING, |into| Then::CopyOwn {
                own: pieces.wrapping_add(own),
                target: into.base(),
                bytes,
            }),
            ..spec
        };
        // SAFETY: the caller's promise.
        return unsafe { driver.take(comm, spec) };
    }
    let spec = Spec {
        rest: receive.map_or(NOTHING, |into| Then::Copy {
            member: if together { root } else { me },
            skip: if together { own } else { 0 },
            target: into.base(),
            bytes,
        }),
        ..spec
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// Combines the elements of the ranks up to this one, or below it.
///
/// # Safety
/// As for [`reduce`].
#[inline(always)]
unsafe fn prefix<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
    count: usize,
    op: &Reduction,
    inclusive: bool,
) -> Option<Result<E::Gives>> {
    let (own, bytes, target) = (send.base().cast_const(), send.bytes, receive.base());
    if comm.area.is_single() {
        if !inclusive {
            return Some(Ok(E::Gives::default()));
        }
        // SAFETY: the caller's promise.
        return Some(unsafe { driver.copy_alone(send, target) });
    }
    if bytes == 0 {
        return None;
    }
    let (me, shape) = (comm.rank() as u32, (count, bytes));
    let below = me.checked_sub(1);
    let spec = Spec {
        purpose: Purpose::Scan,
        bytes,
        published: bytes,
        publish: Publish::Own(own),
        wakes: Wakes::Above,
        needs: Needs::Nobodys,
        rest: NOTHING,
    };
    if open(comm, Purpose::ScanChain, bytes).is_some() {
        let spec = Spec {
            purpose: Purpose::ScanChain,
            publish: Publish::Later,
            wakes: Wakes::Nobody,
            needs: below.map_or(Needs::Nobodys, Needs::One),
            rest: Then::PassOn {
                op,
                own,
                target,
                shape,
                inclusive,
            },
            ..spec
        };
        // SAFETY: the caller's promise.
        return unsafe { driver.take(comm, spec) };
    }
    let last = if inclusive { Some(me) } else { below };
    let spec = match last {
        None => spec,
        Some(last) => Spec {
            needs: Needs::Lower,
            rest: Then::Fold {
                op,
                last,
                skip: 0,
                target,
                shape,
                own: None,
            },
            ..spec
        },
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}

/// Combines vectors of a part for each rank, all equally long; each rank gets its part. `receive` may lie in `send`.
///
/// # Safety
/// `send` is readable and `receive` writable, for `count` elements of the operation's type a part, until the operation is
/// complete.
#[inline(always)]
unsafe fn reduce_scatter<'a, E: Driver<'a>>(
    driver: E,
    comm: &'a Comm,
    send: Run,
    receive: Run,
    count: usize,
    op: &Reduction,
) -> Option<Result<E::Gives>> {
    let (bytes, part) = (send.bytes, receive.bytes);
    if comm.area.is_single() {
        // SAFETY: the caller's promise.
        return unsafe { alone(driver, Some(send), Some(receive)) };
    }
    if bytes == 0 || part * comm.peers as usize != bytes {
        return None;
    }
    let spec = Spec {
        purpose: Purpose::ReduceScatter,
        bytes,
        published: bytes,
        publish: Publish::Own(send.base()),
        wakes: Wakes::All,
        needs: Needs::All,
        rest: Then::Fold {
            op,
            last: comm.peers - 1,
            skip: part * comm.rank() as usize,
            target: receive.base(),
            shape: (count, part),
            own: None,
        },
    };
    // SAFETY: the caller's promise.
    unsafe { driver.take(comm, spec) }
}
